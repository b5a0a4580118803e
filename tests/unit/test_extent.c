/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes each form of access touches: sizes of the ISA, row by row, computed by hand. */
#include "unit_text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The accesses of shared memory as "address:bytes", "address:..." to the end of the variable. */
static void print_shared(const struct unit_text *t, char *out, size_t size)
{
	const struct accesses *a = &t->unit.accesses;
	size_t n = 0;

	out[0] = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		char text[200];

		if (!(a->v[i].spaces & SPACE_SHARED))
			continue;
		value_print(t->unit.values, &a->v[i].address, text, sizeof(text));
		if (a->v[i].bytes == UINT64_MAX)
			n += (size_t)snprintf(out + n, size - n, "%s%s:...", n ? " " : "", text);
		else
			n += (size_t)snprintf(out + n, size - n, "%s%s:%" PRIu64, n ? " " : "",
				text, a->v[i].bytes);
	}
}

static void expect_shared(const char *name, const char *body, uint32_t assume, const char *expected)
{
	struct unit_text t;
	char got[1000];

	unit_text_parse(&t, body);
	t.options.assume = assume;
	unit_text_analyse(&t);
	print_shared(&t, got, sizeof(got));
	if (strcmp(got, expected) != 0)
		fail_msg("%s: expected %s, got %s", name, expected, got);
	unit_text_free(&t);
}

struct row {
	const char *insn, *expected;
};

static const struct row plain[] = {
	{"st.shared.u8 [tile], %r1", "tile:1"},
	{"st.shared.b16 [tile+2], %r1", "tile+2:2"},
	{"st.shared.f32 [tile], %f1", "tile:4"},
	{"st.shared.b64 [tile+8], %rd1", "tile+8:8"},
	{"st.shared.v2.u8 [tile], {%r1, %r2}", "tile:2"},
	{"st.shared.v4.b16 [tile], {%r1, %r2, %r3, %r4}", "tile:8"},
	{"st.shared.v2.b32 [tile], {%r1, %r2}", "tile:8"},
	{"st.shared.v4.b32 [tile+16], {%r1, %r2, %r3, %r4}", "tile+16:16"},
	{"st.shared.v2.b64 [tile], {%rd1, %rd2}", "tile:16"},
	{"st.volatile.shared.u32 [tile], %r1", "tile:4"},
	{"ld.shared.u16 %r1, [tile]", "tile:2"},
	{"ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [tile]", "tile:16"},
	{"ld.acquire.cta.shared.b32 %r1, [tile]", "tile:4"},
	{"atom.shared.add.u32 %r1, [tile], %r2", "tile:4"},
	{"atom.shared.cas.b64 %rd1, [tile], %rd2, %rd3", "tile:8"},
	{"red.shared.add.f32 [tile], %f1", "tile:4"},
	/* one row of 16 bytes for each address; ISA 9.7.14.5.15 */
	{"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [tile]", "tile:16"},
	{"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [tile]", "tile:16"},
	{"stmatrix.sync.aligned.m8n8.x2.shared.b16 [tile], {%r1, %r2}", "tile:16"},
	/* the destination has cp-size bytes also when fewer are read */
	{"cp.async.ca.shared.global [tile], [%rd1], 4", "tile:4"},
	{"cp.async.ca.shared.global [tile], [%rd1], 8, 0", "tile:8"},
	{"cp.async.cg.shared.global [tile], [%rd1], 16, %r3", "tile:16"},
	{"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 512, "
	 "[full]",
		"tile:512"},
	{"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile+64], 96", "tile+64:96"},
	{"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [tile], 128",
		"tile:128"},
	{"st.bulk.weak.shared::cta [tile], 256, 0", "tile:256"},
	{"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
	 "[tile], "
	 "[full]",
		"tile:16"},
	{"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {0, 0}], [tile]",
		"tile:..."},
};

static void test_extent_of_plain_accesses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		char body[500];

		snprintf(body, sizeof(body), "%s;\nret;", plain[i].insn);
		expect_shared(plain[i].insn, body, 0, plain[i].expected);
	}
}

