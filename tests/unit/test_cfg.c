/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow graphs of small programs, written as one word per instruction: "." falls through, "bN"
 * branches to instruction N, "cN" does so under a guard, "r" returns, "R" returns under a guard,
 * "x" exits, "t" traps.
 */
#include "analysis/cfg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Runs a test body with an arena; running out of memory fails the test. */
static void with_arena(void (*body)(struct arena *))
{
	jmp_buf jump;
	struct arena arena;

	arena_init(&arena, &jump);
	if (setjmp(jump))
		fail_msg("out of memory");
	body(&arena);
	arena_free(&arena);
}

struct program {
	struct module module;
	struct linked linked;
	struct label *labels;
	struct operand *operands;
};

static void put(struct program *p, uint32_t i, char what, uint32_t to)
{
	struct insn *insn = &p->linked.fn.insns[i];

	insn->guard = what == 'c' || what == 'R' ? 0 : NONE;
	insn->op = what == 'b' || what == 'c'	? OP_bra
		   : what == 'r' || what == 'R' ? OP_ret
		   : what == 'x'		? OP_exit
		   : what == 't'		? OP_trap
						: OP_mov;
	insn->first = i;
	insn->count = insn->op == OP_bra;
	p->operands[i] = (struct operand){.kind = OPERAND_LABEL, .id = i};
	p->labels[i] = (struct label){.insn = to, .table = NONE};
}

static void program_new(struct program *p, struct arena *arena, uint32_t n)
{
	*p = (struct program){0};
	p->labels = ARENA_NEW(arena, struct label, n);
	p->operands = ARENA_NEW(arena, struct operand, n);
	p->linked.fn = (struct function){.module = &p->module,
		.insns = ARENA_NEW(arena, struct insn, n),
		.ninsns = n,
		.operands = p->operands,
		.noperands = n,
		.labels = p->labels,
		.nlabels = n};
}

static void program_read(struct program *p, struct arena *arena, const char *text)
{
	uint32_t n = 0, i = 0;

	for (const char *c = text; *c; c++)
		n += *c != ' ' && (c == text || c[-1] == ' ');
	program_new(p, arena, n);
	for (const char *c = text; *c;) {
		char what = *c++;

		put(p, i++, what, (uint32_t)strtoul(c, NULL, 10));
		while (*c && *c++ != ' ')
			;
	}
}

/* "first+count>successors idom ipdom depth;" per block; `-` is none, `!` leaves the function. */
static void print_cfg(const struct cfg *cfg, char *out, size_t size)
{
	FILE *f = fmemopen(out, size, "w");

	for (uint32_t k = 0; k < cfg->n; k++) {
		const struct block *b = &cfg->blocks[k];

		fprintf(f, "%s%u+%u>", k ? "; " : "", b->first, b->count);
		for (uint32_t i = 0; i < b->succ.n; i++)
			fprintf(f, "%s%u", i ? "," : "", b->succ.v[i]);
		fprintf(f, "%s %d %d", b->exits ? "!" : "", (int)b->idom, (int)b->ipdom);
		if (b->loop_depth)
			fprintf(f, " L%u@%u", b->loop_depth, b->loop_head);
	}
	fclose(f);
}

struct row {
	const char *name, *program, *expected;
};

static const struct row rows[] = {
	{"straight", ". . r", "0+3>! -1 -1"},
	{"empty body", "", "0+0>! -1 -1"},
	{"falls off the end", ". .", "0+2>1 -1 1; 2+0>! 0 -1"},
	{"guarded branch to the end", "c2 .", "0+1>2,1 -1 2; 1+1>2 0 2; 2+0>! 0 -1"},
	{"diamond", "c3 . b4 . r", "0+1>2,1 -1 3; 1+2>3 0 3; 3+1>3 0 3; 4+1>! 0 -1"},
	{"unreachable code is in no block", "b3 . . r", "0+1>1 -1 1; 3+1>! 0 -1"},
	{"branch to the next instruction", "c1 r", "0+1>1,1 -1 1; 1+1>! 0 -1"},
	{"guarded return falls through", "R . r", "0+1>1! -1 -1; 1+2>! 0 -1"},
	{"loop", ". . c1 r", "0+1>1 -1 1; 1+2>1,2 0 2 L1@1; 3+1>! 1 -1"},
	{"top-tested nest", "c5 c4 . b1 b0 r",
		"0+1>4,1 -1 4 L1@0; 1+1>3,2 0 3 L2@1; 2+2>1 1 1 L2@1; 4+1>0 1 0 L1@0; 5+1>! 0 -1"},
	{"two entries, one cycle", "c3 . c5 . b2 r",
		"0+1>2,1 -1 3; 1+1>3 0 3; 3+2>3 0 3 L1@2; 2+1>4,2 0 4 L1@2; 5+1>! 3 -1"},
	{"a trapping arm is no way out", "c3 . r t", "0+1>2,1 -1 1; 1+2>! 0 -1; 3+1>! 0 -1"},
	{"all arms trap", "c3 . t t", "0+1>2,1 -1 -1; 1+2>! 0 -1; 3+1>! 0 -1"},
	{"endless loop", "c2 b1 r", "0+1>2,1 -1 -1; 1+1>1 0 -1 L1@1; 2+1>! 0 -1"},
	{"self loop at the entry", "c0 r", "0+1>0,1 -1 1 L1@0; 1+1>! 0 -1"},
};

