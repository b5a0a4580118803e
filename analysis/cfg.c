/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a linked function. Out: its reachable basic blocks in reverse postorder, with dominators,
 * post-dominators and loop nesting. Blocks are first cut in text order ("raw"), then numbered.
 * Invariant: a block's successors are exactly where control can go (ISA 9.7.12); where the text
 * does not say (end of the body), an empty block stands for leaving the function.
 */
#include "analysis/cfg.h"

#include "analysis/preorder.h"

struct builder {
	const struct linked *linked;
	const struct function *fn;
	const struct effect *const
		*effects; /* may be NULL: then only opcodes say where control goes */
	struct arena *arena; /* for what only building needs */
	uint32_t n;	   /* instructions */
	bool *leader;	   /* by instruction, n included */
	uint32_t *call_at; /* CSR by instruction: linked calls that start there (n + 1 entries), or
			      NULL */
	uint32_t *call_ids;
	uint32_t *return_at; /* CSR by instruction: where a linked `ret` goes on, or NULL */
	uint32_t *return_to;
	bool *is_return; /* a `ret` of a copy, not of the root */
	bool *unknown;	 /* the call may also go to an unknown callee, or NULL */
	/* raw blocks */
	uint32_t nraw;
	uint32_t *first;  /* nraw + 1 entries */
	uint32_t *raw_of; /* by instruction, n included */
	uint32_t *succ_at, *succ, nsucc, succ_cap;
	bool *exits, *traps;
};

static bool is_linked_call(const struct builder *b, uint32_t i)
{
	return b->call_at && b->call_at[i] != b->call_at[i + 1];
}

static bool is_dead_end_call(const struct builder *b, uint32_t i)
{
	return b->effects && b->effects[i]->is_call && b->effects[i]->is_noreturn;
}

/* Control may go elsewhere than to the next instruction. */
static bool ends_block(const struct builder *b, uint32_t i)
{
	switch (b->fn->insns[i].op) {
	case OP_bra:
	case OP_brx:
	case OP_ret:
	case OP_exit:
	case OP_trap:
		return true;
	default:
		return is_linked_call(b, i) || is_dead_end_call(b, i);
	}
}

static void index_calls(struct builder *b)
{
	const struct linked *linked = b->linked;

	b->call_at = ARENA_NEW(b->arena, uint32_t, b->n + 2);
	b->call_ids = ARENA_NEW(b->arena, uint32_t, linked->ncalls);
	for (uint32_t k = 0; k < linked->ncalls; k++)
		b->call_at[linked->calls[k].call + 1]++;
	for (uint32_t i = 0; i <= b->n; i++)
		b->call_at[i + 1] += b->call_at[i];
	uint32_t *fill = ARENA_NEW(b->arena, uint32_t, b->n + 1);

	b->unknown = ARENA_NEW(b->arena, bool, b->n + 1);
	for (uint32_t k = 0; k < linked->nunknown_calls; k++)
		b->unknown[linked->unknown_calls[k]] = true;
	for (uint32_t k = 0; k < linked->ncalls; k++) {
		uint32_t call = linked->calls[k].call;

		b->call_ids[b->call_at[call] + fill[call]++] = k;
	}
}

static void index_returns(struct builder *b)
{
	const struct linked *linked = b->linked;
	uint32_t *fill = ARENA_NEW(b->arena, uint32_t, b->n + 1);

	b->return_at = ARENA_NEW(b->arena, uint32_t, b->n + 2);
	b->is_return = ARENA_NEW(b->arena, bool, b->n + 1);
	for (uint32_t i = 0; i < linked->nreturns; i++)
		b->is_return[linked->returns[i]] = true;
	for (uint32_t k = 0; k < linked->ncalls; k++)
		for (uint32_t i = 0; i < linked->calls[k].nreturns; i++)
			b->return_at[linked->returns[linked->calls[k].first_return + i] + 1]++;
	for (uint32_t i = 0; i <= b->n; i++)
		b->return_at[i + 1] += b->return_at[i];
	b->return_to = ARENA_NEW(b->arena, uint32_t, b->return_at[b->n + 1]);
	for (uint32_t k = 0; k < linked->ncalls; k++)
		for (uint32_t i = 0; i < linked->calls[k].nreturns; i++) {
			uint32_t ret = linked->returns[linked->calls[k].first_return + i];

			b->return_to[b->return_at[ret] + fill[ret]++] = linked->calls[k].after;
		}
}

