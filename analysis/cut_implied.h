/* SPDX-License-Identifier: Apache-2.0 */
/* Fewer demands for the cut, which ask for the same. */
#pragma once

#include "analysis/cut.h"

/* Takes out demands that another of them implies, which comes in place of the first of these; the number of those
 * in `kept`, which has room for all. What can be met may be implied by what cannot. */
uint32_t cut_drop_implied(
	const struct cut_graph *, const struct demand *, uint32_t n, struct demand *kept);