static void small_graphs(struct arena *arena)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct program p;
		struct cfg cfg;
		char text[1000];

		program_read(&p, arena, rows[i].program);
		cfg_build(&p.linked, NULL, arena, &cfg);
		print_cfg(&cfg, text, sizeof(text));
		if (strcmp(text, rows[i].expected))
			fail_msg("%s:\n  expected %s\n  got      %s", rows[i].name,
				rows[i].expected, text);
	}
}

static void test_cfg_small_graphs(void **state)
{
	(void)state;
	with_arena(small_graphs);
}

/* A call of a copy that two sites share: both continue where they came from, and only the root's
 * `ret` leaves. */
static void linked_calls(struct arena *arena)
{
	struct program p;
	struct cfg cfg;
	char text[1000];
	struct linked_call calls[] = {{0, 4, 1, 0, 1, false}, {2, 4, 3, 0, 1, false}};
	uint32_t returns[] = {5};

	program_read(&p, arena, ". . . r . r");
	p.linked.calls = calls;
	p.linked.ncalls = 2;
	p.linked.returns = returns;
	p.linked.nreturns = 1;
	cfg_build(&p.linked, NULL, arena, &cfg);
	print_cfg(&cfg, text, sizeof(text));
	assert_string_equal(text, "0+1>1 -1 1; 4+2>3,2 0 2 L1@1; 3+1>! 1 -1; 1+2>1 1 1 L1@1");
}

static void test_cfg_linked_calls_return_behind_their_sites(void **state)
{
	(void)state;
	with_arena(linked_calls);
}

/* The definition of dominance, by taking a vertex away, on random graphs. */
static bool reaches_without(const struct cfg *cfg, uint32_t without, uint32_t to)
{
	bool seen[64] = {false};
	uint32_t stack[64], n = 0;

	if (without == 0)
		return false;
	stack[n++] = 0;
	seen[0] = true;
	while (n) {
		const struct block *b = &cfg->blocks[stack[--n]];

		for (uint32_t i = 0; i < b->succ.n; i++) {
			uint32_t s = b->succ.v[i];

			if (s != without && !seen[s]) {
				seen[s] = true;
				stack[n++] = s;
			}
		}
	}
	return seen[to];
}

static bool leaves_without(const struct cfg *cfg, uint32_t without, uint32_t from)
{
	bool seen[64] = {false};
	uint32_t stack[64], n = 0;

	if (from == without)
		return false;
	stack[n++] = from;
	seen[from] = true;
	while (n) {
		const struct block *b = &cfg->blocks[stack[--n]];

		if (b->exits)
			return true;
		for (uint32_t i = 0; i < b->succ.n; i++) {
			uint32_t s = b->succ.v[i];

			if (s != without && !seen[s]) {
				seen[s] = true;
				stack[n++] = s;
			}
		}
	}
	return false;
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void check_dominance(const struct cfg *cfg)
{
	bool all_leave = true;

	for (uint32_t a = 0; a < cfg->n; a++)
		all_leave &= leaves_without(cfg, NONE, a);
	for (uint32_t a = 0; a < cfg->n; a++)
		for (uint32_t b = 0; b < cfg->n; b++) {
			bool dominates = a == b || !reaches_without(cfg, a, b);
			bool post = a == b || !leaves_without(cfg, a, b);

			assert_int_equal(cfg_dominates(cfg, a, b), dominates);
			if (all_leave)
				assert_int_equal(cfg_postdominates(cfg, a, b), post);
		}
}

static void random_graphs(struct arena *arena)
{
	uint32_t seed = 7;

	for (uint32_t round = 0; round < 400; round++) {
		uint32_t n = 2 + next_random(&seed) % 28;
		struct program p;
		struct cfg cfg;

		program_new(&p, arena, n);
		for (uint32_t i = 0; i < n; i++) {
			static const char kinds[] = "..cccbrR";

			put(&p, i, kinds[next_random(&seed) % 8], next_random(&seed) % n);
		}
		cfg_build(&p.linked, NULL, arena, &cfg);
		check_dominance(&cfg);
		arena_reset(arena);
	}
}

static void test_cfg_dominance_matches_its_definition(void **state)
{
	(void)state;
	with_arena(random_graphs);
}

/* Seconds for a graph of n blocks: a ladder of early exits, nested loops, or random jumps. */
static double build_large(struct arena *arena, uint32_t n, char shape)
{
	struct program p;
	struct cfg cfg;
	uint32_t seed = 1;

	program_new(&p, arena, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t to = shape == 'l'   ? n - 1
			      : shape == 'n' ? n - 1 - i
					     : next_random(&seed) % n;

		put(&p, i, i == n - 1 ? 'r' : 'c', to);
	}
	clock_t start = clock();

	cfg_build(&p.linked, NULL, arena, &cfg);
	double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;

	assert_true(cfg.n > n / 2);
	return seconds;
}

static void large_graphs(struct arena *arena)
{
	/* quadratic would be minutes; the bound leaves room for slow machines and sanitizers */
	for (const char *shape = "lnr"; *shape; shape++)
		assert_true(build_large(arena, 100000, *shape) < 5.0);
}

static void test_cfg_large_graphs_take_no_quadratic_time(void **state)
{
	(void)state;
	with_arena(large_graphs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cfg_small_graphs),
		cmocka_unit_test(test_cfg_linked_calls_return_behind_their_sites),
		cmocka_unit_test(test_cfg_dominance_matches_its_definition),
		cmocka_unit_test(test_cfg_large_graphs_take_no_quadratic_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
