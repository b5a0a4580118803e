/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: predicates in single threads. Out: the instructions and blocks that threads come to. Branches
 * count one by one along the dominators of a block, each where the edge behind it is the one way
 * in. Invariant: what is kept of an answer is the answer, so that asking again costs nothing.
 */
#include "analysis/thread_truths.h"
#include "analysis/value_private.h"

#include <string.h>

/* Of one node. The same few predicates are asked about for every thread on every way. */
struct kept_truths {
	struct thread_set asked, yes, no;		 /* by thread; neither: open */
	uint32_t asked_elected, yes_elected, no_elected; /* by warp */
};

static struct values *keeper(const struct values *vs)
{
	return (struct values *)(uintptr_t)vs; /* what is kept changes no answer */
}

/* NULL for a node of which nothing is known. */
static const struct kept_truths *kept_of(const struct values *vs, uint32_t node)
{
	static const struct kept_truths nothing;
	struct values *m = keeper(vs);

	if (node == NONE || node >= vs->nsolved)
		return NULL;
	if (!m->truths)
		m->truths = ARENA_NEW(m->arena, struct kept_truths *, m->nsolved);
	return m->truths[node] ? m->truths[node] : &nothing;
}

/* The same for all threads, their elected ones included: one for all such nodes. */
static struct kept_truths *kept_alike(struct values *vs, enum truth truth)
{
	struct kept_truths *kept = vs->truths_alike[truth];

	if (kept)
		return kept;
	kept = vs->truths_alike[truth] = ARENA_NEW(vs->arena, struct kept_truths, 1);
	memset(&kept->asked, 0xff, sizeof(kept->asked));
	memset(&kept->yes, truth == TRUTH_YES ? 0xff : 0, sizeof(kept->yes));
	memset(&kept->no, truth == TRUTH_NO ? 0xff : 0, sizeof(kept->no));
	kept->asked_elected = UINT32_MAX;
	kept->yes_elected = truth == TRUTH_YES ? UINT32_MAX : 0;
	kept->no_elected = truth == TRUTH_NO ? UINT32_MAX : 0;
	return kept;
}

static void keep_threads(
	struct kept_truths *kept, uint32_t word, uint64_t threads, enum truth truth)
{
	kept->asked.w[word] |= threads;
	if (truth == TRUTH_YES)
		kept->yes.w[word] |= threads;
	if (truth == TRUTH_NO)
		kept->no.w[word] |= threads;
}

/* The threads [tid, end). */
static void keep_range(struct kept_truths *kept, uint32_t tid, uint32_t end, enum truth truth)
{
	for (uint32_t next; tid < end; tid = next) {
		next = (tid / 64 + 1) * 64 < end ? (tid / 64 + 1) * 64 : end;
		keep_threads(kept, tid / 64, UINT64_MAX >> (64 - (next - tid)) << tid % 64, truth);
	}
}

static const struct kept_truths *ask(const struct values *vs, struct thread t, uint32_t node)
{
	struct values *m = keeper(vs);
	uint32_t alike, warp = t.tid / 32;
	enum truth truth = thread_compute(vs, t, node, &alike);

	if (alike == THREADS_MAX)
		return m->truths[node] = kept_alike(m, truth);
	if (!m->truths[node])
		m->truths[node] = ARENA_NEW(m->arena, struct kept_truths, 1);
	struct kept_truths *kept = m->truths[node];

	if (alike == 32)
		keep_threads(kept, t.tid / 64, UINT64_C(0xffffffff) << (t.tid & 32), truth);
	else if (!t.elected)
		keep_range(kept, t.tid, thread_compare_end(vs, t.tid, node), truth);
	if (t.elected || (alike == 32 && truth != TRUTH_OPEN)) { /* the elected one is one of its warp */
		kept->asked_elected |= UINT32_C(1) << warp;
		kept->yes_elected |= (uint32_t)(truth == TRUTH_YES) << warp;
		kept->no_elected |= (uint32_t)(truth == TRUTH_NO) << warp;
	}
	return kept;
}

static enum truth holds(const struct values *vs, struct thread t, uint32_t node)
{
	const struct kept_truths *kept = t.tid < THREADS_MAX ? kept_of(vs, node) : NULL;
	uint32_t warp = t.tid / 32;

