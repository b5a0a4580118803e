/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a register and threads. Out: what residues.c would find in each of them, kept. Each register that it is made
 * of is looked at once, for all of them. Invariant: nothing is kept that register_bits() could not have kept.
 */
#include "analysis/residues_private.h"

/* What a part is, thread by thread, as far as it is kept. */
struct column {
	const struct residues *kept; /* NULL: the same in all, */
	struct residue same;	     /* which is this */
	uint64_t plus;
	bool is_open; /* threads.h may know more of it */
	bool too_many; /* it is not kept at all */
};

static void fill(struct values *, uint32_t variable, uint32_t node, const struct thread_set *, uint32_t depth);

static struct column column_of(struct values *vs, uint32_t variable, const struct residue_part *part)
{
	struct column c = {.plus = part->plus};

	if (part->node == NONE && (part->symbol == NONE || part->symbol == variable))
		c.same = residue_modulo(part->plus, part->bits);
	if (part->node == NONE) {
		c.is_open = !part->bits;
	} else if (part->node < vs->nsolved && residue_is_in(vs, part->node, variable)) {
		c.kept = residues_of(vs, part->node);
		c.too_many = !c.kept;
	}
	return c;
}

static uint32_t column_assumptions(const struct column *c)
{
	return c->kept ? c->kept->assumptions : 0;
}

/* Leaves those threads in the set of which the part is kept. */
static void column_narrow(const struct column *c, struct thread_set *who)
{
	for (uint32_t i = 0; (c->kept || c->too_many) && i < THREADS_MAX / 64; i++)
		who->w[i] &= c->kept ? c->kept->asked.w[i] : 0;
}

static inline struct residue column_at(const struct column *c, uint32_t tid)
{
	if (!c->kept)
		return c->same;
	return residue_modulo(c->kept->v[tid].value + c->plus, c->kept->v[tid].bits);
}

/* The whole number is known, where `r` is what the part is; it may be, where that is not asked for. */
static inline bool column_whole(const struct column *c, const struct residue *r)
{
	return c->is_open || r->bits >= (c->kept ? c->kept->form.width : 64);
}

/* The whole number, in those threads in which it follows from the thread's. */
static void fill_numbers(struct values *vs, struct residues *kept, uint32_t node,
	const struct thread_set *todo)
{
	int64_t number;
	uint32_t end;

	for (uint32_t tid = thread_set_next(todo, 0); tid < THREADS_MAX;
		tid = thread_set_next(todo, end)) {
		end = kept->open_end;
		if (tid >= kept->open_from && tid < end)
			continue;
		if (!thread_node_number(vs, tid, node, &number, &end)) {
			kept->open_from = tid;
			kept->open_end = end;
			continue;
		}
		for (; tid < end; tid = thread_set_next(todo, tid + 1))
			residues_keep(kept, tid, residue_modulo((uint64_t)number, kept->form.width));
	}
}

static struct residue_part part_of_way(const struct values *vs, const struct node *n, uint32_t k)
{
	return (struct residue_part){vs->ssa.inputs[n->input + k], NONE, 0, 0};
}

static bool are_kept(struct values *vs, uint32_t variable, const struct node *n)
{
	for (uint32_t k = 0; k < vs->cfg->blocks[n->block].pred.n; k++) {
		struct residue_part part = part_of_way(vs, n, k);

		if (column_of(vs, variable, &part).too_many)
			return false;
	}
	return true;
}

static void fill_join(struct values *vs, uint32_t variable, struct residues *kept,
	const struct thread_set *todo, uint32_t depth)
{
	const struct node *n = &vs->ssa.nodes[kept->node];
	struct thread_set left = *todo;
	struct residue *all, way;

	if (!are_kept(vs, variable, n))
		return;
	all = ARENA_NEW(vs->arena, struct residue, THREADS_MAX);

	/* what comes around a loop finds what is certain of the phi */
	kept->assumptions |= kept->form.set_assumptions;
	for (uint32_t tid = thread_set_next(todo, 0); tid < THREADS_MAX;
		tid = thread_set_next(todo, tid + 1))
		residues_keep(kept, tid, kept->form.set);
	for (uint32_t k = 0; k < vs->cfg->blocks[n->block].pred.n; k++) {
		struct residue_part part = part_of_way(vs, n, k);

		fill(vs, variable, part.node, &left, depth);
		struct column c = column_of(vs, variable, &part);

		kept->assumptions |= column_assumptions(&c);
		for (uint32_t tid = thread_set_next(&left, 0); tid < THREADS_MAX;
			tid = thread_set_next(&left, tid + 1)) {
			way = c.kept && !thread_set_has(&c.kept->asked, tid)
				      ? residue_unknown
				      : column_at(&c, tid);
			all[tid] = k ? residue_common(all[tid], way) : way;
			if (!all[tid].bits) {
				all[tid] = residue_unknown;
				thread_set_remove(&left, tid);
			}
		}
	}
	for (uint32_t tid = thread_set_next(todo, 0); tid < THREADS_MAX;
		tid = thread_set_next(todo, tid + 1))
		kept->v[tid] = residue_bounded(&kept->form, all[tid]);
	ARENA_GIVE_BACK(vs->arena, all, THREADS_MAX);
}

/* With a part that is not known as a whole the number is not either, but for and, or. */
static inline bool may_be_whole(const struct residue_form *f, const struct column *a, const struct residue *x,
	const struct column *b, const struct residue *y)
{
	uint64_t all = f->width < 64 ? (UINT64_C(1) << f->width) - 1 : ~UINT64_C(0);
	uint64_t enough = f->kind == FORM_AND ? 0 : all;
	bool x_whole = column_whole(a, x), y_whole = !residue_has_two_parts(f) || column_whole(b, y);

	if (f->kind != FORM_AND && f->kind != FORM_OR)
		return x_whole && y_whole;
	return (x_whole && (a->is_open || y_whole || (x->value & all) == enough)) ||
	       (y_whole && (b->is_open || (y->value & all) == enough));
}

