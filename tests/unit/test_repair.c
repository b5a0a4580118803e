/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of a repair on random kernels: it leaves no edge, a second one changes nothing, none
 * of its fences can go, and all that with every placement and with narrowing and removal switched
 * on.
 */
#include "lib/fencepost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka needs the above */
#include <cmocka.h>

#define ROUNDS 200 /* FENCEPOST_ROUNDS in the environment asks for more */
#define TEXT_MAX 65536

static uint64_t seed;

static uint32_t pick(uint32_t n)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

struct program {
	char text[TEXT_MAX];
	size_t n;
	uint32_t labels;
	uint32_t role; /* 0: all threads, 1 and 2: the lower and the upper half */
	bool calls;    /* of the function `f` */
};

__attribute__((format(printf, 2, 3))) static void say(struct program *p, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	int n = vsnprintf(p->text + p->n, sizeof(p->text) - p->n, fmt, args);

	va_end(args);
	assert_true(n >= 0 && (size_t)n < sizeof(p->text) - p->n);
	p->n += (size_t)n;
}

static void simple(struct program *p)
{
	static const char *const fences[] = {"fence.proxy.async", "fence.proxy.async.shared::cta",
		"fence.proxy.async.shared::cta", "fence.proxy.async.global",
		"fence.proxy.async.shared::cluster"};
	uint32_t tile = pick(2), part = pick(2) * 512, label;

	switch (pick(11)) {
	case 0:
	case 1:
		say(p, "\tst.shared.u32 [%%a%u+%u], %%r5;\n", tile, part);
		break;
	case 2:
		say(p, "\tld.shared.u32 %%r9, [%%a%u+%u];\n\tadd.s32 %%r10, %%r10, %%r9;\n", tile,
			part);
		break;
	case 3:
		say(p, "\tst.global.u32 [%%rd4], %%r5;\n");
		break;
	case 4:
	case 5:
		if (p->role)
			say(p, "\tbar.sync %u, 64;\n", p->role + 2);
		else
			say(p, "\tbar.sync 0;\n");
		break;
	case 6:
		say(p, "%s\t%s;\n", pick(5) ? "" : "\t@%p1", fences[pick(5)]);
		break;
	case 7:
		label = p->labels++;
		say(p, "\t@%%p1 bra L%u;\n\tadd.s32 %%r11, %%t%u, %u;\n", label, tile, part);
		say(p, "\tcp.async.bulk.global.shared::cta.bulk_group [%%rd2], [%%r11], 512;\n");
		say(p, "\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\nL%u:\n",
			label);
		break;
	case 8:
		label = p->labels++;
		say(p, "\t@%%p1 bra L%u;\n\tcp.async.bulk.shared::cluster.global", label);
		say(p, ".mbarrier::complete_tx::bytes [%%t%u], [%%rd2], 512, [%%r3];\nL%u:\n", tile,
			label);
		break;
	case 9:
		say(p, "\tcp.async.ca.shared.global [%%a%u+%u], [%%rd4], 4;\n", tile, part);
		if (pick(3))
			say(p, "\tcp.async.wait_all;\n");
		else
			say(p, "\tcp.async.mbarrier.arrive.noinc.shared::cta.b64 [%%r4];\n");
		break;
	default:
		if (p->calls && !p->role)
			say(p, "\t{\n\t.param .b64 pa;\n\t.param .b32 pb;\n\tst.param.b64 [pa], %%rd1;\n"
			       "\tst.param.b32 [pb], %%r20;\n\tcall.uni f, (pa, pb);\n\t}\n");
		else
			say(p, "\tadd.s32 %%r12, %%r12, 1;\n");
		break;
	}
}

static void statements(struct program *p, uint32_t depth);

/* One half of the threads hands over to the other, by a named barrier or an mbarrier. */
static void roles(struct program *p)
{
	uint32_t other = p->labels++, end = p->labels++, wait = p->labels++, how = pick(2);

	say(p, "\t@%%p4 bra L%u;\n", other);
	p->role = 1;
	statements(p, 1);
	say(p, how ? "\tbar.arrive 1, 128;\n" : "\tmbarrier.arrive.shared::cta.b64 _, [%%r4];\n");
	say(p, "\tbra.uni L%u;\nL%u:\n", end, other);
	p->role = 2;
	if (pick(2))
		statements(p, 1);
	if (how) {
		say(p, "\tbar.sync 1, 128;\n");
	} else {
		say(p, "L%u:\n\tmbarrier.try_wait.parity.shared::cta.b64 %%p5, [%%r4], 0;\n", wait);
		say(p, "\t@!%%p5 bra L%u;\n", wait);
	}
	statements(p, 1);
	say(p, "L%u:\n", end);
	p->role = 0;
}

