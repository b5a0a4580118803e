/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a unit. Goes out: its points as a graph with costs. Invariant: a point with a finite
 * cost is a place in the text where a statement may be put without changing what any other one
 * means.
 */
#include "analysis/points.h"

#include <stdlib.h>
#include <string.h>

#define WEIGHT_MOST                                                                                \
	UINT64_C(100000000) /* 10^8: deeper loops and higher frequencies count no more */

enum batch { BATCH_GOES_ON, BATCH_INSIDE, BATCH_OUTSIDE };

struct list { /* of instructions, ascending */
	uint32_t *v, n, cap;
};

/* Instructions at which points are not like others. */
struct special {
	struct list calls;   /* that control comes to */
	struct list moves;   /* of arguments of linked calls */
	struct list batches; /* where one of wgmma begins or ends */
};

/* ---- the graph ---- */

static uint32_t first_insn(const struct unit *unit, uint32_t block)
{
	const struct block *b = &unit->cfg.blocks[block];

	return b->count ? b->first : unit->fn->ninsns;
}

static bool falls_off(const struct unit *unit, const struct block *b)
{
	return b->exits && !unit->effects[b->first + b->count - 1]->is_exit;
}

/* The block runs on into one that others enter as well: a fence at its end is not paid by those. */
static bool has_end_point(const struct unit *unit, const struct block *b)
{
	const struct function *fn = unit->fn;
	uint32_t last = b->first + b->count - 1;

	if (!b->count || b->succ.n != 1 || last + 1 >= fn->ninsns ||
		unit->effects[last]->is_branch || unit->effects[last]->is_call ||
		fn->insns[last].op == OP_LINK_MOV)
		return false;
	const struct block *next = &unit->cfg.blocks[b->succ.v[0]];
	const struct insn *a = &fn->insns[last], *c = &fn->insns[last + 1];

	return next->first == last + 1 && next->pred.n > 1 && a->context == c->context &&
	       a->at.end <= c->at.begin &&
	       source_rest_blank(fn->module->source, a->at.end) != NONE;
}

static void find_ends(struct points *points, struct arena *arena)
{
	const struct unit *unit = points->unit;

	points->behind = ARENA_NEW(arena, uint32_t, unit->cfg.n + 1);
	points->ends = bits_new(arena, unit->fn->ninsns + 1);
	points->end_of = ARENA_UNSET(arena, uint32_t, unit->cfg.n + 1);
	for (uint32_t b = 0; b < unit->cfg.n; b++) {
		const struct block *block = &unit->cfg.blocks[b];

		if (!has_end_point(unit, block))
			continue;
		uint32_t last = block->first + block->count - 1;

		bits_set(points->ends, last);
		points->end_of[b] = unit->fn->ninsns + 1 + points->nbehind;
		points->behind[points->nbehind++] = last;
	}
}

bool points_is_behind(const struct points *points, uint32_t point)
{
	return point > points->unit->fn->ninsns;
}

uint32_t points_insn(const struct points *points, uint32_t point)
{
	return points_is_behind(points, point)
		       ? points->behind[point - points->unit->fn->ninsns - 1]
		       : point;
}

/* Of the last instruction of a block. */
static void add_last(
	const struct points *points, const struct block *b, uint32_t *succ, uint32_t *n)
{
	const struct unit *unit = points->unit;
	uint32_t end = points_end_of(points, b->first + b->count - 1);

	if (end != NONE) {
		succ[(*n)++] = end;
		return;
	}
	for (uint32_t i = 0; i < b->succ.n; i++)
		succ[(*n)++] = first_insn(unit, b->succ.v[i]);
	if (falls_off(unit, b))
		succ[(*n)++] = unit->fn->ninsns;
}

