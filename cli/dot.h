/* SPDX-License-Identifier: Apache-2.0 */
/* The control flow of a root as a picture for graphviz. */
#pragma once

#include "analysis/analyse.h"

#include <stdio.h>

/* Blocks coloured by proxy, hand-offs dashed, missing edges red. `name` is the picture's title. With an
 * anchor a block links to its first line of the listing, "#" ANCHOR "L" LINE; NULL: no links. */
void dot_print(const struct analysis_view *, const char *name, const char *anchor, FILE *);
