/* SPDX-License-Identifier: Apache-2.0 */
/* Which release meets which acquire: lines of the body, "release>acquire". */
#include "unit_text.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct row {
	const char *name, *body, *expected;
};

static const struct row rows[] = {
	{"a barrier of all threads meets itself", "bar.sync 0;\nret;", "1>1"},
	{"barriers in uniform code meet only themselves",
		"bar.sync 0;\nbar.sync 0;\nbar.sync 0;\nret;", "1>1 2>2 3>3"},
	{"the arms of a divergent branch meet",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra A;\n"
		"bar.sync 0;\nbra.uni J;\nA:\nbar.sync 0;\nJ:\nret;",
		"4>4 4>7 7>4 7>7"},
	{"the arms of a uniform branch do not",
		"mov.u32 %r1, %ctaid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra A;\n"
		"bar.sync 0;\nbra.uni J;\nA:\nbar.sync 0;\nJ:\nret;",
		"4>4 7>7"},
	{"an arm without a barrier meets what stands behind the join",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra J;\n"
		"bar.sync 1, 64;\nJ:\nbar.sync 1, 64;\nret;",
		"4>4 4>6 6>4 6>6"},
	{"a divergent branch without barriers pairs nothing",
		"bar.sync 0;\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra J;\n"
		"add.s32 %r2, %r1, 1;\nJ:\nbar.sync 0;\nret;",
		"1>1 7>7"},
	{"a barrier under a guard that differs meets what stands behind it",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bar.sync 0;\nbar.sync 0;\nret;",
		"3>3 3>4 4>3 4>4 5>4"},
	{"... and that of other threads, which skip one more",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\nsetp.lt.u32 %p2, %r1, 32;\n"
		"@%p1 bar.sync 0;\n@%p2 bar.sync 0;\nbar.sync 0;\nret;",
		"4>4 4>5 4>6 5>4 5>5 5>6 6>4 6>5 6>6 7>5 7>6"},
	{"who goes round a barrier leaves one ahead of the others",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra J;\nbar.sync 0;\nJ:\n"
		"bar.sync 0;\nret;",
		"4>4 4>6 6>4 6>6 7>6"},
	{"with one in each arm nobody does",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra A;\nbar.sync 0;\nbra J;\nA:\n"
		"bar.sync 0;\nJ:\nbar.sync 0;\nret;",
		"4>4 4>7 7>4 7>7 9>9"},
	{"under one that is the same for all it meets itself only",
		"mov.u32 %r1, %ctaid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bar.sync 0;\nbar.sync 0;\nret;",
		"3>3 4>4"},
	{"barriers of other ids do not meet",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra A;\n"
		"bar.sync 1, 64;\nret;\nA:\nbar.sync 2, 64;\nret;",
		"4>4 7>7"},
	{"an arrive releases only",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra A;\n"
		"bar.arrive 1, 128;\nret;\nA:\nbar.sync 1, 64;\nret;",
		"4>7 7>7"},
	{"mbarriers pair by object",
		"mbarrier.arrive.shared::cta.b64 _, [full];\n"
		"mbarrier.arrive.shared::cta.b64 _, [empty];\n"
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\nret;",
		"1>4"},
	{"a relaxed arrive carries nothing",
		"mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [full];\n"
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\nret;",
		""},
	{"... a fence before it does, in its place",
		"fence.acq_rel.cta;\nmbarrier.arrive.relaxed.cta.shared::cta.b64 _, [full];\n"
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\nret;",
		"1>4"},
	{"what goes through a later barrier of all threads is not paired before it",
		"mbarrier.arrive.shared::cta.b64 _, [full];\nbar.sync 0;\n"
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\nret;",
		"2>2"},
	{"... nor one under a guard, which some thread may not pass",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra A;\n"
		"bar.sync 0;\nW:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;\n@!%p2 "
		"bra W;\nret;\n"
		"A:\n@%p1 bar.sync 0;\nmbarrier.arrive.shared::cta.b64 _, [full];\nret;",
		"4>4 4>10 10>4 10>10 11>6 12>4"},
	{"an acquire hears nothing that is released behind a barrier of all threads",
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\n"
		"bar.sync 0;\nmbarrier.arrive.shared::cta.b64 _, [full];\nret;",
		"4>4"},
	{"... but for one that is not always passed",
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\n"
		"mov.u32 %r1, %ctaid.x;\nsetp.lt.u32 %p2, %r1, 64;\n@%p2 bar.sync 0;\n"
		"mbarrier.arrive.shared::cta.b64 _, [full];\nret;",
		"6>6 7>2"},
	{"... or comes round again",
		"mov.u32 %r1, 0;\nL:\nW:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], "
		"0;\n@!%p1 bra W;\n"
		"bar.sync 0;\nmbarrier.arrive.shared::cta.b64 _, [full];\n"
		"add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p2, %r1, 9;\n@%p2 bra L;\nret;",
		"6>6 7>4"},
	{"... nor by a peer CTA, which counts barriers of its own",
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\n"
		"bar.sync 0;\nmov.u32 %r1, full;\nmapa.shared::cluster.u32 %r2, %r1, 1;\n"
		"mbarrier.arrive.shared::cluster.b64 _, [%r2];\nret;",
		"4>4 7>2"},
	{"threads that part once and meet again go on together",
		"mov.u32 %r0, %tid.x;\nsetp.gt.s32 %p1, %r0, 3;\n@%p1 bra Q;\nbar.sync 0;\nbra N;\n"
		"Q:\nbar.sync 0;\nN:\nbar.sync 0;\nmov.u32 %r1, %ctaid.x;\nsetp.eq.s32 %p2, %r1, 5;\n"
		"@%p2 bra V;\nbar.sync 0;\nret;\nV:\nbar.sync 0;\nret;",
		"13>13 16>16 4>4 4>7 7>4 7>7 9>9"},
	{"threads that part in a loop may meet a round apart, where uniform code parts them",
		"mov.u32 %r0, %tid.x;\nmov.u32 %r1, 0;\nL:\nadd.s32 %r2, %r0, %r1;\n"
		"setp.gt.s32 %p1, %r2, 3;\n@%p1 bra Q;\nbar.sync 0;\nbra N;\nQ:\nbar.sync 0;\n"
		"bar.sync 0;\nsetp.eq.s32 %p2, %r1, 5;\n@%p2 bra V;\nbar.sync 0;\nbra N;\nV:\n"
		"bar.sync 0;\nN:\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p3, %r1, 9;\n@%p3 bra L;\nret;",
		"10>10 10>11 10>14 10>17 10>7 11>10 11>11 11>14 11>17 11>7 14>10 14>11 14>14 14>17 14>7 "
		"17>10 17>11 17>14 17>17 17>7 22>10 22>11 22>14 22>17 22>7 7>10 7>11 7>14 7>17 7>7"},
	{"a loop with a barrier has no last phase",
		"mov.u32 %r1, 0;\nL:\nbar.sync 0;\nmbarrier.arrive.shared::cta.b64 _, [full];\n"
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;\n@!%p1 bra W;\n"
		"add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p2, %r1, 9;\n@%p2 bra L;\nret;",
		"3>3 4>6"},
	{"a converged warp meets itself only", "bar.warp.sync -1;\nbar.warp.sync -1;\nret;",
		"1>1 2>2"},
	{"release and acquire through memory",
		"ld.param.u64 %rd1, [out];\nst.release.gpu.global.u32 [%rd1], 1;\n"
		"ld.acquire.gpu.global.u32 %r1, [%rd1];\nret;",
		"2>3"},
	{"a plain store and a plain load order nothing",
		"ld.param.u64 %rd1, [out];\nst.global.u32 [%rd1], 1;\nld.global.u32 %r1, "
		"[%rd1];\nret;",
		""},
	{"what may have passed a barrier under a guard hears of what comes behind another",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra A;\n@!%p1 bar.sync 0;\n"
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;\n@!%p2 bra W;\nret;\n"
		"A:\nbar.sync 0;\nmbarrier.arrive.shared::cta.b64 _, [full];\nret;",
		"4>4 4>10 8>10 10>4 10>10 11>6"},
	{"cluster barriers one after the other do not meet",
		"barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
		"barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;",
		"1>2 3>4"},
	{"... unless something stands between the halves of one, which either may hand over",
		"barrier.cluster.arrive.aligned;\nst.shared.u32 [buf], 1;\nbarrier.cluster.wait.aligned;\n"
		"barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;",
		"1>3 1>5 4>3 4>5"},
	{"a cluster barrier joins what arrived",
		"barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;", "1>2"},
	{"a shuffle orders nothing", "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;\nret;", ""},
	{"threads that leave early are counted at the barrier of the others",
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra A;\n"
		"bar.sync 0;\nret;\nA:\nret;",
		"4>4 7>4"},
};

