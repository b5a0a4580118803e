/* SPDX-License-Identifier: Apache-2.0 */
/* Comes in: the changes of the text. Goes out: the new text; every byte outside them is the old one. */
#include "lib/internal.h"
#include "rewrite/fence.h"

/* Tells the caller what each change puts where. */
static void publish_edits(struct box *box, const struct edits *edits)
{
	for (uint32_t i = 0; i < edits->n; i++) {
		struct fencepost_fence *fence = box->result.fences[i];

		fence->offset = edits->v[i].replace.begin;
		fence->length = edits->v[i].replace.end - edits->v[i].replace.begin;
		fence->bytes = edits->v[i].text.text;
		fence->nbytes = edits->v[i].text.size;
	}
}

struct slice write_output(struct box *box)
{
	struct job *job = &box->job;
	const struct result_fence **v = ARENA_NEW(&job->keep, const struct result_fence *, job->changes.n + 1);
	struct edits edits = {.arena = &job->keep};

	for (uint32_t i = 0; i < job->changes.n; i++)
		v[i] = &job->changes.v[i].fence;
	fence_edits(&job->source, v, job->changes.n, &edits);
	publish_edits(box, &edits);
	return edit_apply(&job->source, &edits);
}