/* Blocks are whole stretches of the text, in any order. */
static void add_insns(const struct points *points, uint32_t *first, uint32_t *succ, uint32_t *n)
{
	const struct cfg *cfg = &points->unit->cfg;

	for (uint32_t k = 0; k < points->unit->fn->ninsns;) {
		if (cfg->block_of[k] == NONE) {
			first[k++] = *n;
			continue;
		}
		const struct block *b = &cfg->blocks[cfg->block_of[k]];
		uint32_t last = b->first + b->count - 1;

		for (; k < last; k++) {
			first[k] = *n;
			succ[(*n)++] = k + 1;
		}
		first[k++] = *n;
		add_last(points, b, succ, n);
	}
}

static void build_graph(struct points *points, struct arena *arena)
{
	const struct unit *unit = points->unit;
	uint32_t n = unit->fn->ninsns, all = n + 1 + points->nbehind, edges = 1, m = 0;

	for (uint32_t b = 0; b < unit->cfg.n; b++)
		edges += unit->cfg.blocks[b].count + unit->cfg.blocks[b].succ.n + 2;
	uint32_t *first = ARENA_UNSET(arena, uint32_t, all + 1),
		 *succ = ARENA_UNSET(arena, uint32_t, edges);

	add_insns(points, first, succ, &m);
	first[n] = m;
	for (uint32_t i = 0; i < points->nbehind; i++) {
		first[n + 1 + i] = m;
		succ[m++] = points->behind[i] + 1;
	}
	first[all] = m;
	points->cost = ARENA_NEW(arena, uint64_t, all); /* 0 where nothing leads */
	points->kills = ARENA_NEW(arena, uint8_t, all);
	points->graph = (struct cut_graph){.n = all,
		.first = first,
		.succ = succ,
		.cost = points->cost,
		.kills = points->kills,
		.entry = unit->cfg.n ? first_insn(unit, 0) : n};
}

static bool is_mma(const struct insn *insn)
{
	return insn->op == OP_wgmma && insn_has(insn, MOD_mma_async);
}

/* Of the batch behind the instruction. */
static enum batch batch_after(const struct effect *effect, const struct insn *insn)
{
	if (effect->sync == SYNC_WGMMA_FENCE || is_mma(insn))
		return BATCH_INSIDE;
	return effect->sync == SYNC_WGMMA_COMMIT || effect->sync == SYNC_WGMMA_WAIT ? BATCH_OUTSIDE
										    : BATCH_GOES_ON;
}

static void find_special(struct points *points, struct arena *arena, struct special *special)
{
	const struct unit *unit = points->unit;
	struct list *calls = &special->calls, *moves = &special->moves,
		    *batches = &special->batches;

	for (uint32_t k = 0; k < unit->fn->ninsns; k++) {
		const struct insn *insn = &unit->fn->insns[k];
		const struct effect *effect = unit->effects[k];

		points->linked |= insn->context != 0;
		if (effect->fence && insn->guard == NONE)
			points->kills[k] = fence_width((enum fence_kind)effect->fence);
		if (effect->is_call && unit->cfg.block_of[k] != NONE)
			ARENA_PUSH(arena, calls->v, calls->n, calls->cap, k);
		if (insn->op == OP_LINK_MOV)
			ARENA_PUSH(arena, moves->v, moves->n, moves->cap, k);
		if (insn->op == OP_wgmma && unit->cfg.block_of[k] != NONE &&
			batch_after(effect, insn) != BATCH_GOES_ON)
			ARENA_PUSH(arena, batches->v, batches->n, batches->cap, k);
	}
}

/* ---- weights ---- */

static uint64_t ten_to(uint32_t power)
{
	uint64_t value = 1;

	while (power-- && value < WEIGHT_MOST)
		value *= 10;
	return value;
}

/* `.pragma "frequency n"` at the head of a block (ISA 12): how often it runs, according to the
 * compiler. */
static bool frequency(struct slice text, uint64_t *n)
{
	static const char word[] = "frequency";
	size_t i = sizeof(word) - 1;

	if (text.size <= i || memcmp(text.text, word, i) != 0)
		return false;
	while (i < text.size && text.text[i] == ' ')
		i++;
	*n = 0;
	if (i == text.size)
		return false;
	for (; i < text.size && text.text[i] >= '0' && text.text[i] <= '9'; i++)
		if (*n < WEIGHT_MOST)
			*n = *n * 10 + (uint64_t)(text.text[i] - '0');
	return i == text.size;
}

