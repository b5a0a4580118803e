/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses of both proxies: which bytes each touches, and which earlier accesses an async one meets
 * without a fence in between.
 */
#include "state.h"

/* The bytes from an offset of a variable on; through a parameter, of what the caller passed. */
static struct spot spot_at(const struct thread *t, const struct place *p, int offset, int size)
{
	struct spot s = {p->var >= VAR_GLOBAL ? NONE
			 : p->mapped > MAPPED_SELF ? p->mapped == MAPPED_ONE
			 : p->peer		   ? 1 - t->cta
						   : t->cta,
		p->var, offset, offset + size};
	if (p->var != VAR_ARG)
		return s;
	s = t->arg;
	s.lo += offset;
	s.hi = s.lo + size;
	return s;
}

/* The swizzle of rows of 128, 64 or 32 bytes: chunks of 16 are mixed with bits 7 and up. */
static int swizzled(int offset, int row)
{
	return offset ^ ((offset >> 3) & (row - 16));
}

static int in_rows(const struct place *p, int tid)
{
	int chunk = tid % p->per * p->apart_by + p->chunk;
	return swizzled(tid / p->per * p->swizzle + chunk * 16, p->swizzle);
}

static int offset_of(const struct thread *t, const struct place *p, int lane)
{
	return p->base + (p->swizzle ? in_rows(p, t->tid / 32 * 32 + lane) : 0) +
	       ((p->by_tid * (t->tid - p->threads_from)) ^ p->mix) + p->by_warp * (t->tid / 32) +
	       p->by_lane * lane + p->by_stage * (t->loop[p->depth] & 1) + p->by_rank * t->cta +
	       (p->ring ? p->by_ring * t->rings[p->ring - 1].at : 0);
}

/* The same bytes of each CTA that the mask names. */
static int sent_to(const struct thread *t, enum mask mask, struct spot *out, int n)
{
	int first = mask == MASK_ZERO || mask == MASK_BOTH ? 0
		    : mask == MASK_ONE			   ? 1
		    : mask == MASK_SELF			   ? t->cta
							   : 1 - t->cta;
	for (int i = 0; i < n; i++) {
		out[i].home = first;
		out[n + i] = out[i];
		out[n + i].home = 1;
	}
	return mask == MASK_BOTH ? 2 * n : n;
}

static int box_bytes(const struct run *r, int dimensions)
{
	return r->map[MAP_ELEMENT] * r->map[0] * (dimensions > 1 ? r->map[1] : 1);
}

static int pieces_of(const struct run *r, const struct thread *t, const struct place *p, struct spot *out)
{
	int at = offset_of(t, p, t->tid % 32), n = 0;
	switch (p->shape) {
	case SHAPE_PLAIN:
		out[n++] = spot_at(t, p, at, p->by_map ? box_bytes(r, p->by_map) : p->size);
		break;
	case SHAPE_ROWS: /* of the two lanes that stand for the warp */
		for (int lane = 0; lane < 2; lane++)
			out[n++] = spot_at(t, p, offset_of(t, p, lane * r->p->lane), 16);
		break;
	case SHAPE_CORES:
		for (int g = 0; g < p->groups; g++) {
			out[n++] = spot_at(t, p, at + g * p->apart, 128);
			out[n++] = spot_at(t, p, at + g * p->apart + p->lead, 128);
		}
		break;
	case SHAPE_SWIZZLE:
		for (int row = 0; row < 8 * p->groups; row++)
			for (int c = 0; c < 32; c += 16)
				out[n++] = spot_at(t, p,
					swizzled(at + row / 8 * p->apart + row % 8 * p->lead + c,
						p->lead),
					16);
		break;
	}
	return p->mask == MASK_NONE ? n : sent_to(t, p->mask, out, n);
}

static int event_new(struct run *r, const struct thread *t, const struct spot *at)
{
	if (r->nevents == MAX_EVENTS) {
		r->too_long = true;
		return 0;
	}
	r->events[r->nevents] = (struct event){.line = t->pc, .cta = t->cta, .at = *at};
	return r->nevents++;
}

void do_access(struct run *r, struct thread *t, const struct step *s)
{
	struct spot pieces[MAX_PIECES];
	int n = pieces_of(r, t, &s->to, pieces);
	if (s->op == OP_READ)
		memset(&t->held[s->value], 0, sizeof(struct set));
	for (int i = 0; i < n; i++) {
		int e = event_new(r, t, &pieces[i]);
		r->events[e].reads = s->op != OP_WRITE;
		r->events[e].writes = s->op != OP_READ;
		r->events[e].is_load = s->op == OP_READ;
		if (s->op == OP_READ)
			set_add(&t->held[s->value], e);
		set_add(&t->facts.before, e);
	}
}

