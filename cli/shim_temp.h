/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files that are gone whichever way the program ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes room for n files and begins to watch for signals; NULL, or why it failed. */
const char *shim_temp_begin(uint32_t n);

/* Writes a file with this last part of its path (messages and debug data name it); NULL: failed,
 * see errno. */
const char *shim_temp_file(const char *name, const char *text, size_t size);

/* A child to which a signal that ends this program is passed on; 0: none. */
void shim_temp_child(pid_t child);

/* Removes all that was made. */
void shim_temp_end(void);
