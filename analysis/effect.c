/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: one instruction and its row of effects.def. Out: its effect. Invariant: what the tables do
 * not know is `known` false, and touches everything its brackets can name.
 */
#include "analysis/effect_form.h"

#include <string.h>

#define WHERE_UNKNOWN (SPACE_SHARED | SPACE_CLUSTER | SPACE_GLOBAL)

/* By modifier: bytes of the type that it names, or 0. */
static const uint8_t type_bytes[MOD_COUNT] = {[MOD_b8] = 1,
	[MOD_u8] = 1,
	[MOD_s8] = 1,
	[MOD_e4m3] = 1,
	[MOD_e5m2] = 1,
	[MOD_b16] = 2,
	[MOD_u16] = 2,
	[MOD_s16] = 2,
	[MOD_f16] = 2,
	[MOD_bf16] = 2,
	[MOD_e4m3x2] = 2,
	[MOD_e5m2x2] = 2,
	[MOD_b32] = 4,
	[MOD_u32] = 4,
	[MOD_s32] = 4,
	[MOD_f32] = 4,
	[MOD_f16x2] = 4,
	[MOD_bf16x2] = 4,
	[MOD_e4m3x4] = 4,
	[MOD_e5m2x4] = 4,
	[MOD_b64] = 8,
	[MOD_u64] = 8,
	[MOD_s64] = 8,
	[MOD_f64] = 8,
	[MOD_f32x2] = 8,
	[MOD_b128] = 16,
	[MOD_u128] = 16,
	[MOD_s128] = 16};

/* Bytes of one access by type and vector length; 0: no type that is known. */
static uint32_t width_of(const struct insn *insn)
{
	uint32_t bytes = 0, vector = 1;

	for (uint32_t i = 0; i < insn->nmods; i++) {
		uint32_t b = type_bytes[insn->mods[i]];

		if (b)
			bytes = b;
		if (insn->mods[i] == MOD_v2)
			vector = 2;
		if (insn->mods[i] == MOD_v4)
			vector = 4;
		if (insn->mods[i] == MOD_v8)
			vector = 8;
	}
	return bytes * vector;
}

/* Top-level number of the n-th [..] operand, or UINT8_MAX. */
static uint8_t bracket(const struct function *fn, const struct insn *insn, uint32_t n)
{
	for (uint32_t i = 0; i < insn->count && i < UINT8_MAX; i++)
		if (insn_operand(fn, insn, i)->kind == OPERAND_MEM && n-- == 0)
			return (uint8_t)i;
	return UINT8_MAX;
}

static uint8_t place_of(
	const struct function *fn, const struct insn *insn, const struct form_touch *t)
{
	if (!(t->place & 0x80))
		return bracket(fn, insn, t->place);
	uint8_t i = t->place & 0x7f;
	const struct operand *o = insn_operand(fn, insn, i);

	if (!o)
		return UINT8_MAX;
	/* A in registers or tensor memory is no shared memory (ISA 9.7.15.5, 9.7.16.10) */
	if ((t->access & FORM_DESCRIPTOR) && o->kind != OPERAND_REG && o->kind != OPERAND_IMM)
		return UINT8_MAX;
	return i;
}

static bool reaches_peers(const struct insn *insn)
{
	return insn_has(insn, MOD_multicast__cluster) ||
	       insn_has(insn, MOD_multicast__cluster__16b) ||
	       insn_has(insn, MOD_multicast__cluster__32b) ||
	       insn_has(insn, MOD_multicast__cluster__all) ||
	       (insn->op == OP_tcgen05 && insn_has(insn, MOD_cta_group__2));
}

static void add_touch(const struct function *fn, const struct insn *insn,
	const struct form_touch *row, struct effect *e)
{
	struct touch t = {.proxy = row->proxy,
		.reads = row->access & FORM_READS,
		.writes = row->access & FORM_WRITES,
		.asynchronous = row->access & FORM_LATER,
		.mbarrier = row->access & FORM_MBARRIER,
		.hidden = row->access & FORM_HIDDEN,
		.peer = (row->access & FORM_MULTICAST) && reaches_peers(insn),
		.operand = place_of(fn, insn, row),
		.extent = row->extent,
		.size_operand = UINT8_MAX,
		.mbarrier_operand = e->mbarrier_operand};

	if ((row->access & FORM_DESCRIPTOR) && t.operand == UINT8_MAX)
		return;
	t.spaces = effect_slot_spaces(insn, row->slot);
	if (!t.spaces) {
		t.spaces = row->spaces;
		t.generic_address = row->slot != SLOT_NONE;
	}
	if (t.peer)
		t.spaces |= SPACE_CLUSTER;
	if (row->extent == EXTENT_OPERAND)
		t.size_operand = (uint8_t)row->size;
	else if (row->extent == EXTENT_WMMA && insn->count > (t.operand == 0 ? 2U : t.operand + 1U))
		t.size_operand =
			t.operand == 0 ? 2
				       : t.operand + 1; /* stride; behind the fragment in a store */
	else
		t.bytes = row->size;
	if (row->extent == EXTENT_FIXED && !row->size) {
		t.bytes = width_of(insn);
		if (!t.bytes)
			t.extent = EXTENT_UNKNOWN;
	}
	e->touches[e->ntouches++] = t;
}