	if (!kept)
		return TRUTH_OPEN;
	if (t.elected) {
		if (!(kept->asked_elected >> warp & 1))
			kept = ask(vs, t, node);
		return kept->no_elected >> warp & 1    ? TRUTH_NO
		       : kept->yes_elected >> warp & 1 ? TRUTH_YES
						       : TRUTH_OPEN;
	}
	if (!thread_set_has(&kept->asked, t.tid))
		kept = ask(vs, t, node);
	return thread_set_has(&kept->no, t.tid)	   ? TRUTH_NO
	       : thread_set_has(&kept->yes, t.tid) ? TRUTH_YES
						   : TRUTH_OPEN;
}

static enum truth opposite(enum truth t, bool negated)
{
	return t == TRUTH_OPEN || !negated ? t : t == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
}

bool threads_numbered(const struct values *vs, bool *assumed)
{
	bool known = vs->threads[1] == 1 && vs->threads[2] == 1;

	*assumed = !known;
	return !vs->unsolved && (known || (vs->flat && vs->options->assume & ASSUME_FLAT_BLOCK));
}

uint32_t threads_most(const struct values *vs, bool *exact)
{
	uint32_t n = vs->threads_total;

	*exact = vs->exact_threads && n && n <= THREADS_MAX;
	return n && n <= THREADS_MAX ? n : THREADS_MAX;
}

enum truth thread_runs(const struct values *vs, struct thread t, uint32_t insn)
{
	if (vs->fn->insns[insn].guard == NONE)
		return TRUTH_YES;
	return opposite(holds(vs, t, vs->ssa.guard_of[insn]), vs->fn->insns[insn].guard_negated);
}

/* The branch by which a block with two ways ends, or NONE: no guard says who takes which. */
static uint32_t branch_of(const struct values *vs, uint32_t b)
{
	const struct block *block = &vs->cfg->blocks[b];

	if (block->succ.n != 2 || !block->count || block->succ.v[0] == block->succ.v[1])
		return NONE;
	uint32_t last = block->first + block->count - 1;

	return vs->fn->insns[last].op == OP_bra && vs->fn->insns[last].guard != NONE ? last : NONE;
}

enum truth thread_takes(const struct values *vs, struct thread t, uint32_t b, uint32_t i)
{
	uint32_t branch = branch_of(vs, b);

	if (branch == NONE)
		return vs->cfg->blocks[b].succ.n == 1 ? TRUTH_YES : TRUTH_OPEN;
	return opposite(thread_runs(vs, t, branch), i == 1);
}

/* The block that alone leads to b, and the edge; NONE: there are others. */
static uint32_t way_in(const struct cfg *cfg, uint32_t b, uint32_t *edge)
{
	if (cfg->blocks[b].pred.n != 1)
		return NONE;
	uint32_t p = cfg->blocks[b].pred.v[0];

	*edge = cfg->blocks[p].succ.v[0] != b;
	return p;
}

bool thread_reaches(const struct values *vs, struct thread t, uint32_t b)
{
	const struct cfg *cfg = vs->cfg;
	uint32_t edge;

	for (; b != NONE && b; b = cfg->blocks[b].idom) {
		uint32_t p = way_in(cfg, b, &edge);

		if (p != NONE && thread_takes(vs, t, p, edge) == TRUTH_NO)
			return false;
	}
	return true;
}

/* Takes out those for which the guard never holds, or with `instead` always does. */
static void take_out(const struct values *vs, uint32_t insn, bool instead, struct thread_set *set)
{
	uint32_t node = vs->ssa.guard_of[insn];
	const struct kept_truths *kept = kept_of(vs, node);
	bool negated = vs->fn->insns[insn].guard_negated;

	if (!kept)
		return;
	for (uint32_t w = 0; w < THREADS_MAX / 64; w++) {
		uint64_t open = set->w[w] & ~kept->asked.w[w];

		for (; open; open = set->w[w] & ~kept->asked.w[w]) {
			uint16_t tid = (uint16_t)(w * 64 + (uint32_t)__builtin_ctzll(open));

			kept = ask(vs, (struct thread){tid, false}, node);
		}
		set->w[w] &= ~(negated == instead ? kept->no : kept->yes).w[w];
	}
}

