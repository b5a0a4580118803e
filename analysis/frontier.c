/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a graph with its dominators. Out: iterated dominance frontiers. As a rule from the frontier
 * of each block (Cytron and others, TOPLAS 1991), which costs what it finds. Loops nested n deep
 * have n frontiers of n blocks, though; where all frontiers together are far larger than the graph,
 * they are found anew for each question, in one pass over the dominator tree from its depth upwards
 * (Sreedhar and Gao, POPL 1995). Invariant: both ways find the same blocks.
 */
#include "analysis/frontier.h"

#include <string.h>

#define FRONTIERS_PER_BLOCK 16 /* on the average of all blocks */

struct frontiers {
	const struct cfg *cfg;
	struct arena *arena;
	uint32_t *at, *v; /* by block: v[at[b]] .. v[at[b + 1]); NULL: too many */
	uint32_t *stack;
	/* where they are too many */
	uint32_t *level;	   /* by block: its depth in the dominator tree */
	uint32_t *child, *sibling; /* the tree: first child, next sibling; NONE */
	uint32_t *seen;		   /* by block: mark of the latest question */
	uint32_t *bank, *next;	   /* by level: roots that wait, and by root the next one; NONE */
};

/* ---- the frontier of each block ---- */

/* By walking from each join's predecessors up to its dominator. A walk stops at a block that
 * already has the join: the blocks above it have it too. Gives up, false, above `most`. */
static bool walk_frontiers(
	const struct cfg *cfg, uint32_t *last, uint32_t *count, uint32_t *v, uint64_t most)
{
	uint64_t n = 0;

	memset(last, 0xff, cfg->n * sizeof(*last));
	for (uint32_t b = 0; b < cfg->n && n <= most; b++) {
		const struct block *block = &cfg->blocks[b];

		/* the entry has a predecessor outside the graph */
		if (block->pred.n < 2 && b != 0)
			continue;
		for (uint32_t i = 0; i < block->pred.n; i++)
			for (uint32_t up = block->pred.v[i];
				up != NONE && up != block->idom && last[up] != b;
				up = cfg->blocks[up].idom) {
				last[up] = b;
				n++;
				if (v)
					v[count[up]++] = b;
				else
					count[up + 1]++;
			}
	}
	return n <= most;
}

/* Filling moved every start to its end: moves them back. */
static void rewind(uint32_t *at, uint32_t n)
{
	for (uint32_t i = n; i > 0; i--)
		at[i] = at[i - 1];
	at[0] = 0;
}

static void find_each(struct frontiers *f)
{
	uint32_t n = f->cfg->n;
	uint64_t most = (uint64_t)FRONTIERS_PER_BLOCK * n;
	uint32_t *at = ARENA_NEW(f->arena, uint32_t, n + 1), *last = f->stack;

	if (!walk_frontiers(f->cfg, last, at, NULL, most))
		return;
	for (uint32_t b = 0; b < n; b++)
		at[b + 1] += at[b];
	f->v = ARENA_UNSET(f->arena, uint32_t, at[n]);
	walk_frontiers(f->cfg, last, at, f->v, most);
	rewind(at, n);
	f->at = at;
}

static uint32_t iterate(struct frontiers *f, const uint32_t *from, uint32_t n, const uint32_t *at,
	uint32_t mark, uint32_t *found, uint32_t *blocks)
{
	uint32_t depth = 0, nfound = 0;

	/* a block is pushed once as one of `from`, or once when it is found */
	for (uint32_t i = 0; i < n; i++)
		f->stack[depth++] = from[i];
	while (depth) {
		uint32_t b = f->stack[--depth];

		for (uint32_t i = f->at[b]; i < f->at[b + 1]; i++) {
			uint32_t join = f->v[i];

			if (found[join] == mark)
				continue;
			found[join] = mark;
			blocks[nfound++] = join;
			if (at[join] != mark)
				f->stack[depth++] = join;
		}
	}
	return nfound;
}

/* ---- one pass over the tree ---- */

