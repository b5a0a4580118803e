/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the litmus table. In: nothing. Out: ROWS, one entry per kernel: its row, file and name,
 * threads per CTA, words or products checked per CTA and round, and the pattern in words.
 */
#pragma once

struct Row {
	const char *name, *file, *kernel;
	int threads, checks;
	const char *pattern;
};

static const Row ROWS[] = {
	{"A1", "stores", "a1_same_thread", 128, 4096, "st.shared, same thread, bulk store"},
	{"A2", "stores", "a2_warp", 128, 4096, "st.shared, bar.warp.sync, lane 0 bulk store"},
	{"A3", "stores", "a3_block", 128, 4096, "st.shared, bar.sync, thread 0 bulk store"},
	{"A4", "stores", "a4_no_conflict", 128, 4096, "as A3, stores without bank conflicts"},
	{"T", "stores", "t_next_round", 128, 4096, "as A3, store at the start of the next iteration"},
	{"G", "stores", "g_roles", 128, 3072,
		"warps 1-3 st.shared, mbarrier.arrive; warp 0 waits, bulk store"},
	{"I", "stores", "i_stmatrix", 128, 4096, "stmatrix, bar.sync, bulk store"},
	{"J", "stores", "j_atom", 128, 4096, "atom.shared, bar.sync, bulk store"},
	{"J", "stores", "j_red", 128, 4096, "red.shared, bar.sync, bulk store"},
	{"J", "stores", "j_vector", 128, 4096, "st.shared.v4, bar.sync, bulk store"},
	{"J", "stores", "j_generic", 128, 4096, "st to a generic address, bar.sync, bulk store"},
	{"R", "stores", "r_reduce", 128, 4096, "st.shared, bar.sync, bulk reduction"},
	{"Q", "stores", "q_thread0", 128, 4096, "as A3, fence by thread 0 only, before the barrier"},
	{"Q", "stores", "q_warp0", 128, 4096, "as A3, fence by warp 0 only, before the barrier"},
	{"Q", "stores", "q_lane0", 128, 4096, "as A3, fence by lane 0 of each warp, before the barrier"},
	{"P", "stores", "p_issuer", 128, 4096, "as A3, fence by thread 0 only, after the barrier"},
	{"Y", "stores", "y_global_fence", 128, 4096, "as A3, fence.proxy.async.global instead"},
	{"Y", "stores", "y_membar", 128, 4096, "as A3, membar.cta instead"},
	{"V", "stores", "v_callee", 128, 4096, "as A3, st.shared in a called function"},
	{"H", "stores", "h_named", 128, 3072,
		"warps 1-3 st.shared, bar.arrive 1; warp 0 bar.sync 1, bulk store"},
	{"U", "stores", "u_other_buffer", 128, 8192,
		"as A3, but the bulk store reads another, fenced buffer: no edge"},
	{"W", "stores", "w_clear", 128, 4096, "st.shared of zero, bar.sync, bulk load over it (waw)"},
	{"M", "wgmma", "m_roles", 256, 8192,
		"warpgroup 1 st.shared, mbarrier.arrive; warpgroup 0 waits, wgmma"},
	{"M2", "wgmma", "m2_stmatrix", 256, 8192, "as M with stmatrix"},
	{"S", "wgmma", "s_sparse", 256, 8192, "as M with sparse wgmma"},
	{"B", "wgmma", "b_same_group", 128, 8192, "st.shared, bar.sync, wgmma in the same warpgroup"},
	{"B2", "wgmma", "b2_other_group", 256, 8192,
		"warpgroup 1 st.shared, bar.sync, wgmma in warpgroup 0"},
	{"C", "war", "c_ld", 128, 4096, "ld.shared, bar.sync, bulk load over it (war)"},
	{"N", "war", "n_ldmatrix", 128, 4096, "ldmatrix, bar.sync, bulk load over it (war)"},
	{"N", "war", "n2_roles", 128, 3072, "ldmatrix, mbarrier.arrive, bulk load over it (war)"},
	{"F", "war", "f_branch", 128, 3072, "ld.shared decides a branch before mbarrier.arrive (war)"},
	{"F2", "war", "f2_sum", 128, 96, "ldmatrix, sums before mbarrier.arrive (war); threads counted"},
	{"D", "global", "d_same_thread", 128, 4096, "st.global, same thread, bulk load of it"},
	{"D2", "global", "d2_block", 128, 4096, "st.global, bar.sync, thread 0 bulk load"},
	{"D3", "global", "d3_flag", 128, 2048, "st.global, st.release; ld.acquire in another CTA, bulk load"},
	{"Y", "global", "y_shared_fence", 128, 4096, "as D, fence.proxy.async.shared::cta instead"},
	{"E", "cpasync", "e1_store", 128, 4096, "cp.async, wait_all, bar.sync, bulk store"},
	{"E", "cpasync", "e2_store_mbarrier", 128, 4096, "cp.async, mbarrier, bulk store"},
	{"E", "cpasync", "e3_wgmma", 128, 8192, "cp.async, wait_all, bar.sync, wgmma"},
	{"E", "cpasync", "e4_wgmma_other", 256, 8192,
		"cp.async, wait_all, bar.sync, wgmma in the other warpgroup"},
	{"E", "cpasync", "e5_wgmma_mbarrier", 256, 8192,
		"cp.async, mbarrier, wgmma in the other warpgroup"},
	{"E", "cpasync", "e6_wgmma_stages", 128, 8192, "cp.async, wait_group 1, bar.sync, wgmma"},
	{"E", "cpasync", "e7_fence_early", 128, 8192, "as the third, fence before the wait"},
	{"L", "cluster", "l_barrier", 128, 2048,
		"st.shared::cluster to the peer, cluster barrier, peer bulk store"},
	{"L", "cluster", "l2_mbarrier", 128, 2048,
		"st.shared::cluster to the peer, remote mbarrier.arrive, peer bulk store"},
	{"L", "cluster", "l3_st_async", 128, 2048, "st.async to the peer, peer bulk store"},
	{"K", "cluster", "k_peer_copy", 128, 4096, "st.shared, bar.sync, bulk copy to the peer"},
	{"X", "cluster", "x_multicast", 128, 4096,
		"ld.shared in both CTAs, remote mbarrier.arrive, multicast load over it (war)"},
};
