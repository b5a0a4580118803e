/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages that are written out, each with an mbarrier of its own: some warps write and read them and arrive,
 * often with the next stage touched already; one thread waits and loads over them. Half of the time the
 * stages are as they should be; else they have unlike sizes, overlap, lie in several variables, some
 * warp does not arrive, one lane does for its warp, or fewer are counted than arrive; and now and then the
 * loader does not wait for its stage. Or the stages go round twice, with an mbarrier for what is loaded: then some
 * only ask for it, or wait for the round before.
 */
#include "say.h"

enum { MOST = 4 };

struct stage_out {
	struct place at;
	int mb, full;	    /* full: of what is loaded there, or 0 */
	struct cond arrive; /* who of the writers */
};

struct unrolled {
	struct stage_out v[MOST];
	int n, order[MOST], rounds; /* of loads; 0: one, and nobody waits for it */
	struct who writers;
};

static struct place place_of_stage(struct maker *m, int kind, int i, int var)
{
	static const int sizes[] = {16, 64, 128, 256};
	int stride = kind < 50 ? 256 : kind < 65 ? 128 : kind < 80 ? 64 : 256;
	struct place p = {.var = var, .base = 2048 + i * stride, .size = 128};
	if (kind >= 50 && kind < 65)
		p.size = sizes[below(m, 4)];
	if (kind >= 80)
		p.var = below(m, 2) ? VAR_TILE : VAR_OTHER;
	return p;
}

static void choose(struct maker *m, struct unrolled *u)
{
	int kind = below(m, 100), var = below(m, 2) ? VAR_TILE : VAR_OTHER;
	int warps = __builtin_popcount((unsigned)u->writers.warps);
	for (int i = 0; i < u->n; i++) {
		bool skipped = warps > 1 && chance(m, 20), few = warps > 2 && chance(m, 10), lanes = chance(m, 12);
		u->v[i].at = place_of_stage(m, kind, i, var);
		u->v[i].arrive = lanes ? on(PRED_LANE) : skipped && !few ? on(PRED_WARP1) : always();
		u->v[i].mb = lanes	       ? new_mbarrier(m, warps, warps)
			     : skipped || few ? new_mbarrier(m, 32, 2) /* of few, one warp is enough */
					      : new_mbarrier(m, 32 * warps, 2 * warps);
		u->v[i].full = u->rounds ? new_mbarrier(m, 1, 1) : 0;
		u->order[i] = i;
	}
	if (chance(m, 30)) {
		int i = below(m, u->n), k = below(m, u->n), t = u->order[i];
		u->order[i] = u->order[k];
		u->order[k] = t;
	}
}

/* A word of a stage for each lane, or the same one for all. */
static void put_touch(struct maker *m, const struct stage_out *stage)
{
	char at[48];
	bool write = chance(m, 60);
	int v = below(m, NVALUES);
	struct place to = stage->at;
	to.size = 4;
	to.base += 4 * below(m, 4);
	to.by_lane = chance(m, 70) ? 4 : 0;
	address(m, &to, false, at, sizeof(at));
	struct step *s = write ? put(m, "\tst.shared.u32 %s, %%one;", at)
			       : put(m, "\tld.shared.u32 %%v%d, %s;", v, at);
	s->op = write ? OP_WRITE : OP_READ;
	s->to = to;
	s->value = v;
	if (chance(m, 40))
		put_use(m);
}

static void put_arrive_for(struct maker *m, const struct stage_out *stage)
{
	if (chance(m, m->fence_odds / 2))
		put_fence(m, rare_guard(m));
	if (stage->arrive.kind == COND_PRED && stage->arrive.a == PRED_LANE && chance(m, 60))
		put_warp_sync(m);
	put_mb_arrive(m, (struct step){.barrier = stage->mb, .guard = stage->arrive});
}

static void put_writers(struct maker *m, const struct unrolled *u)
{
	for (int i = 0; i < u->n; i++) {
		int now = u->order[i], touched = chance(m, 20) ? below(m, u->n) : (now + below(m, 2)) % u->n;
		put_touch(m, &u->v[touched]);
		if (chance(m, 30))
			put_touch(m, &u->v[now]);
		put_arrive_for(m, &u->v[now]);
	}
}

static enum parity parity_of_round(int round)
{
	return round & 1 ? PARITY_ONE : PARITY_ZERO;
}

static void put_ask_for_load(struct maker *m, const struct stage_out *stage, int round)
{
	put_mb_ask(m, (struct step){.barrier = stage->full, .parity = parity_of_round(round)});
}

