/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of an address: each body's last store, its value printed; and pairs that do or do
 * not meet. */
#include "analysis/value_private.h"
#include "unit_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct row {
	const char *name, *body, *expected;
};

#define STORE "mov.u32 %r8, tile;\nadd.s32 %r9, %r8, %r7;\nst.shared.u32 [%r9], 0;\n"
#define DEPOT                                                                                      \
	"mov.u64 %rd1, depot;\ncvta.local.u64 %rd2, %rd1;\nmov.u64 %rd3, tile;\n"                  \
	"cvta.shared.u64 %rd3, %rd3;\n"
#define THERE "st.u32 [%rd4], 0;\nret;"
#define ROUNDS                                                                                     \
	"ld.param.u32 %r1, [out];\nand.b32 %r2, %r1, 3;\nmov.u32 %r7, 0;\n"                        \
	"setp.eq.s32 %p0, %r2, 0;\n@%p0 bra E;\n"
#define TID "mov.u32 %r0, %tid.x;\n"
#define FIVE "@%p0 bra E;\n@%p0 bra E;\n@%p0 bra E;\n@%p0 bra E;\n@%p0 bra E;\n"
#define FORTY FIVE FIVE FIVE FIVE FIVE FIVE FIVE FIVE /* blocks, each dominated by the one before */
#define OPEN                                                                                       \
	"ld.param.u32 %r1, [out];\nsetp.eq.s32 %p0, %r1, 0;\nsetp.lt.s32 %p1, %r1, 9;\n"           \
	"mov.u32 %r7, 256;\n"

#define IN_STEP(i, a) "mov.b64 %rd1, " i ";\nmov.b32 %r7, " a ";\nL:\n"
#define THIRD                                                                                      \
	"mul.hi.u64 %rd2, %rd1, -6148914691236517205;\nshr.u64 %rd2, %rd2, 1;\n"                   \
	"cvt.u32.u64 %r3, %rd2;\n"
#define FIFTH                                                                                      \
	"mul.hi.u64 %rd2, %rd1, -3689348814741910323;\nshr.u64 %rd2, %rd2, 2;\n"                   \
	"cvt.u32.u64 %r3, %rd2;\n"
#define STAGE "mov.u32 %r8, tile;\nadd.s32 %r9, %r8, %r5;\nst.shared.u32 [%r9], 0;\n"
#define NEXT(i, a)                                                                                 \
	"add.s64 %rd1, %rd1, " i ";\nadd.s32 %r7, %r7, " a ";\nld.param.u32 %r1, [out];\n"         \
	"setp.ne.s32 %p1, %r1, 0;\n@%p1 bra L;\n"

#define DYNAMIC                                                                                    \
	".extern .shared .align 16 .b8 dynamic[];\nmov.u32 %r1, dynamic;\n"                        \
	"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd5, {0, 0}], [%r1];\n"