#define LOAD                                                                                       \
	"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], "     \
	"[%rd5, {0, 0}], [full];\nret;"

/* Tensor loads: bytes that their mbarrier waits for; sizes from registers by their bounds. */
static const struct row bounded[] = {
	{"mbarrier.arrive.expect_tx.shared.b64 _, [full], 1024;\n" LOAD, "tile:1024"},
	{"mbarrier.expect_tx.relaxed.cta.shared.b64 [full], 256;\n" LOAD, "tile:256"},
	{"mbarrier.arrive.expect_tx.shared.b64 _, [full], 1024;\n"
	 "mbarrier.arrive.expect_tx.shared.b64 _, [full], 512;\n" LOAD,
		"tile:1024"},
	{"mbarrier.arrive.expect_tx.shared.b64 _, [empty], 1024;\n" LOAD, "tile:..."},
	{"mbarrier.arrive.expect_tx.shared.b64 _, [full], %r1;\n" LOAD, "tile:..."},
	{"ld.param.u32 %r1, [out];\nmbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;\n"
	 "mbarrier.arrive.expect_tx.shared.b64 _, [full], 32;\n" LOAD,
		"tile:64"},
	{"mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\n"
	 "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], %r2;\nret;",
		"tile:2032"},
	{"ld.param.u32 %r2, [out];\n"
	 "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], %r2;\nret;",
		"tile:..."},
};

static void test_extent_of_bounded_copies(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bounded) / sizeof(*bounded); i++)
		expect_shared(
			bounded[i].insn, bounded[i].insn, ASSUME_MAP_GAP, bounded[i].expected);
	/* one phase may be told in pieces what one copy brings */
	expect_shared("without the assumption", bounded[0].insn, 0, "tile:...");
}

/* An edge that only such a bound rules out rests on the assumption. */
static void test_extent_names_what_a_bound_rests_on(void **state)
{
	struct unit_text t;
	struct overlap o;

	(void)state;
	unit_text_parse(&t, "st.shared.u32 [tile+1024], %r1;\n"
			    "mbarrier.arrive.expect_tx.shared.b64 _, [full], 1024;\n" LOAD);
	unit_text_analyse(&t);
	assert_int_equal(t.unit.accesses.v[1].proxy, PROXY_ASYNC);
	o = access_overlap(t.unit.values, &t.unit.accesses, 0, 1, &t.options, &t.arena);
	assert_false(o.may);
	assert_true(o.assumptions & ASSUME_MAP_GAP);
	unit_text_free(&t);
}

struct matrices {
	const char *name, *insn; /* %rd1 and %rd2: descriptors; %r9: instruction descriptor */
	uint64_t mode;		 /* swizzle field, as encoded in bits 61 to 63 */
	uint32_t lbo, sbo;	 /* bytes */
	uint32_t step;		 /* bytes from the start of `tile` */
	uint32_t idesc;
	const char *expected;
};

#define WGMMA(SHAPE, TYPES, TAIL)                                                                  \
	"wgmma.mma_async.sync.aligned." SHAPE ".f32." TYPES " {%f0, %f1}, %rd1, %rd2, %p1, 1, "    \
	"1" TAIL
#define F16(TAIL) WGMMA("m64n128k16", "f16.f16", TAIL)
#define MMA(KIND) "tcgen05.mma.cta_group::1.kind::" KIND " [%r1], %rd1, %rd2, %r9, %p1"
#define IDESC(M, N) ((M) / 16u << 24 | (N) / 8u << 17)
#define A_MN (1u << 15)
#define B_MN (1u << 16)

