/* SPDX-License-Identifier: Apache-2.0 */
/* Calling the real ptxas. */
#pragma once

#include "cli/shim_map.h"

/* Becomes the program; comes back only when that fails, see errno. */
void shim_run_instead(const char *program, char *const *argv);

/* Runs it, its messages put right on the way to stderr; its wait status, or -1, see errno. `places`
 * may be none: then the messages go straight to stderr. */
int shim_run(
	const char *program, char *const *argv, const struct shim_place *places, uint32_t nplaces);

/* Ends as the child ended: by its exit status or by its signal. */
_Noreturn void shim_run_end(int wait_status);