static void build_tree(struct frontiers *f)
{
	const struct cfg *cfg = f->cfg;

	f->level = ARENA_NEW(f->arena, uint32_t, cfg->n);
	f->child = ARENA_NEW(f->arena, uint32_t, cfg->n);
	f->sibling = ARENA_NEW(f->arena, uint32_t, cfg->n);
	f->seen = ARENA_NEW(f->arena, uint32_t, cfg->n);
	f->bank = ARENA_NEW(f->arena, uint32_t, cfg->n);
	f->next = ARENA_NEW(f->arena, uint32_t, cfg->n);
	memset(f->child, 0xff, cfg->n * sizeof(*f->child));
	memset(f->bank, 0xff, cfg->n * sizeof(*f->bank));
	for (uint32_t b = 0; b < cfg->n; b++) { /* a dominator comes first in reverse postorder */
		uint32_t up = cfg->blocks[b].idom;

		f->sibling[b] = NONE;
		if (up == NONE)
			continue;
		f->level[b] = f->level[up] + 1;
		f->sibling[b] = f->child[up];
		f->child[up] = b;
	}
}

static void wait_at_level(struct frontiers *f, uint32_t b)
{
	f->next[b] = f->bank[f->level[b]];
	f->bank[f->level[b]] = b;
}

/* The joins that a root's subtree leads to at or above the root's level are its frontier; what a
 * deeper root has seen has nothing to add. */
static uint32_t search_below(struct frontiers *f, uint32_t root, const uint32_t *at, uint32_t mark,
	uint32_t *found, uint32_t *blocks, uint32_t nfound)
{
	const struct cfg *cfg = f->cfg;
	uint32_t depth = 0;

	f->seen[root] = mark;
	f->stack[depth++] = root;
	while (depth) {
		uint32_t b = f->stack[--depth];
		struct ids succ = cfg->blocks[b].succ;

		for (uint32_t i = 0; i < succ.n; i++) {
			uint32_t join = succ.v[i];

			if (cfg->blocks[join].idom == b || f->level[join] > f->level[root] ||
				found[join] == mark)
				continue;
			found[join] = mark;
			blocks[nfound++] = join;
			if (at[join] != mark)
				wait_at_level(f, join);
		}
		for (uint32_t c = f->child[b]; c != NONE; c = f->sibling[c]) {
			if (f->seen[c] == mark)
				continue;
			f->seen[c] = mark;
			f->stack[depth++] = c;
		}
	}
	return nfound;
}

static uint32_t search(struct frontiers *f, const uint32_t *from, uint32_t n, const uint32_t *at,
	uint32_t mark, uint32_t *found, uint32_t *blocks)
{
	uint32_t nfound = 0, deepest = 0;

	for (uint32_t i = 0; i < n; i++) {
		wait_at_level(f, from[i]);
		deepest = f->level[from[i]] > deepest ? f->level[from[i]] : deepest;
	}
	for (uint32_t level = deepest + 1; level-- > 0;)
		while (f->bank[level] != NONE) { /* joins that are found wait here or higher up */
			uint32_t root = f->bank[level];

			f->bank[level] = f->next[root];
			nfound = search_below(f, root, at, mark, found, blocks, nfound);
		}
	return nfound;
}

/* ---- questions ---- */

struct frontiers *frontiers_new(const struct cfg *cfg, struct arena *arena)
{
	struct frontiers *f = ARENA_NEW(arena, struct frontiers, 1);

	*f = (struct frontiers){
		.cfg = cfg, .arena = arena, .stack = ARENA_UNSET(arena, uint32_t, cfg->n)};
	find_each(f);
	if (!f->at)
		build_tree(f);
	return f;
}

uint32_t frontiers_iterated(struct frontiers *f, const uint32_t *from, uint32_t n,
	const uint32_t *at, uint32_t mark, uint32_t *found, uint32_t *blocks)
{
	return f->at ? iterate(f, from, n, at, mark, found, blocks)
		     : search(f, from, n, at, mark, found, blocks);
}