static uint8_t operand_or_none(const struct insn *insn, uint8_t one_based)
{
	return one_based && one_based <= insn->count ? one_based - 1 : UINT8_MAX;
}

/* bar.red d, a{, b}, c: the count is there only with four operands (ISA 9.7.13.1). */
static uint8_t count_operand(const struct insn *insn, const struct form *form)
{
	if (form->sync == SYNC_BAR && insn_has(insn, MOD_red) && insn->count < 4)
		return UINT8_MAX;
	return operand_or_none(insn, form->count);
}

/* An atom or red that names no scope is of the GPU (ISA 9.7.13.5); what else orders memory must name one. */
static bool beyond_cta(const struct insn *insn)
{
	static const bool wide[MOD_COUNT] = {[MOD_cluster] = true,
		[MOD_gpu] = true,
		[MOD_sys] = true,
		[MOD_gl] = true,
		[MOD_volatile] = true,
		[MOD_mmio] = true};

	for (uint32_t i = 0; i < insn->nmods; i++)
		if (wide[insn->mods[i]])
			return true;
	return (insn->op == OP_atom || insn->op == OP_red) && !insn_has(insn, MOD_cta);
}

/* An arrive on a shared::cluster or generic address may be on a peer's barrier. */
static bool may_be_remote(const struct insn *insn, const struct effect *e)
{
	if (e->sync != SYNC_MBAR_ARRIVE && e->sync != SYNC_MBAR_EXPECT &&
		e->sync != SYNC_TCGEN05_COMMIT)
		return false;
	uint8_t spaces = effect_slot_spaces(insn, SLOT_FIRST);

	return !spaces || (spaces & SPACE_CLUSTER);
}

/* A multicast arrive or expect-tx is for barriers of other CTAs too, with a mask behind its other operands: no
 * row says so. */
static bool has_unknown_modifier(const struct insn *insn)
{
	return insn_has(insn, MOD_UNKNOWN) ||
	       (insn->op == OP_mbarrier && insn_has(insn, MOD_multicast__cluster__32b));
}

/* The fences that settle something have no optional modifiers: one more makes another fence of
 * them. */
static bool fence_is_exact(const struct insn *insn, const struct form *form)
{
	uint32_t n = 0;

	while (n < 6 && form->with[n])
		n++;
	return n == insn->nmods;
}

static void apply_fence(const struct insn *insn, const struct form *form, struct effect *e)
{
	bool settles = form->fence >= FENCE_ASYNC_ALL && form->fence <= FENCE_GENERIC_RELEASE_READ;

	e->fence = form->fence;
	if (settles && !fence_is_exact(insn, form)) {
		e->fence = FENCE_OTHER;
		e->known = false;
	}
}

static void apply_form(const struct function *fn, const struct insn *insn, const struct form *form,
	struct effect *e)
{
	e->known = true;
	e->section = form->section;
	e->sync = form->sync;
	e->releases = form->flags & FORM_RELEASES;
	e->acquires = form->flags & FORM_ACQUIRES;
	e->relaxed = form->flags & FORM_RELAXED;
	e->all = form->flags & FORM_ALL;
	e->read_only = form->flags & FORM_READ_ONLY;
	e->pure = form->flags & FORM_PURE;
	e->is_call = form->flags & FORM_CALL;
	e->is_branch = form->flags & FORM_BRANCH;
	e->is_exit = form->flags & FORM_EXIT;
	e->collective = form->flags & FORM_GROUP ? 2 : form->flags & FORM_WARP ? 1 : 0;
	e->cluster_scope = (form->flags & FORM_WIDE) || beyond_cta(insn);
	e->barrier_operand = operand_or_none(insn, form->barrier);
	e->count_operand = count_operand(insn, form);
	if (form->mbarrier)
		e->mbarrier_operand = bracket(fn, insn, form->mbarrier - 1);
	e->remote = may_be_remote(insn, e);
	apply_fence(insn, form, e);
	for (uint32_t i = 0; i < 4 && form->touches[i].access; i++)
		add_touch(fn, insn, &form->touches[i], e);
	/* with a modifier more a wait may complete less, and a fence order less (`.sync_restrict') */
	if (has_unknown_modifier(insn) && !e->pure) {
		e->known = false;
		e->may_touch_memory = e->ntouches > 0 || e->sync != SYNC_NONE;
		if (e->fence != FENCE_NONE)
			e->fence = FENCE_OTHER;
	}
}

