/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a block at whose end threads part. Out: the phis that then differ, and the blocks where threads may have
 * met unequally often. Each arm carries its label along the graph, two labels make a join, and a join is a
 * label of its own. Invariant: a phi is found if two ways from the branch come to it that have no block in common
 * before it. Ways end at the branch, where all meet, and where nothing is left that could differ: the exit behind a
 * failed assertion, which is never where all meet, holds up no walk. Where a cycle has several ways in, it has no head that
 * would say what its rounds carry, and who has been where all meet may be back among the arms: then ways end at the branch alone.
 */
#include "analysis/value_divergence.h"

static void phis_differ(struct divergence *d, uint32_t block)
{
	for (uint32_t phi = d->first_phi[block]; phi != NONE; phi = d->next_phi[phi])
		divergence_add(d, phi);
}

static void reach_block(struct divergence *d, uint32_t branch, uint32_t to, uint32_t label)
{
	if (d->mute[to]) {
		d->gone |= !d->silent[to];
		return;
	}
	if (d->stamp[to] != d->now) {
		d->stamp[to] = d->now;
		d->label[to] = label;
		d->furthest = to > d->furthest ? to : d->furthest;
		d->outside += !cfg_dominates(d->vs->cfg, branch, to);
	} else if (d->label[to] != label && d->label[to] != to) {
		d->label[to] = to;
		phis_differ(d, to);
	} else {
		return;
	}
	if (!bits_has(d->pending, to)) {
		bits_set(d->pending, to);
		d->npending++;
	}
}

static bool in_loop(const struct cfg *cfg, uint32_t block, uint32_t head)
{
	for (uint32_t h = cfg->blocks[block].loop_head; h != NONE; h = cfg->blocks[h].outer_head)
		if (h == head)
			return true;
	return false;
}

/* Threads may leave a loop in different rounds: what its head carries then differs behind it. */
static void leave_loops(struct divergence *d, uint32_t from, uint32_t to)
{
	const struct cfg *cfg = d->vs->cfg;

	for (uint32_t h = cfg->blocks[from].loop_head; h != NONE; h = cfg->blocks[h].outer_head) {
		if (in_loop(cfg, to, h))
			return;
		phis_differ(d, h);
	}
}

void divergence_skew(struct divergence *d, uint32_t block)
{
	const struct cfg *cfg = d->vs->cfg;
	uint32_t depth = 0;

	if (!d->race_free || !d->meets[block] || bits_has(d->skewed, block))
		return;
	bits_set(d->skewed, block);
	d->walk[depth++] = block;
	while (depth) {
		const struct block *b = &cfg->blocks[d->walk[--depth]];

		for (uint32_t i = 0; i < b->succ.n; i++) {
			if (bits_has(d->skewed, b->succ.v[i]))
				continue;
			bits_set(d->skewed, b->succ.v[i]);
			d->walk[depth++] = b->succ.v[i];
		}
	}
}

/* What a loop carries from the walked ways into its head, but for what they leave as it is. */
static void carry_differs(struct divergence *d, uint32_t head)
{
	const struct values *vs = d->vs;
	const struct block *b = &vs->cfg->blocks[head];

	for (uint32_t phi = d->first_phi[head]; phi != NONE; phi = d->next_phi[phi])
		for (uint32_t i = 0; i < b->pred.n; i++)
			if (d->walked[b->pred.v[i]] == d->now &&
				vs->ssa.inputs[vs->ssa.nodes[phi].input + i] != phi)
				divergence_add(d, phi);
}

/* One way has come to the branch again, through all of its block: what the loops on it carry is then a
 * round ahead of what another way takes along. */
static void come_again(struct divergence *d, uint32_t block)
{
	const struct cfg *cfg = d->vs->cfg;

	for (uint32_t h = cfg->blocks[block].loop_head; h != NONE; h = cfg->blocks[h].outer_head)
		if (d->stamp[h] == d->now)
			carry_differs(d, h);
}

/* The one way that goes on comes to no block behind which another one has gone: all that it can come to are blocks
 * behind all of those (in a loop, one may be back in front of them); or those that the branch dominates, and to
 * these it comes through the branch, a round ahead of who has gone where that counts. */
static bool parted_from_others(const struct divergence *d, uint32_t branch, uint32_t x)
{
	const struct block *b = &d->vs->cfg->blocks[x];

	if (!d->reducible)
		return false;
	if (d->furthest == x && (b->loop_head == NONE || (b->loop_head == x && b->outer_head == NONE)))
		return true;
	return !d->gone && d->outside == !cfg_dominates(d->vs->cfg, branch, x);
}

static bool leads_out(const struct cfg *cfg, uint32_t from, uint32_t to, uint32_t loop)
{
	return loop < cfg->n && in_loop(cfg, from, loop) && !in_loop(cfg, to, loop);
}

/* Follows the ways of a branch to where all meet; or, `loop' not NONE, beyond that, but not out of the loop with
 * that head; the number of blocks: wherever they lead. All that leads to a block comes first, so that its label is there: in a loop what is behind the branch,
 * then what is in front of it. */
