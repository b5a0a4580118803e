/* SPDX-License-Identifier: Apache-2.0 */
/* A mutant of a file on standard output, for fuzz/differential: mutate SEED STEPS FILE [OTHER]. */
#include "base/diag.h"
#include "base/source.h"
#include "fuzz/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM (1u << 20)

int main(int argc, char **argv)
{
	struct source source, other = {0};
	struct diags diags = {0};
	static uint8_t text[ROOM];
	size_t size = 0;

	if (argc < 4)
		return 2;
	bool good = source_read(&source, argv[3], &diags) && source.size <= ROOM &&
		    (argc < 5 || source_read(&other, argv[4], &diags));
	uint32_t seed = (uint32_t)strtoul(argv[1], NULL, 10);

	if (good) {
		memcpy(text, source.text, size = source.size);
		for (uint32_t i = 0; i < strtoul(argv[2], NULL, 10); i++)
			size = mutate_ptx(text, size, ROOM, seed * 64 + i,
				(const uint8_t *)other.text, other.size);
		fwrite(text, 1, size, stdout);
	}
	source_free(&source);
	source_free(&other);
	diags_free(&diags);
	return good ? 0 : 2;
}