static const struct row rows[] = {
	{"thread index", TID "shl.b32 %r7, %r0, 4;\n" STORE "ret;", "tile+[0,2032]/16"},
	{"a role test restricts it",
		TID "shr.u32 %r1, %r0, 5;\nsetp.ne.s32 %p0, %r1, 2;\nshl.b32 %r7, %r0, 2;\n@%p0 "
		    "bra L;\n" STORE "L: ret;",
		"tile+[256,380]/4"},
	{"a number that is made behind a test",
		TID "setp.ge.u32 %p0, %r0, 8;\n@%p0 bra E;\nshl.b32 %r7, %r0, 4;\n" STORE "E: ret;",
		"tile+[0,112]/16"},
	{"not being the first role does too",
		TID "shr.u32 %r1, %r0, 5;\nsetp.eq.s32 %p0, %r1, 0;\nshl.b32 %r7, %r0, 2;\n@%p0 "
		    "bra L;\n" STORE "L: ret;",
		"tile+[128,508]/4"},
	{"behind the join it does not",
		TID "shl.b32 %r7, %r0, 2;\nsetp.lt.u32 %p0, %r0, 5;\n@%p0 bra L;\nmov.u32 %r1, "
		    "1;\nL:\n" STORE "ret;",
		"tile+[0,508]/4"},
	{"a wrapping stage index",
		"mov.u32 %r1, 0;\nL: shl.b32 %r7, %r1, 8;\n" STORE
		"add.s32 %r2, %r1, 1;\nsetp.eq.s32 %p0, %r2, 4;\nselp.b32 %r1, 0, %r2, %p0;\nbra "
		"L;",
		"tile+[0,768]/256"},
	{"a definition far above", OPEN "@%p1 mov.u32 %r7, 512;\n" FORTY STORE "E: ret;",
		"tile+[256,512]/256"},
	{"a join far above",
		OPEN FORTY "@%p1 bra A;\nmov.u32 %r7, 1024;\nA:\n" FORTY STORE "E: ret;",
		"tile+[256,1024]/768"},
	{"a definition far above, and others in an arm that ends",
		OPEN FORTY "@%p1 bra A;\n" FORTY "mov.u32 %r7, 1024;\n" FORTY
			   "mov.u32 %r7, 2048;\nret;\nA:\n" FORTY STORE "E: ret;",
		"tile+256"},
	{"a counted loop",
		"mov.u32 %r1, 0;\nL: shl.b32 %r7, %r1, 5;\n" STORE
		"add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p0, %r1, 10;\n@%p0 bra L;\nret;",
		"tile+[0,288]/32"},
	{"a pointer beside a counter",
		ROUNDS "neg.s32 %r3, %r2;\nL:\n" STORE
		       "add.s32 %r7, %r7, 64;\nadd.s32 %r3, %r3, 1;\nsetp.ne.s32 %p1, %r3, "
		       "0;\n@%p1 bra L;\nE: ret;",
		"tile+[0,128]/64"},
	{"a pointer that runs down beside one that counts down",
		ROUNDS "mov.u32 %r7, 512;\nL:\n" STORE
		       "add.s32 %r7, %r7, -64;\nsub.s32 %r2, %r2, 1;\nsetp.gt.s32 %p1, %r2, "
		       "0;\n@%p1 bra L;\nE: ret;",
		"tile+[384,512]/64"},
	{"a counter that goes round and round bounds nothing",
		"mov.u32 %r7, 0;\nmov.u32 %r3, 0;\nL:\n" STORE
		"add.s32 %r7, %r7, 64;\nadd.s32 %r3, %r3, -2147483648;\nsetp.ne.s32 %p1, %r3, "
		"1;\n@%p1 bra L;\nret;",
		"tile+[0,2147483584]/64"},
	{"two that decide do not bound each other",
		"ld.param.u32 %r1, [out];\nsetp.eq.s32 %p2, %r1, 0;\nmov.u32 %r7, 0;\nmov.u32 "
		"%r3, 0;\nL:\n" STORE "add.s32 %r7, %r7, 64;\nadd.s32 %r3, %r3, 1;\n"
		"setp.ne.s32 %p1, %r3, %r1;\n@%p1 bra L;\nsetp.ne.s32 %p1, %r7, %r1;\n"
		"@%p1 bra L;\nret;",
		"tile+[0,2147483584]/64"},
	{"a pointer that steps on one way around only",
		ROUNDS "mov.u32 %r4, 512;\nneg.s32 %r3, %r2;\nL:\n" STORE
		       "add.s32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r1, 77;\n@%p2 bra S;\n"
		       "add.s32 %r7, %r7, 64;\nS: setp.ne.s32 %p1, %r3, 0;\n@%p1 bra L;\nE: ret;",
		"tile+[0,2147483584]/64"},
	{"counting down below zero is no growing that never wraps",
		"ld.param.u32 %r5, [out];\nmov.b32 %r7, 96;\nmov.u32 %r4, 0;\nL:\n" STORE
		"setp.lt.s32 %p1, %r5, 9;\n@%p1 bra S;\nsub.s32 %r7, %r7, 4096;\nS:\n"
		"setp.lt.s32 %p1, %r7, -128;\n@%p1 bra L;\nret;",
		"tile+[-2147483552,96]/4096"},
	{"remainder by multiplication",
		"ld.param.u32 %r1, [out];\nmul.hi.u32 %r2, %r1, 1321528399;\nshr.u32 %r3, %r2, 2;\n"
		"mul.lo.s32 %r4, %r3, 13;\nsub.s32 %r7, %r1, %r4;\n" STORE "ret;",
		"tile+[0,12]"},
	{"a wrong factor is no remainder",
		"ld.param.u32 %r1, [out];\nmul.hi.u32 %r2, %r1, 1321528390;\nshr.u32 %r3, %r2, 2;\n"
		"mul.lo.s32 %r4, %r3, 13;\nsub.s32 %r7, %r1, %r4;\n" STORE "ret;",
		"tile+[0,4294967295]"},
	{"a stage's address that counts beside its index",
		IN_STEP("0", "tile") THIRD "mul.lo.s32 %r4, %r3, 768;\nsub.s32 %r5, %r7, %r4;\n"
					   "st.shared.u32 [%r5], 0;\n" NEXT("1", "256") "ret;",
		"tile+[0,512]/256"},
	{"that begins later, by a multiply-add",
		IN_STEP("2", "640") THIRD
		"mad.lo.s32 %r5, %r3, -192, %r7;\n" STAGE NEXT("1", "64") "ret;",
		"tile+[512,640]/64"},
	{"whose index has 32 bits, by a product of 64, and the quotient's multiple is added",
		"mov.u32 %r1, 0;\nmov.u32 %r7, tile;\nL:\nmul.wide.u32 %rd2, %r1, -1431655765;\n"
		"shr.u64 %rd2, %rd2, 33;\ncvt.u32.u64 %r3, %rd2;\nmul.lo.s32 %r4, %r3, -768;\n"
		"add.s32 %r5, %r7, %r4;\nst.shared.u32 [%r5], 0;\nadd.s32 %r1, %r1, 1;\n"
		"add.s32 %r7, %r7, 256;\nld.param.u32 %r2, [out];\nsetp.ne.s32 %p1, %r2, 0;\n"
		"@%p1 bra L;\nret;",
		"tile+[0,512]/256"},
	{"the same with a bit less of the product",
		"mov.u32 %r1, 0;\nmov.u32 %r7, tile;\nL:\nmul.wide.u32 %rd2, %r1, -1431655765;\n"
		"shr.u64 %rd2, %rd2, 32;\ncvt.u32.u64 %r3, %rd2;\nmul.lo.s32 %r4, %r3, -768;\n"
		"add.s32 %r5, %r7, %r4;\nst.shared.u32 [%r5], 0;\nadd.s32 %r1, %r1, 1;\n"
		"add.s32 %r7, %r7, 256;\nld.param.u32 %r2, [out];\nsetp.ne.s32 %p1, %r2, 0;\n"
		"@%p1 bra L;\nret;",
		"tile+[-3298534882560,inf]/256"},
	{"that steps twice as far",
		IN_STEP("0", "0") THIRD
		"mad.lo.s32 %r5, %r3, -192, %r7;\n" STAGE NEXT("1", "128") "ret;",
		"tile+[-inf,2147483520]/64"},
	{"whose index steps twice as far",
		IN_STEP("0", "0") THIRD
		"mad.lo.s32 %r5, %r3, -192, %r7;\n" STAGE NEXT("2", "64") "ret;",
		"tile+[-inf,2147483584]/64"},
	{"whose index is not divided by 3",
		IN_STEP("0", "0") FIFTH
		"mad.lo.s32 %r5, %r3, -192, %r7;\n" STAGE NEXT("1", "64") "ret;",
		"tile+[-inf,2147483584]/64"},
	{"low bits of an address that a tensor copy proves to be aligned",
		DYNAMIC "and.b32 %r7, %r1, 127;\n" STORE "ret;", "tile"},
	{"and by way of a predicate that is made of it",
		DYNAMIC "and.b32 %r2, %r1, 112;\nsetp.ne.s32 %p1, %r2, 0;\n"
			"selp.b32 %r7, %r2, 0, %p1;\n" STORE "ret;",
		"tile"},
	{"an xor swizzle stays in its block",
		TID "shl.b32 %r1, %r0, 4;\nshr.u32 %r2, %r1, 3;\nand.b32 %r3, %r2, 112;\nxor.b32 "
		    "%r7, %r1, %r3;\n" STORE "ret;",
		"tile+[0,2032]/16"},
	{"an address that may have wrapped, in 64 bits",
		"ld.param.u32 %r2, [out];\nmov.u32 %r1, tile;\nadd.s32 %r2, %r1, %r2;\ncvt.u64.u32 "
		"%rd1, %r2;\nst.shared.u32 [%rd1], 0;\nret;",
		"tile+[-inf,inf]"},
	{"one below its variable, in 64 bits",
		"mov.u32 %r1, tile;\nadd.s32 %r2, %r1, 4294967280;\ncvt.u64.u32 %rd1, %r2;\n"
		"add.s64 %rd1, %rd1, 32;\nst.shared.u32 [%rd1], 0;\nret;",
		"tile+16"},
	{"the same place in the first CTA of a pair",
		"mov.u32 %r1, tile;\nadd.s32 %r2, %r1, 64;\nand.b32 %r3, %r2, -16777217;\n"
		"st.shared::cluster.u32 [%r3], 0;\nret;",
		"tile+64"},
	{"a mask that clears low bits too",
		"ld.param.u32 %r2, [out];\nmov.u32 %r1, tile;\nadd.s32 %r2, %r1, %r2;\nand.b32 "
		"%r3, "
		"%r2, -16777220;\nst.shared::cluster.u32 [%r3], 0;\nret;",
		"[0,4278190076]/4"},
	{"rounded up by hand",
		"mov.u32 %r1, other;\nadd.s32 %r2, %r1, 1023;\nand.b32 %r3, %r2, -1024;\n"
		"st.shared.u32 [%r3+16], 0;\nret;",
		"aligned#0+16"},
	{"a guarded definition keeps the old value",
		TID "mov.u32 %r7, 64;\nsetp.lt.u32 %p0, %r0, 7;\n@%p0 mov.u32 %r7, 0;\n" STORE
		    "ret;",
		"tile+[0,64]/64"},
	{"kept in local memory",
		DEPOT "st.local.u64 [%rd1+8], %rd3;\nld.u64 %rd4, [%rd2+8];\n" THERE, "tile"},
	{"kept in local memory through a pointer that is kept there",
		DEPOT "st.u64 [%rd2+8], %rd3;\nst.u64 [%rd2+16], %rd2;\nld.u64 %rd5, [%rd2+16];\n"
		      "ld.u64 %rd4, [%rd5+8];\n" THERE,
		"tile"},
	{"written again by one of two ways",
		DEPOT
		"st.u64 [%rd2+8], %rd3;\nld.param.u32 %r1, [out];\nsetp.eq.s32 %p0, %r1, 0;\n"
		"@%p0 bra L;\nadd.s64 %rd5, %rd3, 32;\nst.u64 [%rd2+8], %rd5;\nL: ld.u64 %rd4, "
		"[%rd2+8];\n" THERE,
		"tile+[0,32]/32"},
	{"written through a pointer that is kept there",
		DEPOT "st.u64 [%rd2+8], %rd3;\nst.u64 [%rd2+16], %rd2;\nld.u64 %rd5, [%rd2+16];\n"
		      "add.s64 %rd6, %rd3, 16;\nst.u64 [%rd5+8], %rd6;\nld.u64 %rd4, "
		      "[%rd2+8];\n" THERE,
		"tile+16"},
	{"written through an address that is made against the order of the text",
		DEPOT "bra A;\nB: add.s64 %rd6, %rd5, 0;\nbra C;\nA: add.s64 %rd5, %rd2, 8;\nbra B;\n"
		      "C: st.u64 [%rd6], %rd3;\nld.u64 %rd4, [%rd2+8];\n" THERE,
		"tile"},
	{"written through one that is kept against the order of the text",
		DEPOT "st.u64 [%rd2+8], %rd3;\nbra A;\nB: ld.u64 %rd5, [%rd2+16];\n"
		      "add.s64 %rd6, %rd3, 16;\nst.u64 [%rd5+8], %rd6;\nbra C;\n"
		      "A: st.u64 [%rd2+16], %rd2;\nbra B;\nC: ld.u64 %rd4, [%rd2+8];\n" THERE,
		"tile+16"},
	{"half of it written again",
		DEPOT
		"st.u64 [%rd2+8], %rd3;\nst.u32 [%rd2+12], 5;\nld.u64 %rd4, [%rd2+8];\n" THERE,
		"?"},
	{"read by halves",
		DEPOT "st.u64 [%rd2+8], %rd3;\nld.u32 %r1, [%rd2+8];\n"
		      "cvt.u64.u32 %rd4, %r1;\n" THERE,
		"?"},
	{"an array beside it",
		DEPOT TID "st.u64 [%rd2+56], %rd3;\nand.b32 %r1, %r0, 12;\ncvt.u64.u32 %rd5, %r1;\n"
			  "add.s64 %rd5, %rd2, %rd5;\nst.u32 [%rd5], %r0;\nld.u64 %rd4, "
			  "[%rd2+56];\n" THERE,
		"tile"},
	{"an array over it",
		DEPOT TID "st.u64 [%rd2+8], %rd3;\nand.b32 %r1, %r0, 12;\ncvt.u64.u32 %rd5, %r1;\n"
			  "add.s64 %rd5, %rd2, %rd5;\nst.u32 [%rd5], %r0;\nld.u64 %rd4, "
			  "[%rd2+8];\n" THERE,
		"?"},
	{"its address given away",
		DEPOT "st.global.u64 [source], %rd2;\nst.u64 [%rd2+8], %rd3;\nld.u64 %rd4, "
		      "[%rd2+8];\n" THERE,
		"?"},
	{"its address comes back from where nobody looked",
		DEPOT "st.u64 [%rd2+8], %rd3;\nst.v2.u64 [%rd2+16], {%rd2, %rd2};\n"
		      "ld.v2.u64 {%rd5, %rd6}, [%rd2+16];\nst.u64 [%rd5+8], %rd5;\nld.u64 %rd4, "
		      "[%rd2+8];\n" THERE,
		"?"},
	{"half of it written through a pointer that is kept there",
		DEPOT "st.u64 [%rd2+8], %rd3;\nst.u64 [%rd2+16], %rd2;\nld.u64 %rd5, [%rd2+16];\n"
		      "st.u32 [%rd5+12], 5;\nld.u64 %rd4, [%rd2+8];\n" THERE,
		"?"},
	{"a wider register than was stored",
		DEPOT "mov.u32 %r1, -16;\nst.u32 [%rd2+8], %r1;\nld.u32 %rd5, [%rd2+8];\n"
		      "add.s64 %rd4, %rd3, %rd5;\n" THERE,
		"tile+[0,4294967295]"},
	{"exchanged atomically",
		DEPOT "st.u64 [%rd2+8], %rd3;\nadd.s64 %rd5, %rd2, 8;\natom.exch.b64 %rd6, [%rd5], "
		      "%rd2;\nld.u64 %rd4, [%rd2+8];\n" THERE,
		"?"},
	{"a loaded index is anywhere", "ld.shared.u32 %r7, [other];\n" STORE "ret;",
		"tile+[0,4294967295]"},
};