static const struct table *branch_table(const struct function *fn, const struct insn *insn)
{
	for (uint32_t k = 0; k < insn->count; k++) {
		const struct operand *o = insn_operand(fn, insn, k);

		if (o->kind == OPERAND_LABEL && fn->labels[o->id].table != NONE)
			return &fn->tables[fn->labels[o->id].table];
	}
	return NULL;
}

static void mark_targets(struct builder *b, const struct insn *insn)
{
	const struct function *fn = b->fn;
	const struct operand *o = insn_operand(fn, insn, 0);

	if (insn->op == OP_bra && o && o->kind == OPERAND_LABEL)
		b->leader[fn->labels[o->id].insn] = true;
	if (insn->op != OP_brx)
		return;
	const struct table *table = branch_table(fn, insn);

	for (uint32_t k = 0; table && k < table->n; k++)
		b->leader[fn->labels[table->v[k]].insn] = true;
}

static void cut_blocks(struct builder *b)
{
	b->leader = ARENA_NEW(b->arena, bool, b->n + 1);
	b->leader[0] = b->leader[b->n] = true;
	for (uint32_t i = 0; i < b->n; i++) {
		mark_targets(b, &b->fn->insns[i]);
		if (ends_block(b, i))
			b->leader[i + 1] = true;
	}
	for (uint32_t k = 0; k < b->linked->ncalls; k++) {
		b->leader[b->linked->calls[k].entry] = true;
		b->leader[b->linked->calls[k].after] = true;
	}
	b->first = ARENA_NEW(b->arena, uint32_t, b->n + 2);
	b->raw_of = ARENA_NEW(b->arena, uint32_t, b->n + 1);
	for (uint32_t i = 0; i <= b->n; i++) {
		if (b->leader[i])
			b->first[b->nraw++] = i;
		b->raw_of[i] = b->nraw - 1;
	}
	b->first[b->nraw] = b->n;
}

static void add_successor(struct builder *b, uint32_t insn)
{
	ARENA_PUSH(b->arena, b->succ, b->nsucc, b->succ_cap, b->raw_of[insn]);
}

static void add_table(struct builder *b, const struct insn *insn)
{
	const struct table *table = branch_table(b->fn, insn);
	uint32_t from = b->nsucc;

	for (uint32_t k = 0; table && k < table->n; k++) {
		uint32_t to = b->fn->labels[table->v[k]].insn;

		/* tables name a default label many times, mostly in runs */
		if (b->nsucc == from || b->succ[b->nsucc - 1] != b->raw_of[to])
			add_successor(b, to);
	}
}

static void add_return(struct builder *b, uint32_t raw, uint32_t i)
{
	if (!b->return_at || !b->is_return[i]) {
		b->exits[raw] = true;
		return;
	}
	for (uint32_t k = b->return_at[i]; k < b->return_at[i + 1]; k++)
		add_successor(b, b->return_to[k]);
}

/* Successors that the last instruction of a raw block has by itself; true: control also falls
 * through. */
static bool leave_block(struct builder *b, uint32_t raw, uint32_t i)
{
	const struct insn *insn = &b->fn->insns[i];
	const struct operand *o = insn_operand(b->fn, insn, 0);

	switch (insn->op) {
	case OP_bra:
		if (o && o->kind == OPERAND_LABEL)
			add_successor(b, b->fn->labels[o->id].insn);
		break;
	case OP_brx:
		add_table(b, insn);
		break;
	case OP_ret:
		add_return(b, raw, i);
		break;
	case OP_trap:
		b->traps[raw] = true;
		b->exits[raw] = true;
		break;
	case OP_exit:
		b->exits[raw] = true;
		break;
	default:
		if (is_linked_call(b, i)) {
			for (uint32_t k = b->call_at[i]; k < b->call_at[i + 1]; k++)
				add_successor(b, b->linked->calls[b->call_ids[k]].entry);
			return insn->guard != NONE || b->unknown[i];
		}
		if (is_dead_end_call(b, i)) {
			b->traps[raw] = true;
			b->exits[raw] = true;
			break;
		}
		return true;
	}
	return insn->guard != NONE;
}