static void print_pairs(struct unit_text *t, const struct handoffs *h, char *out, size_t size)
{
	size_t n = 0;

	out[0] = 0;
	for (uint32_t r = 0; r < h->n; r++)
		for (uint32_t i = 0; i < h->to[r].n; i++)
			n += (size_t)snprintf(out + n, size - n, "%s%u>%u", n ? " " : "",
				unit_text_line(t, h->sites[r].insn),
				unit_text_line(t, h->sites[h->to[r].v[i]].insn));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Blocks stand in reverse postorder: compare as sets. */
static void sort_words(char *text)
{
	char *words[64], *save = NULL, out[512] = "";
	size_t n = 0;

	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	qsort(words, n, sizeof(*words), by_text);
	for (size_t i = 0; i < n; i++)
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i ? " " : "",
			words[i]);
	strcpy(text, out);
}

static void test_handoff_pairs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct unit_text t;
		struct handoffs h;
		char got[512], want[512];

		unit_text_parse(&t, rows[i].body);
		unit_text_analyse(&t);
		handoff_find(&t.unit, &h);
		handoff_pair(&t.unit, &h);
		print_pairs(&t, &h, got, sizeof(got));
		snprintf(want, sizeof(want), "%s", rows[i].expected);
		sort_words(got);
		sort_words(want);
		if (strcmp(got, want) != 0)
			fail_msg("%s: expected '%s', got '%s'", rows[i].name, want, got);
		unit_text_free(&t);
	}
}

