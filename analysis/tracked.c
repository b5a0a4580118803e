/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: loads. Out: what depends on them, by following the uses of what an instruction defines. Invariant: an
 * instruction that reads a tracked register defines tracked ones of its web alone.
 */
#include "analysis/tracked.h"

#include "analysis/regs.h"
#include "analysis/value_private.h"

#include <string.h>

#define NO_REGISTER (NONE - 1)

/* Numbers are in the order of finding until the webs are known. */
struct finder {
	struct unit *unit;
	struct tracked *out;
	uint32_t *reg;     /* by number */
	uint32_t *nearer;  /* by number: another one of its web, or itself, which then stands for the web */
	uint32_t *defines; /* by instruction, once it was seen: 1 + the first register that it defines, or NO_REGISTER */
	struct reg_list defs;
};

static uint32_t web_of(struct finder *f, uint32_t number)
{
	while (f->nearer[number] != number)
		number = f->nearer[number] = f->nearer[f->nearer[number]];
	return number;
}

static void join_webs(struct finder *f, uint32_t reg, uint32_t other)
{
	f->nearer[web_of(f, f->out->number[reg])] = web_of(f, f->out->number[other]);
}

/* What the instruction defines is tracked: the first of it, or NO_REGISTER. */
static uint32_t track_defs(struct finder *f, uint32_t insn)
{
	const struct function *fn = f->unit->fn;
	struct tracked *out = f->out;

	if (f->defines[insn])
		return f->defines[insn] - 1;
	regs_defined(fn, &fn->insns[insn], f->unit->arena, &f->defs);
	for (uint32_t k = 0; k < f->defs.n; k++) {
		uint32_t reg = f->defs.v[k];

		if (out->number[reg] == NONE) {
			f->nearer[out->n] = out->n;
			f->reg[out->n] = reg;
			out->number[reg] = out->n++;
		}
		join_webs(f, reg, f->defs.v[0]);
	}
	f->defines[insn] = 1 + (f->defs.n ? f->defs.v[0] : NO_REGISTER);
	return f->defines[insn] - 1;
}

static void follow(struct finder *f, struct ids loads)
{
	for (uint32_t i = 0; i < loads.n; i++)
		track_defs(f, loads.v[i]);
	for (uint32_t k = 0; k < f->out->n; k++) {
		struct ids uses = value_register_uses(f->unit->values, f->reg[k]);

		for (uint32_t i = 0; i < uses.n; i++) {
			uint32_t made = track_defs(f, uses.v[i]);

			if (made != NO_REGISTER)
				join_webs(f, f->reg[k], made);
		}
	}
}

/* In place (ISA 9.7.15.5): it reads what it defines. */
static bool accumulates(const struct finder *f, uint32_t insn)
{
	return f->unit->fn->insns[insn].op == OP_wgmma;
}

/* What is read of one of them it is taken to be read for all. */
static void join_accumulators(struct finder *f)
{
	for (uint32_t k = 0; k < f->out->n; k++) {
		struct ids defs = value_register_defs(f->unit->values, f->reg[k]);

		for (uint32_t i = 0; i < defs.n; i++) {
			uint32_t insn = defs.v[i];

			if (!accumulates(f, insn))
				continue;
			if (!f->defines[insn])
				f->defines[insn] = 1 + f->reg[k];
			join_webs(f, f->reg[k], f->defines[insn] - 1);
		}
	}
}

/* Numbers web by web. */
static void renumber(struct finder *f)
{
	struct arena *arena = f->unit->arena;
	struct tracked *out = f->out;
	uint32_t n = out->n, at = 0;
	uint32_t *from = ARENA_NEW(arena, uint32_t, n + 1), *end = ARENA_NEW(arena, uint32_t, n + 1);
	uint32_t *reg = ARENA_UNSET(arena, uint32_t, n + 1);

	out->web_from = ARENA_UNSET(arena, uint32_t, n + 1);
	out->web_end = ARENA_UNSET(arena, uint32_t, n + 1);
	for (uint32_t k = 0; k < n; k++)
		end[web_of(f, k)]++;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t size = end[k], words = (at + size + 63) / 64 - at / 64;

		from[k] = end[k] = at;
		at += size;
		if (size && words > out->web_words)
			out->web_words = words;
	}
	for (uint32_t k = 0; k < n; k++) {
		uint32_t number = end[web_of(f, k)]++;

		out->number[f->reg[k]] = number;
		reg[number] = f->reg[k];
		out->web_from[number] = from[web_of(f, k)];
	}
	for (uint32_t k = 0; k < n; k++)
		out->web_end[out->number[f->reg[k]]] = end[web_of(f, k)];
	f->reg = reg;
}