static void follow(struct divergence *d, uint32_t branch, uint32_t loop)
{
	const struct cfg *cfg = d->vs->cfg;
	const struct block *b = &cfg->blocks[branch];
	uint32_t first = loop == NONE ? 0 : branch;
	bool arrived = loop != NONE; /* one way is where all meet, or back at the branch */

	d->walked[branch] = ++d->now;
	d->furthest = d->outside = d->nway = 0;
	d->gone = false;
	for (uint32_t i = 0; i < b->succ.n; i++)
		/* no block's number: an arm that leads straight to the join is no join itself */
		if (!leads_out(cfg, branch, b->succ.v[i], loop))
			reach_block(d, branch, b->succ.v[i], cfg->n + b->succ.v[i]);
	while (d->npending) {
		uint32_t x = bits_next(d->pending, first);

		if (x == NONE)
			x = bits_next(d->pending, 0);
		bits_clear(d->pending, x);
		d->npending--;
		d->steps++;
		first = loop == NONE ? x : branch;
		if (x == branch)
			divergence_skew(d, x);
		if (x == branch || (x == b->ipdom && loop == NONE)) {
			arrived = true;
			continue;
		}
		if (d->npending == 0 && !arrived && parted_from_others(d, branch, x))
			continue; /* all ways are together again, or one only goes on */
		divergence_skew(d, x);
		const struct block *from = &cfg->blocks[x];

		if (d->walked[x] != d->now)
			d->way[d->nway++] = x;
		d->walked[x] = d->now;
		for (uint32_t i = 0; i < from->succ.n; i++) {
			uint32_t s = from->succ.v[i];

			if (leads_out(cfg, x, s, loop))
				continue;
			reach_block(d, branch, s, d->label[x]);
			first = loop == NONE && s < first ? s : first;
		}
	}
}

/* Within a loop, by an edge that no way has taken. Not the head of a loop around the branch: who comes there without the
 * meeting is in a loop of its own, of which come_again() takes care. */
static bool is_entered(const struct divergence *d, uint32_t branch, uint32_t block, uint32_t loop)
{
	const struct cfg *cfg = d->vs->cfg;
	const struct block *b = &cfg->blocks[block];

	if (!in_loop(cfg, block, loop) || in_loop(cfg, branch, block))
		return false;
	for (uint32_t i = 0; i < b->pred.n; i++) {
		uint32_t p = b->pred.v[i];

		if (p != branch && d->walked[p] != d->now && in_loop(cfg, p, loop))
			return true;
	}
	return false;
}

/* The head of a loop around the block where all ways meet, in which they may come from there to the branch or to what
 * one of them has come by; NONE: no such. */
static uint32_t loop_of_meeting(const struct divergence *d, uint32_t branch)
{
	const struct cfg *cfg = d->vs->cfg;
	uint32_t meeting = cfg->blocks[branch].ipdom, h;

	if (meeting == NONE || d->stamp[meeting] != d->now || d->stamp[branch] != d->now)
		return NONE;
	h = cfg->blocks[meeting].loop_head;
	while (h != NONE && !in_loop(cfg, branch, h))
		h = cfg->blocks[h].outer_head;
	return h;
}

/* One way is back at the branch before it comes to where all meet, in a later round. It has come by blocks that others come to behind the meeting. The loop's head; NONE: not so. */
static uint32_t meeting_passed_by(const struct divergence *d, uint32_t branch)
{
	uint32_t loop = loop_of_meeting(d, branch);

	for (uint32_t i = 0; loop != NONE && i < d->nway; i++)
		if (is_entered(d, branch, d->way[i], loop))
			return loop;
	return NONE;
}

/* Behind follow(), where cycles may have several ways in. */
static void follow_all(struct divergence *d, uint32_t branch)
{
	if (d->stamp[branch] == d->now) {
		come_again(d, branch);
		carry_differs(d, branch);
		for (uint32_t i = 0; i < d->nway; i++)
			carry_differs(d, d->way[i]);
	}
	follow(d, branch, d->vs->cfg->n);
}

void divergence_split(struct divergence *d, uint32_t block)
{
	const struct block *b = &d->vs->cfg->blocks[block];

	if (d->mute[block])
		return;
	for (uint32_t i = 0; i < b->succ.n; i++)
		leave_loops(d, block, b->succ.v[i]);
	follow(d, block, NONE);
	if (!d->reducible) {
		follow_all(d, block);
		return;
	}
	uint32_t loop = meeting_passed_by(d, block);

	if (loop != NONE)
		follow(d, block, loop);
	if (d->stamp[block] == d->now)
		come_again(d, block);
}

/* No guard asks there what is the same for all. */
static bool asks_nothing(const struct values *vs, uint32_t b)
{
	const struct block *block = &vs->cfg->blocks[b];

	for (uint32_t i = block->first; i < block->first + block->count; i++)
		if (vs->fn->insns[i].guard != NONE || vs->fn->insns[i].op == OP_brx)
			return false;
	return true;
}

/* Which blocks lead to none where something may differ, or is asked for; and whether the graph is reducible. */
static void find_mute(struct divergence *d, bool *loud)
{
	const struct cfg *cfg = d->vs->cfg;

	d->mute = loud;
	d->reducible = true;
	for (uint32_t b = cfg->n; b-- > 0;) {
		const struct block *block = &cfg->blocks[b];

		d->mute[b] = !loud[b];
		d->silent[b] = asks_nothing(d->vs, b);
		for (uint32_t i = 0; i < block->succ.n; i++) {
			uint32_t s = block->succ.v[i];

			d->mute[b] &= s > b && d->mute[s];
			d->silent[b] &= s > b && d->silent[s];
			d->reducible &= s > b || cfg_dominates(cfg, s, b);
		}
	}
}

void divergence_prepare(struct divergence *d, bool *loud)
{
	uint32_t nb = d->vs->cfg->n;

	d->walk = ARENA_NEW(d->arena, uint32_t, nb + 1);
	d->label = ARENA_NEW(d->arena, uint32_t, nb + 1);
	d->stamp = ARENA_NEW(d->arena, uint32_t, nb + 1);
	d->walked = ARENA_NEW(d->arena, uint32_t, nb + 1);
	d->way = ARENA_NEW(d->arena, uint32_t, nb + 1);
	d->pending = bits_new(d->arena, nb + 1);
	d->silent = ARENA_NEW(d->arena, bool, nb + 1);
	find_mute(d, loud);
}
