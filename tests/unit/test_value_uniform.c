/* SPDX-License-Identifier: Apache-2.0 */
/* Whether all threads have the same in a register: each body's last store, or one before it, through %r1. */
#include "analysis/value_private.h"
#include "unit_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TID "mov.u32 %r0, %tid.x;\n"

/* The store in question is in the body, not the one that is put behind it. */
static uint32_t stores_itself(const char *body)
{
	return strstr(body, "[%r1]") != NULL;
}

static const struct {
	const char *name, *body;
	bool same;
} everywhere[] = {
	{"a parameter", "ld.param.u32 %r1, [out];\n", true},
	{"a thread's number", "mov.u32 %r1, %tid.x;\n", false},
	{"set by some threads only",
		TID
		"mov.u32 %r1, 0;\nsetp.eq.s32 %p0, %r0, 0;\n@!%p0 bra L;\nmov.u32 %r1, 1;\nL:\n",
		false},
	{"set by all or none",
		"ld.param.u32 %r0, [out];\nmov.u32 %r1, 0;\nsetp.eq.s32 %p0, %r0, 0;\n@!%p0 bra "
		"L;\nmov.u32 %r1, 1;\nL:\n",
		true},
	{"set on both arms",
		TID
		"setp.eq.s32 %p0, %r0, 0;\n@%p0 bra L;\nmov.u32 %r1, 1;\nbra.uni M;\nL: mov.u32 "
		"%r1, 2;\nM:\n",
		false},
	{"set under a guard",
		TID "mov.u32 %r1, 0;\nsetp.eq.s32 %p0, %r0, 0;\n@%p0 mov.u32 %r1, 1;\n", false},
	{"rounds of a loop that some threads leave earlier",
		TID
		"mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1;\nsetp.lt.u32 %p0, %r1, %r0;\n@%p0 bra "
		"L;\n",
		false},
	{"carried to the head by some threads only",
		TID
		"ld.param.u32 %r3, [out];\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\nL: add.s32 %r2, %r2, "
		"1;\nsetp.gt.u32 %p1, %r2, %r3;\n@%p1 bra M;\nsetp.lt.u32 %p0, %r0, 5;\n@%p0 bra "
		"L;\nmov.u32 %r1, 1;\nbra.uni L;\nM:\n",
		false},
	{"where one way has gone through when the other one comes by the loop's head",
		TID
		"ld.param.u32 %r3, [out];\nsetp.eq.u32 %p1, %r3, 4;\nsetp.eq.u32 %p2, %r3, 5;\n"
		"setp.lt.u32 %p0, %r0, 32;\nV: @%p1 bra B;\nmov.u32 %r1, 2;\n@%p2 bra Z;\nret;\n"
		"B: mov.u32 %r1, 1;\n@%p0 bra W;\nbra.uni Z;\nW: bra.uni V;\nZ:\n",
		false},
	{"in a loop, behind where all ways meet in their last round and one does not in its first",
		TID
		"mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1;\nadd.u32 %r2, %r3, %r0;\nand.b32 %r2, %r2, 1;\n"
		"setp.eq.u32 %p1, %r2, 1;\nsetp.gt.u32 %p2, %r3, 20;\n@%p1 bra J;\nmov.u32 %r1, 0;\n"
		"bra.uni C;\nJ: mov.u32 %r1, 4;\n@%p2 bra E;\nC: st.shared.u32 [%r1], 0;\nbra.uni L;\nE:\n",
		false},
	{"... from an inner loop",
		TID
		"ld.param.u32 %r4, [out];\nmov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1;\nmov.u32 %r2, 0;\n"
		"M: add.u32 %r2, %r2, 1;\nsetp.eq.u32 %p1, %r2, %r0;\nsetp.eq.u32 %p2, %r2, %r4;\n"
		"setp.gt.u32 %p3, %r3, 20;\nmov.u32 %r1, 0;\n@%p1 bra C;\n@%p2 bra M;\nmov.u32 %r1, 4;\n"
		"@%p3 bra E;\nC: st.shared.u32 [%r1], 0;\nbra.uni L;\nE:\n",
		false},
	{"... where all of them differ alike",
		TID
		"ld.param.u32 %r4, [out];\nmov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1;\nadd.u32 %r2, %r3, %r4;\nand.b32 %r2, %r2, 1;\n"
		"setp.eq.u32 %p1, %r2, 1;\nsetp.gt.u32 %p2, %r3, 20;\n@%p1 bra J;\nmov.u32 %r1, 0;\n"
		"bra.uni C;\nJ: mov.u32 %r1, 4;\n@%p2 bra E;\nC: st.shared.u32 [%r1], 0;\nbra.uni L;\nE:\n",
		true},
	{"of a cycle with two ways in, which threads leave in several rounds",
		TID
		"ld.param.u32 %r3, [out];\nadd.u32 %r1, %r3, 1;\nmov.u32 %r2, 0;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra A;\n"
		"bra.uni R;\nA: mov.u32 %r1, 2;\nR: add.u32 %r2, %r2, 1;\nsetp.le.u32 %p2, %r2, %r0;\n@%p2 bra A;\n",
		false},
	{"... all in the same",
		"ld.param.u32 %r3, [out];\nadd.u32 %r1, %r3, 1;\nmov.u32 %r2, 0;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra A;\n"
		"bra.uni R;\nA: mov.u32 %r1, 2;\nR: add.u32 %r2, %r2, 1;\nsetp.le.u32 %p2, %r2, %r3;\n@%p2 bra A;\n",
		true},
	{"of a loop that some threads leave from an arm, by what all have alike",
		TID
		"ld.param.u32 %r3, [out];\nmov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r0, 64;\n@%p1 bra N;\n"
		"setp.ge.u32 %p2, %r1, %r3;\n@%p2 bra O;\nN: setp.lt.u32 %p3, %r1, 4;\n@%p3 bra L;\n"
		"O: setp.eq.u32 %p0, %r1, 3;\n@%p0 bra M;\nM:\n",
		false},
	{"in a cycle with two ways in",
		TID
		"setp.eq.s32 %p0, %r0, 0;\nld.param.u32 %r3, [out];\nsetp.eq.u32 %p1, %r3, 4;\nmov.u32 %r1, 0;\n"
		"@%p0 bra B;\nZ: st.shared.u32 [%r1], 0;\nbra.uni X;\nB: mov.u32 %r2, 5;\nX: mov.u32 %r1, 4;\n@%p1 bra Z;\n",
		false},
	{"... that threads take alike",
		TID
		"setp.eq.s32 %p0, %r0, 0;\nld.param.u32 %r3, [out];\nsetp.eq.u32 %p1, %r3, 4;\nmov.u32 %r1, 0;\n"
		"@%p1 bra B;\nZ: st.shared.u32 [%r1], 0;\nbra.uni X;\nB: mov.u32 %r2, 5;\nX: mov.u32 %r1, 4;\n@%p1 bra Z;\n",
		true},
	{"behind a branch of which one arm only leaves",
		TID
		"mov.u32 %r1, 0;\nsetp.eq.s32 %p0, %r0, 0;\n@%p0 bra E;\nmov.u32 %r1, 1;\nbra.uni L;\nE: ret;\nL:\n",
		true},
	{"whether a shuffle's other lane is there",
		"mov.u32 %r2, 5;\nshfl.sync.up.b32 %r3|%p0, %r2, 1, 0, -1;\nselp.b32 %r1, 1, 2, "
		"%p0;\n",
		false},
	{"a shuffled value that is the same in all lanes",
		"mov.u32 %r2, 5;\nshfl.sync.up.b32 %r1|%p0, %r2, 1, 0, -1;\n", true},
};

