/* SPDX-License-Identifier: Apache-2.0 */
/* Comes in: the changes of the text. Goes out: the new text; every byte outside them is the old
 * one. */
#include "lib/internal.h"
#include "rewrite/fence.h"

struct slice apply_changes(struct job *job, struct edits *edits)
{
	const struct result_fence **list =
		ARENA_NEW(&job->keep, const struct result_fence *, job->changes.n + 1);

	for (uint32_t i = 0; i < job->changes.n; i++)
		list[i] = &job->changes.v[i].fence;
	fence_edits(&job->source, list, job->changes.n, edits);
	return edit_apply(&job->source, edits);
}

struct slice write_output(struct box *box)
{
	struct job *job = &box->job;
	struct edits edits = {.arena = &job->keep};
	struct slice text = apply_changes(job, &edits);

	for (uint32_t i = 0; i < edits.n && i < box->result.nfences; i++) {
		struct fencepost_fence *fence = box->result.fences[i];

		fence->offset = edits.v[i].replace.begin;
		fence->length = edits.v[i].replace.end - edits.v[i].replace.begin;
		fence->bytes = edits.v[i].text.text;
		fence->nbytes = edits.v[i].text.size;
	}
	box->result.changed = edits.n > 0;
	return text;
}
