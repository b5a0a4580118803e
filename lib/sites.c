/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: fences, changes, findings and hints of all roots. Goes out: who else has one at the same
 * place, without a look at every root. Invariant: sorted by offset, then what, then root.
 */
#include "lib/sites.h"

#include <stdlib.h>

static int by_site(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->root < y->root ? -1 : x->root > y->root;
}

void sites_add(struct sites *sites, struct arena *arena, uint32_t at, uint32_t what, uint32_t root)
{
	struct site one = {.at = at, .what = what, .root = root};

	ARENA_PUSH(arena, sites->v, sites->n, sites->cap, one);
}

void sites_sort(struct sites *sites)
{
	if (sites->n)
		qsort(sites->v, sites->n, sizeof(*sites->v), by_site);
}

/* The first site that is not below one. */
static uint32_t lower_bound(const struct sites *sites, const struct site *one)
{
	uint32_t low = 0, high = sites->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (by_site(&sites->v[mid], one) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct site *sites_at(const struct sites *sites, uint32_t at, uint32_t what, uint32_t *n)
{
	uint32_t first = lower_bound(sites, &(struct site){at, what, 0, 0});

	*n = lower_bound(sites, &(struct site){at, what, UINT32_MAX, 0}) - first;
	return *n ? &sites->v[first] : NULL;
}

uint32_t sites_count(const struct sites *sites, uint32_t at, uint32_t what, uint32_t root)
{
	return lower_bound(sites, &(struct site){at, what, root + 1, 0}) -
	       lower_bound(sites, &(struct site){at, what, root, 0});
}