static const char shared[] = "\t.shared .align 128 .b8 one[1024];\n\t.shared .align 128 .b8 two[1024];\n"
			     "\t.shared .align 8 .b64 full;\n\t.shared .align 8 .b64 ready;\n";

/* Barriers stay under conditions that all threads share. No two conditions are the same: the
 * analysis sees more of two equal ones once a fence stands under one of them. */
static void nested(struct program *p, uint32_t depth)
{
	uint32_t label = p->labels++, other = p->labels++;

	if (pick(2)) {
		say(p, "\tmov.u32 %%c%u, 0;\nL%u:\n", depth, label);
		statements(p, depth + 1);
		say(p, "\tadd.s32 %%c%u, %%c%u, 1;\n\tsetp.lt.s32 %%p3, %%c%u, %%r20;\n", depth,
			depth, depth);
		say(p, "\t@%%p3 bra L%u;\n", label);
		return;
	}
	say(p, "\tsetp.gt.s32 %%p2, %%r20, %u;\n\t@%%p2 bra L%u;\n", label + 10, label);
	statements(p, depth + 1);
	if (pick(2)) {
		say(p, "\tbra.uni L%u;\nL%u:\n", other, label);
		statements(p, depth + 1);
		say(p, "L%u:\n", other);
	} else {
		say(p, "L%u:\n", label);
	}
}

static void statements(struct program *p, uint32_t depth)
{
	for (uint32_t i = 2 + pick(5); i > 0; i--) {
		if (depth == 0 && !pick(6))
			roles(p);
		else if (depth < 3 && !pick(4))
			nested(p, depth);
		else
			simple(p);
	}
}

static void body(struct program *p, bool own)
{
	say(p, "{\n\t.reg .pred %%p<8>;\n\t.reg .b32 %%r<24>;\n\t.reg .b32 %%t<2>;\n\t.reg .b32 "
	       "%%a<2>;\n");
	say(p, "\t.reg .b32 %%c<4>;\n\t.reg .b64 %%rd<8>;\n");
	if (own)
		say(p, "%s", shared);
	say(p, "\tld.param.u64 %%rd1, [a];\n\tld.param.u32 %%r20, [b];\n\tcvta.to.global.u64 "
	       "%%rd2, %%rd1;\n");
	say(p, "\tmov.u32 %%r1, %%tid.x;\n\tmov.u32 %%t0, one;\n\tmov.u32 %%t1, two;\n\tmov.u32 "
	       "%%r3, full;\n");
	say(p, "\tshl.b32 %%r5, %%r1, 2;\n\tadd.s32 %%a0, %%t0, %%r5;\n\tadd.s32 %%a1, %%t1, "
	       "%%r5;\n");
	say(p, "\tmul.wide.u32 %%rd3, %%r1, 4;\n\tadd.s64 %%rd4, %%rd2, %%rd3;\n");
	say(p, "\tmov.u32 %%r10, 0;\n\tmov.u32 %%r12, 0;\n");
	say(p, "\tmov.u32 %%r4, ready;\n\tsetp.ge.s32 %%p4, %%r1, 64;\n");
	say(p, "\tsetp.ne.s32 %%p1, %%r1, 0;\n");
	statements(p, 0);
	say(p, "\tst.global.u32 [%%rd4], %%r10;\n\tst.global.u32 [%%rd4+4], %%r12;\n\tret;\n}\n");
}

static void start(struct program *p, uint64_t round)
{
	seed = round * UINT64_C(0x9e3779b97f4a7c15);
	*p = (struct program){0};
	say(p, ".version 8.6\n.target sm_90a\n.address_size 64\n");
}

static void make(struct program *p, uint64_t round)
{
	start(p, round);
	say(p, ".visible .entry k(.param .u64 a, .param .u32 b)\n.maxntid 128, 1, 1\n");
	body(p, true);
}

/* Kernels that call the same function and share its memory. */
static void make_kernels(struct program *p, uint64_t round)
{
	start(p, round);
	say(p, "%s", shared);
	say(p, ".func f(.param .u64 a, .param .u32 b)\n");
	body(p, false);
	p->calls = true;
	for (uint32_t k = 0; k < 2 + round % 2; k++) {
		say(p, ".visible .entry k%u(.param .u64 a, .param .u32 b)\n.maxntid 128, 1, 1\n", k);
		body(p, false);
	}
}