static void connect_blocks(struct builder *b)
{
	b->succ_at = ARENA_NEW(b->arena, uint32_t, b->nraw + 1);
	b->exits = ARENA_NEW(b->arena, bool, b->nraw);
	b->traps = ARENA_NEW(b->arena, bool, b->nraw);
	for (uint32_t raw = 0; raw < b->nraw; raw++) {
		uint32_t end = b->first[raw + 1];

		b->succ_at[raw] = b->nsucc;
		if (b->first[raw] == b->n)
			b->exits[raw] = true;
		else if (leave_block(b, raw, end - 1))
			add_successor(b, end);
	}
	b->succ_at[b->nraw] = b->nsucc;
}

/* Reverse postorder of the raw blocks from the entry: order[k] is a raw block; returns how many. */
static uint32_t order_blocks(struct builder *b, uint32_t *order, uint32_t *number)
{
	uint32_t *stack = ARENA_NEW(b->arena, uint32_t, b->nraw);
	uint32_t *next = ARENA_NEW(b->arena, uint32_t, b->nraw);
	bool *seen = ARENA_NEW(b->arena, bool, b->nraw);
	uint32_t depth = 0, n = 0;

	stack[depth++] = 0;
	seen[0] = true;
	next[0] = b->succ_at[0];
	while (depth) {
		uint32_t raw = stack[depth - 1];

		if (next[raw] == b->succ_at[raw + 1]) {
			order[n++] = raw;
			depth--;
			continue;
		}
		uint32_t to = b->succ[next[raw]++];

		if (seen[to])
			continue;
		seen[to] = true;
		next[to] = b->succ_at[to];
		stack[depth++] = to;
	}
	for (uint32_t k = 0; k < n / 2; k++) {
		uint32_t swap = order[k];

		order[k] = order[n - 1 - k];
		order[n - 1 - k] = swap;
	}
	for (uint32_t k = 0; k < n; k++)
		number[order[k]] = k;
	return n;
}

struct edges { /* the graph among numbered blocks, as CSR in both directions */
	uint32_t *succ_at, *succ, *pred_at, *pred;
};

/* There is room for the predecessors. */
static void reverse_edges(struct arena *arena, uint32_t n, struct edges *e)
{
	uint32_t *fill = ARENA_NEW(arena, uint32_t, n + 1);

	e->pred_at = ARENA_NEW(arena, uint32_t, n + 2);
	for (uint32_t i = 0; i < e->succ_at[n]; i++)
		e->pred_at[e->succ[i] + 1]++;
	for (uint32_t i = 0; i < n; i++)
		e->pred_at[i + 1] += e->pred_at[i];
	for (uint32_t from = 0; from < n; from++)
		for (uint32_t i = e->succ_at[from]; i < e->succ_at[from + 1]; i++)
			e->pred[e->pred_at[e->succ[i]] + fill[e->succ[i]]++] = from;
}

static bool is_unknown_call(const struct builder *b, uint32_t i)
{
	for (uint32_t k = 0; k < b->linked->nunknown_calls; k++)
		if (b->linked->unknown_calls[k] == i)
			return true;
	return false;
}

static void number_blocks(
	struct builder *b, struct arena *arena, struct cfg *cfg, struct edges *e, bool **traps)
{
	uint32_t *order = ARENA_NEW(b->arena, uint32_t, b->nraw);
	uint32_t *number = ARENA_NEW(b->arena, uint32_t, b->nraw);
	uint32_t n = order_blocks(b, order, number), ne = 0;

	cfg->n = n;
	cfg->blocks = ARENA_NEW(arena, struct block, n);
	*traps = ARENA_NEW(b->arena, bool, n);
	e->succ_at = ARENA_NEW(b->arena, uint32_t, n + 1);
	e->succ = ARENA_UNSET(arena, uint32_t, b->nsucc);
	for (uint32_t i = 0; i < b->n; i++)
		cfg->block_of[i] = NONE;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t raw = order[k];
		struct block *block = &cfg->blocks[k];

