/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls in line: what a flat function looks like, as printed. A line is the number of the copy and
 * the instruction; "-> n" is the entry of a copy, "pass" an edge past the call, "unknown" one to
 * elsewhere.
 */
#include "analysis/link.h"
#include "parser/dump.h"
#include "ptx_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n"
#define REGS ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<9>; .reg .pred %p<3>;\n"

static void print_edges(const struct linked *l, uint32_t i, FILE *out)
{
	for (uint32_t k = 0; k < l->ncalls; k++) {
		if (l->calls[k].call != i)
			continue;
		if (l->calls[k].entry == l->calls[k].after)
			fprintf(out, " pass");
		else
			fprintf(out, " -> %u", l->calls[k].entry);
	}
	for (uint32_t k = 0; k < l->nunknown_calls; k++)
		if (l->unknown_calls[k] == i)
			fprintf(out, " unknown");
}

static void print_linked(const struct linked *l, FILE *out)
{
	for (uint32_t i = 0; i < l->fn.ninsns; i++) {
		const struct insn *insn = &l->fn.insns[i];

		fprintf(out, "%u ", insn->context);
		if (insn->op == (uint16_t)OP_LINK_MOV) {
			fprintf(out, "move ");
			dump_operand(&l->fn, insn_operand(&l->fn, insn, 0), out);
			fprintf(out, " = ");
			dump_operand(&l->fn, insn_operand(&l->fn, insn, 1), out);
		} else {
			dump_insn(&l->fn, insn, out);
		}
		print_edges(l, i, out);
		fputc('\n', out);
	}
}

static void link_text(struct ptx_text *t, const char *text, struct linked *l)
{
	ptx_text_parse(t, text);
	uint32_t k = ptx_text_find(t, "k");

	if (!link_calls(&t->modules.v[0], k, &t->arena, l, &t->diags))
		fail_msg("not linked: %s", t->diags.v[0].message);
}

struct linking {
	const char *name, *text, *expected;
};

static const struct linking linkings[] = {
#include "linkings.inc"
};

static void test_link_prints(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(linkings) / sizeof(*linkings); i++) {
		struct ptx_text t;
		struct linked l;
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		link_text(&t, linkings[i].text, &l);
		print_linked(&l, out);
		fclose(out);
		if (strcmp(text, linkings[i].expected))
			fail_msg("%s\n--- expected\n%s--- saw\n%s", linkings[i].name,
				linkings[i].expected, text);
		free(text);
		ptx_text_free(&t);
	}
}

/* The shared variable of a function is one variable, whatever the number of its copies. */
static void test_link_keeps_shared_variables_single(void **state)
{
	struct ptx_text t;
	struct linked l;
	uint32_t id[2], n = 0;

	(void)state;
	link_text(&t,
		HEAD ".func f() { .shared .b32 s; .local .b32 q; " REGS
		     "st.shared.b32 [s], %r1; st.local.b32 [q], %r1; ret; }\n"
		     ".entry k() { call f; call f; ret; }\n",
		&l);
	for (uint32_t local = 0; local < 2; local++, n = 0) {
		for (uint32_t i = 0; i < l.fn.ninsns; i++)
			if (l.fn.insns[i].op == OP_st &&
				insn_has(&l.fn.insns[i], local ? MOD_local : MOD_shared))
				id[n++] = operand_child(
					&l.fn, insn_operand(&l.fn, &l.fn.insns[i], 0), 0)
						  ->id;
		assert_int_equal(n, 2);
		assert_true((id[0] == id[1]) == !local);
	}
	ptx_text_free(&t);
}

static void repeat(FILE *out, uint32_t n, const char *text)
{
	for (uint32_t i = 0; i < n; i++)
		fputs(text, out);
}

/* 300 calls of 2000 instructions: the first hundred in line, the others share. Where every call
 * gives its value just before it, the shared formal is seen through; where a label stands between,
 * another call's value could have come in, and it is not. */
static void link_many_calls(const char *between, enum opcode expected)
{
	struct ptx_text t;
	struct linked l;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs(HEAD ".func f(.param .b32 a) { " REGS "ld.param.b32 %r1, [a];\n", out);
	repeat(out, 2000, "add.s32 %r2, %r1, 1;\n");
	fputs("ret; }\n.entry k() { " REGS, out);
	for (uint32_t i = 0; i < 300; i++)
		fprintf(out, "{ .param .b32 p; st.param.b32 [p], 7; %s call f, (p); }\n", between);
	fputs("ret; }\n", out);
	fclose(out);
	link_text(&t, text, &l);
	assert_true(l.shared_copies);
	assert_int_equal(l.ncalls, 300);
	assert_true(l.fn.ninsns > 190000 && l.fn.ninsns < 204000);
	assert_int_equal(l.calls[299].entry, l.calls[298].entry);
	assert_int_equal(l.fn.insns[l.calls[50].entry].op, OP_LINK_MOV);
	assert_int_equal(l.fn.insns[l.calls[299].entry].op, expected);
	free(text);
	ptx_text_free(&t);
}

static void test_link_shares_copies_when_large(void **state)
{
	(void)state;
	link_many_calls("", (enum opcode)OP_LINK_MOV);
	link_many_calls("L:", OP_ld);
}

/* A chain of 100 functions ends in shared copies, each entered by what calls it. */
static void test_link_follows_long_chains(void **state)
{
	struct ptx_text t;
	struct linked l;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fputs(HEAD ".func f0() { bar.sync 0; ret; }\n", out);
	for (uint32_t i = 1; i < 100; i++)
		fprintf(out, ".func f%u() { call f%u; ret; }\n", i, i - 1);
	fputs(".entry k() { call f99; call f99; ret; }\n", out);
	fclose(out);
	link_text(&t, text, &l);
	assert_true(l.shared_copies);
	assert_int_equal(l.nunknown_calls, 0);
	uint32_t bars = 0;

	for (uint32_t i = 0; i < l.fn.ninsns; i++)
		bars += l.fn.insns[i].op == OP_bar;
	assert_int_equal(bars, 1);
	free(text);
	ptx_text_free(&t);
}

static void test_link_leaves_call_free_functions_alone(void **state)
{
	struct ptx_text t;
	struct linked l;

	(void)state;
	link_text(&t, HEAD ".func f() { ret; }\n.entry k() { " REGS "add.s32 %r1, %r2, 1; }\n", &l);
	assert_int_equal(l.fn.ninsns, 1);
	assert_int_equal(l.ncalls, 0);
	assert_ptr_equal(l.fn.insns, l.bodies[0]->insns);
	ptx_text_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link_prints),
		cmocka_unit_test(test_link_keeps_shared_variables_single),
		cmocka_unit_test(test_link_shares_copies_when_large),
		cmocka_unit_test(test_link_follows_long_chains),
		cmocka_unit_test(test_link_leaves_call_free_functions_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