struct setting {
	const char *name, *value;
};

static struct fencepost_result *run(const char *text, const struct setting *setting)
{
	struct fencepost_options options;
	struct fencepost_result *result;
	char error[128];

	fencepost_options_init(&options, sizeof(options));
	for (; setting && setting->name; setting++)
		if (!fencepost_options_set(
			    &options, setting->name, setting->value, error, sizeof(error)))
			fail_msg("%s", error);
	assert_int_equal(fencepost_run(&options, "k", text, strlen(text), &result), FENCEPOST_OK);
	return result;
}

/* cmocka cuts long messages. */
static void show(uint64_t round, const char *what, const char *text)
{
	print_error("round %llu: %s in\n", (unsigned long long)round, what);
	for (; *text; text++)
		print_error("%c", *text);
}

static uint32_t missing(const char *text)
{
	static const struct setting look[] = {{"fix", "none"}, {NULL, NULL}};
	struct fencepost_result *result = run(text, look);
	uint32_t n = result->edges_left;

	fencepost_free(result);
	return n;
}

/* Where the i-th inserted fence begins in the output. */
static size_t place_of(const struct fencepost_result *result, uint32_t i)
{
	size_t at = result->fences[i]->offset;

	for (uint32_t k = 0; k < i; k++) /* the list is by place */
		at += result->fences[k]->nbytes - result->fences[k]->length;
	return at;
}

static uint32_t missing_without(const struct fencepost_result *result, uint32_t i)
{
	size_t at = place_of(result, i), n = result->fences[i]->nbytes;
	char *less = strdup(result->ptx);

	memmove(less + at, less + at + n, strlen(less + at + n) + 1);
	uint32_t left = missing(less);

	free(less);
	return left;
}

/* The audit of the output: no edge of the writer's side is left to a fence behind the hand-off. */
static bool is_redundant(const struct fencepost_result *result, uint32_t i)
{
	static const struct setting look[] = {{"fix", "none"}, {NULL, NULL}};
	size_t at = place_of(result, i), end = at + result->fences[i]->nbytes;
	struct fencepost_result *audit = run(result->ptx, look);
	bool found = false;

	for (uint32_t k = 0; k < audit->nfindings; k++) {
		const struct fencepost_finding *f = audit->findings[k];

		found |= !strcmp(fencepost_rule_name(f->rule), "fence-redundant") &&
			 f->fence->begin >= at && f->fence->begin < end;
	}
	fencepost_free(audit);
	return found;
}

enum side { ANY_SIDE, WRITER_SIDE };

static bool is_spare(const struct fencepost_result *result, uint32_t i, enum side side)
{
	return !missing_without(result, i) && (side == ANY_SIDE || is_redundant(result, i));
}

/* Every finding that a fence can settle names one that is put in the end. */
static bool all_have_fences(const struct fencepost_result *result)
{
	for (uint32_t i = 0; i < result->nfindings; i++) {
		const struct fencepost_finding *f = result->findings[i];
		bool found = strncmp(fencepost_rule_name(f->rule), "missing-", 8) != 0 || f->unfixable;

		for (uint32_t k = 0; k < result->nfences && !found; k++)
			for (uint32_t x = 0; x < result->fences[k]->nfixes; x++)
				found |= result->fences[k]->fixes[x] == i;
		if (!found)
			return false;
	}
	return true;
}

static void check(uint64_t round, const char *text, const struct setting *setting, bool minimal,
	enum side side)
{
	struct fencepost_result *result = run(text, setting), *again = run(result->ptx, setting);

	const char *wrong = NULL;

	if (result->edges_left || missing(result->ptx))
		wrong = "edges are left";
	else if (strcmp(result->ptx, again->ptx) != 0)
		wrong = "a second run changes something";
	else if (!all_have_fences(result))
		wrong = "a finding has no fence";
	for (uint32_t i = 0; minimal && !wrong && i < result->nfences; i++)
		if (is_spare(result, i, side))
			wrong = "an inserted fence is spare";
	if (wrong) {
		show(round, wrong, result->ptx);
		fail();
	}
	fencepost_free(again);
	fencepost_free(result);
}