/* What a fence costs at each point, where none is taboo. */
static void build_weights(struct points *points, struct arena *arena)
{
	const struct unit *unit = points->unit;
	const struct function *fn = unit->fn;
	uint64_t *of_block = points->weight_of = ARENA_UNSET(arena, uint64_t, unit->cfg.n + 1);

	for (uint32_t b = 0; b < unit->cfg.n; b++)
		of_block[b] = ten_to(unit->cfg.blocks[b].loop_depth);
	for (uint32_t i = 0; i < fn->npragmas; i++) {
		uint32_t at = fn->pragmas[i].before;
		uint64_t n;

		if (at < fn->ninsns && unit->cfg.block_of[at] != NONE &&
			frequency(fn->pragmas[i].text, &n))
			of_block[unit->cfg.block_of[at]] = n < WEIGHT_MOST ? n : WEIGHT_MOST;
	}
	for (uint32_t b = 0; b < unit->cfg.n; b++) {
		const struct block *block = &unit->cfg.blocks[b];

		for (uint32_t k = block->first; k < block->first + block->count; k++)
			points->cost[k] = of_block[b];
	}
	points->cost[fn->ninsns] = 1;
	for (uint32_t i = 0; i < points->nbehind; i++)
		points->cost[fn->ninsns + 1 + i] = points->cost[points->behind[i]];
}

uint64_t points_weight(const struct points *points, uint32_t point)
{
	const struct cfg *cfg = &points->unit->cfg;
	uint32_t first = points_insn(points, point), k = first;
	uint64_t sum = 0;

	if (points->cost[point] < CUT_AVOID || first == points->unit->fn->ninsns)
		return points->cost[point];
	do {
		sum += cfg->block_of[k] == NONE ? 0 : points->weight_of[cfg->block_of[k]];
		k = points_next_copy(points, k);
	} while (k != first);
	return sum;
}

/* ---- copies ---- */

struct by_text {
	uint32_t at, insn;
};

static int by_place(const void *a, const void *b)
{
	const struct by_text *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->insn < y->insn ? -1 : x->insn > y->insn;
}

static void join_copies(struct points *points, const struct by_text *v, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		points->sibling[v[i].insn] = v[i + 1 < n ? i + 1 : 0].insn;
		sum += points->cost[v[i].insn];
	}
	for (uint32_t i = 0; i < n; i++)
		points->cost[v[i].insn] = sum;
}

static bool all_have_ends(const struct points *points, uint32_t insn)
{
	uint32_t k = insn;

	do {
		if (points_end_of(points, k) == NONE)
			return false;
		k = points_next_copy(points, k);
	} while (k != insn);
	return true;
}

/* The ends of blocks are copies as their last instructions are, where all of these have one. Cut
 * off or joined otherwise in another copy, or never reached there, none of them is to be had. */
static void join_ends(struct points *points, struct arena *arena)
{
	struct bits done = bits_new(arena, points->unit->fn->ninsns + 1);

	for (uint32_t i = 0; i < points->nbehind; i++) {
		uint32_t first = points->behind[i], k = first;

		if (bits_has(done, first))
			continue;
		bool all = all_have_ends(points, first);

		do {
			uint32_t end = points_end_of(points, k), next = points_next_copy(points, k);

			bits_set(done, k);
			if (end != NONE) {
				points->cost[end] = all ? points->cost[k] : CUT_FORBIDDEN;
				points->sibling[end] = all ? points_end_of(points, next) : end;
			}
			k = next;
		} while (k != first);
	}
}