/* The same for those whose warp the guard does not part: of each warp one thread is asked. */
static void take_out_warps(const struct values *vs, uint32_t insn, bool instead, struct thread_set *set)
{
	uint32_t node = vs->ssa.guard_of[insn];
	const struct kept_truths *kept = kept_of(vs, node);
	bool negated = vs->fn->insns[insn].guard_negated;

	for (uint32_t t = kept ? thread_set_next(set, 0) : THREADS_MAX; t < THREADS_MAX;
		t = thread_set_next(set, (t / 32 + 1) * 32)) {
		uint64_t warp = UINT64_C(0xffffffff) << (t & 32);

		if (!thread_set_has(&kept->asked, t))
			kept = ask(vs, (struct thread){(uint16_t)t, false}, node);
		const struct thread_set *out = negated == instead ? &kept->no : &kept->yes;

		if (!(warp & ~out->w[t / 64]))
			set->w[t / 64] &= ~warp;
	}
}

static const struct thread_set *all_threads(const struct values *vs)
{
	struct thread_set *all = ARENA_NEW(vs->arena, struct thread_set, 1);
	bool exact;

	for (uint32_t t = 0, most = threads_most(vs, &exact); t < most; t++)
		thread_set_add(all, t);
	return all;
}

/* From those that reach its dominator. */
static const struct thread_set *find_reach(
	const struct values *vs, uint32_t b, const struct thread_set *above, bool warps)
{
	uint32_t edge, p = way_in(vs->cfg, b, &edge), branch = p == NONE ? NONE : branch_of(vs, p);

	if (branch == NONE)
		return above;
	struct thread_set set = *above;

	(warps ? take_out_warps : take_out)(vs, branch, edge == 1, &set);
	if (thread_set_within(above, &set))
		return above;
	return memcpy(ARENA_UNSET(vs->arena, struct thread_set, 1), &set, sizeof(set));
}

static const struct thread_set *reach_of(
	const struct values *vs, uint32_t block, const struct thread_set ***kept, bool warps)
{
	struct values *m = keeper(vs);
	const struct cfg *cfg = vs->cfg;
	uint32_t n = 0, *stack;

	if (!*kept) {
		*kept = ARENA_NEW(m->arena, const struct thread_set *, cfg->n);
		(*kept)[0] = all_threads(vs);
	}
	const struct thread_set **reach = *kept;

	for (uint32_t b = block; b != NONE && !reach[b]; b = cfg->blocks[b].idom)
		n++;
	if (!n)
		return reach[block];
	stack = ARENA_NEW(m->arena, uint32_t, n);
	n = 0;
	for (uint32_t b = block; b != NONE && !reach[b]; b = cfg->blocks[b].idom)
		stack[n++] = b;
	while (n--) {
		uint32_t above = cfg->blocks[stack[n]].idom;

		reach[stack[n]] = find_reach(vs, stack[n], reach[above == NONE ? 0 : above], warps);
	}
	return reach[block];
}

const struct thread_set *threads_reach(const struct values *vs, uint32_t block)
{
	return reach_of(vs, block, &keeper(vs)->reach, false);
}

const struct thread_set *warps_reach(const struct values *vs, uint32_t block)
{
	return reach_of(vs, block, &keeper(vs)->warps_reach, true);
}

bool threads_may_take(
	const struct values *vs, const struct thread_set *who, uint32_t block, uint32_t i)
{
	uint32_t branch = branch_of(vs, block);
	struct thread_set set = *who;

	if (branch != NONE)
		take_out(vs, branch, i == 1, &set);
	return thread_set_next(&set, 0) < THREADS_MAX;
}

void threads_run(const struct values *vs, uint32_t insn, struct thread_set *set)
{
	*set = *threads_reach(vs, vs->cfg->block_of[insn]);
	if (vs->fn->insns[insn].guard != NONE)
		take_out(vs, insn, false, set);
}

void warps_run(const struct values *vs, uint32_t insn, struct thread_set *set)
{
	*set = *warps_reach(vs, vs->cfg->block_of[insn]);
	if (vs->fn->insns[insn].guard != NONE)
		take_out_warps(vs, insn, false, set);
}
