/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers and mbarriers as statements: each is met by the threads that it counts. */
#include "say.h"

int all_warps(const struct maker *m)
{
	return (1 << m->p->warps) - 1;
}

int role_id(struct maker *m)
{
	return m->next_role_id < CLUSTER_BARRIER ? m->next_role_id++ : NONE;
}

/* One id for each set of warps. */
static int id_of(struct maker *m, int warps)
{
	if (!m->ids[warps] && m->next_id < 9)
		m->ids[warps] = m->next_id++;
	return m->ids[warps] ? m->ids[warps] : NONE;
}

int new_mbarrier(struct maker *m, int threads, int threads_of_model)
{
	if (m->nmbarriers == NMBARRIERS)
		return NONE;
	m->threads[m->nmbarriers] = threads;
	m->p->expected[m->nmbarriers] = threads_of_model;
	return m->nmbarriers++;
}

void put_sync(struct maker *m, int id, int warps, bool wait)
{
	int count = 0;
	for (int w = 0; w < MAX_WARPS; w++)
		count += warps >> w & 1 ? 32 : 0;
	struct step *s;
	int r = id > 0 && chance(m, 20) ? temp(m) : NONE;
	if (r >= 0)
		put(m, "\tmov.u32 %%r%d, %d;", r, id);
	if (r >= 0)
		s = put(m, "\tbar.%s %%r%d, %d;", wait ? "sync" : "arrive", r, count);
	else if (!wait)
		s = put(m, "\tbar.arrive %d, %d;", id, count);
	else if (id == 0 && below(m, 2))
		s = put(m, "\t%s 0;", below(m, 3) ? "bar.sync" : "barrier.sync.aligned");
	else
		s = put(m, "\tbar.sync %d, %d;", id, count);
	s->op = wait ? OP_SYNC : OP_ARRIVE;
	s->barrier = id;
	s->warps = warps;
	s->features |= bit(id ? wait ? FEATURE_NAMED_BAR : FEATURE_BAR_ARRIVE : FEATURE_PLAIN_BAR);
}

/* All threads of the cluster; what stands between the halves is not handed over. */
void put_cluster_barrier(struct maker *m, const struct who *who)
{
	struct step *s =
		put(m, "\tbarrier.cluster.arrive%s.aligned;", below(m, 2) ? ".release" : "");
	s->op = OP_CLUSTER_ARRIVE;
	s->features |= bit(FEATURE_CLUSTER_BAR);
	if (chance(m, 30))
		make_body(m, &(struct who){.warps = who->warps}, 1);
	s = put(m, "\tbarrier.cluster.wait%s.aligned;", below(m, 2) ? ".acquire" : "");
	s->op = OP_CLUSTER_WAIT;
}

void put_warp_sync(struct maker *m)
{
	struct step *s = put(m, "\tbar.warp.sync -1;");
	s->op = OP_WARP_SYNC;
	s->features |= bit(FEATURE_WARP_SYNC);
}

/* A barrier of exactly the threads that run this code. */
void put_barrier(struct maker *m, const struct who *who)
{
	int id = who->all || !who->whole_warps || who->warps == 0 ? NONE : id_of(m, who->warps);
	if (who->sets && !m->in_callee && (!who->whole_warps || chance(m, 50)))
		put_set_sync(m, who);
	else if (who->both && chance(m, m->cluster ? 25 : 6))
		put_cluster_barrier(m, who);
	else if (who->all)
		put_sync(m, 0, all_warps(m), true);
	else if (who->whole_warps && who->alone && chance(m, 50))
		put(m, "\tbar.sync 0;")->op =
			OP_SYNC; /* the others have left: they count no more */
	else if (id != NONE)
		put_sync(m, id, who->warps, true);
	else
		maybe_fence(m);
	if (who->whole_warps && chance(m, 10))
		put_warp_sync(m);
}

struct step *put_mb_arrive(struct maker *m, struct step like)
{
	char guard[32], at[48];
	struct step *s;
	mb_address(m, &like, at, sizeof(at));
	cond_name(m, like.guard, guard, sizeof(guard));
	if (like.peer)
		s = put(m, "\t%smbarrier.arrive.release.cluster.shared::cluster.b64 _, %s;", guard,
			at);
	else if (like.value)
		s = put(m, "\t%smbarrier.arrive.expect_tx.shared.b64 _, %s, %d;", guard, at,
			like.value);
	else
		s = put(m, "\t%smbarrier.arrive.shared.b64 %s, %s;", guard,
			like.parity == PARITY_TOKEN ? "%token" : "_", at);
	like.op = OP_MB_ARRIVE;
	like.features |= s->features | bit(like.peer ? FEATURE_REMOTE_ARRIVE : FEATURE_MBARRIER) |
			 (like.parity == PARITY_TOKEN ? bit(FEATURE_TOKEN) : 0);
	*s = like;
	return s;
}

/* The text of the phase that a wait names. */
static void parity_name(struct maker *m, const struct step *like, char *out, size_t size)
{
	int q;
	switch (like->parity) {
	case PARITY_ZERO:
		snprintf(out, size, "0");
		return;
	case PARITY_ONE:
		snprintf(out, size, "1");
		return;
	case PARITY_PHASE:
		snprintf(out, size, "%%phase");
		return;
	case PARITY_TOKEN:
		snprintf(out, size, "%%token");
		return;
	case PARITY_RING:
		snprintf(out, size, "%%w%d", like->ring - 1);
		return;
	case PARITY_RING_OTHER:
		q = temp(m);
		put(m, "\txor.b32 %%r%d, %%w%d, 1;", q, like->ring - 1);
		snprintf(out, size, "%%r%d", q);
		return;
	case PARITY_LOOP:
	case PARITY_LOOP_OTHER:
	case PARITY_HALF:
	case PARITY_HALF_OTHER:
		break;
	}
	q = temp(m);
	if (like->parity >= PARITY_HALF)
		put(m, "\tbfe.u32 %%r%d, %%i%d, 1, 1;", q, like->depth);
	else
		put(m, "\tand.b32 %%r%d, %%i%d, 1;", q, like->depth);
	if (like->parity == PARITY_LOOP_OTHER || like->parity == PARITY_HALF_OTHER)
		put(m, "\txor.b32 %%r%d, %%r%d, 1;", q, q);
	snprintf(out, size, "%%r%d", q);
}

/* Asks whether the phase has ended: the answer is in %q of that number. */
static struct step *put_question(struct maker *m, struct step like, enum op op, int q, int again)
{
	char text[24], at[48];
	parity_name(m, &like, text, sizeof(text));
	mb_address(m, &like, at, sizeof(at));
	if (again != NONE)
		put_label(m, again);
	struct step *s = put(m, "\tmbarrier.%s_wait%s%s.b64 %%q%d, %s, %s;",
		like.count || chance(m, 80) ? "try" : "test",
		like.parity == PARITY_TOKEN ? "" : ".parity",
		like.count ? ".acquire.cluster.shared::cta" : ".shared", q, at, text);
	like.op = op;
	like.features |= s->features;
	*s = like;
	return s;
}

/* A loop until the phase has ended; `count`: acquires at the scope of the cluster. */
struct step *put_mb_wait(struct maker *m, struct step like)
{
	int l = label(m), q = temp(m);
	struct step *s = put_question(m, like, OP_MB_WAIT, q, l);
	put(m, "\t@!%%q%d bra L%d;", q, l);
	return s;
}

void put_mb_ask(struct maker *m, struct step like)
{
	put_question(m, like, OP_MB_ASK, temp(m), NONE);
}