/* ---- instructions ---- */

/* The instruction, by its place; a new one gets one. */
static struct tracked_insn *insn_at(struct tracked *out, uint32_t insn)
{
	if (!out->at[insn]) {
		out->at[insn] = ++out->ninsns;
		out->insns[out->ninsns] = (struct tracked_insn){0};
	}
	return &out->insns[out->at[insn]];
}

/* How many registers each instruction names: nothing is read twice in its list. */
static void count_names(struct finder *f, uint32_t k)
{
	struct ids defs = value_register_defs(f->unit->values, f->reg[k]);
	struct ids uses = value_register_uses(f->unit->values, f->reg[k]);
	uint64_t bit = UINT64_C(1) << (k % 64);

	for (uint32_t i = 0; i < defs.n; i++) {
		struct tracked_insn *t = insn_at(f->out, defs.v[i]);

		t->ndefs++;
		t->nuses += accumulates(f, defs.v[i]);
		t->fold |= bit;
	}
	for (uint32_t i = 0; i < uses.n; i++) {
		struct tracked_insn *t = insn_at(f->out, uses.v[i]);

		t->nuses += !i || uses.v[i] != uses.v[i - 1];
		t->fold |= bit;
	}
}

static void list_names(struct finder *f, uint32_t k)
{
	struct ids defs = value_register_defs(f->unit->values, f->reg[k]);
	struct ids uses = value_register_uses(f->unit->values, f->reg[k]);

	for (uint32_t i = 0; i < defs.n; i++) {
		struct tracked_insn *t = insn_at(f->out, defs.v[i]);

		t->defs[t->ndefs++] = k;
		if (accumulates(f, defs.v[i]))
			t->uses[t->nuses++] = k;
	}
	for (uint32_t i = 0; i < uses.n; i++) {
		struct tracked_insn *t = insn_at(f->out, uses.v[i]);

		if (!i || uses.v[i] != uses.v[i - 1])
			t->uses[t->nuses++] = k;
	}
}

static void list_insns(struct finder *f)
{
	struct arena *arena = f->unit->arena;
	struct tracked *out = f->out;
	uint32_t most = f->unit->fn->ninsns + 1, names = 0;

	out->at = ARENA_NEW(arena, uint32_t, most);
	out->insns = ARENA_UNSET(arena, struct tracked_insn, most);
	out->insns[0] = (struct tracked_insn){0};
	for (uint32_t k = 0; k < out->n; k++)
		count_names(f, k);
	ARENA_TRIM(arena, out->insns, out->ninsns + 1, most);
	for (uint32_t i = 1; i <= out->ninsns; i++)
		names += out->insns[i].ndefs + out->insns[i].nuses;
	uint32_t *room = ARENA_UNSET(arena, uint32_t, names + 1);

	for (uint32_t i = 1; i <= out->ninsns; i++) {
		struct tracked_insn *t = &out->insns[i];

		t->defs = room;
		t->uses = room + t->ndefs;
		room += t->ndefs + t->nuses;
		t->ndefs = t->nuses = 0;
	}
	for (uint32_t k = 0; k < out->n; k++)
		list_names(f, k);
}

void tracked_find(struct unit *unit, struct ids loads, struct tracked *out)
{
	struct arena *arena = unit->arena;
	uint32_t nregs = unit->fn->nregs;
	struct finder f = {.unit = unit,
		.out = out,
		.reg = ARENA_UNSET(arena, uint32_t, nregs + 1),
		.nearer = ARENA_UNSET(arena, uint32_t, nregs + 1),
		.defines = ARENA_NEW(arena, uint32_t, unit->fn->ninsns)};

	*out = (struct tracked){.number = ARENA_UNSET(arena, uint32_t, nregs + 1)};
	memset(out->number, 0xff, sizeof(*out->number) * (nregs + 1));
	follow(&f, loads);
	join_accumulators(&f);
	renumber(&f);
	list_insns(&f);
}