static const struct matrices matrices[] = {
	/* K-major: a group of eight rows every SBO */
	{"wgmma 128B", F16(", 0, 0"), 2, 16, 1024, 0, 0, "tile:8192 tile:16384"},
	{"wgmma 128B, second step of K", F16(", 0, 0"), 2, 16, 1024, 32, 0, "tile:8192 tile:16384"},
	{"wgmma 128B, a step that leaves its row", F16(", 0, 0"), 2, 16, 1024, 112, 0,
		"tile:8320 tile:16512"},
	{"wgmma 64B", F16(", 0, 0"), 4, 16, 512, 0, 0, "tile:4096 tile:8192"},
	{"wgmma 32B", F16(", 0, 0"), 6, 16, 256, 0, 0, "tile:2048 tile:4096"},
	{"wgmma without swizzle: two columns", F16(", 0, 0"), 0, 2048, 128, 0, 0,
		"tile:3072 tile:4096"},
	{"wgmma tf32", WGMMA("m64n32k8", "tf32.tf32", ""), 2, 16, 1024, 0, 0,
		"tile:8192 tile:4096"},
	{"wgmma of bytes", WGMMA("m64n64k32", "e4m3.e4m3", ""), 2, 16, 1024, 0, 0,
		"tile:8192 tile:8192"},
	/* MN-major: 64 by 8 elements, then SBO along K and LBO along M or N */
	{"wgmma 128B, transposed", F16(", 1, 1"), 2, 4096, 1024, 0, 0, "tile:2048 tile:6144"},
	{"wgmma 64B, transposed", F16(", 1, 1"), 4, 2048, 512, 0, 0, "tile:3072 tile:7168"},
	{"wgmma 32B, transposed", F16(", 1, 1"), 6, 1024, 256, 0, 0, "tile:3584 tile:7680"},
	{"wgmma without swizzle, transposed: LBO along K", F16(", 1, 1"), 0, 2048, 128, 0, 0,
		"tile:3072 tile:4096"},
	{"wgmma, B transposed", F16(", 0, 1"), 2, 4096, 1024, 0, 0, "tile:8192 tile:6144"},
	{"tcgen05 128B", MMA("f16"), 2, 16, 1024, 0, IDESC(128, 64), "tile:16384 tile:8192"},
	{"tcgen05 128B, M 64, N 256", MMA("f16"), 2, 16, 1024, 0, IDESC(64, 256),
		"tile:8192 tile:32768"},
	{"tcgen05 64B", MMA("f8f6f4"), 4, 16, 512, 0, IDESC(128, 8), "tile:8192 tile:512"},
	{"tcgen05 32B", MMA("tf32"), 6, 16, 256, 0, IDESC(128, 128), "tile:4096 tile:4096"},
	{"tcgen05 without swizzle", MMA("i8"), 0, 4096, 128, 0, IDESC(128, 64),
		"tile:6144 tile:5120"},
	{"tcgen05 transposed", MMA("f16"), 2, 4096, 1024, 0, IDESC(128, 256) | A_MN | B_MN,
		"tile:6144 tile:14336"},
	{"tcgen05 of bytes, transposed: 128 by 8, four along K", MMA("f8f6f4"), 2, 8192, 1024, 0,
		IDESC(128, 256) | A_MN | B_MN, "tile:4096 tile:12288"},
	{"tcgen05 128B of 32B atoms: 32 by 4, two along K", MMA("tf32"), 1, 2048, 512, 0,
		IDESC(64, 64) | A_MN | B_MN, "tile:3072 tile:3072"},
	{"tcgen05 scaled",
		"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%r1], "
		"%rd1, %rd2, %r9, [%r3], [%r4], %p1",
		2, 16, 1024, 0, 1u << 27 | 8u << 17, "tile:16384 tile:8192"},
	{"tcgen05 sparse: twice the K of B",
		"tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r2], %r9, %p1", 0, 4096,
		128, 0, IDESC(128, 64), "tile:6144 tile:13312"},
	{"tcgen05 of a pair: half in each CTA",
		"tcgen05.mma.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r9, %p1", 2, 16, 1024, 0,
		IDESC(256, 128), "tile:16384 tile:8192"},
	{"tcgen05 with an instruction descriptor that says nothing", MMA("f16"), 2, 16, 1024, 0, 0,
		"tile:16384 tile:32768"},
	{"tcgen05 of a pair, the same",
		"tcgen05.mma.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r9, %p1", 2, 16, 1024, 0, 0,
		"tile:16384 tile:16384"},
	{"tcgen05.cp 128x256b", "tcgen05.cp.cta_group::1.128x256b [%r1], %rd1", 0, 2048, 128, 0, 0,
		"tile:4096"},
	{"tcgen05.cp 32x128b", "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r1], %rd1", 0, 16, 128, 0,
		0, "tile:512"},
	{"tcgen05.cp 4x256b", "tcgen05.cp.cta_group::1.4x256b [%r1], %rd1", 0, 2048, 128, 0, 0,
		"tile:2176"},
};

