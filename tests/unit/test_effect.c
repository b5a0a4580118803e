/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of effects: every row's example is classified by that row and, where ptxas is found, is
 * an instruction that ptxas takes; more forms of each are compared as printed.
 */
#include "analysis/effect_form.h"
#include "parser/words.h"
#include "ptx_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char head[] = ".version 9.0\n.target %s\n.address_size 64\n.func f() { ret; }\n";
static const char kernel[] =
	".visible .entry k%u()\n{\n"
	".reg .pred %%p<8>; .reg .b16 %%h<8>; .reg .b32 %%r<64>; .reg .b64 %%rd<32>;\n"
	".reg .f32 %%f<64>; .reg .f64 %%fd<8>; .reg .b128 %%q<4>;\n"
	"T: .branchtargets L, M;\n%s\nL: M:\n}\n";

/* The instruction of `text` inside a kernel, and its effect. */
static const struct insn *classify(struct ptx_text *t, const char *text, struct effect *e)
{
	static char ptx[4096];
	int n = snprintf(ptx, sizeof(ptx), head, "sm_90a");

	snprintf(ptx + n, sizeof(ptx) - (size_t)n, kernel, 0U, text);
	ptx_text_parse(t, ptx);
	struct function *fn = ptx_text_body(t, ptx_text_find(t, "k0"));

	assert_true(fn->ninsns >= 1);
	effect_of(fn, &fn->insns[0], e);
	return &fn->insns[0];
}

static void test_effect_rows_take_their_examples(void **state)
{
	uint32_t n;
	const struct form *forms = effect_forms(&n);

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		struct ptx_text t;
		struct effect e;
		const struct form *got = effect_form(classify(&t, forms[i].example, &e));
		uint32_t touches = 0;

		if (got != &forms[i])
			fail_msg("row %u '%s' is taken by row %d", i, forms[i].example,
				got ? (int)(got - forms) : -1);
		while (touches < 4 && forms[i].touches[touches].access)
			touches++;
		if (!e.known && !(forms[i].flags & FORM_NEWER))
			fail_msg("'%s' is not known", forms[i].example);
		if (forms[i].op != OP_tcgen05 && e.ntouches != touches)
			fail_msg("'%s' has %u touches", forms[i].example, e.ntouches);
		for (uint32_t k = 0; k < e.ntouches; k++)
			if (e.touches[k].operand == UINT8_MAX)
				fail_msg("'%s' has a touch without operand", forms[i].example);
		ptx_text_free(&t);
	}
}

static void test_effect_rows_are_sorted_and_explained(void **state)
{
	uint32_t n;
	const struct form *forms = effect_forms(&n);

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		assert_true(i == 0 || forms[i - 1].op <= forms[i].op);
		assert_true(strncmp(forms[i].section, "9.7.", 4) == 0);
		assert_true(strchr(forms[i].ptx, '.') != NULL);
	}
}

/* ---- printed effects ---- */

static const char *extent_name(const struct touch *t, char *out, size_t size)
{
	static const char *const names[] = {[EXTENT_LANES] = "lanes",
		[EXTENT_TENSOR_LOAD] = "load",
		[EXTENT_TENSOR_STORE] = "store",
		[EXTENT_WGMMA] = "wgmma",
		[EXTENT_TCGEN05] = "tcgen05",
		[EXTENT_WMMA] = "wmma",
		[EXTENT_UNKNOWN] = "?"};

	if (t->extent == EXTENT_FIXED)
		snprintf(out, size, "%u", t->bytes);
	else if (t->extent == EXTENT_OPERAND)
		snprintf(out, size, "$%u", t->size_operand);
	else
		snprintf(out, size, "%s", names[t->extent]);
	return out;
}

/* "GW s@0:4": generic write of shared::cta, address in operand 0, four bytes. */
static void print_touch(const struct touch *t, FILE *out)
{
	static const char proxies[] = "GATO", spaces[] = "scglkpt";
	char extent[16];

	fprintf(out, "%c%c ", proxies[t->proxy],
		t->mbarrier		? 'B'
		: t->reads && t->writes ? 'X'
		: t->writes		? 'W'
					: 'R');
	for (uint32_t i = 0; i < 7; i++)
		if (t->spaces >> i & 1)
			fputc(spaces[i], out);
	fprintf(out, "%s%s%s%s@%u:%s; ", t->generic_address ? "*" : "", t->peer ? "!" : "",
		t->hidden ? "~" : "", t->asynchronous ? "+" : "", t->operand,
		extent_name(t, extent, sizeof(extent)));
}

