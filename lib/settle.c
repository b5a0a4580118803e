/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a job with the changes of its roots combined. Goes out: changes after which a further run
 * changes nothing. Fences that make others spare may come late in a plan, and roots are planned apart: one that
 * some root wants in a function that others run too may do for one of theirs. So the text so far is run again,
 * and what that changes is said of the text as it was given. Such a run takes fences away or narrows
 * them, for no edge is missing; with a narrower --fix it may put in more. Invariant: the job's changes make the very text
 * that the latest of these runs has made, or one with fewer fences that is run again.
 */
#include "lib/internal.h"

#include <string.h>

#define RUNS_MOST 8

struct again {
	struct job *job, *next; /* of the text as given, of the text so far */
	struct edits edits;	/* by change of the job */
	struct edit_span *spans; /* of the edits, in order of the text */
	struct text_changes out; /* as they are to be */
	uint32_t *same_root;	 /* by root of the latter, of the former */
	int32_t turn;		 /* of this run, from 1 on */
};

/* Some change of the text, which are in order, stands in what the root runs. */
static bool is_touched(const struct job *job, const struct root *root)
{
	const struct text_changes *changes = &job->changes;

	for (uint32_t i = 0; i < root->result.nfunctions; i++) {
		struct span body = root->module->functions[root->result.functions[i]].body;
		uint32_t low = 0, high = changes->n;

		while (low < high) {
			uint32_t mid = low + (high - low) / 2;

			if (changes->v[mid].fence.at < body.begin)
				low = mid + 1;
			else
				high = mid;
		}
		if (low < changes->n && changes->v[low].fence.at < body.end)
			return true;
	}
	return false;
}

/* Marks the functions that a root runs. */
static void mark_functions(const struct root *root, bool *marked)
{
	for (uint32_t i = 0; i < root->result.nfunctions; i++)
		marked[root->result.functions[i]] = true;
}

static bool shares_with_marked(const struct root *root, const bool *marked)
{
	for (uint32_t i = 0; i < root->result.nfunctions; i++)
		if (marked[root->result.functions[i]])
			return true;
	return false;
}

/* The roots with changes, and those that have a say in what these run. */
static void mark_roots(struct job *job)
{
	bool **marked = ARENA_NEW(&job->scratch, bool *, job->modules.n); /* by module, by function */

	for (uint32_t m = 0; m < job->modules.n; m++)
		marked[m] = ARENA_NEW(&job->scratch, bool, job->modules.v[m].nfunctions);
	for (uint32_t i = 0; i < job->roots.n; i++) {
		struct root *root = &job->roots.v[i];

		root->again = !root->skipped && is_touched(job, root);
		if (root->again)
			mark_functions(root, marked[root->module - job->modules.v]);
	}
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < job->roots.n; i++) {
			struct root *root = &job->roots.v[i];
			bool *of_module = marked[root->module - job->modules.v];

			if (root->again || root->skipped || !shares_with_marked(root, of_module))
				continue;
			root->again = more = true;
			mark_functions(root, of_module);
		}
	}
	arena_reset(&job->scratch);
}

/* ---- places ---- */