static void write_matrices(const struct matrices *m, uint64_t more, char *body, size_t size)
{
	uint64_t high =
		m->mode << 61 | (uint64_t)(m->sbo / 16) << 32 | (uint64_t)(m->lbo / 16) << 16;

	snprintf(body, size,
		"mov.u32 %%r1, tile;\nadd.s32 %%r2, %%r1, %" PRIu32 ";\nshr.u32 %%r3, %%r2, 4;\n"
		"and.b32 %%r4, %%r3, 16383;\ncvt.u64.u32 %%rd5, %%r4;\nor.b64 %%rd1, %%rd5, "
		"%" PRId64 ";\nmov.b64 %%rd2, %%rd1;\nmov.b32 %%r9, %" PRIu32 ";\n%s;\nret;",
		m->step, (int64_t)(high | more), m->idesc, m->insn);
}

static void test_extent_of_matrices(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(matrices) / sizeof(*matrices); i++) {
		char body[1000];

		write_matrices(&matrices[i], 0, body, sizeof(body));
		expect_shared(matrices[i].name, body, 0, matrices[i].expected);
	}
}

/* Bits that are not known leave the start alone. */
static void test_extent_of_matrices_not_known(void **state)
{
	char body[1000];
	struct matrices m = matrices[13];

	(void)state;
	write_matrices(&m, UINT64_C(1) << 52, body, sizeof(body));
	expect_shared("LBO as an address", body, 0, "tile:... tile:...");
	m.mode = 3;
	write_matrices(&m, 0, body, sizeof(body));
	expect_shared("no such mode", body, 0, "tile:... tile:...");
	expect_shared("high half loaded",
		"mov.u32 %r1, tile;\nshr.u32 %r2, %r1, 4;\nld.param.u32 %r3, [out];\n"
		"mov.b64 %rd1, {%r2, %r3};\n" MMA("f16") ";\nret;",
		0, "tile:... ?:...");
	expect_shared("instruction descriptor loaded",
		"mov.u32 %r1, tile;\nshr.u32 %r2, %r1, 4;\nld.param.u32 %r9, [out];\n"
		"mov.b64 %rd1, {%r2, 1073741888};\nmov.b64 %rd2, %rd1;\n" MMA("tf32") ";\nret;",
		0, "tile:16384 tile:32768");
}

/* ---- every byte of the canonical layouts, one by one ---- */

struct shape {
	uint32_t rows, k_bytes, element;
	bool mn_major;
};

/* Offset of a chunk of 16 bytes from an address that is aligned to 1024 (ISA 9.7.16.3, 9.7.16.5).
 */
static uint32_t chunk_at(const struct matrices *m, const struct shape *s, uint32_t mn, uint32_t k)
{
	static const uint32_t rows[] = {16, 128, 128, 0, 64, 0, 32, 0};
	static const uint32_t masks[] = {0, 3, 7, 0, 3, 0, 1, 0};
	uint32_t row = rows[m->mode], along = row / 16, columns = m->mode == 1 ? 4 : 8,
		 at = m->step;

	if (s->mn_major && m->mode == 0) /* mn: chunk, k: column */
		at += mn * m->sbo + k / 8 * m->lbo + k % 8 * 16;
	else if (s->mn_major)
		at += mn / along * m->lbo + mn % along * 16 + k / columns * m->sbo +
		      k % columns * row;
	else if (m->mode == 0) /* mn: row, k: chunk */
		at += mn / 8 * m->sbo + mn % 8 * 16 + k * m->lbo;
	else
		at += mn / 8 * m->sbo + mn % 8 * row + k * 16;
	return at ^ (at >> 7 & masks[m->mode]) << (m->mode == 1 ? 5 : 4);
}

