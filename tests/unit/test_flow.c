/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edges and demands of small bodies. Expected edges: "generic>async" with a letter for the way (o own
 * path, f through hand-offs, b both), c across CTAs, w weak; demands: "after|before" in lines, with a w
 * in front where only the waiting side can fence.
 */
#include "unit_text.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct row {
	const char *name, *body, *edges, *demands;
};

#define COPY "cp.async.bulk.global.shared::cta.bulk_group [drain], [tile], 512;\n"
#define BULK_LOAD \
	"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 512, [full];\n"

#define RELEASE_HALF "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n"
#define ACQUIRE_HALF "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;\n"
#define CLUSTER "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n"
/* two lines: the copy into a peer, or into the own CTA as far as anybody knows, is the second */
#define PEER_COPY \
	"mapa.shared::cluster.u32 %r2, %r3, %r4;\n" \
	"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [other], 512, [%r5];\n"

static const struct row rows[] = {
	{"a write reaches a copy", "st.shared.u32 [tile], 1;\n" COPY "ret;", "1>2o", "1|2"},
	{"a fence between", "st.shared.u32 [tile], 1;\nfence.proxy.async.shared::cta;\n" COPY "ret;", "", ""},
	{"unqualified too", "st.shared.u32 [tile], 1;\nfence.proxy.async;\n" COPY "ret;", "", ""},
	{"a fence of the wrong space",
		"st.shared.u32 [tile], 1;\nfence.proxy.async.global;\n" COPY "ret;", "1>3o", "1|3"},
	{"membar is no proxy fence", "st.shared.u32 [tile], 1;\nmembar.gl;\n" COPY "ret;", "1>3o", "1|3"},
	{"bar.sync is no proxy fence", "st.shared.u32 [tile], 1;\nbar.sync 0;\n" COPY "ret;", "1>3b",
		"1|2,3"},
	{"two writers, each with a barrier of its own",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\nsetp.lt.u32 %p2, %r1, 64;\n@%p1 bra A;\n"
		"@%p2 bra B;\nbar.sync 2, 96;\nbar.sync 1, 96;\n" COPY "ret;\nA:\nst.shared.u32 [tile], 1;\n"
		"bar.arrive 1, 96;\nret;\nB:\nst.shared.u32 [tile+256], 1;\nbar.arrive 2, 96;\nret;",
		"11>8f 15>8f", "11|12 15|16"},
	{"another variable", "st.shared.u32 [other], 1;\n" COPY "ret;", "", ""},
	{"read before read", "ld.shared.u32 %r1, [tile];\n" COPY "st.shared.u32 [other], %r1;\nret;", "", ""},
	{"read before an async write",
		"ld.shared.u32 %r1, [tile];\n" BULK_LOAD "st.shared.u32 [other], %r1;\nret;", "1>2o", "1|2"},
	{"a read consumed before an async write",
		"ld.shared.u32 %r1, [tile];\nst.shared.u32 [other], %r1;\n" BULK_LOAD "ret;", "", ""},
	{"write before an async write", "st.shared.u32 [tile], 1;\n" BULK_LOAD "ret;", "1>2o", "1|2"},
	{"the fence stands on one arm only",
		"setp.eq.s32 %p1, %r9, 0;\nst.shared.u32 [tile], 1;\n@%p1 bra J;\n"
		"fence.proxy.async.shared::cta;\nJ:\n" COPY "ret;",
		"2>6o", "2|6"},
	{"guarded fence, same guard",
		"setp.eq.s32 %p1, %r9, 0;\nst.shared.u32 [tile], 1;\n@%p1 fence.proxy.async.shared::cta;\n"
		"@%p1 " COPY "ret;",
		"", ""},
	{"guarded fence, other guard",
		"setp.eq.s32 %p1, %r9, 0;\nsetp.eq.s32 %p2, %r8, 0;\nst.shared.u32 [tile], 1;\n"
		"@%p1 fence.proxy.async.shared::cta;\n@%p2 " COPY "ret;",
		"3>5o", "3|5"},
	{"guarded fence, negated guard",
		"setp.eq.s32 %p1, %r9, 0;\nst.shared.u32 [tile], 1;\n@!%p1 fence.proxy.async.shared::cta;\n"
		"@%p1 " COPY "ret;",
		"2>4o", "2|4"},
	{"guarded fence, the guard changes before the copy",
		"setp.eq.s32 %p1, %r9, 0;\nst.shared.u32 [tile], 1;\n@%p1 fence.proxy.async.shared::cta;\n"
		"ld.shared.u32 %r7, [other];\nsetp.eq.s32 %p1, %r7, 0;\n@%p1 " COPY "ret;",
		"2>6o", "2|6"},
	{"write and fence under one guard",
		"setp.eq.s32 %p1, %r9, 0;\n@%p1 st.shared.u32 [tile], 1;\n"
		"@%p1 fence.proxy.async.shared::cta;\n" COPY "ret;",
		"", ""},
	{"write under the guard that the fence lacks",
		"setp.eq.s32 %p1, %r9, 0;\n@!%p1 st.shared.u32 [tile], 1;\n"
		"@%p1 fence.proxy.async.shared::cta;\n" COPY "ret;",
		"2>4o", "2|4"},
	{"write and fence under one guard that changes between them",
		"setp.eq.s32 %p1, %r9, 0;\n@%p1 st.shared.u32 [tile], 1;\nld.shared.u32 %r7, [other];\n"
		"setp.eq.s32 %p1, %r7, 0;\n@%p1 fence.proxy.async.shared::cta;\n" COPY "ret;",
		"2>6o", "2|6"},
	{"write and fence behind branches of one predicate",
		"setp.ne.s32 %p1, %r9, 0;\n@%p1 bra A;\nst.shared.u32 [tile], 1;\nA:\nadd.s32 %r1, %r1, 1;\n"
		"@%p1 bra B;\nfence.proxy.async.shared::cta;\nB:\n" COPY "ret;",
		"", ""},
	{"write and fence behind branches of opposite sign",
		"setp.ne.s32 %p1, %r9, 0;\n@%p1 bra A;\nst.shared.u32 [tile], 1;\nA:\nadd.s32 %r1, %r1, 1;\n"
		"@!%p1 bra B;\nfence.proxy.async.shared::cta;\nB:\n" COPY "ret;",
		"3>9o", "3|9"},
	{"branches under the same predicate",
		"setp.ne.s32 %p1, %r9, 0;\nst.shared.u32 [tile], 1;\n@%p1 bra A;\n"
		"fence.proxy.async.shared::cta;\nA:\nadd.s32 %r1, %r1, 1;\n@%p1 bra B;\n" COPY "B:\nret;",
		"", ""},
	{"branches under the same predicate, the fence on the arm taken",
		"setp.ne.s32 %p1, %r9, 0;\nst.shared.u32 [tile], 1;\n@%p1 bra F;\nbra.uni J;\nF:\n"
		"fence.proxy.async.shared::cta;\nJ:\nadd.s32 %r1, %r1, 1;\n@%p1 bra B;\nret;\nB:\n" COPY "ret;",
		"", ""},
	{"the predicate of the iteration before says nothing of this one",
		"L:\nld.shared.u32 %r7, [other];\nsetp.eq.s32 %p1, %r7, 0;\n@%p1 " COPY
		"st.shared.u32 [tile], %r7;\n@%p1 fence.proxy.async.shared::cta;\nsetp.ne.s32 %p2, %r7, 9;\n"
		"@%p2 bra L;\nret;",
		"5>4o", "5|4"},
	{"branches under another predicate",
		"setp.ne.s32 %p1, %r9, 0;\nsetp.ne.s32 %p2, %r8, 0;\nst.shared.u32 [tile], 1;\n@%p1 bra A;\n"
		"fence.proxy.async.shared::cta;\nA:\nadd.s32 %r1, %r1, 1;\n@%p2 bra B;\n" COPY "B:\nret;",
		"3>9o", "3|9"},
	{"the write at the end of an iteration, the copy at the start of the next",
		"mov.u32 %r1, 0;\nL:\n" COPY "st.shared.u32 [tile], 1;\nadd.s32 %r1, %r1, 1;\n"
		"setp.lt.s32 %p1, %r1, 9;\n@%p1 bra L;\nret;",
		"4>3o", "4|3"},
	{"a fence in a loop that may run zero times",
		"st.shared.u32 [tile], 1;\nmov.u32 %r1, 0;\nsetp.ge.s32 %p2, %r1, %r9;\n@%p2 bra X;\nL:\n"
		"fence.proxy.async.shared::cta;\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, %r9;\n"
		"@%p1 bra L;\nX:\n" COPY "ret;",
		"1>11o", "1|11"},
	{"code behind ret is not reached", "ret;\nst.shared.u32 [tile], 1;\n" COPY "ret;", "", ""},
	{"cp.async in flight is no edge yet",
		"cp.async.ca.shared.global [tile], [source], 4;\n" COPY "ret;", "", ""},
	{"cp.async waited for",
		"cp.async.ca.shared.global [tile], [source], 4;\ncp.async.wait_all;\n" COPY "ret;", "1>3o", "2|3"},
	{"a fence before the wait does not count",
		"cp.async.ca.shared.global [tile], [source], 4;\nfence.proxy.async.shared::cta;\n"
		"cp.async.wait_all;\n" COPY "ret;",
		"1>4o", "3|4"},
	{"a fence behind the wait does",
		"cp.async.ca.shared.global [tile], [source], 4;\ncp.async.wait_all;\n"
		"fence.proxy.async.shared::cta;\n" COPY "ret;",
		"", ""},
	{"wait_group 1 may leave it in flight: a second wait, a second fence",
		"cp.async.ca.shared.global [tile], [source], 4;\ncp.async.commit_group;\ncp.async.wait_group 1;\n"
		"fence.proxy.async.shared::cta;\ncp.async.wait_group 0;\n" COPY "ret;",
		"1>6o", "3,5|6"},
	{"cp.async data that its mbarrier hands over go on through a barrier of all threads",
		"cp.async.ca.shared.global [tile], [source], 4;\n"
		"cp.async.mbarrier.arrive.noinc.shared.b64 [full];\nL:\n"
		"mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;\n@!%p1 bra L;\nbar.sync 0;\n" COPY "ret;",
		"1>7f", "w4|6,7"},
	{"cp.async data that its mbarrier hands over, fenced before the barrier of all threads",
		"cp.async.ca.shared.global [tile], [source], 4;\n"
		"cp.async.mbarrier.arrive.noinc.shared.b64 [full];\nL:\n"
		"mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;\n@!%p1 bra L;\n"
		"fence.proxy.async.shared::cta;\nbar.sync 0;\n" COPY "ret;",
		"", ""},
	{"a leader's fence before it waits for cp.async data does not cover them",
		"mov.u32 %r1, %tid.x;\nsetp.ne.s32 %p1, %r1, 0;\nbar.sync 0;\n"
		"cp.async.ca.shared.global [tile], [source], 4;\n"
		"cp.async.mbarrier.arrive.noinc.shared.b64 [full];\n@%p1 bra L;\n"
		"fence.proxy.async.shared::cta;\nL:\n"
		"mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;\n@!%p2 bra L;\nbar.sync 0;\n" COPY "ret;",
		"4>12f", "w9|11,12"},
	{"two threads, the writer's own fence before the barrier",
		"st.shared.u32 [tile], 1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n" COPY "ret;", "", ""},
	{"the issuer's fence behind the barrier",
		"st.shared.u32 [tile], 1;\nbar.sync 0;\nfence.proxy.async.shared::cta;\n" COPY "ret;", "", ""},
	{"through two hand-offs",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra R;\n"
		"st.shared.u32 [tile], 1;\nbar.arrive 1, 96;\nret;\nR:\n"
		"setp.lt.u32 %p2, %r1, 32;\n@%p2 bra I;\nbar.sync 1, 96;\nbar.arrive 2, 64;\nret;\nI:\n"
		"bar.sync 2, 64;\n" COPY "ret;",
		"4>15f", "4|5"},
	{"fenced after the first hand-off, handed on clean by the second",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra R;\n"
		"st.shared.u32 [tile], 1;\nbar.arrive 1, 96;\nret;\nR:\n"
		"setp.lt.u32 %p2, %r1, 32;\n@%p2 bra I;\nbar.sync 1, 96;\n"
		"fence.proxy.async.shared::cta;\nbar.arrive 2, 64;\nret;\nI:\nbar.sync 2, 64;\n" COPY "ret;",
		"", ""},
	{"a barrier of all threads brings the writer's own later fence",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra R;\n"
		"st.shared.u32 [tile], 1;\nbar.arrive 1, 96;\nfence.proxy.async.shared::cta;\nbra.uni J;\nR:\n"
		"bar.sync 1, 96;\nJ:\nbar.sync 0;\n" COPY "ret;",
		"", ""},
	{"without that barrier the first hand-off counts",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra R;\n"
		"st.shared.u32 [tile], 1;\nbar.arrive 1, 96;\nfence.proxy.async.shared::cta;\nbra.uni J;\nR:\n"
		"bar.sync 1, 96;\nJ:\n" COPY "ret;",
		"4>11f", "4|5"},
	{"both halves between the CTAs",
		"st.shared.u32 [tile], 1;\n" RELEASE_HALF CLUSTER ACQUIRE_HALF PEER_COPY "ret;", "", ""},
	{"the acquire half alone is nothing",
		"st.shared.u32 [tile], 1;\nfence.acq_rel.cluster;\n" CLUSTER ACQUIRE_HALF PEER_COPY "ret;",
		"1>7b", "1|2,7 w4|7"},
	{"the release half alone is weak between CTAs",
		"st.shared.u32 [tile], 1;\n" RELEASE_HALF CLUSTER PEER_COPY "ret;", "1>6fcw", "w4|6"},
	{"a full fence behind the cluster barrier covers the peer's bytes",
		"st.shared.u32 [tile], 1;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
		"fence.proxy.async.shared::cluster;\n" PEER_COPY "ret;",
		"", ""},
	{"a leader that exists fences for all who met before it",
		"mov.u32 %r1, %tid.x;\nsetp.ne.s32 %p1, %r1, 0;\nsetp.ne.s32 %p2, %r1, 32;\n"
		"st.shared.u32 [tile], 1;\nbar.sync 0;\n@%p1 bra J;\nfence.proxy.async.shared::cta;\nJ:\n"
		"bar.sync 0;\n@%p2 bra E;\n" COPY "E:\nret;",
		"", ""},
	{"a leader that need not exist does not",
		"mov.u32 %r1, %tid.x;\nld.global.u32 %r3, [%rd2];\nsetp.ne.s32 %p1, %r1, %r3;\n"
		"setp.ne.s32 %p2, %r1, 32;\nst.shared.u32 [tile], 1;\nbar.sync 0;\n@%p1 bra J;\n"
		"fence.proxy.async.shared::cta;\nJ:\nbar.sync 0;\n@%p2 bra E;\n" COPY "E:\nret;",
		"5>12b", "5|10,12"},
	{"a leader's fence does not cover what is written behind the barrier it followed",
		"mov.u32 %r1, %tid.x;\nsetp.ne.s32 %p1, %r1, 0;\nsetp.ne.s32 %p2, %r1, 32;\nbar.sync 0;\n"
		"st.shared.u32 [tile], 1;\n@%p1 bra J;\nfence.proxy.async.shared::cta;\nJ:\n"
		"bar.sync 0;\n@%p2 bra E;\n" COPY "E:\nret;",
		"5>11b", "5|9,11"},
	{"a leader between two barriers of its warps",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra E;\nst.shared.u32 [tile], 1;\nbar.sync 1, 64;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"", ""},
	{"a leader between barriers that not all of its warps need come to",
		"mov.u32 %r1, %tid.x;\nld.global.u32 %r3, [%rd2];\nsetp.ge.u32 %p1, %r1, %r3;\n@%p1 bra E;\nst.shared.u32 [tile], 1;\nbar.sync 1, 64;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"5>14b", "5|6,11,14"},
	{"a leader that may be outside of the warps that meet",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra E;\nst.shared.u32 [tile], 1;\nbar.sync 1, 64;\nsetp.ne.s32 %p2, %r1, 64;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"4>13b", "4|10,13"},
	{"a leader whose fence stands before the first barrier",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra E;\nst.shared.u32 [tile], 1;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 1, 64;\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"4>13b", "4|10,13"},
	{"a leader between barriers, written anew behind the first",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra E;\nbar.sync 1, 64;\nst.shared.u32 [tile], 1;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"5>13b", "5|10,13"},
	{"a leader's fence in the way of another thread of the warps only",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra E;\nst.shared.u32 [tile], 1;\nbar.sync 1, 64;\nsetp.ne.s32 %p2, %r1, %r9;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"4>13b", "4|10,13"},
	{"around the leader: handed over before the second barrier",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra O;\nst.shared.u32 [tile], 1;\nbar.sync 1, 64;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nmbarrier.arrive.shared.b64 %rd3, [full];\nbar.sync 1, 64;\nret;\nO:\nmbarrier.try_wait.parity.shared.b64 %p3, [full], 0;\n@!%p3 bra O;\n" COPY "ret;",
		"4>16f", "4|5,10"},
	{"handed over behind the second barrier",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra O;\nst.shared.u32 [tile], 1;\nbar.sync 1, 64;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 1, 64;\nmbarrier.arrive.shared.b64 %rd3, [full];\nret;\nO:\nmbarrier.try_wait.parity.shared.b64 %p3, [full], 0;\n@!%p3 bra O;\n" COPY "ret;",
		"", ""},
	{"what a stranger hands over between the barriers is not the leader's",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra O;\nbar.sync 1, 64;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nsetp.ne.s32 %p4, %r1, 32;\n@%p4 bra M;\nN:\nmbarrier.try_wait.parity.shared.b64 %p3, [full], 0;\n@!%p3 bra N;\nM:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra X;\n" COPY "X:\nret;\nO:\nst.shared.u32 [tile], 1;\nmbarrier.arrive.shared.b64 %rd3, [full];\nret;",
		"22>18f", "22|23"},
	{"a leader in each of two sets of warps, the id in a register",
		"mov.u32 %r1, %tid.x;\nshr.u32 %r5, %r1, 6;\nadd.s32 %r6, %r5, 1;\nst.shared.u32 [tile], 1;\nbar.sync %r6, 64;\nand.b32 %r7, %r1, 63;\nsetp.ne.s32 %p2, %r7, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync %r6, 64;\nsetp.ne.s32 %p3, %r7, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"", ""},
	{"two sets of warps, a leader in one of them",
		"mov.u32 %r1, %tid.x;\nshr.u32 %r5, %r1, 6;\nadd.s32 %r6, %r5, 1;\nand.b32 %r7, %r1, 63;\nst.shared.u32 [tile], 1;\nbar.sync %r6, 64;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync %r6, 64;\nsetp.ne.s32 %p3, %r7, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"5>14b", "5|11,14"},
	{"an id that is not known for each thread",
		"mov.u32 %r1, %tid.x;\nld.global.u32 %r6, [%rd2];\nand.b32 %r7, %r1, 63;\nst.shared.u32 [tile], 1;\nbar.sync %r6, 64;\nsetp.ne.s32 %p2, %r7, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync %r6, 64;\nsetp.ne.s32 %p3, %r7, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"2>13f 4>13b", "2|5,10 4|5,10,13"},
	{"a leader that elect.sync picks in the first warp",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra E;\nst.shared.u32 [tile], 1;\nbar.sync 1, 64;\nsetp.gt.u32 %p2, %r1, 31;\n@%p2 bra J;\nelect.sync _|%p5, -1;\n@!%p5 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"", ""},
	{"a leader that elect.sync picks by a mask that may leave it out",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra E;\nst.shared.u32 [tile], 1;\nbar.sync 1, 64;\nsetp.gt.u32 %p2, %r1, 31;\n@%p2 bra J;\nelect.sync _|%p5, 254;\n@!%p5 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"4>15b", "4|12,15"},
	{"a leader of the first warp for all threads, by two branches",
		"mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nand.b32 %r4, %r1, 31;\nsetp.ne.s32 %p1, %r2, 0;\nsetp.ne.s32 %p2, %r4, 0;\nsetp.ne.s32 %p3, %r1, 32;\nst.shared.u32 [tile], 1;\nbar.sync 0;\n@%p1 bra J;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 0;\n@%p3 bra E;\n" COPY "E:\nret;",
		"", ""},
	{"two branches that no thread passes both",
		"mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nsetp.ne.s32 %p1, %r2, 0;\nsetp.ne.s32 %p2, %r1, 40;\nsetp.ne.s32 %p3, %r1, 32;\nst.shared.u32 [tile], 1;\nbar.sync 0;\n@%p1 bra J;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 0;\n@%p3 bra E;\n" COPY "E:\nret;",
		"6>14b", "6|12,14"},
	{"a leader that may have left alone",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra E;\nst.shared.u32 [tile], 1;\nbar.sync 1, 64;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nld.global.u32 %r3, [%rd2];\nsetp.eq.s32 %p4, %r3, 0;\n@%p4 exit;\nJ:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"4>16b", "4|5,13,16"},
	{"a leader between barriers of the same warps under two ids",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra E;\nst.shared.u32 [tile], 1;\nbar.sync 2, 64;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"", ""},
	{"a barrier that some only arrive at",
		"mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra E;\nst.shared.u32 [tile], 1;\nbar.sync 1, 64;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra J;\nfence.proxy.async.shared::cta;\nJ:\nsetp.gt.u32 %p4, %r1, 31;\n@%p4 bra A;\nbar.arrive 1, 64;\nbra.uni E;\nA:\nbar.sync 1, 64;\nsetp.ne.s32 %p3, %r1, 32;\n@%p3 bra E;\n" COPY "E:\nret;",
		"4>18b", "4|5,12,15,18"},
	{"global memory", "ld.param.u64 %rd1, [out];\nst.global.u32 [%rd1], 1;\n" BULK_LOAD "ret;", "2>3o",
		"2|3"},
	{"a global write needs a global fence",
		"ld.param.u64 %rd1, [out];\nst.global.u32 [%rd1], 1;\nfence.proxy.async.shared::cta;\n" BULK_LOAD
		"ret;",
		"2>4o", "2|4"},
};

static void print_edges(struct unit_text *t, const struct flow *flow, char *out, size_t size)
{
	const struct access *v = t->unit.accesses.v;
	size_t n = 0;

	out[0] = 0;
	for (uint32_t i = 0; i < flow->nedges; i++) {
		const struct edge *e = &flow->edges[i];

		n += (size_t)snprintf(out + n, size - n, "%s%u>%u%s%s%s", n ? " " : "",
			unit_text_line(t, v[e->generic].insn), unit_text_line(t, v[e->async].insn),
			e->own && e->foreign ? "b" : e->own ? "o" : "f", e->cross_cta ? "c" : "",
			e->weak ? "w" : "");
	}
}

static int by_number(const void *a, const void *b)
{
	return (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

static size_t print_lines(
	struct unit_text *t, const uint32_t *insns, uint32_t n, char *out, size_t size)
{
	uint32_t lines[32];
	size_t used = 0;

	assert_true(n <= 32);
	for (uint32_t i = 0; i < n; i++)
		lines[i] = unit_text_line(t, insns[i]);
	qsort(lines, n, sizeof(*lines), by_number);
	for (uint32_t i = 0; i < n; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%u", i ? "," : "", lines[i]);
	return used;
}

static void print_demands(struct unit_text *t, const struct demand *v, uint32_t count, char *out,
	size_t size)
{
	size_t n = 0;

	out[0] = 0;
	for (uint32_t i = 0; i < count; i++) {
		n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " " : "", v[i].waiting_side ? "w" : "");
		n += print_lines(t, v[i].sources, v[i].nsources, out + n, size - n);
		n += (size_t)snprintf(out + n, size - n, "|");
		n += print_lines(t, v[i].sinks, v[i].nsinks, out + n, size - n);
	}
}

static void test_flow_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct unit_text t;
		struct flow flow;
		struct demand *demands;
		uint32_t n;
		char got[256];

		unit_text_parse(&t, rows[i].body);
		unit_text_analyse(&t);
		struct flow_setup *setup = flow_prepare(&t.unit);

		flow_solve(setup, NULL, &flow);
		print_edges(&t, &flow, got, sizeof(got));
		if (strcmp(got, rows[i].edges) != 0)
			fail_msg("%s: expected edges '%s', got '%s'", rows[i].name, rows[i].edges, got);
		flow_demands(setup, &flow, &demands, &n);
		print_demands(&t, demands, n, got, sizeof(got));
		if (strcmp(got, rows[i].demands) != 0)
			fail_msg("%s: expected demands '%s', got '%s'", rows[i].name, rows[i].demands,
				got);
		unit_text_free(&t);
	}
}

static bool is_within(struct bits a, struct bits b)
{
	for (uint32_t w = 0; w < a.nwords; w++)
		if (a.words[w] & ~b.words[w])
			return false;
	return true;
}

/* What is pending at the end of a block is so at the start of those behind it, whoever they share a row with. */
static void rows_hold(struct flow_setup *s, const char *name)
{
	for (uint32_t b = 0; b < s->unit->cfg.n; b++) {
		const struct block *block = &s->unit->cfg.blocks[b];

		flow_enter(s, b);
		for (uint32_t e = flow_first(s, b); e < flow_end(s, b); e++)
			flow_step(s, e, false, NULL);
		for (uint32_t i = 0; i < block->succ.n && s->taken[b] == NO_LITERAL; i++) {
			uint32_t to = block->succ.v[i];

			if (!is_within(s->now.own, (struct bits){flow_row(s, to), s->set_words}) ||
				!is_within(s->now.foreign, flow_foreign(s, to)))
				fail_msg("%s: block %u lacks what comes from block %u", name, to, b);
		}
	}
}

static void test_flow_rows_are_shared(void **state)
{
	uint32_t nblocks = 0, nrows = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct unit_text t;
		struct flow flow;

		unit_text_parse(&t, rows[i].body);
		unit_text_analyse(&t);
		struct flow_setup *setup = flow_prepare(&t.unit);

		flow_solve(setup, NULL, &flow);
		if (!setup->trivial) {
			rows_hold(setup, rows[i].name);
			nblocks += t.unit.cfg.n;
			nrows += setup->rows.n;
		}
		unit_text_free(&t);
	}
	assert_true(nrows < nblocks);
}

/* A planned fence counts like a written one; a fence taken away does not count. */
static void test_flow_view(void **state)
{
	struct unit_text t;
	struct flow flow;

	(void)state;
	unit_text_parse(&t, "st.shared.u32 [tile], 1;\nfence.proxy.async;\n" COPY "ret;");
	unit_text_analyse(&t);
	struct flow_setup *setup = flow_prepare(&t.unit);
	uint8_t existing[4] = {FENCE_NONE, FENCE_NONE, FENCE_NONE, FENCE_NONE};
	struct placed_fence placed = {.before = 2, .kind = FENCE_ASYNC_CTA};

	flow_solve(setup, &(struct fence_view){.existing = existing}, &flow);
	assert_int_equal(flow.nedges, 1);
	flow_solve(setup, &(struct fence_view){.existing = existing, .placed = &placed, .nplaced = 1}, &flow);
	assert_int_equal(flow.nedges, 0);
	placed.kind = FENCE_ASYNC_GLOBAL;
	flow_solve(setup, &(struct fence_view){.existing = existing, .placed = &placed, .nplaced = 1}, &flow);
	assert_int_equal(flow.nedges, 1);
	existing[1] = FENCE_ASYNC_CTA;
	flow_solve(setup, &(struct fence_view){.existing = existing}, &flow);
	assert_int_equal(flow.nedges, 0);
	unit_text_free(&t);
}

static bool has_edge(const struct edge *v, uint32_t n, const struct edge *edge)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i].generic == edge->generic && v[i].async == edge->async &&
			v[i].space == edge->space)
			return true;
	return false;
}

