/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ptxas says goes in, a line at a time; the same with the names and line numbers of the input
 * comes out. ptxas writes a place as `PATH, line N`; a path may also stand alone, and so may
 * `around line N` in what it says of wgmma. All other bytes are kept.
 *
 * Invariant: text that names no file of ours is passed on as it is.
 */
#include "cli/shim_map.h"

#include <ctype.h>
#include <string.h>

uint32_t shim_map_line(const struct shim_place *place, uint32_t line)
{
	int64_t shift = 0, output = line;
	for (uint32_t i = 0; i < place->nedits; i++) {
		int64_t at = place->edits[i].line + shift, lines = place->edits[i].lines;
		if (output < at || (output == at && lines > 0))
			break;
		if (output <= at + lines) /* a fence's own line stands for the line that it stands
					     before */
			return place->edits[i].line;
		shift += lines;
	}
	return output - shift > 0 ? (uint32_t)(output - shift) : 1;
}

/* The place whose path begins at text, the longest if there are several. */
static const struct shim_place *place_at(
	const struct shim_place *places, uint32_t n, const char *text, size_t size)
{
	const struct shim_place *found = NULL;
	size_t longest = 0;
	for (uint32_t i = 0; i < n; i++) {
		size_t length = strlen(places[i].path);
		if (length <= longest || length > size || memcmp(text, places[i].path, length))
			continue;
		longest = length;
		found = &places[i];
	}
	return found;
}

/* Writes `words` and the number behind them mapped; how many bytes that was, 0 if they do not stand
 * here. */
static size_t line_number(
	const struct shim_place *place, const char *words, const char *text, size_t size, FILE *out)
{
	size_t first = strlen(words), used = first;
	if (size <= used || memcmp(text, words, used))
		return 0;
	uint32_t line = 0;
	while (used < size && isdigit((unsigned char)text[used]) && line < UINT32_MAX / 10 - 1)
		line = line * 10 + (uint32_t)(text[used++] - '0');
	if (used == first)
		return 0;
	fprintf(out, "%s%u", words, shim_map_line(place, line));
	return used;
}

void shim_map_message(
	const struct shim_place *places, uint32_t n, const char *text, size_t size, FILE *out)
{
	bool only = n == 1 && places[0].only;
	for (size_t at = 0; at < size;) {
		const struct shim_place *place = place_at(places, n, text + at, size - at);
		size_t used = 0;
		if (place) {
			fputs(place->shown, out);
			at += strlen(place->path);
			used = line_number(place, ", line ", text + at, size - at, out);
		} else {
			used = only ? line_number(places, "around line ", text + at, size - at, out)
				    : 0;
			if (!used)
				putc(text[at++], out);
		}
		at += used;
	}
}