/* The latest edit whose text begins before `at`, as a number of the spans; NONE. */
static uint32_t edit_before(const struct again *a, uint32_t at)
{
	uint32_t low = 0, high = a->edits.n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (a->spans[mid].written.begin < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : NONE;
}

/* The change whose text a part of the text so far touches, as a number of the job's changes; NONE. */
static uint32_t change_at(const struct again *a, struct span at)
{
	uint32_t i = edit_before(a, at.end);

	return i != NONE && a->spans[i].written.end > at.begin ? a->spans[i].edit : NONE;
}

/* The offset of a byte outside of the edits' texts, in the text as given. */
static uint32_t as_given(const struct again *a, uint32_t at)
{
	uint32_t i = edit_before(a, at + 1);

	return i == NONE ? at : at - a->spans[i].written.end + a->spans[i].replaced.end;
}

/* ---- changes ---- */

/* By root of the text so far, the same of the text as given: both come in one order. */
static uint32_t *find_same_roots(const struct again *a)
{
	const struct roots *given = &a->job->roots, *roots = &a->next->roots;
	uint32_t *same = ARENA_NEW(&a->job->keep, uint32_t, roots->n);

	for (uint32_t i = 0, k = 0; i < roots->n; i++) {
		const struct module *module =
			&a->job->modules.v[roots->v[i].module - a->next->modules.v];

		while (k < given->n && (given->v[k].module != module ||
					       given->v[k].result.function !=
						       roots->v[i].result.function))
			k++;
		same[i] = k < given->n ? k : 0;
	}
	return same;
}

static void add_new(struct again *a, const struct text_change *from)
{
	const struct module *module = &a->job->modules.v[from->module - a->next->modules.v];
	struct text_change one = {.module = module,
		.root = a->same_root[from->root],
		.turn = a->turn,
		.fence = from->fence};
	uint32_t at = from->fence.at;
	uint32_t i = from->fence.change == CHANGE_INSERT
			     ? change_at(a, (struct span){at, at + 1})
			     : NONE;

	one.fence.reason = text_format(&a->job->keep, "%s", from->fence.reason);
	one.fence.fixes = NULL;
	one.fence.nfixes = 0;
	if (i != NONE) { /* before a fence that is new itself */
		one.fence.at = a->out.v[i].fence.at;
		one.fence.behind = a->out.v[i].fence.behind;
		one.turn = -a->turn;
	} else {
		one.fence.at = as_given(a, at);
	}
	if (from->fence.change != CHANGE_INSERT) {
		one.fence.fence.begin = as_given(a, from->fence.fence.begin);
		one.fence.fence.end = as_given(a, from->fence.fence.end - 1) + 1;
	}
	ARENA_PUSH(&a->job->keep, a->out.v, a->out.n, a->out.cap, one);
}

/* What the fence of a taken away insertion settled is settled by another one now. */
static void hand_on(struct job *job, const struct text_change *gone)
{
	for (uint32_t f = 0; f < gone->nfixes; f++) {
		const struct root *root = &job->roots.v[gone->fixes[f].root];

		for (uint32_t i = 0; i < job->changes.n; i++) {
			struct text_change *to = &job->changes.v[i];

			if (to->fence.change != CHANGE_INSERT || to->module != gone->module ||
				to->fence.kind != gone->fence.kind ||
				!root_runs_at(root, to->fence.at))
				continue;
			ARENA_PUSH(&job->keep, to->fixes, to->nfixes, to->fixes_cap, gone->fixes[f]);
			break;
		}
	}
}

static void change_again(struct again *a, const struct text_change *from, bool *gone)
{
	uint32_t i = from->fence.change == CHANGE_INSERT ? NONE : change_at(a, from->fence.fence);

	if (i == NONE) {
		add_new(a, from);
	} else if (from->fence.change == CHANGE_NARROW) {
		a->out.v[i].fence.kind = from->fence.kind;
	} else if (a->out.v[i].fence.change == CHANGE_INSERT) {
		gone[i] = true;
	} else { /* narrowed before */
		a->out.v[i].fence.change = CHANGE_REMOVE;
		a->out.v[i].fence.kind = from->fence.kind;
		a->out.v[i].fence.reason = text_format(&a->job->keep, "%s", from->fence.reason);
	}
}

/* Both runs' changes as one list; false, and the job as it was, where that would make another text. Where one fence
 * does for two that are both new it does make another, of which the next run has the word. */
static bool compose(struct again *a)
{
	struct job *job = a->job, *next = a->next;
	struct text_changes before = job->changes;
	bool *gone = ARENA_NEW(&job->keep, bool, before.n);
	struct slice made, wanted;
	uint32_t kept = 0;

	a->same_root = find_same_roots(a);
	for (uint32_t i = 0; i < before.n; i++)
		ARENA_PUSH(&job->keep, a->out.v, a->out.n, a->out.cap, before.v[i]);
	for (uint32_t i = 0; i < next->changes.n; i++)
		change_again(a, &next->changes.v[i], gone);
	for (uint32_t i = 0; i < a->out.n; i++)
		if (i >= before.n || !gone[i])
			a->out.v[kept++] = a->out.v[i];
	a->out.n = kept;
	job->changes = a->out;
	sort_changes(&job->changes);
	bool merged = merge_changes(job);

	made = apply_changes(job, &(struct edits){.arena = &job->keep});
	wanted = apply_changes(next, &(struct edits){.arena = &next->keep});
	if (!merged && (made.size != wanted.size || memcmp(made.text, wanted.text, made.size))) {
		job->changes = before;
		return false;
	}
	for (uint32_t i = 0; i < before.n; i++)
		if (gone[i])
			hand_on(job, &before.v[i]);
	return true;
}

enum again_result { SETTLED, CHANGED, UNSETTLED };

static enum again_result run_again(struct job *job, int32_t turn)
{
	struct again a = {.job = job, .edits = {.arena = &job->keep}, .turn = turn};
	struct slice text = apply_changes(job, &a.edits);
	enum again_result result = SETTLED;

	mark_roots(job);
	a.spans = edit_spans(&a.edits);
	a.next = job_again(job, text);
	if (a.next->diags.errors)
		result = UNSETTLED;
	else if (a.next->changes.n)
		result = compose(&a) ? CHANGED : UNSETTLED;
	job_end_again(job);
	return result;
}

/* What is put in may make other fences spare, or wider than is needed; and of edges that stay other
 * fences may be blamed than before, or none. */
static bool may_find_more(uint32_t fix)
{
	uint32_t both = FIX_MISSING | FIX_MISPLACED, some = fix & both;

	return fix & (FIX_WIDE | FIX_REDUNDANT) || (some && some != both);
}

void settle_changes(struct job *job)
{
	enum again_result result = CHANGED;

	if (!job->changes.n || !may_find_more(job->analysis.fix))
		return;
	for (int32_t turn = 1; turn <= RUNS_MOST && result == CHANGED; turn++)
		result = run_again(job, turn);
	if (result != SETTLED)
		diag_add(&job->diags, DIAG_WARNING, (struct span){NONE, NONE},
			"a further run may take away or narrow more fences");
}
