/* SPDX-License-Identifier: Apache-2.0 */
/* On which points a pending access passes on its way to where a demand ends. */
#pragma once

#include "analysis/scene.h"

struct ways {
	const struct scene *scene;
	uint32_t *pred_first, *pred; /* predecessor points */
	uint32_t *queue;
	struct bits forward;
	struct bits ends; /* of the demand under way; else empty */
};

enum way_end { WAY_ANY, WAY_RELEASE /* only sinks that hand over to other threads */ };

void ways_build(const struct scene *, struct ways *);
/* Points between a source and a sink of the demand, none beyond the first sink. */
void ways_of(struct ways *, const struct demand *, enum way_end, struct bits on_way);
/* Points reached from `from` (not counted itself) forwards or backwards without passing another
 * instruction that hands over, takes over, or is an async access; the one that stops it counts. */
void ways_nearby(struct ways *, uint32_t from, bool backwards, struct bits nearby);
/* Some point of a set is reached so from `from`, without coming to an access of the demand again.
 */
bool ways_lead_to(struct ways *, uint32_t from, const struct demand *, struct bits to);
bool ways_is_release(const struct unit *, uint32_t insn);
