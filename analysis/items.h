/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages found, one item per edge, fence report, check and unknown instruction, before grouping. */
#pragma once

#include "analysis/findings.h"

struct item { /* one edge or report before grouping */
	uint8_t rule, confidence, hazard, space;
	bool cross_cta, waiting_side;
	uint32_t generic, async, fence; /* instructions or NONE */
	uint32_t edge;                  /* index of the flow's edge, or NONE */
	uint32_t hint;                  /* index of the use that suppresses it, or NONE */
	const char *detail, *unfixable;
	const struct edge *lost;        /* edges of a fence report: audit.lost */
	const uint32_t *lost_edges;
	uint32_t nlost;
	/* what it is ordered by, two numbers in each; set by items_number */
	uint64_t group[4], within[2]; /* equal in one finding; the surest and first in the text of these first */
};

struct items {
	const struct analysis_view *view;
	struct hint_map *hints;
	struct item *v;
	uint32_t n, cap;
	struct prints prints; /* of the instructions that they name */
};

/* The instruction of an access. */
uint32_t item_insn(const struct unit *, uint32_t access);
/* Appends all items of the view; marks the hints that suppress one as used. */
void items_collect(struct items *);
/* Gets ready for comparing items and for their fingerprints. */
void items_number(struct items *);