		block->first = b->first[raw];
		block->count = b->first[raw + 1] - block->first;
		block->exits = b->exits[raw];
		(*traps)[k] = b->traps[raw];
		block->aborts = b->traps[raw] && !is_unknown_call(b, b->first[raw + 1] - 1);
		for (uint32_t i = 0; i < block->count; i++)
			cfg->block_of[block->first + i] = k;
		e->succ_at[k] = ne;
		for (uint32_t i = b->succ_at[raw]; i < b->succ_at[raw + 1]; i++)
			e->succ[ne++] = number[b->succ[i]];
	}
	e->succ_at[n] = ne;
	e->pred = ARENA_UNSET(arena, uint32_t, ne);
	reverse_edges(b->arena, n, e);
	for (uint32_t k = 0; k < n; k++) {
		struct block *block = &cfg->blocks[k];

		block->succ =
			(struct ids){e->succ + e->succ_at[k], e->succ_at[k + 1] - e->succ_at[k]};
		block->pred =
			(struct ids){e->pred + e->pred_at[k], e->pred_at[k + 1] - e->pred_at[k]};
	}
}

/* Everything from which `seed` blocks can be reached, added to `reach`. */
static void reach_back(const struct edges *e, bool *reach, uint32_t *stack, uint32_t seed)
{
	uint32_t depth = 0;

	if (reach[seed])
		return;
	reach[seed] = true;
	stack[depth++] = seed;
	while (depth) {
		uint32_t k = stack[--depth];

		for (uint32_t i = e->pred_at[k]; i < e->pred_at[k + 1]; i++)
			if (!reach[e->pred[i]]) {
				reach[e->pred[i]] = true;
				stack[depth++] = e->pred[i];
			}
	}
}

/* Which blocks get an edge to the virtual exit. Arms that only trap stay out of the tree, unless
 * all arms do; of each endless loop its last block stands for an exit. */
static bool *choose_exits(
	const struct cfg *cfg, const struct edges *e, const bool *traps, struct arena *arena)
{
	bool *leaves = ARENA_NEW(arena, bool, cfg->n), *reach = ARENA_NEW(arena, bool, cfg->n);
	uint32_t *stack = ARENA_NEW(arena, uint32_t, cfg->n);
	bool *dead = ARENA_NEW(arena, bool, cfg->n);

	for (uint32_t k = 0; k < cfg->n; k++)
		if (cfg->blocks[k].exits && !traps[k]) {
			leaves[k] = true;
			reach_back(e, reach, stack, k);
		}
	for (uint32_t k = 0; k < cfg->n; k++)
		if (traps[k]) {
			leaves[k] = !reach[0];
			reach_back(e, dead, stack, k);
		}
	for (uint32_t k = cfg->n; k-- > 0;)
		if (!reach[k] && !dead[k]) {
			leaves[k] = true;
			reach_back(e, reach, stack, k);
		}
	return leaves;
}

static void find_postdominators(
	struct cfg *cfg, const struct edges *e, const bool *traps, struct arena *arena)
{
	uint32_t n = cfg->n;
	bool *leaves = choose_exits(cfg, e, traps, arena);
	/* the reverse graph; vertex n is the virtual exit */
	struct edges r = {ARENA_NEW(arena, uint32_t, n + 2),
		ARENA_UNSET(arena, uint32_t, e->succ_at[n] + n), NULL,
		ARENA_UNSET(arena, uint32_t, e->succ_at[n] + n)};
	struct preorder order;
	uint32_t ne = 0;
	struct dominators tree;

	for (uint32_t k = 0; k < n; k++) {
		r.succ_at[k] = ne;
		for (uint32_t i = e->pred_at[k]; i < e->pred_at[k + 1]; i++)
			r.succ[ne++] = e->pred[i];
	}
	r.succ_at[n] = ne;
	for (uint32_t k = 0; k < n; k++)
		if (leaves[k])
			r.succ[ne++] = k;
	r.succ_at[n + 1] = ne;
	reverse_edges(arena, n + 1, &r);
	struct graph g = {n + 1, r.succ_at, r.succ, r.pred_at, r.pred};

	preorder_find(&g, n, arena, &order);
	dominators_find(&g, &order, arena, &tree);
	for (uint32_t k = 0; k < n; k++) {
		cfg->blocks[k].ipdom = tree.idom[k] == n ? NONE : tree.idom[k];
		cfg->blocks[k].pdom_enter = tree.enter[k];
		cfg->blocks[k].pdom_leave = tree.leave[k];
	}
}

static void find_loops(struct cfg *cfg, const struct graph *g, const struct preorder *order,
	struct arena *arena)
{
	uint32_t *head = ARENA_NEW(arena, uint32_t, cfg->n);
	uint32_t *depth = ARENA_NEW(arena, uint32_t, cfg->n);
	bool *is_head = ARENA_NEW(arena, bool, cfg->n);