static void find_copies(struct points *points, struct arena *arena)
{
	const struct function *fn = points->unit->fn;
	uint32_t n = 0;

	if (!points->linked)
		return;
	points->sibling = ARENA_UNSET(arena, uint32_t, points->graph.n);
	for (uint32_t k = 0; k < points->graph.n; k++)
		points->sibling[k] = k;
	struct by_text *v = ARENA_NEW(arena, struct by_text, fn->ninsns + 1);

	for (uint32_t k = 0; k < fn->ninsns; k++)
		if (fn->insns[k].op != OP_LINK_MOV)
			v[n++] = (struct by_text){fn->insns[k].at.begin, k};
	qsort(v, n, sizeof(*v), by_place);
	for (uint32_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && v[j].at == v[i].at; j++)
			;
		if (j > i + 1)
			join_copies(points, v + i, j - i);
	}
	join_ends(points, arena);
}

/* ---- taboo ---- */

static void forbid(struct points *points, uint32_t from, uint32_t to)
{
	for (uint32_t k = from; k <= to; k++)
		points->cost[k] = CUT_FORBIDDEN;
}

/* ld.param / st.param of a `.param` variable that is declared in the body: an argument or a result
 * of a call. */
static bool passes_argument(const struct function *fn, const struct insn *insn)
{
	if (insn->op == OP_LINK_MOV)
		return !insn_operand(fn, insn, 0)->formal && !insn_operand(fn, insn, 1)->formal;
	if (insn->op != OP_ld && insn->op != OP_st)
		return false;
	const struct operand *mem = insn_operand(fn, insn, insn->op == OP_ld ? 1 : 0);
	const struct operand *at =
		mem && mem->kind == OPERAND_MEM ? operand_child(fn, mem, 0) : NULL;

	if (!at || at->kind != OPERAND_SYMBOL)
		return false;
	const struct symbol *symbol = function_symbol(fn, at->id);

	return symbol->kind == SYMBOL_VAR && symbol->space == SPACE_PARAM;
}

static bool same_code(const struct insn *a, const struct insn *b)
{
	return a->context == b->context;
}

/* Linking leaves the text as it was, which alone tells an argument's store from a result's load
 * then. */
static bool begins_with(const struct function *fn, const struct insn *insn, const char *word)
{
	return !memcmp(fn->module->source->text + insn_opcode_at(fn, insn).begin, word, strlen(word));
}

/* A call stands in one piece with the stores of its arguments and the loads of its results
 * (ISA 7.1). */
static void forbid_call(struct points *points, uint32_t call)
{
	const struct unit *unit = points->unit;
	const struct function *fn = unit->fn;
	uint32_t first = call, last = call;

	for (uint32_t k = call; k-- > 0;) {
		const struct insn *insn = &fn->insns[k];

		if (unit->effects[k]->is_call || !same_code(insn, &fn->insns[call]) ||
			unit->cfg.block_of[k] != unit->cfg.block_of[call])
			break;
		if (passes_argument(fn, insn) && begins_with(fn, insn, "st"))
			first = k;
	}
	for (uint32_t k = call + 1; k < fn->ninsns && k < call + 256; k++) {
		const struct insn *insn = &fn->insns[k];

		if (unit->effects[k]->is_call || unit->effects[k]->is_branch ||
			!same_code(insn, &fn->insns[call]))
			break;
		if (passes_argument(fn, insn) && begins_with(fn, insn, "ld"))
			last = k;
	}
	if (first < last || first < call)
		forbid(points, first + 1, last);
}

/* Of the instructions of a block from `from` up to the next one of the list, the costs inside a
 * batch. */
static void avoid(struct points *points, uint32_t from, uint32_t to)
{
	for (uint32_t k = from; k <= to; k++)
		if (points->cost[k] < CUT_AVOID)
			points->cost[k] = CUT_AVOID;
}

/* In which blocks control comes in the middle of a batch; `after`: what a block makes of it. */
static void spread_batches(const struct cfg *cfg, const uint8_t *after, bool *in)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t b = 0; b < cfg->n; b++) {
			const struct block *block = &cfg->blocks[b];
			bool inside = after[b] == BATCH_GOES_ON ? in[b] : after[b] == BATCH_INSIDE;

			for (uint32_t i = 0; inside && i < block->succ.n; i++) {
				changed |= !in[block->succ.v[i]];
				in[block->succ.v[i]] = true;
			}
		}
	}
}

