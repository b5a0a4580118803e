/* SPDX-License-Identifier: Apache-2.0 */
/* A place in the source text: two byte offsets. Line and column are computed when printed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NONE UINT32_MAX /* "no index": registers, blocks, instructions, symbols */

struct span {
	uint32_t begin, end; /* bytes [begin, end) of the source; files stop short of 4 GiB */
};

/* A view of bytes that somebody else owns; no NUL at the end. */
struct slice {
	const char *text;
	size_t size;
};
