/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted over all batches. Only numbers: those of parallel workers are added up. */
#pragma once

#include "program.h"

struct counts {
	long programs, discarded, with_edges, silent;
	long edges, missed, beyond, strict_edges, strict_missed, strict_beyond;
	long inserted, spare, over_inserted, changed;
	long left, strict_left, found_again, wrong_text, unstable;
	long redundant, redundant_wrong, trimmed_left, suppressed, suppressed_wrong;
	long with[NFEATURES], edge_by[NFEATURES], covered_by[NFEATURES], beyond_by[NFEATURES];
};

void counts_add(struct counts *to, const struct counts *from);

/* Adds the features to each counter that they name. */
void counts_by(long *by, uint64_t features);

void counts_tell(const struct counts *c);

/* Something is wrong with the tool. */
bool counts_bad(const struct counts *c);

/* Some feature made no edge, or no pair that a fence covers: prints which. */
bool counts_thin(const struct counts *c);
