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

		if (!bucket->own_at.words) {
			bucket->fact = share ? NONE : f;
			bucket->own_at = bits_new(arena, points);
			bucket->foreign_at = bits_new(arena, points);
			if (share)
				bucket->facts = bits_new(arena, d->s->facts.n);
		}
		if (share)
			bits_set(bucket->facts, f);
		d->bucket_of[f] = b;
	}
}

static void set_range(struct bits b, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i <= to;) {
		uint32_t n = 64 - i % 64;
		uint64_t ones = ~UINT64_C(0);

		if (n > to - i + 1)
			n = to - i + 1;
		b.words[i / 64] |= ones >> (64 - n) << (i % 64);
		i += n;
	}
}

static bool some_pending(const struct bucket *bucket, struct bits state)
{
	return bucket->fact == NONE ? bits_meet(state, bucket->facts)
				    : bits_has(state, bucket->fact);
}

/* The state as it is before the instructions from `from` on, up to and including `to`. */
static void mark_pending(struct demands *d, uint32_t from, uint32_t to)
{
	const struct state *now = &d->s->now;

	for (uint32_t i = 0; i < d->nbuckets; i++) {
		struct bucket *bucket = &d->buckets[i];

		if (some_pending(bucket, now->own))
			set_range(bucket->own_at, from, to);
		if (some_pending(bucket, now->foreign))
			set_range(bucket->foreign_at, from, to);
	}
}

static void find_in_block(struct demands *d, uint32_t b)
{
	struct flow_setup *s = d->s;
	const struct block *block = &s->unit->cfg.blocks[b];
	uint32_t from = block->first, end = block->first + block->count;

	flow_enter(s, b);
	for (uint32_t e = flow_first(s, b); e < flow_end(s, b);) {
		uint32_t at = s->events[e].insn;

		if (from <= at)
			mark_pending(d, from, at < end ? at : end - 1);
		from = at + 1;
		for (; e < flow_end(s, b) && s->events[e].insn == at; e++)
			flow_step(s, e, false, NULL);
	}
	if (from < end)
		mark_pending(d, from, end - 1);
}

void demand_find_pending(struct demands *d)
{
	const struct flow_setup *s = d->s;
	uint32_t nasked = 0;

	for (uint32_t f = 0; f < s->facts.n; f++)
		nasked += d->asked[f];
	fill_buckets(d, nasked);
	for (uint32_t b = 0; b < s->unit->cfg.n; b++)
		if (s->reached[b] && s->unit->cfg.blocks[b].count)
			find_in_block(d, b);
}
