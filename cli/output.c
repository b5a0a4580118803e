/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a path and bytes. Goes out: the file. Invariant: a regular file is either its old self
 * or the whole new one, with its old mode; links are followed; what is no regular file is written
 * as is.
 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(const char *path, char *error, size_t size)
{
	snprintf(error, size, "%s: cannot write: %s", path, strerror(errno));
	return false;
}

/* Where a link that leads to no file yet leads to; the path itself otherwise. */
static char *follow(const char *path)
{
	char *at = realpath(path, NULL);

	if (at)
		return at;
	at = strdup(path);
	for (int hops = 0; at && hops < 40; hops++) {
		char link[PATH_MAX];
		ssize_t n = readlink(at, link, sizeof(link) - 1);

		if (n < 0)
			return at;
		link[n] = 0;
		char *next = NULL, *folder = strdup(at);

		if (folder && link[0] == '/')
			next = strdup(link);
		else if (folder && asprintf(&next, "%s/%s", dirname(folder), link) < 0)
			next = NULL;
		free(folder);
		free(at);
		at = next;
	}
	return at;
}

static bool open_temporary(struct output *out, const struct stat *old)
{
	for (unsigned n = 0; n < 1000; n++) {
		free(out->temporary);
		char *copy = strdup(out->target), *again = strdup(out->target);

		if (!copy || !again ||
			asprintf(&out->temporary, "%s/.%s.%ld.%u", dirname(copy), basename(again),
				(long)getpid(), n) < 0)
			out->temporary = NULL;
		free(copy);
		free(again);
		if (!out->temporary)
			return false;
		int fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0)
			return false;
		if (old && fchown(fd, old->st_uid, old->st_gid)) {
			/* only root may give files away; the mode matters more */
		}
		if (old && fchmod(fd, old->st_mode & 07777)) {
			close(fd);
			return false;
		}
		out->file = fdopen(fd, "w");
		if (!out->file)
			close(fd);
		return out->file;
	}
	errno = EEXIST;
	return false;
}

bool output_open(struct output *out, const char *path, char *error, size_t size)
{
	struct stat st;

	*out = (struct output){0};
	if (strcmp(path, "-") == 0) {
		out->file = stdout;
		return true;
	}
	bool exists = stat(path, &st) == 0;

	if (exists && !S_ISREG(st.st_mode)) {
		out->file = fopen(path, "we");
		return out->file || fail(path, error, size);
	}
	/* A rename would replace a file that we may not write: ask the file, not only its folder.
	 */
	if (exists && access(path, W_OK))
		return fail(path, error, size);
	out->target = follow(path);
	if (!out->target || !open_temporary(out, exists ? &st : NULL)) {
		fail(path, error, size);
		output_abort(out);
		return false;
	}
	return true;
}

/* What is in the file is whole, as far as anybody can tell before the rename. */
static bool close_file(struct output *out)
{
	bool good = fflush(out->file) == 0 && !ferror(out->file);

	if (out->file != stdout)
		good &= fclose(out->file) == 0;
	out->file = NULL;
	return good;
}

bool output_commit(struct output *out, const char *path, char *error, size_t size)
{
	bool good = !out->file || close_file(out);

	if (good && out->temporary)
		good = rename(out->temporary, out->target) == 0;
	if (!good) {
		fail(path, error, size);
		output_abort(out);
		return false;
	}
	free(out->temporary);
	free(out->target);
	*out = (struct output){0};
	return true;
}

void output_abort(struct output *out)
{
	if (out->file && out->file != stdout)
		fclose(out->file);
	if (out->temporary)
		unlink(out->temporary);
	free(out->temporary);
	free(out->target);
	*out = (struct output){0};
}

bool output_write(const char *path, const char *bytes, size_t n, char *error, size_t size)
{
	struct output out;

	if (!output_open(&out, path, error, size))
		return false;
	fwrite(bytes, 1, n, out.file);
	return output_commit(&out, path, error, size);
}

bool held_open(
	struct held *held, const char *path, const char *bytes, size_t n, char *error, size_t size)
{
	struct stat st;

	*held = (struct held){.path = strdup(path), .size = n};
	if (!held->path)
		return fail(path, error, size);
	if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode))) {
		held->bytes = malloc(n + 1);
		if (held->bytes && n)
			memcpy(held->bytes, bytes, n);
		return held->bytes || fail(path, error, size);
	}
	if (!output_open(&held->out, path, error, size))
		return false;
	fwrite(bytes, 1, n, held->out.file);
	return close_file(&held->out) || fail(path, error, size);
}

bool held_commit(struct held *held, char *error, size_t size)
{
	if (!held->bytes)
		return output_commit(&held->out, held->path, error, size);
	return output_write(held->path, held->bytes, held->size, error, size);
}

void held_free(struct held *held)
{
	output_abort(&held->out);
	free(held->path);
	free(held->bytes);
	*held = (struct held){0};
}