/* Each stage is waited for, touched, and given up when the next one is touched; some touch again what they gave up. */
static void put_rounds_of_writers(struct maker *m, const struct unrolled *u)
{
	for (int k = 0; k < u->rounds * u->n; k++) {
		const struct stage_out *stage = &u->v[k % u->n], *last = &u->v[(k + u->n - 1) % u->n];
		int round = k / u->n;
		if (chance(m, 8))
			put_ask_for_load(m, stage, round);
		else
			put_mb_wait(m, (struct step){.barrier = stage->full, .parity = parity_of_round(round)});
		put_touch(m, chance(m, 10) ? &u->v[below(m, u->n)] : stage);
		if (!k)
			continue;
		put_arrive_for(m, last);
		if (chance(m, 75))
			continue;
		if (chance(m, 60))
			put_ask_for_load(m, last, round + below(m, 2));
		put_touch(m, last);
	}
	put_arrive_for(m, &u->v[u->n - 1]);
}

/* `full`: the mbarrier that is told, or 0: one that nobody waits for. */
static void put_copy_over(struct maker *m, const struct place *to, int full)
{
	char at[48];
	if (full) {
		struct step *s = put(m, "\tmbarrier.arrive.expect_tx.shared.b64 _, [bars+%d], %d;", 8 * full, to->size);
		s->op = OP_MB_ARRIVE;
		s->barrier = full;
	}
	struct place from = place_global(m, to->size);
	address(m, to, false, at, sizeof(at));
	struct step *s = put(m,
		"\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes %s, [%%in+%d], %d, "
		"[bars+%d];",
		at, from.base, to->size, 8 * (full ? full : MB_SHOT));
	s->op = OP_BULK_LOAD;
	s->to = *to;
	s->from = from;
}

static void put_wait_for(struct maker *m, const struct stage_out *stage)
{
	int k = below(m, 100), q, skip;
	if (k < 80) {
		put_mb_wait(m, (struct step){.barrier = stage->mb});
	} else if (k < 85) {
		put_mb_wait(m, (struct step){.barrier = stage->mb, .parity = PARITY_ONE});
	} else if (k < 90) { /* what it hears is of no use to anybody: it may hear nothing */
		q = temp(m);
		put(m, "\tmbarrier.%s_wait.parity.shared.b64 %%q%d, [bars+%d], 0;", below(m, 2) ? "try" : "test", q,
			8 * stage->mb);
	} else { /* asks, and waits only if that is not over */
		q = temp(m);
		skip = label(m);
		put(m, "\tmbarrier.try_wait.parity.shared.b64 %%q%d, [bars+%d], 0;", q, 8 * stage->mb);
		put(m, "\t@%%q%d bra L%d;", q, skip);
		put_mb_wait(m, (struct step){.barrier = stage->mb});
		put_label(m, skip);
	}
}

static void put_loader(struct maker *m, const struct unrolled *u)
{
	for (int i = 0; i < u->n; i++) {
		const struct stage_out *stage = &u->v[u->order[i]];
		put_wait_for(m, stage);
		if (chance(m, 8))
			put_fence(m, always());
		put_copy_over(m, &stage->at, stage->full);
	}
	for (int k = u->n; k < (u->rounds + 1) * u->n && u->rounds; k++) {
		const struct stage_out *stage = &u->v[u->order[k % u->n]];
		put_mb_wait(m, (struct step){.barrier = stage->mb, .parity = parity_of_round(k / u->n)});
		put_copy_over(m, &stage->at, stage->full);
	}
	if (chance(m, 15))
		put_copy_over(m, &u->v[below(m, u->n)].at, 0);
}

void make_unrolled(struct maker *m, const struct who *who)
{
	struct unrolled u = {.n = 2 + below(m, MOST - 1), .rounds = chance(m, 40) ? 1 + below(m, 2) : 0};
	int one = label(m), end = label(m);
	struct cond others = on(PRED_FIRST);
	others.negated = true;
	if (!who->all || who->in_loop || who->alone || m->p->warps < 2 || 
		m->nmbarriers + (u.rounds ? 2 : 1) * u.n > NMBARRIERS)
		return;
	uint64_t before = m->more;
	m->more |= bit(FEATURE_UNROLLED);
	u.writers = (struct who){.warps = all_warps(m) & ~1, .whole_warps = true};
	choose(m, &u);
	put_jump(m, on(PRED_WARP0), one);
	put_writers(m, &u);
	if (u.rounds)
		put_rounds_of_writers(m, &u);
	put_jump(m, always(), end);
	put_label(m, one);
	put_jump(m, others, end);
	put_loader(m, &u);
	put_label(m, end);
	if (chance(m, 40))
		put_barrier(m, who);
	if (chance(m, 30))
		put_async(m, who);
	m->more = before;
}
