/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

const char *const feature_names[NFEATURES] = {
	[FEATURE_PLAIN_BAR] = "bar.sync 0",
	[FEATURE_NAMED_BAR] = "named bar.sync",
	[FEATURE_BAR_ARRIVE] = "bar.arrive",
	[FEATURE_WARP_SYNC] = "bar.warp.sync",
	[FEATURE_MBARRIER] = "mbarrier",
	[FEATURE_RING] = "ring of stages",
	[FEATURE_TOKEN] = "mbarrier state",
	[FEATURE_FLAG] = "flag in memory",
	[FEATURE_LEADER] = "leader at bar",
	[FEATURE_LEADER_MBARRIER] = "leader at mbarrier",
	[FEATURE_LEADER_ARRIVES] = "leader arrives",
	[FEATURE_GUARDED_FENCE] = "guarded fence",
	[FEATURE_CP_ASYNC] = "cp.async",
	[FEATURE_CP_MBARRIER] = "cp.async arrive",
	[FEATURE_CP_NOINC] = "cp.async arrive.noinc",
	[FEATURE_MATRIX] = "stmatrix, ldmatrix",
	[FEATURE_WGMMA] = "wgmma",
	[FEATURE_TENSOR] = "tensor copy",
	[FEATURE_GLOBAL] = "global memory",
	[FEATURE_CALL] = "call",
	[FEATURE_RECURSION] = "recursion",
	[FEATURE_PEER] = "access to peer",
	[FEATURE_CLUSTER_BAR] = "barrier.cluster",
	[FEATURE_REMOTE_ARRIVE] = "remote arrive",
	[FEATURE_SEND] = "st.async, red.async",
	[FEATURE_MULTICAST] = "multicast",
	[FEATURE_PEER_COPY] = "bulk copy to peer",
	[FEATURE_HINT] = "hint",
	[FEATURE_BOUND] = "loop bound by a load",
	[FEATURE_FRESH] = "before the first phase",
	[FEATURE_STAGES] = "mbarrier per stage",
	[FEATURE_AHEAD] = "next stage before arrive",
	[FEATURE_SWIZZLE] = "swizzled rows",
	[FEATURE_MAPPED] = "mapa of a rank",
	[FEATURE_MASK] = "multicast by a mask",
	[FEATURE_UNROLLED] = "stages written out",
	[FEATURE_LEFT] = "some have left",
	[FEATURE_BOX] = "box of a built map",
	[FEATURE_SETS] = "barrier of a set",
	[FEATURE_TURNS] = "roles change in a loop",
	[FEATURE_EDGE] = "at an edge of a range",
};

void counts_add(struct counts *to, const struct counts *from)
{
	long *a = (long *)to;
	const long *b = (const long *)from;
	for (size_t i = 0; i < sizeof(*to) / sizeof(long); i++)
		a[i] += b[i];
}

void counts_by(long *by, uint64_t features)
{
	for (int i = 0; i < NFEATURES; i++)
		by[i] += features >> i & 1;
}

void counts_tell(const struct counts *c)
{
	printf("%-22s %9s %9s %9s %9s\n", "through", "programs", "edges", "covered", "beyond");
	for (int i = 0; i < NFEATURES; i++)
		printf("%-22s %9ld %9ld %9ld %9ld\n", feature_names[i], c->with[i], c->edge_by[i],
			c->covered_by[i], c->beyond_by[i]);
	printf("programs %ld (discarded %ld), with an edge %ld\n", c->programs, c->discarded,
		c->with_edges);
	printf("edges %ld, missed %ld, reported beyond %ld\n", c->edges, c->missed, c->beyond);
	printf("strict: edges %ld, missed %ld, reported beyond %ld\n", c->strict_edges,
		c->strict_missed, c->strict_beyond);
	printf("fences inserted %ld, spare %ld (%.1f %%), in programs without an edge %ld, clean "
	       "but "
	       "changed %ld\n",
		c->inserted, c->spare,
		c->inserted ? 100.0 * (double)c->spare / (double)c->inserted : 0, c->over_inserted,
		c->changed);
	printf("edges left %ld, left by --strict %ld, found again %ld, wrong texts %ld, unstable "
	       "%ld, "
	       "no verdict %ld\n",
		c->left, c->strict_left, c->found_again, c->wrong_text, c->unstable, c->silent);
	printf("called redundant %ld, of these needed %ld; edges left by --fix of all %ld; "
	       "suppressed "
	       "%ld, wrongly %ld\n",
		c->redundant, c->redundant_wrong, c->trimmed_left, c->suppressed,
		c->suppressed_wrong);
}

bool counts_bad(const struct counts *c)
{
	return c->missed || c->strict_missed || c->left || c->strict_left || c->found_again ||
	       c->wrong_text || c->unstable || c->changed || c->silent || c->redundant_wrong ||
	       c->trimmed_left || c->suppressed_wrong;
}

bool counts_thin(const struct counts *c)
{
	bool thin = false;
	for (int i = 0; i < NFEATURES; i++) {
		if (c->edge_by[i] && c->covered_by[i])
			continue;
		printf("too few programs: %s makes no edge or no covered pair\n", feature_names[i]);
		thin = true;
	}
	return thin;
}
