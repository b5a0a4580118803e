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

static uint32_t count_site(const struct root *root, uint32_t at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < root->result.nfence_sites; i++)
		n += root->result.fence_sites[i] == at;
	return n;
}

static uint32_t count_same(const struct root *root, const struct result_fence *fence)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < root->result.nchanges; i++) {
		const struct result_fence *other = &root->result.changes[i];

		n += other->at == fence->at && other->change == fence->change &&
		     other->kind == fence->kind;
	}
	return n;
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
	for (uint32_t i = 0; i < job->roots.n; i++) {
		const struct root *root = &job->roots.v[i];

		if (!root->skipped && root->module == of->module &&
			count_site(root, fence->at) != count_same(root, fence))
			return false;
	}
	return true;
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
	for (uint32_t i = 0; i < job->roots.n; i++) {
		const struct root *root = &job->roots.v[i];
		bool said = false;

		if (root->skipped || root->module != of->module ||
			!count_site(root, finding->fence.at.begin))
			continue;
		for (uint32_t f = 0; f < root->result.nfindings && !said; f++)
			said = root->result.findings[f].rule == finding->rule &&
			       root->result.findings[f].fence.at.begin == finding->fence.at.begin;
		if (!said)
			return false;
	}
	return !job->options->select || stands_in_entry(of->module, finding->fence.at.begin);
}

static void mark_dropped(struct job *job)
{
	for (uint32_t i = 0; i < job->roots.n; i++) {
		struct root *root = &job->roots.v[i];

		root->dropped = ARENA_NEW(&job->keep, bool, root->result.nfindings + 1);
		for (uint32_t f = 0; f < root->result.nfindings; f++) {
			const struct finding *finding = &root->result.findings[f];

			if (finding->rule == RULE_FENCE_REDUNDANT ||
				finding->rule == RULE_FENCE_TOO_WIDE)
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
