/* SPDX-License-Identifier: Apache-2.0 */
/* Which program fencepost-ptxas stands in for. */
#pragma once

#include <stdbool.h>

/* True when a fencepost-ptxas further out has seen this command line already. */
bool shim_find_guarded(void);

/* The real assembler: $FENCEPOST_PTXAS, else `named` where it has a slash (NULL: no name was
 * given), else the first ptxas on $PATH that is no part of the chain of calls that led here. From
 * malloc; NULL with a reason in *problem. */
char *shim_find_ptxas(const char *named, const char **problem);

/* Notes in the environment that this program and `real` are part of the chain. */
void shim_find_guard(const char *real);
