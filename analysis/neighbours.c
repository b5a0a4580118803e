/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: values. Out: where mbarrier objects lie and which tensor copies go side by side. Behind an
 * mbarrier.inval that may name it an object is no bound any more: its bytes are data again.
 * Invariant: only objects and copies on the same base are compared.
 */
#include "analysis/neighbours.h"

#include "base/bits.h"

#define MOST_COPIES 512 /* beyond it only those of one block are compared */

struct copy {
	uint32_t insn, block;
	struct bits round; /* blocks behind it in the same round of its loop; no words: not asked yet */
	uint32_t map; /* value number of the tensor map's address */
	struct value address;
};

struct object {
	struct value address;
	struct bits gone; /* blocks that an mbarrier.inval of it can reach; no words: never invalidated */
};

struct neighbours {
	const struct function *fn;
	const struct cfg *cfg;
	const struct values *values;
	struct arena *arena;
	struct object *objects;
	uint32_t nobjects, objects_cap;
	struct copy *copies; /* by instruction */
	uint32_t ncopies, copies_cap;
};

static bool on_a_base(const struct value *v)
{
	return v->base == BASE_SYMBOL || v->base == BASE_DERIVED;
}

static bool same_base(const struct value *a, const struct value *b)
{
	return a->base == b->base && a->id == b->id;
}

static void add_object(struct neighbours *n, uint32_t i)
{
	const struct operand *o =
		insn_operand(n->fn, &n->fn->insns[i], n->cfg->effects[i]->mbarrier_operand);

	if (!o)
		return;
	struct value v = value_of(n->values, i, o);

	if (on_a_base(&v) && v.lo > -VALUE_FAR)
		ARENA_PUSH(n->arena, n->objects, n->nobjects, n->objects_cap, ((struct object){.address = v}));
}

/* Blocks that can run after block `from`, itself included, without going through `head`. */
static struct bits reachable(const struct neighbours *n, uint32_t from, uint32_t head)
{
	struct bits seen = bits_new(n->arena, n->cfg->n);
	uint32_t *stack = ARENA_NEW(n->arena, uint32_t, n->cfg->n + 1), top = 0;

	bits_set(seen, from);
	stack[top++] = from;
	while (top) {
		const struct block *block = &n->cfg->blocks[stack[--top]];

		for (uint32_t i = 0; i < block->succ.n; i++) {
			if (bits_has(seen, block->succ.v[i]) || block->succ.v[i] == head)
				continue;
			bits_set(seen, block->succ.v[i]);
			stack[top++] = block->succ.v[i];
		}
	}
	ARENA_GIVE_BACK(n->arena, stack, n->cfg->n + 1);
	return seen;
}

static void invalidate(struct neighbours *n, uint32_t i)
{
	const struct operand *o =
		insn_operand(n->fn, &n->fn->insns[i], n->cfg->effects[i]->mbarrier_operand);
	struct value v = {.base = BASE_UNKNOWN};
	struct bits gone = reachable(n, n->cfg->block_of[i], NONE);

	if (o)
		v = value_of(n->values, i, o);
	for (uint32_t k = 0; k < n->nobjects; k++) {
		struct object *object = &n->objects[k];
		bool apart = on_a_base(&v) && same_base(&object->address, &v) &&
			(v.hi < object->address.lo || v.lo > object->address.hi);

		if (apart)
			continue;
		if (!object->gone.words)
			object->gone = bits_new(n->arena, n->cfg->n);
		bits_or(object->gone, gone);
	}
}

static void add_copy(struct neighbours *n, uint32_t i)
{
	const struct effect *e = n->cfg->effects[i];
	const struct operand *map = NULL, *memory = NULL;

	for (uint32_t t = 0; t < e->ntouches; t++) {
		const struct operand *o = insn_operand(n->fn, &n->fn->insns[i], e->touches[t].operand);

		if (e->touches[t].hidden)
			map = o;
		else if (e->touches[t].extent == EXTENT_TENSOR_LOAD ||
			e->touches[t].extent == EXTENT_TENSOR_STORE)
			memory = o;
	}
	const struct operand *base = map ? operand_child(n->fn, map, 0) : NULL;

	if (!base || !memory)
		return;
	struct copy c = {.insn = i,
		.block = n->cfg->block_of[i],
		.map = value_number(n->values, i, base),
		.address = value_of(n->values, i, memory)};

	if (on_a_base(&c.address))
		ARENA_PUSH(n->arena, n->copies, n->ncopies, n->copies_cap, c);
}

