/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers: what threads know is collected where they arrive and given to those that wait. */
#include "state.h"

void stamp(struct run *r, const struct set *before, uint64_t features)
{
	for (int e = 0; e < r->nevents; e++)
		if (set_has(before, e))
			r->events[e].via |= features;
}

static void phase_end(struct barrier *b)
{
	b->arrived = 0;
	b->since = 0;
	b->phase++;
	b->last = b->next;
}

/* A bar.* phase hands over what its own arrivals brought and nothing of earlier phases: at once, since
 * some of those who waited may end another one before the rest goes on. */
static void phase_end_only(struct run *r, struct barrier *b)
{
	phase_end(b);
	memset(&b->next, 0, sizeof(b->next));
	for (int i = 0; i < r->nthreads; i++) {
		struct thread *t = &r->threads[i];
		if (t->blocked && t->sleeps_at == b && t->waits_for == b->phase)
			facts_join(&t->facts, &b->last);
	}
}

void bar_arrive(struct run *r, struct barrier *b, struct thread *t, int expected)
{
	stamp(r, &t->facts.before, r->p->lines[t->pc].step.features);
	facts_join(&b->next, &t->facts);
	if (b == &r->bars[t->cta][0]) /* they have arrived */
		facts_join(&b->next, &r->left[t->cta]);
	if (++b->arrived >= expected)
		phase_end_only(r, b);
}

bool bar_sync(struct run *r, struct barrier *b, struct thread *t, int expected)
{
	if (!t->blocked) {
		t->waits_for = b->phase + 1;
		t->blocked = true;
		t->sleeps_at = b;
		bar_arrive(r, b, t, expected);
	}
	if (b->phase < t->waits_for)
		return false;
	t->blocked = false;
	t->sleeps_at = NULL;
	return true;
}

void cluster_arrive(struct run *r, struct thread *t)
{
	t->cluster_phase = r->cluster.phase + 1;
	bar_arrive(r, &r->cluster, t, r->nthreads);
}

bool cluster_wait(struct run *r, struct thread *t)
{
	if (r->cluster.phase < t->cluster_phase)
		return false;
	facts_join(&t->facts, &r->cluster.last);
	return true;
}

struct barrier *mb_of(struct run *r, const struct thread *t, const struct step *s)
{
	int i = s->barrier + (s->by_stage ? t->loop[s->depth] & 1 : 0) +
		(s->ring ? t->rings[s->ring - 1].at : 0) + next_of_set(r->p, t, s);
	return &r->mbs[s->peer ? 1 - t->cta : t->cta][i];
}

/* A phase ends when all have arrived and all bytes are there. */
void mb_complete(struct run *r, struct barrier *b, int mbarrier, int bytes)
{
	b->bytes -= bytes;
	if (b->arrived == r->p->expected[mbarrier] && b->bytes == 0)
		phase_end(b);
}

/*
 * What a CTA did itself does not count as handed to it by the other one: that would come with the
 * other CTA's fences, which are none here, and the analysis does not follow hand-offs there and
 * back.
 */
static void arrive_at_peer(struct run *r, const struct thread *t, struct barrier *b)
{
	struct facts there = t->facts;
	for (int e = 0; e < r->nevents; e++)
		if (r->events[e].cta != t->cta)
			there.before.w[e / 64] &= ~(UINT64_C(1) << (e % 64));
	facts_join(&b->next, &there);
}

void mb_arrive(struct run *r, struct thread *t, const struct step *s)
{
	struct barrier *b = mb_of(r, t, s);
	stamp(r, &t->facts.before, s->features);
	if (s->peer)
		arrive_at_peer(r, t, b);
	else
		facts_join(&b->next, &t->facts);
	t->token = b->phase;
	unsigned self = 1u << (t - r->threads);
	b->twice |= b->since & self;
	b->since |= self;
	b->ever |= self;
	b->arrived++;
	mb_complete(r, b, s->barrier + next_of_set(r->p, t, s), -s->bytes);
}

/* At an mbarrier that counts as many arrivals as there are threads that arrive. */
bool arrives_twice(const struct run *r)
{
	for (int i = 0; i < MAX_CTAS * NMBARRIERS; i++) {
		const struct barrier *b = &r->mbs[i / NMBARRIERS][i % NMBARRIERS];
		if (b->twice && __builtin_popcount(b->ever) == r->p->expected[i % NMBARRIERS])
			return true;
	}
	return false;
}

/* Nothing but the thread's copies is handed over, and no fence of its covers them. */
void mb_copies(struct run *r, struct thread *t, const struct step *s)
{
	struct barrier *b = mb_of(r, t, s);
	for (int i = 0; i < t->ncopies; i++) {
		set_add(&b->next.before, t->copies[i].event);
		r->events[t->copies[i].event].via |= s->features;
	}
	b->arrived += s->count;
	mb_complete(r, b, s->barrier, 0);
}

static int parity_of(const struct thread *t, const struct step *s)
{
	int i = t->loop[s->depth];
	switch (s->parity) {
	case PARITY_PHASE:
		return t->phase;
	case PARITY_LOOP:
		return i & 1;
	case PARITY_LOOP_OTHER:
		return (i & 1) ^ 1;
	case PARITY_HALF:
		return i >> 1 & 1;
	case PARITY_HALF_OTHER:
		return (i >> 1 & 1) ^ 1;
	case PARITY_ONE:
		return 1;
	case PARITY_RING:
		return t->rings[s->ring - 1].parity;
	case PARITY_RING_OTHER:
		return t->rings[s->ring - 1].parity ^ 1;
	case PARITY_ZERO:
	case PARITY_TOKEN:
		break;
	}
	return 0;
}

bool mb_wait(struct run *r, struct thread *t, const struct step *s)
{
	struct barrier *b = mb_of(r, t, s);
	bool passed =
		s->parity == PARITY_TOKEN ? b->phase > t->token : (b->phase & 1) != parity_of(t, s);
	if (passed && b->phase > 0)
		facts_join(&t->facts, &b->last);
	return passed;
}

/* bar.sync 0 counts the threads that have not left. */
int live(const struct run *r, int cta)
{
	int n = 0;
	for (int i = 0; i < r->nthreads; i++)
		n += r->threads[i].cta == cta && !r->threads[i].over;
	return n;
}

void leave(struct run *r, struct thread *t)
{
	struct barrier *b = &r->bars[t->cta][0];
	t->over = true;
	facts_join(&r->left[t->cta], &t->facts);
	if (b->arrived > 0)
		facts_join(&b->next, &t->facts);
	if (b->arrived > 0 && b->arrived >= live(r, t->cta))
		phase_end_only(r, b);
}