/* Of the edges that are not in `before`, all in `v` are in `w`. */
static bool are_among(const struct flow *before, const struct flow *v, const struct flow *w)
{
	for (uint32_t i = 0; i < v->nedges; i++)
		if (!has_edge(before->edges, before->nedges, &v->edges[i]) &&
			!has_edge(w->edges, w->nedges, &v->edges[i]))
			return false;
	return true;
}

static struct flow keep_edges(const struct flow *flow)
{
	struct flow kept = *flow;

	kept.edges = malloc(sizeof(*kept.edges) * (flow->nedges + 1));
	if (flow->nedges)
		memcpy(kept.edges, flow->edges, sizeof(*kept.edges) * flow->nedges);
	return kept;
}

static void same_rows(const struct flow_setup *s, const uint64_t *before)
{
	for (uint32_t b = 0; b < s->unit->cfg.n; b++)
		if (flow_reached(s, b))
			assert_memory_equal(flow_row(s, b), before + (size_t)s->rows.of[b] * s->row_words,
				s->row_words * sizeof(*before));
}

/* A place's fences, and what less is left of them. */
struct lessening {
	uint8_t n, kind[2], left[2], nleft;
};

static const struct lessening lessenings[] = {
	{1, {FENCE_ASYNC_CTA}, {FENCE_NONE}, 0},
	{1, {FENCE_ASYNC_ALL}, {FENCE_ASYNC_GLOBAL}, 1},
	{2, {FENCE_ASYNC_CTA, FENCE_ASYNC_GLOBAL}, {FENCE_ASYNC_GLOBAL, FENCE_NONE}, 1},
	{2, {FENCE_ASYNC_CTA, FENCE_ASYNC_GLOBAL}, {FENCE_NONE, FENCE_NONE}, 0},
};