struct neighbours *neighbours_prepare(const struct function *fn, const struct cfg *cfg,
	const struct values *values, struct arena *arena)
{
	struct neighbours *n = ARENA_NEW(arena, struct neighbours, 1);

	*n = (struct neighbours){.fn = fn, .cfg = cfg, .values = values, .arena = arena};
	for (uint32_t k = 0; k < cfg->active.n; k++) {
		uint32_t i = cfg->active.v[k];

		if (cfg->block_of[i] == NONE)
			continue;
		if (cfg->effects[i]->sync == SYNC_MBAR_INIT)
			add_object(n, i);
		add_copy(n, i);
	}
	for (uint32_t k = 0; k < cfg->active.n; k++) {
		uint32_t i = cfg->active.v[k];

		if (cfg->block_of[i] != NONE && cfg->effects[i]->sync == SYNC_MBAR_INVAL)
			invalidate(n, i);
	}
	return n;
}

bool neighbours_ceiling(
	const struct neighbours *n, uint32_t insn, const struct value *address, int64_t *ceiling)
{
	bool found = false;

	if (!on_a_base(address) || address->hi > VALUE_FAR)
		return false;
	for (uint32_t k = 0; k < n->nobjects; k++) {
		const struct object *object = &n->objects[k];
		int64_t at = object->address.lo;

		if (!same_base(&object->address, address) || at <= address->hi || (found && at >= *ceiling) ||
			(object->gone.words && bits_has(object->gone, n->cfg->block_of[insn])))
			continue;
		*ceiling = at;
		found = true;
	}
	return found;
}

/* How far b starts behind a, if that is one certain number. */
static bool distance(const struct value *a, const struct value *b, int64_t *out)
{
	if (!same_base(a, b) || a->stride != b->stride || a->lo < -VALUE_FAR || a->hi > VALUE_FAR ||
		b->lo < -VALUE_FAR || b->hi > VALUE_FAR || a->hi - a->lo != b->hi - b->lo)
		return false;
	*out = b->lo - a->lo;
	return true;
}

static bool follows(const struct neighbours *n, struct copy *a, const struct copy *b)
{
	if (!a->round.words)
		a->round = reachable(n, a->block, n->cfg->blocks[a->block].loop_head);
	return bits_has(a->round, b->block);
}

/* Issued in one block, or one behind the other in a round of the loop (stages of an unrolled ring) or outside all
 * loops (parts of an epilogue's tile); what stands on two arms is an alternative, no neighbour. */
static bool side_by_side(const struct neighbours *n, struct copy *a, struct copy *b)
{
	uint32_t head = n->cfg->blocks[a->block].loop_head;

	if (a->block == b->block)
		return true;
	return head == n->cfg->blocks[b->block].loop_head && n->ncopies <= MOST_COPIES &&
	       (follows(n, a, b) || follows(n, b, a));
}

uint64_t neighbours_gap(struct neighbours *n, uint32_t insn, const struct value *address)
{
	uint64_t gap = UINT64_MAX;
	struct copy *own = NULL;

	for (uint32_t k = 0; k < n->ncopies; k++)
		if (n->copies[k].insn == insn)
			own = &n->copies[k];
	for (uint32_t k = 0; own && k < n->ncopies; k++) {
		struct copy *c = &n->copies[k];
		int64_t d;

		if (c == own || c->map != own->map || !distance(address, &c->address, &d) ||
			!side_by_side(n, own, c))
			continue;
		/* copies of one map have one length: the gap on either side bounds it */
		d = d < 0 ? -d : d;
		if (d >= 16 && (uint64_t)d < gap)
			gap = (uint64_t)d;
	}
	return gap;
}
