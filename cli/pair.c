/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint32_t pair_common(const char *const *paths, uint32_t n)
{
	const char *slash = n ? strrchr(paths[0], '/') : NULL;
	uint32_t common = slash ? (uint32_t)(slash + 1 - paths[0]) : 0;

	for (uint32_t i = 1; i < n; i++) {
		uint32_t same = 0;

		for (uint32_t k = 0; k < common && paths[i][k] == paths[0][k]; k++)
			if (paths[i][k] == '/')
				same = k + 1;
		common = same;
	}
	return common;
}

/* From the root, without empty parts, `.` and `..`. */
static char *from_root(const char *folder, const char *path)
{
	char *text = NULL, *out;

	if (asprintf(&text, "%s/%s", path[0] == '/' ? "" : folder, path) < 0)
		return NULL;
	out = text;
	for (const char *part = text; *part;) {
		size_t size = strcspn(part + 1, "/");

		if (size == 2 && memcmp(part, "/..", 3) == 0)
			while (out > text && *--out != '/')
				;
		else if (size && !(size == 1 && part[1] == '.'))
			out = (char *)memmove(out, part, size + 1) + size + 1;
		part += size + 1;
	}
	*out = 0;
	return text;
}

static int compare(const void *key, const void *of)
{
	return strcmp(key, *(const char *const *)of);
}

static void pair_one(
	const char *const *old, uint32_t nold, const char *path, uint32_t index, uint32_t *pair)
{
	for (const char *slash = path; slash; slash = strchr(slash + 1, '/')) {
		const char *const *found = bsearch(slash + 1, old, nold, sizeof(*old), compare);

		if (!found)
			continue;
		pair[found - old] = pair[found - old] == PAIR_NONE ? index : PAIR_UNCLEAR;
		return;
	}
}

bool pair_files(const char *const *old, uint32_t nold, const char *const *now, uint32_t nnow,
	uint32_t *pair)
{
	char *folder = getcwd(NULL, 0);
	bool good = true;

	for (uint32_t i = 0; i < nold; i++)
		pair[i] = PAIR_NONE;
	for (uint32_t i = 0; i < nnow && good; i++) {
		char *path = from_root(folder ? folder : "", now[i]);

		good = path;
		if (path)
			pair_one(old, nold, path, i, pair);
		free(path);
	}
	free(folder);
	return good;
}
