/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the sites of a kernel. Out: whether two of them are in different arms of a branch that no CTA takes both ways:
 * all of its threads go the same way, and come to it once. What is released in the one is never heard in the
 * other, but by other CTAs. Kernels part so into senders and receivers, by %ctaid.
 */
#include "analysis/barrier.h"
#include "analysis/pairing.h"

/* No way comes to the arm but over that branch, and round a loop of its own. */
static bool is_arm_of(const struct cfg *cfg, uint32_t arm, uint32_t branch)
{
	for (uint32_t i = 0; i < cfg->blocks[arm].pred.n; i++) {
		uint32_t from = cfg->blocks[arm].pred.v[i];

		if (from != branch && !cfg_dominates(cfg, arm, from))
			return false;
	}
	return true;
}

/* Some site stands where only this successor leads. */
static bool has_site(const struct pairing *p, uint32_t arm, uint32_t branch)
{
	const struct cfg *cfg = &p->unit->cfg;

	if (!is_arm_of(cfg, arm, branch))
		return false;
	for (uint32_t i = 0; i < p->h->n; i++)
		if (cfg_dominates(cfg, arm, p->h->sites[i].block))
			return true;
	return false;
}

void pair_find_arms(const struct pairing *p, struct pair_arms *arms)
{
	const struct unit *unit = p->unit;
	const struct cfg *cfg = &unit->cfg;

	arms->n = 0;
	if (!unit->module->functions[unit->fn->index].is_entry)
		return;
	for (uint32_t b = 0; b < cfg->n && arms->n < PAIR_ARMS_MAX; b++) {
		const struct block *block = &cfg->blocks[b];

		if (block->loop_depth || block->succ.n != 2 || block->succ.v[0] == block->succ.v[1] ||
			!has_site(p, block->succ.v[0], b) || !has_site(p, block->succ.v[1], b) ||
			barrier_parts(unit, b))
			continue;
		arms->v[arms->n][0] = block->succ.v[0];
		arms->v[arms->n++][1] = block->succ.v[1];
	}
}

bool pair_in_other_arms(const struct pairing *p, const struct pair_arms *arms,
	const struct sync_site *release, const struct sync_site *acquire)
{
	const struct cfg *cfg = &p->unit->cfg;

	for (uint32_t i = 0; i < arms->n && !release->crosses && !acquire->crosses; i++)
		for (uint32_t k = 0; k < 2; k++)
			if (cfg_dominates(cfg, arms->v[i][k], release->block) &&
				cfg_dominates(cfg, arms->v[i][1 - k], acquire->block))
				return true;
	return false;
}
