/* SPDX-License-Identifier: Apache-2.0 */
/* How low bits follow from those of the parts: for one thread (residues.c) and for many (residues_fill.c). */
#pragma once

#include "analysis/residues.h"

#define RESIDUE_DEPTH_MOST 24

/* Of the parts a and b; what is none of these is not known. */
enum form {
	FORM_NONE,
	FORM_SAME, /* a */
	FORM_ADD,
	FORM_SUB,
	FORM_AND,
	FORM_OR,
	FORM_XOR,
	FORM_MULTIPLE, /* factor * a */
	FORM_MULTIPLE_ADD, /* factor * a + b */
	FORM_JOIN /* a phi */
};

static inline uint32_t residue_fewer(const struct residue *a, const struct residue *b)
{
	return a->bits < b->bits ? a->bits : b->bits;
}

static inline bool residue_has_two_parts(const struct residue_form *f)
{
	return f->kind > FORM_SAME && f->kind != FORM_MULTIPLE && f->kind != FORM_JOIN;
}

/* The low bits of a result follow from low bits of the sources. */
static inline struct residue residue_combined(const struct residue_form *f, struct residue x, struct residue y)
{
	if (f->kind == FORM_MULTIPLE || f->kind == FORM_MULTIPLE_ADD)
		x = f->factor ? residue_modulo(x.value * f->factor,
					x.bits + (uint32_t)__builtin_ctzll(f->factor))
			      : residue_modulo(0, 64);
	if (!residue_has_two_parts(f))
		return x;
	return residue_modulo(f->kind == FORM_SUB   ? x.value - y.value
			      : f->kind == FORM_AND ? x.value & y.value
			      : f->kind == FORM_OR  ? x.value | y.value
			      : f->kind == FORM_XOR ? x.value ^ y.value
						    : x.value + y.value,
		residue_fewer(&x, &y));
}

/* What two ways into a phi agree about. */
static inline struct residue residue_common(struct residue all, struct residue way)
{
	uint64_t apart = all.value ^ way.value;

	if (all.bits < way.bits)
		way.bits = all.bits;
	if (apart && (uint32_t)__builtin_ctzll(apart) < way.bits)
		way.bits = (uint32_t)__builtin_ctzll(apart);
	return way;
}

/* What is known beside that, too. */
static inline struct residue residue_bounded(const struct residue_form *f, struct residue r)
{
	if (r.bits > f->most)
		r.bits = f->most;
	if (f->set.bits > r.bits)
		r = f->set;
	return residue_modulo(r.value, r.bits < f->width ? r.bits : f->width);
}

/* If the node is an address, it is one in the variable. */
static inline bool residue_is_in(const struct values *vs, uint32_t node, uint32_t variable)
{
	return value_at(vs, node)->base != BASE_SYMBOL || value_at(vs, node)->id == variable;
}

static inline void residues_keep(struct residues *kept, uint32_t tid, struct residue r)
{
	kept->v[tid] = r;
	thread_set_add(&kept->asked, tid);
}
