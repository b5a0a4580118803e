/* SPDX-License-Identifier: Apache-2.0 */
/* What calls of unknown functions may do, by --calls (spec 2.7). */
#pragma once

#include "analysis/link.h"
#include "analysis/unit.h"

/* Merges accesses that stand for unknown callees into unit->accesses (kept sorted by instruction) and
 * lists the callees under unit->unmodelled, but for --calls=worst, which leaves nothing out. */
void callees_collect(struct unit *, const struct linked *);