static void print_effect(const struct effect *e, FILE *out)
{
	static const char *const syncs[] = {[SYNC_BAR] = "bar",
		[SYNC_BAR_ARRIVE] = "bar-arrive",
		[SYNC_WARP] = "warp",
		[SYNC_CLUSTER_ARRIVE] = "cluster-arrive",
		[SYNC_CLUSTER_WAIT] = "cluster-wait",
		[SYNC_MBAR_INIT] = "init",
		[SYNC_MBAR_INVAL] = "inval",
		[SYNC_MBAR_ARRIVE] = "arrive",
		[SYNC_MBAR_EXPECT] = "expect",
		[SYNC_MBAR_WAIT] = "wait",
		[SYNC_CPASYNC_COMMIT] = "cp-commit",
		[SYNC_CPASYNC_WAIT] = "cp-wait",
		[SYNC_CPASYNC_ARRIVE] = "cp-arrive",
		[SYNC_BULK_COMMIT] = "bulk-commit",
		[SYNC_BULK_WAIT] = "bulk-wait",
		[SYNC_TCGEN05_COMMIT] = "tcgen05-commit",
		[SYNC_WGMMA_FENCE] = "wgmma-fence",
		[SYNC_WGMMA_COMMIT] = "wgmma-commit",
		[SYNC_WGMMA_WAIT] = "wgmma-wait",
		[SYNC_MEMORY] = "memory"};
	static const char *const fences[] = {"", "all", "cta", "cluster", "global", "release",
		"acquire", "release-read", "map-release", "map-acquire", "mbarrier-init", "other"};

	for (uint32_t i = 0; i < e->ntouches; i++)
		print_touch(&e->touches[i], out);
	if (e->sync)
		fprintf(out, "%s%s%s%s%s ", syncs[e->sync], e->releases ? " rel" : "",
			e->acquires ? " acq" : "", e->relaxed ? " relaxed" : "",
			e->remote ? " remote" : "");
	if (e->barrier_operand != UINT8_MAX)
		fprintf(out, "id@%u ", e->barrier_operand);
	if (e->count_operand != UINT8_MAX)
		fprintf(out, "n@%u ", e->count_operand);
	if (e->mbarrier_operand != UINT8_MAX)
		fprintf(out, "m@%u ", e->mbarrier_operand);
	fprintf(out, "%s%s%s%s%s", e->all ? "all " : "", e->read_only ? "read " : "",
		e->cluster_scope ? "wide " : "", e->pure ? "pure " : "", e->is_call ? "call " : "");
	if (e->fence)
		fprintf(out, "fence:%s ", fences[e->fence]);
	if (!e->known)
		fprintf(out, "unknown%s ", e->may_touch_memory ? " touches" : "");
}

struct printed {
	const char *text, *expected;
	const char *target; /* NULL: no assembler takes it (yet) */
};

#define NEW NULL

static const struct printed printed[] = {
#include "effect_forms.inc"
};

static void test_effect_forms(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(printed) / sizeof(*printed); i++) {
		struct ptx_text t;
		struct effect e;
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		classify(&t, printed[i].text, &e);
		print_effect(&e, out);
		fclose(out);
		while (size && text[size - 1] == ' ')
			text[--size] = 0;
		if (strcmp(text, printed[i].expected))
			fail_msg("'%s'\n  expected: %s\n  saw:      %s", printed[i].text,
				printed[i].expected, text);
		free(text);
		ptx_text_free(&t);
	}
}

/* ---- every opcode of real files ---- */

static const char *const opcodes[] = {
#include "opcodes.inc"
};

static void test_effect_knows_opcodes_of_real_files(void **state)
{
	struct module module = {0};
	struct function fn = {.module = &module};

	(void)state;
	for (uint32_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		char copy[256], *rest = copy;
		uint16_t mods[32];
		struct insn insn = {.guard = NONE, .mods = mods};
		struct effect e;

		snprintf(copy, sizeof(copy), "%s", opcodes[i]);
		const char *word = strsep(&rest, ".");

		insn.op = (uint16_t)opcode_find(word, strlen(word));
		while (rest && insn.nmods < 32) {
			word = strsep(&rest, ".");
			mods[insn.nmods++] = (uint16_t)modifier_find(word, strlen(word));
		}
		effect_of(&fn, &insn, &e);
		if (!e.known)
			fail_msg("'%s' is not known", opcodes[i]);
		for (uint32_t k = 0; k < e.ntouches; k++)
			if (e.touches[k].extent == EXTENT_UNKNOWN &&
				e.touches[k].proxy == PROXY_GENERIC && insn.op != OP_tcgen05)
				fail_msg("'%s': its width is not known", opcodes[i]);
	}
}

/* ---- ptxas ---- */

static bool have_ptxas(void)
{
	return system("ptxas --version >/dev/null 2>&1") == 0;
}

static void assemble(const char *target)
{
	uint32_t n, k = 0;
	const struct form *forms = effect_forms(&n);
	char path[] = "/tmp/fencepost-effect-XXXXXX";
	int fd = mkstemp(path);
	FILE *out = fdopen(fd, "w");
	char command[256];

	fprintf(out, head, target);
	for (uint32_t i = 0; i < n; i++)
		if (!(forms[i].flags & FORM_NEWER) && !strcmp(forms[i].target, target))
			fprintf(out, kernel, k++, forms[i].example);
	for (uint32_t i = 0; i < sizeof(printed) / sizeof(*printed); i++)
		if (printed[i].target && !strcmp(printed[i].target, target))
			fprintf(out, kernel, k++, printed[i].text);
	fclose(out);
	snprintf(command, sizeof(command), "ptxas -arch=%s -o /dev/null %s 2>%s.log", target, path,
		path);
	int status = system(command);

	if (status)
		fail_msg("ptxas refuses %s, see %s.log", path, path);
	unlink(path);
	snprintf(command, sizeof(command), "%s.log", path);
	unlink(command);
}

static void test_effect_examples_assemble(void **state)
{
	(void)state;
	if (!have_ptxas())
		skip();
	assemble("sm_90a");
	assemble("sm_100a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_effect_rows_take_their_examples),
		cmocka_unit_test(test_effect_rows_are_sorted_and_explained),
		cmocka_unit_test(test_effect_forms),
		cmocka_unit_test(test_effect_knows_opcodes_of_real_files),
		cmocka_unit_test(test_effect_examples_assemble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
