/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the proxy flow for people (--dump=flow): hand-offs, events, what is pending where, edges. */
#pragma once

#include "analysis/flow.h"

#include <stdio.h>

/* Of the latest run of the setup. Lines are those of the source. */
void flow_dump(struct flow_setup *, const struct flow *, FILE *);
