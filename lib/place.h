/* SPDX-License-Identifier: Apache-2.0 */
/* Byte offsets become lines, names and places of the CUDA source. */
#pragma once

#include "lib/internal.h"

void place_publish(struct job *, const struct module *, const struct place *, struct fencepost_place *);
/* The name of a module's function, on the arena. */
const char *function_text(struct job *, const struct module *, uint32_t function);
/* The fence that a change writes, or the text that it takes away. */
const char *change_text(struct job *, const struct text_change *);
