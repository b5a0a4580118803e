/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a store. Out: whether it is written over. ptxas 13.0 leaves such a store out: across labels, loads of other
 * state spaces, by several narrower stores as well as by one; not across a branch, nor another access of its own
 * space, which is not relied on here. Invariant: two addresses are held to be apart by a number only if they are the
 * same register, or the same sum in one variable; others are not looked at.
 */
#include "analysis/dead_store.h"

#include "analysis/short_branch.h"
#include "analysis/stage_place.h"
#include "analysis/value_private.h"

#define BLOCKS_MOST 8 /* on the way */
#define STORES_MOST 64
#define BYTES_MOST 32
#define COPIES_MOST 8

enum answer { NOT_ASKED, NO, YES };

#define KEPT 128

struct dead_stores {
	struct unit *unit;
	const uint32_t *asked;
	uint8_t *answer; /* by instruction */
	/* by the low bits of the instruction's number, as stores behind one another look at the same: */
	uint32_t kept_of[KEPT]; /* of which one, plus one; 0: of none */
	struct store *kept;
};

/* ISA 8.6: a weak store, of a known number of bytes. */
static bool is_weak_store(const struct unit *unit, uint32_t insn)
{
	const struct insn *i = &unit->fn->insns[insn];
	const struct effect *e = unit->effects[insn];

	return i->op == OP_st && e->sync == SYNC_NONE && e->ntouches == 1 && !e->releases &&
	       !e->touches[0].asynchronous && e->touches[0].operand != UINT8_MAX && e->touches[0].bytes &&
	       e->touches[0].bytes <= BYTES_MOST;
}

struct store {
	uint32_t bytes;
	uint32_t node; /* of the register in the brackets, to which `offset' is added; NONE: there is none */
	int64_t offset;
	bool placed; /* in a variable */
	struct stage_place place;
};

struct dead_stores *dead_stores_prepare(struct unit *unit, const uint32_t *asked)
{
	struct dead_stores *d = ARENA_NEW(unit->arena, struct dead_stores, 1);

	*d = (struct dead_stores){.unit = unit,
		.asked = asked,
		.answer = ARENA_NEW(unit->arena, uint8_t, unit->fn->ninsns),
		.kept = ARENA_UNSET(unit->arena, struct store, KEPT)};
	return d;
}

/* Through copies, and between the windows of a state space and of generic addresses. */
static uint32_t origin_of(const struct values *vs, uint32_t node)
{
	for (uint32_t k = 0; k < COPIES_MOST && node < vs->nsolved; k++) {
		const struct node *n = &vs->ssa.nodes[node];
		const struct insn *insn = n->kind == NODE_DEF && n->previous == NONE ? &vs->fn->insns[n->insn] : NULL;

		if (!insn || (insn->op != OP_mov && insn->op != OP_LINK_MOV && insn->op != OP_cvt && insn->op != OP_cvta) ||
			insn_type(insn, 0).bits < 32 || insn_type(insn, 0).is_float || insn_has(insn, MOD_sat) ||
			(insn->op == OP_cvt && (insn_type(insn, 1).bits < 32 || insn_type(insn, 1).is_float)))
			break;
		uint32_t from = trips_plain_node(vs, insn_source(vs->fn, insn, 0));

		if (from == NONE)
			break;
		node = from;
	}
	return node;
}

static const struct store *store_at(struct dead_stores *d, uint32_t insn)
{
	const struct unit *unit = d->unit;
	const struct touch *t = &unit->effects[insn]->touches[0];
	const struct operand *mem = insn_operand(unit->fn, &unit->fn->insns[insn], t->operand);
	struct store *s = &d->kept[insn % KEPT];

	if (d->kept_of[insn % KEPT] == insn + 1)
		return s;
	d->kept_of[insn % KEPT] = insn + 1;
	const struct operand *base = mem->kind == OPERAND_MEM && !mem->indexed ? operand_child(unit->fn, mem, 0) : NULL;

	s->bytes = t->bytes;
	s->node = base && base->kind == OPERAND_REG ? origin_of(unit->values, base->node) : NONE;
	s->offset = base ? operand_offset(unit->fn, base) : 0;
	s->placed = stage_place_of(unit->values, mem, NONE, &s->place);
	return s;
}

/* In whatever order. */
static bool same_terms(const struct stage_sum *a, const struct stage_sum *b)
{
	for (uint32_t i = 0; i < a->n; i++) {
		bool found = false;

		for (uint32_t k = 0; k < b->n && !found; k++)
			found = a->terms[i].node == b->terms[k].node && a->terms[i].factor == b->terms[k].factor;
		if (!found)
			return false;
	}
	return a->n == b->n;
}

/* By how many bytes the second begins behind the first; false: not known. */
static bool are_apart(const struct store *a, const struct store *b, int64_t *by)
{
	*by = b->offset - a->offset;
	if (a->node != NONE && a->node == b->node)
		return true;
	*by = (int32_t)(b->place.sum.constant - a->place.sum.constant);
	return a->placed && b->placed && stage_same_base(&a->place, &b->place) &&
	       same_terms(&a->place.sum, &b->place.sum);
}

/* Of the bytes that are left those that the other store does not write. */
static uint32_t left_of(uint32_t left, const struct store *a, const struct store *b)
{
	int64_t by;

	if (!are_apart(a, b, &by) || by <= -BYTES_MOST || by >= BYTES_MOST)
		return left;
	uint64_t written = ((UINT64_C(1) << b->bytes) - 1) << BYTES_MOST;

	written = by < 0 ? written >> -by : written << by;
	return left & ~(uint32_t)(written >> BYTES_MOST);
}

/* A hand-off, an async access, an exit, or a call that is not of a function of the module: that may be inlined. */
static bool ends_way(const struct dead_stores *d, const struct block *block, uint32_t insn)
{
	const struct unit *unit = d->unit;
	const struct effect *e = unit->effects[insn];
	const uint32_t last = block->first + block->count - 1;

	if (!d->asked[insn] || branch_returns(unit, insn))
		return false;
	return !e->is_call || insn != last || block->recurses || block->succ.n != 1 ||
	       unit->cfg.blocks[block->succ.v[0]].first == insn + 1;
}

static bool is_written_over(struct dead_stores *d, uint32_t insn)
{
	const struct unit *unit = d->unit;
	const struct cfg *cfg = &unit->cfg;
	const struct block *block = &cfg->blocks[cfg->block_of[insn]];
	const struct store first = *store_at(d, insn);
	uint32_t from = insn + 1, looks = 0;
	uint32_t left = (uint32_t)((UINT64_C(1) << first.bytes) - 1);

	for (uint32_t n = 0; n < BLOCKS_MOST; n++) {
		for (uint32_t i = from; i < block->first + block->count; i++) {
			if (ends_way(d, block, i) || looks == STORES_MOST)
				return false;
			if (unit->fn->insns[i].guard != NONE || !is_weak_store(unit, i))
				continue;
			looks++;
			left = left_of(left, &first, store_at(d, i));
			if (!left)
				return true;
		}
		if (block->succ.n != 1)
			return false;
		block = &cfg->blocks[block->succ.v[0]];
		from = block->first;
	}
	return false;
}

bool store_is_dead(struct dead_stores *d, uint32_t insn)
{
	if (d->answer[insn] == NOT_ASKED)
		d->answer[insn] = is_weak_store(d->unit, insn) && is_written_over(d, insn) ? YES : NO;
	return d->answer[insn] == YES;
}
