/* SPDX-License-Identifier: Apache-2.0 */
/* Why two instructions are an edge, or why they are none. */
#pragma once

#include "analysis/analyse.h"

#include <stdio.h>

/* Gives the number of pairs that it found in these lines. */
uint32_t why_print(const struct analysis_view *, uint32_t generic_line, uint32_t async_line, FILE *);
/* One access with its address, proxy and size. */
void access_print(const struct unit *, uint32_t number, FILE *);