/* Threads of one word of a set: those whose number is whole, and those of which it may be otherwise. */
struct whole {
	uint64_t found, open;
};

static inline __attribute__((always_inline)) struct whole fill_whole_word(struct residues *kept, uint8_t kind,
	const struct column *a, const struct column *b, uint32_t first, uint64_t threads)
{
	struct residue_form f = kept->form;
	struct whole w = {0, 0};

	f.kind = kind; /* a constant in each copy of the loop */
	for (; threads; threads &= threads - 1) {
		uint32_t tid = first + (uint32_t)__builtin_ctzll(threads);
		struct residue x = column_at(a, tid), y = column_at(b, tid), r = residue_combined(&f, x, y);

		if (r.bits >= f.width && f.most >= f.width) {
			kept->v[tid] = residue_modulo(r.value, f.width);
			w.found |= threads & -threads;
		} else if (may_be_whole(&f, a, &x, b, &y)) {
			w.open |= threads & -threads;
		}
	}
	return w;
}

/* Each kind that is met often has a copy of the loop. */
static struct whole fill_whole_of(struct residues *kept, const struct column *a, const struct column *b,
	uint32_t first, uint64_t threads)
{
	switch (kept->form.kind) {
	case FORM_SAME:
		return fill_whole_word(kept, FORM_SAME, a, b, first, threads);
	case FORM_ADD:
		return fill_whole_word(kept, FORM_ADD, a, b, first, threads);
	case FORM_AND:
		return fill_whole_word(kept, FORM_AND, a, b, first, threads);
	case FORM_MULTIPLE:
		return fill_whole_word(kept, FORM_MULTIPLE, a, b, first, threads);
	default:
		return fill_whole_word(kept, kept->form.kind, a, b, first, threads);
	}
}

/* From the parts, in the threads of `todo` that both are kept of. Takes from it those in which the whole number
 * follows so, and rests on no assumption; and leaves in `open` those in which it may follow otherwise. */
static void fill_whole(struct residues *kept, const struct column *a, const struct column *b,
	struct thread_set *todo, struct thread_set *open)
{
	struct thread_set known = *todo;

	column_narrow(a, &known);
	column_narrow(b, &known);
	for (uint32_t i = 0; i < THREADS_MAX / 64; i++) {
		if (!known.w[i])
			continue;
		struct whole w = fill_whole_of(kept, a, b, i * 64, known.w[i]);

		kept->asked.w[i] |= w.found;
		todo->w[i] &= ~w.found;
		open->w[i] &= ~known.w[i] | w.open;
	}
}

/* From the parts, in the threads that both are kept of. */
static void fill_parts(struct residues *kept, const struct column *a, const struct column *b,
	const struct thread_set *todo)
{
	struct thread_set known = *todo;

	column_narrow(a, &known);
	column_narrow(b, &known);
	if (thread_set_next(&known, 0) == THREADS_MAX)
		return;
	kept->assumptions |=
		column_assumptions(a) | column_assumptions(b) | kept->form.set_assumptions;
	for (uint32_t i = 0; i < THREADS_MAX / 64; i++) {
		for (uint64_t threads = known.w[i]; threads; threads &= threads - 1) {
			uint32_t tid = i * 64 + (uint32_t)__builtin_ctzll(threads);

			kept->v[tid] = residue_bounded(&kept->form,
				residue_combined(&kept->form, column_at(a, tid), column_at(b, tid)));
		}
		kept->asked.w[i] |= known.w[i];
	}
}

/* What register_bits() finds, in the same order. */
static void fill(struct values *vs, uint32_t variable, uint32_t node, const struct thread_set *who,
	uint32_t depth)
{
	struct residues *kept = node < vs->nsolved && residue_is_in(vs, node, variable) && depth
					? residues_of(vs, node)
					: NULL;
	struct thread_set todo;
	uint64_t any = 0;

	for (uint32_t i = 0; kept && i < THREADS_MAX / 64; i++)
		any |= todo.w[i] = who->w[i] & ~kept->asked.w[i];
	if (!any)
		return;
	const struct residue_form *f = &kept->form;
	const struct residue_part none = {NONE, NONE, 0, 0};

	if (f->kind == FORM_JOIN) {
		fill_join(vs, variable, kept, &todo, depth - 1);
		return;
	}
	/* a number that follows from the parts is found at less cost than one that follows from the thread alone */
	if (f->kind != FORM_NONE) {
		fill(vs, variable, f->a.node, &todo, depth - 1);
		if (residue_has_two_parts(f))
			fill(vs, variable, f->b.node, &todo, depth - 1);
	}
	struct column a = column_of(vs, variable, f->kind == FORM_NONE ? &none : &f->a);
	struct column b = column_of(vs, variable, residue_has_two_parts(f) ? &f->b : &none);

	if (!f->is_address) {
		struct thread_set open = todo;

		if (f->kind != FORM_NONE && !column_assumptions(&a) && !column_assumptions(&b))
			fill_whole(kept, &a, &b, &todo, &open);
		fill_numbers(vs, kept, node, &open);
		for (uint32_t i = 0; i < THREADS_MAX / 64; i++)
			todo.w[i] &= ~kept->asked.w[i];
	}
	fill_parts(kept, &a, &b, &todo);
}

void residues_fill(
	struct values *vs, uint32_t variable, uint32_t node, const struct thread_set *who)
{
	fill(vs, variable, node, who, RESIDUE_DEPTH_MOST);
}
