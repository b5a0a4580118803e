/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that are rounded up to an alignment that their variable does not promise. All threads
 * compute the same one, so it becomes a base of its own: offsets from it compare exactly, and
 * against other bases it is a range of its variable.
 */
#include "analysis/value_private.h"

static int64_t round_up(int64_t v, int64_t to)
{
	return (v + to - 1) & -to;
}

static uint32_t base_id(struct values *vs, const struct value *symbol, int64_t rest, uint32_t k)
{
	int64_t size = INT64_C(1) << k, step = INT64_C(1) << symbol->aux;
	struct derived_base base = {.key = (uint32_t)rest, .log2 = k, .parent = *symbol};

	for (uint32_t i = 0; i < vs->nderived; i++) {
		const struct derived_base *d = &vs->derived[i];

		if (d->key == base.key && d->log2 == k && d->parent.id == symbol->id)
			return i;
	}
	/* symbol + rest, rounded up, is a multiple of the symbol's own alignment away from it */
	base.parent.lo = round_up(rest, step);
	base.parent.hi = base.parent.lo + size - step;
	base.parent.stride = base.parent.lo == base.parent.hi ? 0 : (uint64_t)step;
	ARENA_PUSH(vs->arena, vs->derived, vs->nderived, vs->derived_cap, base);
	return vs->nderived - 1;
}

/* `v` rounded up to a multiple of 2^k; false: it is no single place of a variable. */
bool derived_align_up(struct values *vs, const struct value *v, uint32_t k, struct value *out)
{
	if (v->base != BASE_SYMBOL || v->lo != v->hi || v->aux >= k || k > 16 ||
		v->lo < -(1 << 20) || v->lo > 1 << 20 || vs->nderived > 1000)
		return false;
	int64_t size = INT64_C(1) << k, rest = v->lo & (size - 1);

	*out = *v;
	out->base = BASE_DERIVED;
	out->id = base_id(vs, v, rest, k);
	out->aux = k;
	out->lo = out->hi = v->lo - rest;
	out->stride = 0;
	return true;
}
