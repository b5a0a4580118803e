/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of an earlier run are which of this one, when the folder of all of them may have
 * moved. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PAIR_NONE    UINT32_MAX
#define PAIR_UNCLEAR (UINT32_MAX - 1)

/* How many bytes of each path name the folder that all of them are in ("a/" of "a/b.ptx" and
 * "a/c/d.ptx"); of one path all but its last name. */
uint32_t pair_common(const char *const *paths, uint32_t n);

/* `old`: paths below the folder of an earlier run, sorted by strcmp, each once. A path of `now`,
 * taken from the current folder and as text (links are not followed), is the longest of them that
 * it ends in. `pair`, by `old`: an index into `now`; PAIR_NONE if none is that file; PAIR_UNCLEAR
 * if several may be. False: out of memory. */
bool pair_files(const char *const *old, uint32_t nold, const char *const *now, uint32_t nnow,
	uint32_t *pair);
