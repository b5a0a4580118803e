/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: the demands of accesses in a row. Goes out: the last of each row, which asks for the
 * others: the ways from the first accesses lead through it, and on from there they are its own.
 * Invariant: what meets a demand that is left meets those that it stands for.
 */
#include "analysis/cut_implied.h"

#define LOOK_BACK 2 /* the demands of accesses with facts in two spaces come in turns */

/* The only way from instruction `from` on leads to instruction `to`. */
static bool leads_straight(const struct cut_graph *g, uint32_t from, uint32_t to)
{
	for (uint32_t p = from; p < to; p++)
		if (g->first[p + 1] - g->first[p] != 1 || g->succ[g->first[p]] != p + 1)
			return false;
	return from <= to;
}

/* Of word w the points before instructions of from + 1 .. to. */
static uint64_t between(uint32_t from, uint32_t to, uint32_t w)
{
	uint64_t low = ~UINT64_C(0), high = ~UINT64_C(0);

	if (from == to || (from + 1) / 64 > w || to / 64 < w)
		return 0;
	if ((from + 1) / 64 == w)
		low <<= (from + 1) % 64;
	if (to / 64 == w)
		high >>= 63 - to % 64;
	return low & high;
}

/* But for the points between their sources they are pending at the same ones. */
static bool same_pending(const struct demand *first, const struct demand *last)
{
	struct bits a = first->pending, b = last->pending;

	for (uint32_t w = 0; w < a.nwords; w++)
		if (a.words[w] != b.words[w] &&
			(a.words[w] ^ b.words[w]) & ~between(first->sources[0], last->sources[0], w))
			return false;
	return true;
}

static bool ends_between(const struct demand *d, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < d->nsinks; i++)
		if (d->sinks[i] > from && d->sinks[i] <= to)
			return true;
	return false;
}

/* A way of `first` goes through the source of `last`, and from where it leaves that for the last time it is one
 * of `last`. */
static bool implies(const struct cut_graph *g, const struct demand *last, const struct demand *first)
{
	return first->nsources == 1 && last->nsources == 1 && first->width == last->width &&
	       first->waiting_side == last->waiting_side && first->nsinks == last->nsinks &&
	       first->pending.nwords == last->pending.nwords &&
	       !memcmp(first->sinks, last->sinks, sizeof(*first->sinks) * first->nsinks) &&
	       same_pending(first, last) &&
	       leads_straight(g, first->sources[0], last->sources[0]) &&
	       !ends_between(first, first->sources[0], last->sources[0]);
}

uint32_t cut_drop_implied(
	const struct cut_graph *g, const struct demand *demands, uint32_t n, struct demand *kept)
{
	uint32_t nkept = 0;

	for (uint32_t d = 0; d < n; d++) {
		uint32_t k = nkept, least = nkept > LOOK_BACK ? nkept - LOOK_BACK : 0;

		while (k > least && !implies(g, &demands[d], &kept[k - 1]))
			k--;
		if (k > least)
			kept[k - 1] = demands[d];
		else
			kept[nkept++] = demands[d];
	}
	return nkept;
}