static uint64_t rounds_asked(uint64_t usual)
{
	const char *more = getenv("FENCEPOST_ROUNDS");

	return more ? strtoull(more, NULL, 10) : usual;
}

static void test_repair_is_complete_stable_and_minimal(void **state)
{
	static const struct setting by_async[] = {{"placement", "async"}, {NULL, NULL}};
	static const struct setting all[] = {
		{"fix", "missing,misplaced,wide,redundant"}, {NULL, NULL}};
	static const struct setting strict[] = {{"strict", NULL}, {NULL, NULL}};
	static struct program p;
	uint64_t rounds = rounds_asked(ROUNDS), with_edges = 0;

	(void)state;
	for (uint64_t round = 1; round <= rounds; round++) {
		make(&p, round);
		with_edges += missing(p.text) > 0;
		check(round, p.text, NULL, true, WRITER_SIDE);
		check(round, p.text, by_async, true, ANY_SIDE);
		check(round, p.text, all, false, ANY_SIDE);
		check(round, p.text, strict, false, ANY_SIDE);
	}
	print_message("%llu of %llu programs lacked a fence\n", (unsigned long long)with_edges,
		(unsigned long long)rounds);
	assert_true(with_edges > rounds / 4);
}

/* Roots are planned apart, and what one of them puts into a function that all run may do for another's fence. */
static void test_kernels_with_one_function_are_stable(void **state)
{
	static const struct setting all[] = {
		{"fix", "missing,misplaced,wide,redundant"}, {NULL, NULL}};
	static struct program p;
	uint64_t rounds = rounds_asked(ROUNDS / 4);

	(void)state;
	for (uint64_t round = 1; round <= rounds; round++) {
		make_kernels(&p, round);
		check(round, p.text, NULL, false, ANY_SIDE);
		check(round, p.text, all, false, ANY_SIDE);
	}
}

/* So many stores that groups of them are followed, half of them fenced: an edge of the group is open anyway, and
 * the fence is needed all the same. `extra` is a fence that nothing needs. */
static void make_crowd(struct program *p, const char *extra)
{
	static const char copy[] = "\tcp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r2], 4096;\n"
				   "\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\n";

	start(p, 1);
	say(p, ".visible .entry k(.param .u64 a)\n.maxntid 1, 1, 1\n{\n\t.reg .pred %%p<2>;\n");
	say(p, "\t.reg .b32 %%r<4>;\n\t.reg .b64 %%rd<4>;\n\t.shared .align 128 .b8 buf[4096];\n");
	say(p, "\tld.param.u64 %%rd1, [a];\n\tcvta.to.global.u64 %%rd2, %%rd1;\n\tmov.u32 %%r2, buf;\n");
	say(p, "\tld.global.u32 %%r1, [%%rd2];\n\tsetp.ne.s32 %%p1, %%r1, 0;\n");
	for (uint32_t half = 0; half < 2; half++) {
		for (uint32_t i = 0; i < 600; i++)
			say(p, "\t@%%p1 st.shared.u32 [buf+%u], %%r1;\n", 4 * i);
		say(p, "%s%s%s", half ? "\tfence.proxy.async.shared::cta;\n" : "", half ? extra : "", copy);
	}
	say(p, "\tret;\n}\n");
}

static uint32_t count_fences(const char *text)
{
	uint32_t n = 0;

	while ((text = strstr(text, "fence.proxy.async")) != NULL)
		n++, text++;
	return n;
}

static void expect_fences(const char *text, const char *fix, uint32_t n)
{
	const struct setting settings[] = {{"fix", fix}, {NULL, NULL}};
	struct fencepost_result *result = run(text, settings);

	assert_int_equal(count_fences(result->ptx), n);
	for (uint32_t i = 0; i < result->nfindings && n == count_fences(text); i++)
		assert_string_not_equal(
			fencepost_rule_name(result->findings[i]->rule), "fence-redundant");
	fencepost_free(result);
}

static void test_fence_of_a_group_is_needed(void **state)
{
	static struct program p;

	(void)state;
	make_crowd(&p, "");
	expect_fences(p.text, "redundant", 1);
	expect_fences(p.text, "missing,redundant", 2);
	make_crowd(&p, "\tfence.proxy.async.shared::cta;\n");
	expect_fences(p.text, "missing,redundant", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fence_of_a_group_is_needed),
		cmocka_unit_test(test_kernels_with_one_function_are_stable),
		cmocka_unit_test(test_repair_is_complete_stable_and_minimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