static bool text_has(const struct function *fn, const struct insn *insn, const char *word)
{
	const struct source *source = fn->module->source;
	struct span at = insn_opcode_at(fn, insn);
	size_t n = strlen(word);

	for (uint32_t i = at.begin; source && i + n <= at.end; i++)
		if (!memcmp(source->text + i, word, n))
			return true;
	return false;
}

/* Rule of thumb: `.async' and `.bulk' together mean the async proxy (ISA 8.6). Every bracket
 * may be read and written, wherever it points. */
static void apply_caution(const struct function *fn, const struct insn *insn, struct effect *e)
{
	bool async = (insn_has(insn, MOD_async) && insn_has(insn, MOD_bulk)) ||
		     (text_has(fn, insn, ".async") && text_has(fn, insn, "bulk"));

	e->may_touch_memory = true;
	for (uint32_t i = 0; i < insn->count && e->ntouches < 4; i++)
		if (insn_operand(fn, insn, i)->kind == OPERAND_MEM)
			e->touches[e->ntouches++] =
				(struct touch){.proxy = async ? PROXY_ASYNC : PROXY_GENERIC,
					.spaces = WHERE_UNKNOWN,
					.generic_address = true,
					.reads = true,
					.writes = true,
					.operand = (uint8_t)i,
					.extent = EXTENT_UNKNOWN,
					.size_operand = UINT8_MAX,
					.mbarrier_operand = UINT8_MAX};
}

static const struct operand *callee_of(const struct function *fn, const struct insn *insn)
{
	const struct operand *o = insn_operand(fn, insn, 0);

	return o && o->kind == OPERAND_TUPLE ? insn_operand(fn, insn, 1) : o;
}

/* `.noreturn' of the callee, or of the prototype of an indirect call (ISA 9.7.12.5, 11.4.9). */
static bool call_never_returns(const struct function *fn, const struct insn *insn)
{
	const struct operand *callee = callee_of(fn, insn);

	if (callee && callee->kind == OPERAND_SYMBOL)
		return function_symbol(fn, callee->id)->is_noreturn;
	const struct operand *last = insn->count ? insn_operand(fn, insn, insn->count - 1) : NULL;

	if (!last || last->kind != OPERAND_LABEL || last->id >= fn->nlabels)
		return false;
	uint32_t table = fn->labels[last->id].table;

	return table != NONE && fn->tables[table].kind == TABLE_PROTOTYPE &&
	       fn->tables[table].noreturn;
}

static void classify(const struct function *fn, const struct insn *insn, const struct form *form,
	struct effect *e)
{
	*e = (struct effect){.barrier_operand = UINT8_MAX,
		.count_operand = UINT8_MAX,
		.mbarrier_operand = UINT8_MAX,
		.section = ""};
	if (insn->op == (uint16_t)OP_LINK_MOV) {
		e->known = e->pure = true;
		return;
	}
	if (form)
		apply_form(fn, insn, form, e);
	else
		apply_caution(fn, insn, e);
	if (e->is_call)
		e->is_noreturn = call_never_returns(fn, insn);
}

void effect_of(const struct function *fn, const struct insn *insn, struct effect *e)
{
	classify(fn, insn, effect_form(insn), e);
}

/* What an opcode text was last found to be: the parser keeps one list of modifiers for equal texts,
 * and the row depends on nothing else. */
struct seen_opcode {
	const uint16_t *mods;
	const struct form *form;
	const struct effect *effect; /* of `insn`; NULL: not classified yet */
	const struct insn *insn;
	uint16_t op;
};

#define OPCODES_SEEN 64

static bool may_describe(const struct operand *o)
{
	return o->kind == OPERAND_REG || o->kind == OPERAND_IMM;
}

/* Of its operands an effect depends on how many there are and which are brackets or descriptors;
 * a call's on the callee. */
static bool same_operands(const struct function *fn, const struct insn *a, const struct insn *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		const struct operand *o = insn_operand(fn, a, i), *p = insn_operand(fn, b, i);

		if ((o->kind == OPERAND_MEM) != (p->kind == OPERAND_MEM) ||
			may_describe(o) != may_describe(p))
			return false;
	}
	return true;
}

static bool fits(const struct function *fn, const struct seen_opcode *seen, const struct insn *insn)
{
	return seen->effect && (seen->effect->pure || (!seen->effect->is_call &&
							      same_operands(fn, seen->insn, insn)));
}

/* Of one list of modifiers few effects differ: those made last, by what mostly tells them apart. */
#define EFFECTS_SEEN 128
#define MANY 4096 /* instructions: from here on it is worth while to look for an equal effect */

