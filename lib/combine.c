/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: the results of all roots of a file. Goes out: one list of changes of the text. A callee
 * is part of several roots, each with its own plan for it: insertions add up, because a fence more
 * never opens an edge; a fence is taken away or narrowed, and the other half of a narrowed one written, only
 * if every root that runs it agrees.
 */
#include "lib/internal.h"

#include <stdlib.h>
#include <string.h>

/* What is said of a fence is true only where all that run it agree. */
static bool is_of_fence(const struct finding *finding)
{
	return finding->rule == RULE_FENCE_REDUNDANT || finding->rule == RULE_FENCE_TOO_WIDE;
}

static uint32_t change_of(const struct result_fence *fence)
{
	return SITE_CHANGE + ((uint32_t)fence->change << 8 | fence->kind);
}

/* In a callee a fence may stand more than once in what a root runs. */
static void list_sites(struct job *job)
{
	for (uint32_t r = 0; r < job->roots.n; r++) {
		const struct kernel_result *result = &job->roots.v[r].result;
		struct arena *keep = &job->keep;

		for (uint32_t h = 0; h < result->nhints; h++) {
			uint32_t at = result->hints[h].at.at.begin;

			if (result->hints[h].used)
				sites_add(&job->sites, keep, at, SITE_USED_HINT, r);
			if (!job->roots.v[r].skipped)
				sites_add(&job->sites, keep, at, SITE_HINT, r);
		}
		if (job->roots.v[r].skipped)
			continue;
		for (uint32_t i = 0; i < result->nfence_sites; i++)
			sites_add(&job->sites, keep, result->fence_sites[i], SITE_FENCE, r);
		for (uint32_t i = 0; i < result->nchanges; i++)
			sites_add(&job->sites, keep, result->changes[i].at, change_of(&result->changes[i]), r);
		for (uint32_t i = 0; i < result->nfindings; i++)
			if (is_of_fence(&result->findings[i]))
				sites_add(&job->sites, keep, result->findings[i].fence.at.begin,
					SITE_FINDING + result->findings[i].rule, r);
	}
	sites_sort(&job->sites);
}

static bool look_at_all(const struct job *job, uint32_t at, uint32_t what, bool as_often)
{
	uint32_t n, have;
	const struct site *v = sites_at(&job->sites, at, SITE_FENCE, &n);

	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && v[end].root == v[i].root;)
			end++;
		have = sites_count(&job->sites, at, what, v[i].root);
		if (as_often ? have != end - i : !have)
			return false;
	}
	return true;
}

/* Each root that runs the fence has `what` there, as often as the fence if so; asked by roots that have it. */
static bool all_have(const struct job *job, uint32_t at, uint32_t what, bool as_often)
{
	uint32_t n;
	struct site *first = sites_at(&job->sites, at, what, &n);

	if (!n) /* a root that is skipped: what it says is not printed */
		return false;
	if (!first->answer)
		first->answer = 1 + look_at_all(job, at, what, as_often);
	return first->answer > 1;
}

static bool stands_in_entry(const struct module *module, uint32_t at)
{
	for (uint32_t i = 0; i < module->nfunctions; i++)
		if (module->functions[i].is_entry && module->functions[i].body.begin <= at &&
			at < module->functions[i].body.end)
			return true;
	return false;
}

static bool all_agree(
	const struct job *job, const struct root *of, const struct result_fence *fence)
{
	if (job->options->select && !stands_in_entry(of->module, fence->at))
		return false;
	return all_have(job, fence->at, change_of(fence), true);
}

/* A fence of which one half is written beside it is narrowed itself. */
static bool is_narrowed(const struct job *job, const struct root *root, const struct result_fence *half)
{
	for (uint32_t i = 0; i < root->result.nchanges; i++) {
		const struct result_fence *fence = &root->result.changes[i];

		if (fence->change == CHANGE_NARROW && fence->fence.begin == half->fence.begin)
			return all_agree(job, root, fence);
	}
	return false;
}

/* The change is one that all roots can have. */
static bool is_taken(const struct job *job, const struct root *root, const struct result_fence *fence)
{
	if (fence->change == CHANGE_INSERT)
		return !fence->half || is_narrowed(job, root, fence);
	return all_agree(job, root, fence);
}

