/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: paths. Goes out: a list of files in one order that depends on their names only. A path
 * that leads nowhere stays in the list with its reason, so that the others are still worked on.
 */
#include "cli/files.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool add(struct inputs *inputs, const char *path, size_t size, const char *problem)
{
	if (inputs->n == inputs->cap) {
		uint32_t cap = inputs->cap ? 2 * inputs->cap : 64;
		struct input *grown = realloc(inputs->v, sizeof(*grown) * cap);

		if (!grown)
			return false;
		inputs->v = grown;
		inputs->cap = cap;
	}
	struct input *input = &inputs->v[inputs->n];

	*input = (struct input){strdup(path), size, problem ? strdup(problem) : NULL};
	if (!input->path || (problem && !input->problem))
		return false;
	inputs->n++;
	inputs->bytes += size;
	return true;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_ptx(const char *name, size_t size)
{
	return size > 4 && strcmp(name + size - 4, ".ptx") == 0;
}

static bool search(struct inputs *inputs, char *folder)
{
	char *roots[] = {folder, NULL};
	FTS *fts = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	uint32_t before = inputs->n;
	bool good = fts;

	for (FTSENT *entry; good && (entry = fts_read(fts));) {
		if (entry->fts_info == FTS_F && is_ptx(entry->fts_name, entry->fts_namelen))
			good = add(
				inputs, entry->fts_path, (size_t)entry->fts_statp->st_size, NULL);
		else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
			good = add(inputs, entry->fts_path, 0, strerror(entry->fts_errno));
		else if ((entry->fts_info == FTS_SLNONE || entry->fts_info == FTS_NS) &&
			 is_ptx(entry->fts_name, entry->fts_namelen))
			good = add(
				inputs, entry->fts_path, 0, "cannot read: the link leads nowhere");
	}
	if (fts)
		fts_close(fts);
	/* Nothing looked at must not look like nothing found. */
	if (good && inputs->n == before)
		good = add(inputs, folder, 0, "no *.ptx file in this folder");
	return good;
}

bool inputs_collect(const struct settings *settings, struct inputs *inputs)
{
	*inputs = (struct inputs){0};
	for (uint32_t i = 0; i < settings->npaths; i++) {
		const char *path = settings->paths[i];
		struct stat st = {0};
		bool there = stat(path, &st) == 0;

		if (there && S_ISDIR(st.st_mode) && settings->mode == MODE_CHECK) {
			char *copy = strdup(path);
			bool good = copy && search(inputs, copy);

			free(copy);
			if (!good)
				return false;
			continue;
		}
		if (!add(inputs, path, there && st.st_size > 0 ? (size_t)st.st_size : 0, NULL))
			return false;
	}
	return true;
}

void inputs_free(struct inputs *inputs)
{
	for (uint32_t i = 0; i < inputs->n; i++) {
		free(inputs->v[i].path);
		free(inputs->v[i].problem);
	}
	free(inputs->v);
}
