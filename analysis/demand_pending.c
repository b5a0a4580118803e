/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a solved flow and the facts that are asked about. Out: the points at which each, or one of
 * its bucket, is pending. Invariant: a fact is pending nowhere but at the points of its bucket.
 */
#include "analysis/demand_private.h"

#define BUCKETS_MOST 64
#define BITS_MOST (UINT64_C(1) << 22) /* of all points together, before facts share buckets */

static uint64_t mix(uint64_t hash, uint64_t number)
{
	hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* Equal for facts that can be one demand. */
static uint64_t alike(const struct demands *d, uint32_t f)
{
	const struct fact *fact = &d->s->facts.v[f];
	uint64_t hash = mix(fact->space, fact->form);

	hash = mix(hash, fact->sibling[FORM_INFLIGHT] != NONE);
	for (uint32_t i = 0; i < d->meets_own[f].n; i++)
		hash = mix(hash, d->meets_own[f].v[i]);
	hash = mix(hash, NONE);
	for (uint32_t i = 0; i < d->meets_foreign[f].n; i++)
		hash = mix(hash, d->meets_foreign[f].v[i]);
	return hash;
}

static uint32_t find_bucket(uint64_t *hashes, uint32_t *n, uint64_t hash)
{
	for (uint32_t i = 0; i < *n; i++)
		if (hashes[i] == hash)
			return i;
	if (*n == BUCKETS_MOST)
		return (uint32_t)(hash % BUCKETS_MOST);
	hashes[*n] = hash;
	return (*n)++;
}

static void fill_buckets(struct demands *d, uint32_t nasked)
{
	struct arena *arena = d->s->unit->arena;
	uint32_t points = d->s->unit->fn->ninsns + 1, most = nasked;
	bool share = (uint64_t)nasked * points > BITS_MOST;
	uint64_t hashes[BUCKETS_MOST];

	d->shared = share;
	if (share && most > BUCKETS_MOST)
		most = BUCKETS_MOST;
	d->buckets = ARENA_NEW(arena, struct bucket, most);
	for (uint32_t f = 0; f < d->s->facts.n; f++) {
		if (!d->asked[f])
			continue;
		uint32_t b = share ? find_bucket(hashes, &d->nbuckets, alike(d, f)) : d->nbuckets++;
		struct bucket *bucket = &d->buckets[b];

		bucket->fact = share ? NONE : f;
		if (share && !bucket->facts.words)
			bucket->facts = bits_new(arena, d->s->facts.n);
		if (share)
			bits_set(bucket->facts, f);
		d->bucket_of[f] = b;
	}
}

/* Many are pending in one of the two states only. */
static void set_range(struct demands *d, struct bits *at, uint32_t from, uint32_t to)
{
	if (!at->words)
		*at = demand_no_points(d);
	struct bits b = *at;

	for (uint32_t i = from; i <= to;) {
		uint32_t n = 64 - i % 64;
		uint64_t ones = ~UINT64_C(0);

		if (n > to - i + 1)
			n = to - i + 1;
		b.words[i / 64] |= ones >> (64 - n) << (i % 64);
		i += n;
	}
}

/* ---- where they are pending ---- */

/* One of the state's sets, followed instruction by instruction: of all that is pending now, since
 * when without a break. Numbers are facts where each has a bucket of its own, else buckets. */
struct follow {
	struct bits pending;
	uint32_t *since;
	bool foreign; /* the set is foreign, not own */
};

static struct follow follow_new(struct demands *d, bool foreign)
{
	uint32_t n = d->shared ? d->nbuckets : d->s->facts.n;
	struct arena *arena = d->s->unit->arena;

	return (struct follow){bits_new(arena, n), ARENA_NEW(arena, uint32_t, n + 1), foreign};
}

/* What bits `word` of the set says of all that is asked about. */
static uint64_t pending_word(
	const struct demands *d, const struct follow *f, uint32_t word, struct bits asked)
{
	const struct state *now = &d->s->now;
	struct bits set = f->foreign ? now->foreign : now->own;
	uint64_t found = 0;

	if (!d->shared)
		return set.words[word] & asked.words[word];
	for (uint32_t i = 64 * word; i < d->nbuckets && i < 64 * (word + 1); i++)
		found |= (uint64_t)bits_meet(set, d->buckets[i].facts) << (i % 64);
	return found;
}

/* The bits of `changed` begin at instruction `at`, or ended before it. */
static void take_change(
	struct demands *d, struct follow *f, uint32_t word, uint64_t changed, uint32_t at)
{
	f->pending.words[word] ^= changed;
	for (; changed; changed &= changed - 1) {
		uint32_t i = 64 * word + (uint32_t)__builtin_ctzll(changed);
		struct bucket *bucket = &d->buckets[d->shared ? i : d->bucket_of[i]];

		if (bits_has(f->pending, i))
			f->since[i] = at;
		else if (f->since[i] < at)
			set_range(d, f->foreign ? &bucket->foreign_at : &bucket->own_at,
				f->since[i], at - 1);
	}
}

/* The state as it is before the instructions from `at` on. */
static void follow_to(struct demands *d, struct follow *f, struct bits asked, uint32_t at)
{
	for (uint32_t w = 0; w < f->pending.nwords; w++) {
		uint64_t changed = f->pending.words[w] ^ pending_word(d, f, w, asked);

		if (changed)
			take_change(d, f, w, changed, at);
	}
}

static void follow_end(struct demands *d, struct follow *f, uint32_t at)
{
	for (uint32_t w = 0; w < f->pending.nwords; w++)
		take_change(d, f, w, f->pending.words[w], at);
}

static void find_in_block(struct demands *d, uint32_t b, struct follow follow[2], struct bits asked)
{
	struct flow_setup *s = d->s;
	const struct block *block = &s->unit->cfg.blocks[b];
	uint32_t at = block->first, end = block->first + block->count;

	flow_enter(s, b);
	for (uint32_t e = flow_first(s, b);; at = s->events[e - 1].insn + 1) {
		if (at >= end)
			return;
		follow_to(d, &follow[0], asked, at);
		follow_to(d, &follow[1], asked, at);
		if (e == flow_end(s, b))
			return;
		for (at = s->events[e].insn; e < flow_end(s, b) && s->events[e].insn == at; e++)
			flow_step(s, e, false, NULL);
	}
}

static struct bits asked_facts(const struct demands *d)
{
	struct bits asked = bits_new(d->s->unit->arena, d->s->facts.n);

	for (uint32_t f = 0; f < d->s->facts.n; f++)
		if (d->asked[f])
			bits_set(asked, f);
	return asked;
}

/* In the order of the text, so that what is pending over many blocks is one stretch. */
void demand_find_pending(struct demands *d)
{
	const struct flow_setup *s = d->s;
	const struct cfg *cfg = &s->unit->cfg;
	uint32_t nasked = 0, n = s->unit->fn->ninsns;

	for (uint32_t f = 0; f < s->facts.n; f++)
		nasked += d->asked[f];
	fill_buckets(d, nasked);
	struct follow follow[2] = {follow_new(d, false), follow_new(d, true)};
	struct bits asked = asked_facts(d);

	for (uint32_t k = 0; k < n;) {
		uint32_t b = cfg->block_of[k];

		if (b != NONE && flow_reached(s, b)) {
			find_in_block(d, b, follow, asked);
			k = cfg->blocks[b].first + cfg->blocks[b].count;
			continue;
		}
		follow_end(d, &follow[0], k);
		follow_end(d, &follow[1], k);
		k++;
	}
	follow_end(d, &follow[0], n);
	follow_end(d, &follow[1], n);
}