/* The effect, which was made last, or an equal one instead. */
static const struct effect *shared_effect(const struct effect *seen[], const struct insn *insn,
	struct effect *effect, struct arena *arena)
{
	const struct touch *touch = effect->touches;
	uint64_t about = (uintptr_t)insn->mods + 64u * touch[0].operand + 4096u * touch[1].operand +
			 insn->op;
	const struct effect **slot =
		&seen[about * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (EFFECTS_SEEN - 1)];

	if (*slot && memcmp(*slot, effect, sizeof(*effect)) == 0)
		ARENA_GIVE_BACK(arena, effect, 1);
	else
		*slot = effect;
	return *slot;
}

const struct effect **effects_of(const struct function *fn, struct arena *arena)
{
	static const struct effect nothing;
	const struct effect *made[EFFECTS_SEEN] = {NULL};
	const struct effect **effects = ARENA_UNSET(arena, const struct effect *, fn->ninsns + 1);
	struct seen_opcode table[OPCODES_SEEN] = {0};

	for (uint32_t i = 0; i < fn->ninsns; i++) {
		const struct insn *insn = &fn->insns[i];
		struct seen_opcode *seen = &table[(uintptr_t)insn->mods / 16 % OPCODES_SEEN];

		if (!insn->mods || seen->mods != insn->mods || seen->op != insn->op)
			*seen = (struct seen_opcode){
				.mods = insn->mods, .form = effect_form(insn), .op = insn->op};
		if (!fits(fn, seen, insn)) {
			struct effect *effect = ARENA_NEW(arena, struct effect, 1);

			classify(fn, insn, seen->form, effect);
			seen->effect = fn->ninsns < MANY ? effect
							 : shared_effect(made, insn, effect, arena);
			seen->insn = insn;
		}
		effects[i] = seen->effect;
	}
	effects[fn->ninsns] = &nothing;
	return effects;
}

struct effect *effects_own(const struct effect **effects, uint32_t i, struct arena *arena)
{
	struct effect *own = ARENA_UNSET(arena, struct effect, 1);

	*own = *effects[i];
	effects[i] = own;
	return own;
}

const char *fence_text(enum fence_kind kind)
{
	switch (kind) {
	case FENCE_ASYNC_ALL:
		return "fence.proxy.async;";
	case FENCE_ASYNC_CTA:
		return "fence.proxy.async.shared::cta;";
	case FENCE_ASYNC_CLUSTER:
		return "fence.proxy.async.shared::cluster;";
	case FENCE_ASYNC_GLOBAL:
		return "fence.proxy.async.global;";
	case FENCE_NONE:
	case FENCE_GENERIC_RELEASE:
	case FENCE_GENERIC_ACQUIRE:
	case FENCE_GENERIC_RELEASE_READ:
	case FENCE_TENSORMAP_RELEASE:
	case FENCE_TENSORMAP_ACQUIRE:
	case FENCE_MBARRIER_INIT:
	case FENCE_OTHER:
		break;
	}
	return "";
}

uint8_t fence_width(enum fence_kind kind)
{
	switch (kind) {
	case FENCE_ASYNC_ALL:
		return SPACE_SHARED | SPACE_CLUSTER | SPACE_GLOBAL;
	case FENCE_ASYNC_CTA:
	case FENCE_GENERIC_RELEASE:
		return SPACE_SHARED;
	case FENCE_ASYNC_CLUSTER:
		return SPACE_SHARED | SPACE_CLUSTER;
	case FENCE_ASYNC_GLOBAL:
		return SPACE_GLOBAL;
	case FENCE_NONE:
	case FENCE_GENERIC_ACQUIRE:
	case FENCE_GENERIC_RELEASE_READ:
	case FENCE_TENSORMAP_RELEASE:
	case FENCE_TENSORMAP_ACQUIRE:
	case FENCE_MBARRIER_INIT:
	case FENCE_OTHER:
		return 0;
	}
	return 0;
}

void fence_kinds(uint8_t width, enum fence_kind kinds[2])
{
	bool shared = width & SPACE_SHARED, global = width & SPACE_GLOBAL;

	kinds[1] = FENCE_NONE;
	if (width & SPACE_CLUSTER) {
		kinds[0] = global ? FENCE_ASYNC_ALL : FENCE_ASYNC_CLUSTER;
		return;
	}
	kinds[0] = shared ? FENCE_ASYNC_CTA : global ? FENCE_ASYNC_GLOBAL : FENCE_NONE;
	if (shared && global)
		kinds[1] = FENCE_ASYNC_GLOBAL;
}

bool fence_is_proxy(enum fence_kind kind)
{
	return kind >= FENCE_ASYNC_ALL && kind <= FENCE_GENERIC_RELEASE_READ;
}