static void last_store(struct unit_text *t, char *out, size_t size)
{
	const struct accesses *a = &t->unit.accesses;

	out[0] = 0;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->v[i].writes)
			value_print(t->unit.values, &a->v[i].address, out, size);
}

static void test_value_prints_what_is_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct unit_text t;
		char got[200];

		unit_text_parse(&t, rows[i].body);
		unit_text_analyse(&t);
		last_store(&t, got, sizeof(got));
		if (strcmp(got, rows[i].expected) != 0)
			fail_msg("%s: expected %s, got %s", rows[i].name, rows[i].expected, got);
		unit_text_free(&t);
	}
}

struct pair {
	const char *name, *body;
	bool may;
	uint32_t assumptions;
};

#define GLOBAL "ld.param.u64 %rd1, [out];\ncvta.to.global.u64 %rd2, %rd1;\n"
#define MAP                                                                                        \
	"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], "     \
	"[%rd5, {0, 0}], [full];\nret;"

/* The first generic access against the last async one. */
static const struct pair pairs[] = {
	{"distinct variables",
		"st.shared.u32 [other], 0;\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], "
		"[tile], 64;\nret;",
		false, 0},
	{"the same bytes",
		"st.shared.u32 [tile+60], 0;\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], "
		"[tile], 64;\nret;",
		true, 0},
	{"behind the copied bytes",
		"st.shared.u32 [tile+64], 0;\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], "
		"[tile], 64;\nret;",
		false, 0},
	{"interleaved",
		TID "shl.b32 %r7, %r0, 5;\nmov.u32 %r8, tile;\nadd.s32 %r9, %r8, "
		    "%r7;\nst.shared.u32 [%r9+16], 0;\n"
		    "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9], 16;\nret;",
		false, 0},
	{"a pointer and a tensor map", GLOBAL "st.global.u32 [%rd2], 0;\n" MAP, false,
		ASSUME_DISTINCT_PARAMS},
	{"a generic pointer from a parameter is no shared memory",
		"ld.param.u64 %rd1, [out];\nst.u32 [%rd1], 0;\n"
		"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [source], "
		"64, [full];\nret;",
		false, ASSUME_PARAM_GLOBAL},
	{"an unknown pointer may be",
		"ld.shared.u64 %rd1, [other];\nst.u32 [%rd1], 0;\n"
		"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [source], "
		"64, [full];\nret;",
		true, 0},
};

