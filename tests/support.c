/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support.h"

#include <errno.h>
#include <fts.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

struct text load(const char *path)
{
	struct text text = {0};
	FILE *file = fopen(path, "rb");
	char buffer[65536];
	size_t n;

	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	append(&text, "", 0);
	while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0)
		append(&text, buffer, n);
	fclose(file);
	return text;
}

void store(const char *path, struct text text)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(text.v, 1, text.n, file) != text.n || fclose(file))
		fail_msg("%s: %s", path, strerror(errno));
}

void append(struct text *text, const char *bytes, size_t n)
{
	text->v = realloc(text->v, text->n + n + 1);
	if (!text->v)
		abort();
	memcpy(text->v + text->n, bytes, n);
	text->n += n;
	text->v[text->n] = 0;
}

void append_text(struct text *text, const char *more)
{
	append(text, more, strlen(more));
}

static size_t line_end(struct text text, size_t from)
{
	const char *end = memchr(text.v + from, '\n', text.n - from);

	return end ? (size_t)(end - text.v) : text.n;
}

void assert_same_text(const char *what, struct text expected, struct text actual)
{
	size_t from = 0;
	unsigned line = 1;

	if (expected.n == actual.n && memcmp(expected.v, actual.v, actual.n) == 0)
		return;
	while (from < expected.n && from < actual.n) {
		size_t e = line_end(expected, from), a = line_end(actual, from);

		if (e != a || memcmp(expected.v + from, actual.v + from, e - from) != 0)
			break;
		from = e < expected.n && e < actual.n ? e + 1 : e;
		if (e >= expected.n || e >= actual.n)
			break;
		line++;
	}
	if (from > expected.n || from > actual.n)
		fail_msg("%s: line %u: one of the texts ends early", what, line);
	fail_msg("%s: line %u:\n  expected: %.*s\n  actual:   %.*s", what, line,
		(int)(line_end(expected, from) - from), expected.v + from,
		(int)(line_end(actual, from) - from), actual.v + from);
}

const char *find_ptxas(void)
{
	static const char usual[] = "/usr/local/cuda/bin/ptxas";
	static char found[4096];
	const char *given = getenv("FENCEPOST_PTXAS"), *path = getenv("PATH");

	if (given)
		return *given ? given : NULL;
	while (path && *path) {
		size_t n = strcspn(path, ":");

		snprintf(found, sizeof(found), "%.*s/ptxas", (int)n, path);
		if (access(found, X_OK) == 0)
			return found;
		path += n + (path[n] == ':');
	}
	return access(usual, X_OK) == 0 ? usual : NULL;
}

void assert_assembles(const char *what, struct text ptx, const char *arch)
{
	char name[] = "/tmp/fencepost-test-XXXXXX", command[9000], line[400];
	const char *ptxas = find_ptxas();
	struct text said = {0};
	int fd = mkstemp(name);

	assert_non_null(ptxas);
	assert_true(fd >= 0);
	close(fd);
	store(name, ptx);
	snprintf(command, sizeof(command), "'%s' -arch=%s -o /dev/null '%s' 2>&1", ptxas, arch,
		name);
	FILE *pipe = popen(command, "r");

	assert_non_null(pipe);
	append(&said, "", 0);
	while (fgets(line, sizeof(line), pipe))
		append_text(&said, line);
	int status = pclose(pipe);

	unlink(name);
	if (status)
		fail_msg("%s: ptxas for %s: %.1000s", what, arch, said.v);
	free(said.v);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

char **find_files(const char *folder, const char *suffix)
{
	char *copy = strdup(folder), *roots[] = {copy, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	char **list = calloc(1, sizeof(*list));
	size_t n = 0, tail = strlen(suffix);

	for (FTSENT *entry; fts && list && (entry = fts_read(fts));) {
		if (entry->fts_info != FTS_F || entry->fts_namelen < tail ||
			strcmp(entry->fts_name + entry->fts_namelen - tail, suffix) != 0)
			continue;
		list = realloc(list, (n + 2) * sizeof(*list));
		if (!list)
			abort();
		list[n++] = strdup(entry->fts_path);
		list[n] = NULL;
	}
	if (fts)
		fts_close(fts);
	free(copy);
	return list;
}

void free_files(char **list)
{
	for (char **at = list; *at; at++)
		free(*at);
	free(list);
}