/* Planned fences at two places, then less at the first: the same edges come back as where there never was
 * more, and the state is put back. */
static uint32_t lose_one(struct flow_setup *s, uint32_t first, uint32_t second, const struct lessening *l,
	const char *name)
{
	struct placed_fence placed[] = {{.before = second, .kind = FENCE_ASYNC_ALL},
		{.before = first, .kind = l->kind[0]}, {.before = first, .kind = l->kind[1]}};
	struct placed_fence fewer[] = {placed[0], {.before = first, .kind = l->left[0]}};
	struct fence_view both = {.placed = placed, .nplaced = 1u + l->n, .brief = true};
	struct fence_view one = {.placed = fewer, .nplaced = 1u + l->nleft, .brief = true};
	size_t entered = (size_t)s->leaders.nepochs * s->set_words * sizeof(*s->entered);
	uint64_t *rows_before, *entered_before = malloc(entered + 1);
	struct flow flow, before, less;
	uint32_t n = 0;

	flow_solve(s, &both, &flow);
	before = keep_edges(&flow);
	size_t bytes = (size_t)s->rows.n * s->row_words * sizeof(*s->in);

	rows_before = malloc(bytes + 1);
	memcpy(rows_before, s->in, bytes);
	memcpy(entered_before, s->entered, entered);
	for (uint32_t again = 0; again < 2; again++) {
		flow_solve_less(s, placed + 1, l->left, l->n, &flow);
		same_rows(s, rows_before);
		assert_memory_equal(s->entered, entered_before, entered);
	}
	less = keep_edges(&flow);
	flow_solve(s, &one, &flow);
	if (!are_among(&before, &flow, &less) || !are_among(&before, &less, &flow))
		fail_msg("%s: without the fence before %u other edges than solved anew", name, first);
	for (uint32_t i = 0; i < flow.nedges; i++)
		n += !has_edge(before.edges, before.nedges, &flow.edges[i]);
	free(rows_before);
	free(entered_before);
	free(before.edges);
	free(less.edges);
	return n;
}

static void test_flow_less_is_as_solved_anew(void **state)
{
	uint32_t came_back[4] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct unit_text t;

		unit_text_parse(&t, rows[i].body);
		unit_text_analyse(&t);
		struct flow_setup *setup = flow_prepare(&t.unit);

		for (uint32_t k = 0; flow_can_lose(setup) && k < t.unit.fn->ninsns; k++)
			for (uint32_t m = 0; m < t.unit.fn->ninsns; m += 3)
				if (m != k && t.unit.cfg.block_of[k] != NONE)
					for (uint32_t l = 0; l < 4; l++)
						came_back[l] += lose_one(
							setup, k, m, &lessenings[l], rows[i].name);
		unit_text_free(&t);
	}
	for (uint32_t l = 0; l < 4; l++)
		assert_true(came_back[l] > (l == 2 ? 0 : 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow_rows),
		cmocka_unit_test(test_flow_rows_are_shared),
		cmocka_unit_test(test_flow_view),
		cmocka_unit_test(test_flow_less_is_as_solved_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