/* A definition that is said to give what it has, evaluated again from the solution. */
static void check_steady(struct values *vs, const char *name, uint32_t *n)
{
	for (uint32_t node = 0; node < vs->nsolved; node++) {
		struct constraint room[CONTEXT_MAX];
		struct context context = {.v = room};

		if (!vs->steady || vs->steady[node] == STEADY_NOT)
			continue;
		if (vs->steady[node] == STEADY_HERE)
			context_at_block(vs, vs->ssa.nodes[node].block, &context);
		context_begin(vs, &context, 0);
		struct value v =
			evaluate_definition((struct evaluation){vs, &context, 0, NULL}, node);

		if (memcmp(&v, value_at(vs, node), sizeof(v)) != 0)
			fail_msg("%s: node %u is not steady", name, node);
		++*n;
	}
}

static void test_value_is_steady_where_it_says_so(void **state)
{
	uint32_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct unit_text t;

		unit_text_parse(&t, rows[i].body);
		unit_text_analyse(&t);
		check_steady((struct values *)(uintptr_t)t.unit.values, rows[i].name, &n);
		unit_text_free(&t);
	}
	assert_true(n > 200);
}

static void test_access_overlap_says_what_rules_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct unit_text t;
		uint32_t g = NONE, a = NONE;

		unit_text_parse(&t, pairs[i].body);
		unit_text_analyse(&t);
		const struct accesses *all = &t.unit.accesses;
		bool may = false;
		uint32_t assumptions = 0;

		for (g = 0; g < all->n; g++)
			for (a = 0; a < all->n; a++) {
				if (all->v[g].proxy != PROXY_GENERIC ||
					all->v[a].proxy != PROXY_ASYNC || !all->v[g].writes)
					continue;
				struct overlap o = access_overlap(
					t.unit.values, all, g, a, &t.options, &t.arena);

				may |= o.may;
				assumptions |= o.assumptions;
			}
		if (may != pairs[i].may ||
			(assumptions & pairs[i].assumptions) != pairs[i].assumptions)
			fail_msg("%s: may %d, assumptions %x", pairs[i].name, may, assumptions);
		unit_text_free(&t);
	}
}

/* What is reached through such a mask may be a peer's. */
static void test_access_through_a_rank_mask_may_be_a_peers(void **state)
{
	struct unit_text t;

	(void)state;
	unit_text_parse(&t,
		"mov.u32 %r1, tile;\nand.b32 %r2, %r1, 0xFEFFFFFF;\n"
		"st.shared::cluster.u32 [%r2], 0;\nst.shared::cluster.u32 [%r1], 0;\nret;");
	unit_text_analyse(&t);
	assert_int_equal(t.unit.accesses.n, 2);
	assert_true(t.unit.accesses.v[0].peer && t.unit.accesses.v[0].own);
	assert_false(t.unit.accesses.v[1].peer);
	unit_text_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_value_prints_what_is_known),
		cmocka_unit_test(test_value_is_steady_where_it_says_so),
		cmocka_unit_test(test_access_overlap_says_what_rules_out),
		cmocka_unit_test(test_access_through_a_rank_mask_may_be_a_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