	loops_find(g, order, arena, head, is_head);
	/* the head of a cycle dominates or at least precedes its body in reverse postorder */
	for (uint32_t k = 0; k < cfg->n; k++) {
		struct block *block = &cfg->blocks[k];

		depth[k] = (head[k] == NONE ? 0 : depth[head[k]]) + is_head[k];
		block->loop_depth = depth[k] < 8 ? depth[k] : 8;
		block->loop_head = is_head[k] ? k : head[k];
		block->outer_head = head[k];
	}
}

static bool is_active(const struct effect *e)
{
	return !e->known || e->ntouches || e->sync != SYNC_NONE || e->fence != FENCE_NONE ||
	       e->is_branch || e->is_call || e->is_exit;
}

static void list_active(struct cfg *cfg, struct arena *arena)
{
	uint32_t *v = ARENA_UNSET(arena, uint32_t, cfg->fn->ninsns + 1), n = 0;

	for (uint32_t i = 0; cfg->effects && i < cfg->fn->ninsns; i++) {
		if (!is_active(cfg->effects[i]))
			continue;
		if (cfg->block_of[i] != NONE) {
			struct block *block = &cfg->blocks[cfg->block_of[i]];

			block->active = block->nactive++ ? block->active : n;
		}
		v[n++] = i;
	}
	ARENA_TRIM(arena, v, n, cfg->fn->ninsns + 1);
	cfg->active = (struct ids){v, n};
}

void cfg_build(const struct linked *linked, const struct effect *const *effects,
	struct arena *arena, struct cfg *cfg)
{
	struct arena own;
	struct builder b = {.linked = linked,
		.fn = &linked->fn,
		.effects = effects,
		.arena = &own,
		.n = linked->fn.ninsns};
	struct edges e;
	struct preorder order;
	struct dominators tree;
	bool *traps;

	arena_begin(&own, arena);
	if (linked->ncalls) {
		index_calls(&b);
		index_returns(&b);
	}
	cut_blocks(&b);
	connect_blocks(&b);
	*cfg = (struct cfg){b.fn, effects, NULL, 0, ARENA_NEW(arena, uint32_t, b.n + 1),
		linked->nunknown_calls != 0, {0}};
	number_blocks(&b, arena, cfg, &e, &traps);
	list_active(cfg, arena);
	for (uint32_t k = 0; k < linked->ncalls; k++)
		if (linked->calls[k].recursive && cfg->block_of[linked->calls[k].call] != NONE)
			cfg->blocks[cfg->block_of[linked->calls[k].call]].recurses = true;
	struct graph g = {cfg->n, e.succ_at, e.succ, e.pred_at, e.pred};

	preorder_find(&g, 0, &own, &order);
	dominators_find(&g, &order, &own, &tree);
	for (uint32_t k = 0; k < cfg->n; k++) {
		cfg->blocks[k].idom = tree.idom[k];
		cfg->blocks[k].dom_enter = tree.enter[k];
		cfg->blocks[k].dom_leave = tree.leave[k];
	}
	find_loops(cfg, &g, &order, &own);
	find_postdominators(cfg, &e, traps, &own);
	arena_end(&own);
}

uint32_t cfg_active_from(const struct cfg *cfg, uint32_t insn)
{
	const struct block *block = &cfg->blocks[cfg->block_of[insn]];
	const uint32_t *active = cfg->active.v + block->active;
	uint32_t lo = 0, hi = block->nactive;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (active[mid] < insn)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < block->nactive ? active[lo] : NONE;
}

bool cfg_dominates(const struct cfg *cfg, uint32_t a, uint32_t b)
{
	const struct block *x = &cfg->blocks[a], *y = &cfg->blocks[b];

	return x->dom_enter <= y->dom_enter && y->dom_enter < x->dom_leave;
}

bool cfg_postdominates(const struct cfg *cfg, uint32_t a, uint32_t b)
{
	const struct block *x = &cfg->blocks[a], *y = &cfg->blocks[b];

	if (a == b || x->pdom_enter == NONE || y->pdom_enter == NONE)
		return a == b;
	return x->pdom_enter <= y->pdom_enter && y->pdom_enter < x->pdom_leave;
}