static void check_chunks(
	const struct matrices *m, const struct shape *s, const struct access *a, uint32_t round)
{
	uint32_t across = s->mn_major ? s->rows * s->element / 16 : s->rows;
	uint32_t deep = s->mn_major ? s->k_bytes / s->element : s->k_bytes / 16;

	assert_true(a->bytes != UINT64_MAX);
	for (uint32_t mn = 0; mn < across; mn++)
		for (uint32_t k = 0; k < deep; k++) {
			int64_t at = chunk_at(m, s, mn, k);

			if (at < a->address.lo || at + 16 > a->address.hi + (int64_t)a->bytes)
				fail_msg("round %" PRIu32 ", %s, mode %d: chunk (%" PRIu32
					 ", %" PRIu32 ") at %" PRId64 " is outside of %" PRId64
					 ", %" PRIu64 " bytes",
					round, m->insn, (int)m->mode, mn, k, at, a->address.lo,
					a->bytes);
		}
}

static uint32_t pick(uint64_t *seed, uint32_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33) % n;
}

/* Random strides, shapes, steps and modes. */
static void test_extent_covers_every_chunk(void **state)
{
	static const struct {
		const char *insn;
		uint32_t element;
	} kinds[] = {{MMA("f16"), 2}, {MMA("f8f6f4"), 1}, {MMA("tf32"), 4}};
	static const uint32_t modes[] = {0, 2, 4, 6, 1};
	uint64_t seed = 1;

	(void)state;
	for (uint32_t round = 0; round < 600; round++) {
		uint32_t kind = pick(&seed, 3);
		bool a_mn = pick(&seed, 2), b_mn = pick(&seed, 2);
		/* atoms of 32 bytes are for MN-major operands only */
		uint32_t n = 8 + 8 * pick(&seed, 31),
			 mode = modes[pick(&seed, a_mn && b_mn ? 5 : 4)];
		uint32_t m = pick(&seed, 2) ? 128 : 64;
		struct matrices x = {.insn = kinds[kind].insn,
			.mode = mode,
			.lbo = 16 * pick(&seed, 500),
			.sbo = 16 * pick(&seed, 500),
			.step = 16 * pick(&seed, 64),
			.idesc = IDESC(m, n) | (a_mn ? A_MN : 0) | (b_mn ? B_MN : 0)};
		struct shape a = {m, 32, kinds[kind].element, a_mn};
		struct shape b = {(n + 15) / 16 * 16, 32, kinds[kind].element, b_mn};
		struct unit_text t;
		char body[1000];

		b.rows = b_mn ? b.rows : n;
		if (b_mn && n % 16) /* whole chunks only */
			continue;
		write_matrices(&x, 0, body, sizeof(body));
		unit_text_parse(&t, body);
		t.options.assume = 0;
		unit_text_analyse(&t);
		assert_int_equal(t.unit.accesses.n, 2);
		check_chunks(&x, &a, &t.unit.accesses.v[0], round);
		check_chunks(&x, &b, &t.unit.accesses.v[1], round);
		unit_text_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extent_of_plain_accesses),
		cmocka_unit_test(test_extent_of_bounded_copies),
		cmocka_unit_test(test_extent_names_what_a_bound_rests_on),
		cmocka_unit_test(test_extent_of_matrices),
		cmocka_unit_test(test_extent_of_matrices_not_known),
		cmocka_unit_test(test_extent_covers_every_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