static void test_value_uniform_says_what_threads_share(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(everywhere) / sizeof(*everywhere); i++) {
		struct unit_text t;
		char body[700];

		snprintf(
			body, sizeof(body), "%sst.shared.u32 [%%r1], 0;\nret;", everywhere[i].body);
		unit_text_parse(&t, body);
		unit_text_analyse(&t);
		const struct access *store = &t.unit.accesses.v[t.unit.accesses.n - 1 - stores_itself(everywhere[i].body)];
		const struct operand *o =
			insn_operand(t.unit.fn, &t.unit.fn->insns[store->insn], 0);

		if (value_uniform(t.unit.values, store->insn, o) != everywhere[i].same)
			fail_msg("%s: expected %d", everywhere[i].name, everywhere[i].same);
		unit_text_free(&t);
	}
}

#define LOAD "ld.shared.u32 %r1, [tile];\n"
#define MEET "bar.sync 0;\n"

/* Whether %r1 is the same in all threads if no data race is in the program. */
static const struct {
	const char *name, *body;
	bool same;
} race_free[] = {
	{"a load behind a barrier of all threads", MEET LOAD, true},
	{"... from the kernel's start on", LOAD, true},
	{"... that counts all threads", "bar.sync 1, 128;\n" LOAD, true},
	{"... of an address by thread", TID "mov.u32 %r2, tile;\nadd.s32 %r2, %r2, %r0;\n" MEET
		"ld.shared.u32 %r1, [%r2];\n", false},
	{"... of an address by CTA", "mov.u32 %r0, %ctaid.x;\nshl.b32 %r0, %r0, 2;\n" MEET
		"ld.shared.u32 %r1, [%r0];\n", true},
	{"... of an address that is loaded so", MEET "ld.shared.u32 %r2, [tile];\n"
		"ld.shared.u32 %r1, [%r2];\n", true},
	{"... into a sum", MEET "ld.shared.v2.u32 {%r1, %r2}, [tile];\nadd.s32 %r1, %r1, %r2;\n",
		true},
	{"a barrier of some threads", MEET "bar.sync 1, 64;\n" LOAD, false},
	{"... of an id that all meet at elsewhere", MEET LOAD "bar.arrive 0, 256;\n", false},
	{"an arrival only", MEET "bar.arrive 1, 256;\n" LOAD, true},
	{"lanes that meet", MEET "bar.warp.sync -1;\n" LOAD, false},
	{"a wait at an mbarrier",
		MEET "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\n" LOAD,
		false},
	{"... after the load", MEET LOAD
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\n", true},
	{"... and a barrier of all threads behind it",
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\n" MEET LOAD,
		true},
	{"... that not all threads wait at",
		TID "setp.eq.u32 %p0, %r0, 0;\n" MEET "@!%p0 bra L;\n"
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\nL:\n" LOAD,
		false},
	{"an arrival at an mbarrier", MEET "mbarrier.arrive.shared::cta.b64 _, [full];\n" LOAD, true},
	{"the cluster's barrier",
		MEET "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n" LOAD, false},
	{"a fence", MEET "fence.acq_rel.cta;\n" LOAD, false},
	{"an atomic", MEET "atom.shared.add.u32 %r3, [other], 1;\n" LOAD, false},
	{"a flag", MEET "ld.acquire.cta.shared.u32 %r3, [other];\n" LOAD, false},
	{"the end of the grid before", MEET "griddepcontrol.wait;\n" LOAD, false},
	{"a fence of the async proxy", MEET "fence.proxy.async.shared::cta;\n" LOAD, true},
	{"a volatile load", MEET "ld.volatile.shared.u32 %r1, [tile];\n", false},
	{"a generic load, perhaps of local memory", MEET "ld.u32 %r1, [%rd1];\n", false},
	{"a load of local memory", MEET "mov.u32 %r2, 0;\nld.local.u32 %r1, [%r2];\n", false},
	{"... of global memory", "ld.param.u64 %rd1, [out];\nld.global.u32 %r1, [%rd1];\n", true},
	{"... behind a fence", "ld.param.u64 %rd1, [out];\nfence.acq_rel.gpu;\nld.global.u32 %r1, [%rd1];\n",
		false},
	{"... of what is only read",
		"ld.param.u64 %rd1, [out];\nfence.acq_rel.gpu;\nld.global.nc.u32 %r1, [%rd1];\n", true},
	{"... of constant memory", "fence.acq_rel.gpu;\nld.const.u32 %r1, [0];\n", true},
	{"a barrier of all threads that one warp alone passes before",
		TID "setp.lt.u32 %p0, %r0, 32;\n@!%p0 bra L;\n" MEET "L:\n" LOAD, false},
	{"... by a guard", TID "setp.lt.u32 %p0, %r0, 32;\n@%p0 " MEET LOAD, false},
	{"... by a guard that is the same for all",
		"ld.param.u32 %r0, [out];\nsetp.lt.u32 %p0, %r0, 32;\n@%p0 " MEET LOAD, true},
	{"... which is no barrier for those who wait and skip it",
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\n"
		"ld.param.u32 %r0, [out];\nsetp.lt.u32 %p0, %r0, 32;\n@%p0 " MEET LOAD, false},
	{"... and another behind it",
		TID "setp.lt.u32 %p0, %r0, 32;\n@!%p0 bra L;\n" MEET "L:\n" MEET LOAD, false},
	{"... that it passes to leave",
		TID "setp.lt.u32 %p0, %r0, 32;\n@!%p0 bra L;\n" MEET "ret;\nL:\n" LOAD, true},
	{"... that it passes, and leaves together with who never did",
		TID "setp.lt.u32 %p0, %r0, 32;\nsetp.lt.u32 %p1, %r0, 8;\n@%p1 bra E;\n" MEET
		"@%p0 bra E;\nret;\nE:\n" LOAD, false},
	{"... where others of its round never do, and it goes on alone",
		TID "setp.lt.u32 %p1, %r0, 8;\n@%p1 bra E;\n" MEET "bra.uni L;\nE: trap;\nL:\n" LOAD, true},
	{"a barrier in a loop that some come by without it",
		TID "mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1;\nadd.u32 %r2, %r3, %r0;\nand.b32 %r2, %r2, 1;\n"
		"setp.eq.u32 %p1, %r2, 1;\nsetp.gt.u32 %p2, %r3, 20;\n@!%p1 bra C;\n" MEET
		"@%p2 bra E;\nC:\n" LOAD "st.shared.u32 [%r1], 0;\nbra.uni L;\nE:\n", false},
	{"... or all pass",
		TID "mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1;\nadd.u32 %r2, %r3, %r0;\nand.b32 %r2, %r2, 1;\n"
		"setp.eq.u32 %p1, %r2, 1;\nsetp.gt.u32 %p2, %r3, 20;\n@!%p1 bra C;\nadd.u32 %r4, %r4, 1;\n"
		"C:\n" MEET LOAD "st.shared.u32 [%r1], 0;\n@!%p2 bra.uni L;\n", true},
	{"a loop with a barrier that threads leave in rounds of their own",
		TID "mov.u32 %r3, 0;\nL:\n" MEET "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, %r0;\n"
		"@%p0 bra L;\n" LOAD, false},
	{"... or all in one",
		"mov.u32 %r3, 0;\nL:\n" MEET "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 9;\n"
		"@%p0 bra L;\n" LOAD, true},
	{"... as often as a load says",
		MEET "ld.shared.u32 %r2, [tile];\nmov.u32 %r3, 0;\nL:\n" MEET
		"add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, %r2;\n@%p0 bra L;\n" LOAD, true},
	{"... as often as another thread's load says",
		MEET "ld.volatile.shared.u32 %r2, [tile];\nmov.u32 %r3, 0;\nL:\n" MEET
		"add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, %r2;\n@%p0 bra L;\n" LOAD, false},
	{"a loop without a barrier that threads leave in rounds of their own",
		TID MEET "mov.u32 %r3, 0;\nL:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, %r0;\n"
		"@%p0 bra L;\n" LOAD, true},
	{"... that load in it each round, of one address",
		TID MEET "mov.u32 %r3, 0;\nL:\n" LOAD "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, %r0;\n"
		"@%p0 bra L;\n", true},
	{"a way back to the branch through a barrier in its own block",
		TID "mov.u32 %r3, 0;\nL:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 9;\n" MEET
		"setp.lt.u32 %p1, %r3, %r0;\n@%p1 bra L;\n" LOAD, false},
	{"ways that join but for one that is back at the branch",
		TID "ld.param.u32 %r3, [out];\nsetp.lt.u32 %p0, %r0, 32;\nsetp.eq.u32 %p1, %r3, 3;\n"
		"setp.eq.u32 %p2, %r0, 99;\nsetp.eq.u32 %p3, %r3, 4;\nL:\n@%p0 bra B;\n"
		"@%p1 bra L;\n@%p2 ret;\nbra J;\nB:\nmov.u32 %r4, 1;\nJ:\n" MEET
		"@%p3 bra L;\n" LOAD, false},
};

static void test_value_uniform_race_free_says_what_loads_share(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(race_free) / sizeof(*race_free); i++) {
		struct unit_text t;
		char body[700];

		for (uint32_t strict = 0; strict < 2; strict++) {
			snprintf(body, sizeof(body), "%sst.shared.u32 [other+4], %%r1;\nst.shared.u32 [%%r1], 0;\nret;",
				race_free[i].body);
			unit_text_parse(&t, body);
			t.options.assume = strict ? 0 : ASSUME_ALL;
			unit_text_analyse(&t);
			const struct access *store = &t.unit.accesses.v[t.unit.accesses.n - 1 - 2 * stores_itself(race_free[i].body)];
			const struct operand *o =
				insn_operand(t.unit.fn, &t.unit.fn->insns[store->insn], 0);
			bool same = value_uniform_race_free(t.unit.values, store->insn, o);
			bool constant = strstr(race_free[i].body, "ld.const") != NULL;

			if (same != (race_free[i].same && (!strict || constant)))
				fail_msg("%s%s: expected %d", race_free[i].name,
					strict ? ", by the letter" : "", !same);
			if (value_uniform(t.unit.values, store->insn, o) != constant)
				fail_msg("%s: by the letter", race_free[i].name);
			unit_text_free(&t);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_value_uniform_says_what_threads_share),
		cmocka_unit_test(test_value_uniform_race_free_says_what_loads_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