/* A copy counts from the wait on that completes it. */
void do_copy(struct run *r, struct thread *t, const struct step *s)
{
	struct spot at = spot_at(t, &s->to, offset_of(t, &s->to, t->tid % 32), s->to.size);
	int e = event_new(r, t, &at);
	r->events[e].writes = true;
	if (t->ncopies == MAX_COPIES) {
		r->too_long = true;
		return;
	}
	t->copies[t->ncopies++] = (struct copy){e, t->group};
}

void do_wait_group(struct thread *t, int pending)
{
	int kept = 0;
	for (int i = 0; i < t->ncopies; i++)
		if (t->copies[i].group < t->group - pending)
			set_add(&t->facts.before, t->copies[i].event);
		else
			t->copies[kept++] = t->copies[i];
	t->ncopies = kept;
}

void do_send(struct run *r, struct thread *t, const struct step *s)
{
	struct spot at = spot_at(t, &s->to, offset_of(t, &s->to, t->tid % 32), s->to.size);
	int e = event_new(r, t, &at);
	struct barrier *b = mb_of(r, t, s);
	r->events[e].writes = r->events[e].sent = true;
	r->events[e].via = s->features;
	set_add(&b->next.before, e);
	mb_complete(r, b, s->barrier, s->bytes);
}

void do_use(struct run *r, struct thread *t, const struct set *values)
{
	for (int e = 0; e < r->nevents; e++)
		if (set_has(values, e)) {
			r->events[e].used = true;
			set_add(&t->facts.done, e);
		}
}

static bool overlap(const struct spot *a, const struct spot *b)
{
	return a->home == b->home && a->var == b->var && a->lo < b->hi && b->lo < a->hi;
}

/*
 * The fence must have run in the CTA of the async access; the strict rules want one in the CTA of
 * the generic access as well, where a fence can cover it.
 */
static void meet(struct run *r, const struct thread *t, int i, bool same_bytes)
{
	const struct event *e = &r->events[i];
	if (!same_bytes)
		return;
	if (r->nhits == MAX_HITS) {
		r->too_long = true;
		return;
	}
	bool here = set_has(&t->facts.fenced[t->cta], i);
	bool there = e->sent || set_has(&t->facts.fenced[e->cta], i);
	uint64_t features =
		e->via | r->p->lines[e->line].step.features | r->p->lines[t->pc].step.features;
	r->hits[r->nhits++] = (struct hit){
		i, t->pc, set_has(&t->facts.done, i), !here, !here || !there, features};
}

void async_access(struct run *r, struct thread *t, const struct place *p, bool writes)
{
	struct spot pieces[MAX_PIECES];
	int n = pieces_of(r, t, p, pieces);
	for (int i = 0; i < r->nevents; i++) {
		bool same = false;
		if (!set_has(&t->facts.before, i) || !(r->events[i].writes || writes))
			continue;
		for (int k = 0; k < n; k++)
			same |= overlap(&r->events[i].at, &pieces[k]);
		meet(r, t, i, same);
	}
}

static bool covers(const struct thread *t, const struct event *e, int spaces)
{
	if (e->at.home == NONE)
		return spaces & SPACE_GLOBAL;
	return spaces & SPACE_CLUSTER || (spaces & SPACE_SHARED && e->at.home == t->cta);
}

void do_fence(const struct run *r, struct thread *t, int spaces)
{
	for (int e = 0; e < r->nevents; e++)
		if (set_has(&t->facts.before, e) && covers(t, &r->events[e], spaces))
			set_add(&t->facts.fenced[t->cta], e);
}

/* ---- calls ---- */

void do_call(struct run *r, struct thread *t, const struct step *s)
{
	if (t->nframes == MAX_FRAMES) {
		r->too_long = true;
		return;
	}
	struct frame *f = &t->frames[t->nframes++];
	f->back = t->pc + 1;
	f->count = t->count;
	f->result = s->result;
	f->arg = t->arg;
	f->acc = t->acc;
	memcpy(f->loop, t->loop, sizeof(t->loop));
	memcpy(f->held, t->held, sizeof(t->held));
	t->arg = spot_at(t, &s->to, offset_of(t, &s->to, t->tid % 32), 0);
	t->count = s->count == NONE ? t->count - 1 : s->count;
	memset(t->held, 0, sizeof(t->held));
	memset(&t->acc, 0, sizeof(t->acc));
	t->pc = s->value;
}

/* The value comes back in the first value register. */
void do_return(struct thread *t)
{
	struct frame *f = &t->frames[--t->nframes];
	struct set value = t->held[0];
	t->pc = f->back;
	t->count = f->count;
	t->arg = f->arg;
	t->acc = f->acc;
	memcpy(t->loop, f->loop, sizeof(t->loop));
	memcpy(t->held, f->held, sizeof(t->held));
	if (f->result != NONE)
		t->held[f->result] = value;
}
