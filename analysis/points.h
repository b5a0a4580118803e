/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of a function at which a fence can stand: point k is before instruction k, point
 * ninsns before the closing brace; the points above are ends of blocks that run on into a label.
 * What each costs, which are taboo (ptx-proxies 4.4, spec 3.3), and which are the same place of the
 * text because the function was linked in several times.
 */
#pragma once

#include "analysis/cut.h"

struct points {
	const struct unit *unit;
	struct cut_graph graph;
	uint64_t *cost;	  /* graph.cost */
	uint8_t *kills;	  /* graph.kills */
	uint64_t *weight_of; /* by block: estimated executions, 10^loop depth */
	uint32_t *behind; /* by point above ninsns, from 0: the instruction behind which it is */
	uint32_t nbehind;
	struct bits ends;  /* instructions with a point behind them */
	uint32_t *end_of;  /* by block: that point; set for those in `ends' */
	uint32_t *sibling; /* by point, see points_next_copy(); NULL: there are no copies */
	bool linked;	   /* some text has copies */
};

/* The next copy of the same text in a ring: the point itself if there is but one. */
static inline uint32_t points_next_copy(const struct points *points, uint32_t point)
{
	return points->sibling ? points->sibling[point] : point;
}

/* The point behind an instruction, or NONE. */
static inline uint32_t points_end_of(const struct points *points, uint32_t insn)
{
	return bits_has(points->ends, insn) ? points->end_of[points->unit->cfg.block_of[insn]] : NONE;
}

void points_build(const struct unit *, struct arena *, struct points *);
/* The instruction at whose place in the text a point is. */
uint32_t points_insn(const struct points *, uint32_t point);
bool points_is_behind(const struct points *, uint32_t point);
/* Estimated executions, all copies of the text together. */
uint64_t points_weight(const struct points *, uint32_t point);