#define BOUND "bar.sync 0;\nld.shared.u32 %r1, [tile];\nsetp.eq.u32 %p0, %r1, 0;\n"

/* What a race could make of it is named where it would add a pair, and only there. */
static const struct {
	const char *name, *body;
	bool named;
} race_free[] = {
	{"a barrier on one way only", BOUND "@%p0 bra L;\nbar.sync 0;\nL:\nret;", true},
	{"... of some threads", BOUND "@%p0 bra L;\nbar.sync 1, 64;\nL:\nbar.sync 1, 64;\nret;", true},
	{"... under a guard", BOUND "@%p0 bar.sync 0;\nbar.sync 0;\nret;", true},
	{"a way out beside a barrier", BOUND "@%p0 bra L;\nbar.sync 0;\nret;\nL:\nret;", true},
	{"no barrier on either way", BOUND "@%p0 bra L;\nmov.u32 %r2, 1;\nL:\nbar.sync 0;\nret;",
		false},
	{"a branch that differs anyway",
		"bar.sync 0;\nld.volatile.shared.u32 %r1, [tile];\nsetp.eq.u32 %p0, %r1, 0;\n"
		"@%p0 bra L;\nbar.sync 0;\nL:\nret;",
		false},
};

static void test_handoff_names_race_free(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(race_free) / sizeof(*race_free); i++) {
		struct unit_text t;
		struct handoffs h;

		unit_text_parse(&t, race_free[i].body);
		unit_text_analyse(&t);
		handoff_find(&t.unit, &h);
		handoff_pair(&t.unit, &h);
		if (!!(t.unit.assumptions & ASSUME_RACE_FREE) != race_free[i].named)
			fail_msg("%s: expected %d", race_free[i].name, race_free[i].named);
		unit_text_free(&t);
	}
}