/* From wgmma.fence, or the first mma_async, to commit_group: the assembler gives such a batch one
 * place. */
static void avoid_batches(struct points *points, struct arena *arena, struct list at)
{
	const struct unit *unit = points->unit;
	const struct cfg *cfg = &unit->cfg;

	if (!at.n)
		return;
	uint8_t *after = ARENA_NEW(arena, uint8_t, cfg->n);
	bool *in = ARENA_NEW(arena, bool, cfg->n);

	for (uint32_t i = 0; i < at.n; i++) /* the last of a block counts */
		after[cfg->block_of[at.v[i]]] =
			(uint8_t)batch_after(unit->effects[at.v[i]], &unit->fn->insns[at.v[i]]);
	spread_batches(cfg, after, in);
	for (uint32_t i = 0; i < at.n; i++) {
		const struct block *block = &cfg->blocks[cfg->block_of[at.v[i]]];
		bool inside = batch_after(unit->effects[at.v[i]], &unit->fn->insns[at.v[i]]) ==
			      BATCH_INSIDE;
		uint32_t next = i + 1 < at.n ? at.v[i + 1] : unit->fn->ninsns;

		if (next > block->first + block->count - 1)
			next = block->first + block->count - 1;
		if (inside)
			avoid(points, at.v[i] + 1, next);
		if (in[cfg->block_of[at.v[i]]] && (!i || at.v[i - 1] < block->first))
			avoid(points, block->first, at.v[i]);
	}
	for (uint32_t b = 0; b < cfg->n; b++)
		if (in[b] && after[b] == BATCH_GOES_ON && cfg->blocks[b].count)
			avoid(points, cfg->blocks[b].first,
				cfg->blocks[b].first + cfg->blocks[b].count - 1);
}

/* What is taboo in one copy is in all. */
static void share_costs(struct points *points, struct arena *arena)
{
	uint32_t n = points->graph.n;

	if (!points->linked)
		return;
	struct bits done = bits_new(arena, n);

	for (uint32_t k = 0; k < n; k++) {
		uint64_t most = points->cost[k];

		if (points_next_copy(points, k) == k || bits_has(done, k))
			continue;
		for (uint32_t s = points_next_copy(points, k); s != k; s = points_next_copy(points, s))
			most = points->cost[s] > most ? points->cost[s] : most;
		for (uint32_t s = points_next_copy(points, k);; s = points_next_copy(points, s)) {
			points->cost[s] = most;
			bits_set(done, s);
			if (s == k)
				break;
		}
	}
}

static void build_costs(struct points *points, struct arena *arena, const struct special *special)
{
	const struct unit *unit = points->unit;
	const struct function *fn = unit->fn;

	avoid_batches(points, arena, special->batches);
	for (uint32_t k = 0; unit->leave && k < fn->ninsns; k++)
		if (unit->leave[k] & LEAVE_TEXT)
			points->cost[k] = CUT_FORBIDDEN;
	for (uint32_t i = 0; i < special->moves.n; i++)
		points->cost[special->moves.v[i]] = CUT_FORBIDDEN;
	for (uint32_t i = 0; i < special->calls.n; i++)
		forbid_call(points, special->calls.v[i]);
	for (uint32_t i = 0; i < points->nbehind; i++) {
		uint32_t k = points->behind[i], end = fn->ninsns + 1 + i;

		if (points->cost[k + 1] >= CUT_AVOID) /* inside of what the next one is inside of */
			points->cost[end] = points->cost[k + 1];
		if (unit->leave && unit->leave[k] & LEAVE_TEXT)
			points->cost[end] = CUT_FORBIDDEN;
	}
	share_costs(points, arena);
}

void points_build(const struct unit *unit, struct arena *arena, struct points *points)
{
	struct special special = {0};

	*points = (struct points){.unit = unit};
	find_ends(points, arena);
	build_graph(points, arena);
	find_special(points, arena, &special);
	build_weights(points, arena);
	find_copies(points, arena);
	build_costs(points, arena, &special);
}