static int by_place(const void *a, const void *b)
{
	const struct text_change *x = a, *y = b;

	if (x->fence.at != y->fence.at)
		return x->fence.at < y->fence.at ? -1 : 1;
	if (x->fence.change != y->fence.change)
		return x->fence.change < y->fence.change ? -1 : 1;
	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	if (x->fence.kind != y->fence.kind)
		return x->fence.kind < y->fence.kind ? -1 : 1;
	return x->root < y->root ? -1 : x->root > y->root;
}

static void add_fixes(
	struct job *job, struct text_change *to, uint32_t root, const struct result_fence *from)
{
	for (uint32_t i = 0; i < from->nfixes; i++) {
		struct fixed fixed = {root, from->fixes[i]};

		ARENA_PUSH(&job->keep, to->fixes, to->nfixes, to->fixes_cap, fixed);
	}
}

static bool covers_kind(uint8_t wide, uint8_t narrow)
{
	return wide == narrow || wide == FENCE_ASYNC_ALL ||
	       (wide == FENCE_ASYNC_CLUSTER && narrow == FENCE_ASYNC_CTA);
}

/* Of two insertions at one place one may do for both. */
static bool merge(struct text_change *kept, const struct text_change *next)
{
	if (kept->fence.at != next->fence.at || kept->fence.change != next->fence.change)
		return false;
	if (kept->fence.change != CHANGE_INSERT)
		return kept->fence.kind == next->fence.kind;
	if (covers_kind(kept->fence.kind, next->fence.kind))
		return true;
	if (covers_kind(next->fence.kind, kept->fence.kind)) {
		kept->fence.kind = next->fence.kind;
		return true;
	}
	if ((kept->fence.kind == FENCE_ASYNC_CLUSTER && next->fence.kind == FENCE_ASYNC_GLOBAL) ||
		(kept->fence.kind == FENCE_ASYNC_GLOBAL &&
			next->fence.kind == FENCE_ASYNC_CLUSTER)) {
		kept->fence.kind = FENCE_ASYNC_ALL;
		return true;
	}
	return false;
}

bool merge_changes(struct job *job)
{
	struct text_changes *changes = &job->changes;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < changes->n; i++) {
		struct text_change *next = &changes->v[i];
		bool merged = false;

		for (uint32_t j = kept;
			j-- > 0 && changes->v[j].fence.at == next->fence.at && !merged;) {
			struct text_change *to = &changes->v[j];

			merged = merge(to, next);
			if (merged && next->fence.weight > to->fence.weight)
				to->fence.weight = next->fence.weight;
			for (uint32_t f = 0; merged && f < next->nfixes; f++)
				ARENA_PUSH(&job->keep, to->fixes, to->nfixes, to->fixes_cap,
					next->fixes[f]);
		}
		if (!merged)
			changes->v[kept++] = *next;
	}
	bool fewer = kept < changes->n;

	changes->n = kept;
	return fewer;
}

/* What is said of a fence in a callee must hold in every root that runs it. */
static bool holds_everywhere(
	const struct job *job, const struct root *of, const struct finding *finding)
{
	uint32_t at = finding->fence.at.begin;

	return all_have(job, at, SITE_FINDING + finding->rule, false) &&
	       (!job->options->select || stands_in_entry(of->module, at));
}

static void mark_dropped(struct job *job)
{
	for (uint32_t i = 0; i < job->roots.n; i++) {
		struct root *root = &job->roots.v[i];

		root->dropped = ARENA_NEW(&job->keep, bool, root->result.nfindings + 1);
		for (uint32_t f = 0; f < root->result.nfindings; f++) {
			const struct finding *finding = &root->result.findings[f];

			if (is_of_fence(finding))
				root->dropped[f] = !holds_everywhere(job, root, finding);
		}
	}
}

void sort_changes(struct text_changes *changes)
{
	if (changes->n)
		qsort(changes->v, changes->n, sizeof(*changes->v), by_place);
}

void combine_roots(struct job *job)
{
	struct text_changes *changes = &job->changes;

	list_sites(job);
	for (uint32_t i = 0; i < job->roots.n; i++) {
		const struct root *root = &job->roots.v[i];

		for (uint32_t c = 0; c < root->result.nchanges && !root->skipped; c++) {
			const struct result_fence *fence = &root->result.changes[c];
			struct text_change change = {
				.module = root->module, .root = i, .fence = *fence};

			if (!is_taken(job, root, fence))
				continue;
			add_fixes(job, &change, i, fence);
			ARENA_PUSH(&job->keep, changes->v, changes->n, changes->cap, change);
		}
	}
	sort_changes(changes);
	merge_changes(job);
	mark_dropped(job);
}