/* 64 threads arrive, the other 64 wait for the phase before the first: lines 4 the barrier, 7 what `arrive'
 * begins with; `count' of the object. */
#define HALVES(object, count, arrive, wait, parity) \
	"mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 mbarrier.init.shared::cta.b64 [" object \
	"], " count ";\nbar.sync 0;\nsetp.lt.u32 %p1, %r1, 64;\n@%p1 bra P;\n" arrive \
	"ret;\nP:\nW:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [" wait "], " parity \
	";\n@!%p2 bra W;\nret;"
#define ARRIVE "mbarrier.arrive.shared::cta.b64 _, [full];\n"
/* Two rounds, with %r2 from 0 on. */
#define ROUNDS(arrive) \
	"mov.u32 %r2, 0;\nL:\n" arrive \
	"add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p3, %r2, 2;\n@%p3 bra L;\n"

/* Whether what is released behind the barrier is acquired by the wait. */
static const struct {
	const char *name, *body;
	bool heard;
} before_first[] = {
	{"one phase can complete", HALVES("full", "64", ARRIVE, "full", "1"), false},
	{"... of an object that takes more", HALVES("full", "100", ARRIVE, "full", "1"), false},
	{"... which is waited for", HALVES("full", "64", ARRIVE, "full", "0"), true},
	{"two can", HALVES("full", "32", ARRIVE, "full", "1"), true},
	{"... by an unknown count", HALVES("full", "%r40", ARRIVE, "full", "1"), true},
	{"... by two arrivals", HALVES("full", "64", ARRIVE ARRIVE, "full", "1"), true},
	{"... by one for two",
		HALVES("full", "64", "mbarrier.arrive.shared::cta.b64 _, [full], 2;\n", "full", "1"),
		true},
	{"... by one for as many as a register says",
		HALVES("full", "64", "mbarrier.arrive.shared::cta.b64 _, [full], %r40;\n", "full", "1"),
		true},
	{"... by the threads that wait too",
		HALVES("full", "64", ARRIVE "bra E;\n", "full", "1") "\nE:\n" ARRIVE "ret;", true},
	{"... by arrivals that leave fewer to the next phase",
		HALVES("full", "64", "mbarrier.arrive_drop.shared::cta.b64 _, [full];\n", "full", "1"),
		true},
	{"... by another CTA",
		HALVES("full", "64",
			"mov.u32 %r3, full;\nmapa.shared::cluster.u32 %r3, %r3, 1;\n"
			"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n",
			"full", "1"),
		true},
	{"... in two rounds", HALVES("full", "64", ROUNDS(ARRIVE), "full", "1"), true},
	{"... each thread at an object of its own, for all that is known at one",
		HALVES("tile+512", "64",
			"shl.b32 %r3, %r1, 3;\nadd.u32 %r3, %r3, tile;\n"
			"mbarrier.arrive.shared::cta.b64 _, [%r3];\n",
			"tile+512", "1"),
		false},
	{"a lane arrives",
		HALVES("full", "1",
			"setp.eq.u32 %p4, %r1, 64;\n@%p4 mbarrier.arrive.shared::cta.b64 _, [full];\n",
			"full", "1"),
		false},
	{"bytes are expected",
		HALVES("full", "64", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 256;\n",
			"full", "1"),
		false},
	{"two rounds arrive at two objects",
		HALVES("tile", "64",
			ROUNDS("shl.b32 %r3, %r2, 3;\nmov.u32 %r4, tile;\nadd.u32 %r3, %r3, %r4;\n"
			       "mbarrier.arrive.shared::cta.b64 _, [%r3];\n"),
			"tile", "1"),
		false},
	{"... and those come again",
		HALVES("tile", "64",
			"mov.u32 %r5, 0;\nM:\n" ROUNDS("shl.b32 %r3, %r2, 3;\nmov.u32 %r4, tile;\n"
			"add.u32 %r3, %r3, %r4;\nmbarrier.arrive.shared::cta.b64 _, [%r3];\n")
			"add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, 2;\n@%p4 bra M;\n",
			"tile", "1"),
		true},
	{"... and those come again by a way into the loop",
		HALVES("tile", "64",
			"ld.param.u32 %r6, [out];\nsetp.eq.u32 %p5, %r6, 0;\nmov.u32 %r5, 0;\n"
			"mov.u32 %r2, 0;\n@%p5 bra M;\nL:\nshl.b32 %r3, %r2, 3;\nmov.u32 %r4, tile;\n"
			"add.u32 %r3, %r3, %r4;\nmbarrier.arrive.shared::cta.b64 _, [%r3];\n"
			"add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p3, %r2, 2;\n@%p3 bra L;\n"
			"add.u32 %r5, %r5, 1;\nsetp.ge.u32 %p4, %r5, 2;\n@%p4 bra Z;\n"
			"M:\nmov.u32 %r2, 0;\nbra L;\nZ:\n",
			"tile", "1"),
		true},
	{"... or each comes twice in its round",
		HALVES("tile", "64",
			ROUNDS("shl.b32 %r3, %r2, 3;\nmov.u32 %r4, tile;\nadd.u32 %r3, %r3, %r4;\nN:\n"
			       "mbarrier.arrive.shared::cta.b64 _, [%r3];\n"
			       "mbarrier.try_wait.parity.shared::cta.b64 %p4, [empty], 0;\n@!%p4 bra N;\n"),
			"tile", "1"),
		true},
	{"... or one of them in every second",
		HALVES("tile", "64",
			"mov.u32 %r2, 0;\nL:\nand.b32 %r3, %r2, 1;\nshl.b32 %r3, %r3, 3;\n"
			"mov.u32 %r4, tile;\nadd.u32 %r3, %r3, %r4;\n"
			"mbarrier.arrive.shared::cta.b64 _, [%r3];\nadd.u32 %r2, %r2, 1;\n"
			"setp.lt.u32 %p3, %r2, 4;\n@%p3 bra L;\n",
			"tile", "1"),
		true},
	{"... or the address comes round",
		HALVES("tile", "64",
			"mov.u32 %r2, 0;\nL:\nshl.b32 %r3, %r2, 31;\nmov.u32 %r4, tile;\n"
			"add.u32 %r3, %r3, %r4;\nmbarrier.arrive.shared::cta.b64 _, [%r3];\n"
			"add.u32 %r2, %r2, 2;\nsetp.lt.u32 %p3, %r2, 8;\n@%p3 bra L;\n",
			"tile", "1"),
		true},
	{"nothing says how the object began",
		HALVES("empty", "64", ARRIVE, "full", "1"), true},
};

static void test_handoff_before_the_first_phase(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(before_first) / sizeof(*before_first); i++) {
		struct unit_text t;
		struct handoffs h;
		bool heard = false;

		unit_text_parse(&t, before_first[i].body);
		unit_text_analyse(&t);
		handoff_find(&t.unit, &h);
		handoff_pair(&t.unit, &h);
		for (uint32_t r = 0; r < h.n; r++)
			for (uint32_t k = 0; k < h.to[r].n; k++)
				heard |= h.sites[r].kind == SYNC_MBAR_ARRIVE &&
					 h.sites[h.to[r].v[k]].kind == SYNC_MBAR_WAIT;
		if (heard != before_first[i].heard)
			fail_msg("%s: expected %d", before_first[i].name, before_first[i].heard);
		unit_text_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handoff_before_the_first_phase),
		cmocka_unit_test(test_handoff_pairs),
		cmocka_unit_test(test_handoff_names_race_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
