/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is read whole (no mmap: a file cut while it is mapped would kill the process). Offsets are
 * 32 bits, so 4 GiB and more is refused, by the size that stat tells before a byte is read. The
 * text ends in a NUL that is not counted: the lexer's sentinel.
 */
#include "base/source.h"
#include "base/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct span nowhere = {NONE, NONE};

/* UINT32_MAX is NONE and the end of the text must be an offset too. */
static const size_t max_size = UINT32_MAX - 1;

static bool fail(struct diags *diags, const char *what)
{
	diag_add(diags, DIAG_ERROR, nowhere, "%s", what);
	return false;
}

static bool too_large(struct diags *diags)
{
	return fail(diags, "file is 4 GiB or larger");
}

static bool expect_size(int fd, size_t *size, struct diags *diags)
{
	struct stat st;

	*size = 0;
	if (fstat(fd, &st))
		return fail(diags, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return fail(diags, strerror(EISDIR));
	if (!S_ISREG(st.st_mode))
		return true;
	if ((uintmax_t)st.st_size > max_size)
		return too_large(diags);
	*size = (size_t)st.st_size;
	return true;
}

/* Reads to the end of the file, which may be longer or shorter than stat said. */
static bool read_all(int fd, size_t expected, struct source *source, struct diags *diags)
{
	size_t cap = expected + 2, n = 0;
	char *text = malloc(cap);

	while (text) {
		if (n + 1 == cap) {
			char *larger = realloc(text, cap = cap * 2 + 4096);

			if (!larger)
				break;
			text = larger;
		}
		ssize_t got = read(fd, text + n, cap - n - 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(text);
			return fail(diags, strerror(errno));
		}
		if (got == 0) {
			text[n] = '\0';
			source->text = text;
			source->size = (uint32_t)n;
			return true;
		}
		n += (size_t)got;
		if (n > max_size) {
			free(text);
			return too_large(diags);
		}
	}
	free(text);
	return fail(diags, strerror(ENOMEM));
}

bool source_read(struct source *source, const char *path, struct diags *diags)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	size_t expected;

	*source = (struct source){.name = is_stdin ? "<stdin>" : path};
	if (fd < 0)
		return fail(diags, strerror(errno));
	bool ok = expect_size(fd, &expected, diags) && read_all(fd, expected, source, diags);

	if (!is_stdin)
		close(fd);
	return ok;
}

bool source_copy(struct source *source, const char *name, const char *bytes, size_t size,
	struct diags *diags)
{
	*source = (struct source){.name = name};
	if (size > max_size)
		return too_large(diags);
	source->text = malloc(size + 1);
	if (!source->text)
		return fail(diags, strerror(ENOMEM));
	if (size)
		memcpy(source->text, bytes, size);
	source->text[size] = '\0';
	source->size = (uint32_t)size;
	return true;
}

void source_free(struct source *source)
{
	if (!source->borrowed)
		free(source->text);
	free(source->line_at);
	*source = (struct source){0};
}

enum { LINE = 32 }; /* bytes, of those of ordinary PTX */

static uint32_t *more_lines(uint32_t *lines, size_t *cap)
{
	uint32_t *more = realloc(lines, 2 * *cap * sizeof(*lines));

	*cap *= 2;
	if (!more)
		free(lines);
	return more;
}

/* Without memory for the table there is one line: places are wrong then, nothing else. */
static void build_lines(struct source *source)
{
	const char *end = source->text + source->size;
	size_t cap = source->size / LINE + 1;
	uint32_t *lines = malloc(cap * sizeof(*lines)), n = 0;

	for (const char *p = source->text; lines && p; n++) {
		lines = n < cap ? lines : more_lines(lines, &cap);
		if (lines)
			lines[n] = (uint32_t)(p - source->text);
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : NULL;
	}
	source->line_at = lines;
	source->nlines = lines ? n : 0;
}

uint32_t source_line(struct source *source, uint32_t offset)
{
	uint32_t low = 0;

	if (!source->line_at)
		build_lines(source);
	uint32_t high = source->nlines;

	while (high - low > 1 && high) {
		uint32_t middle = low + (high - low) / 2;

		if (source->line_at[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return low + 1;
}

uint32_t source_column(struct source *source, uint32_t offset)
{
	uint32_t line = source_line(source, offset);

	return offset - (source->line_at ? source->line_at[line - 1] : 0) + 1;
}

struct slice source_line_text(struct source *source, uint32_t line)
{
	if (!source->line_at)
		build_lines(source);
	if (line == 0 || line > source->nlines)
		return (struct slice){"", 0};
	uint32_t begin = source->line_at[line - 1];
	uint32_t end = line < source->nlines ? source->line_at[line] : source->size;

	while (end > begin && (source->text[end - 1] == '\n' || source->text[end - 1] == '\r'))
		end--;
	return (struct slice){source->text + begin, end - begin};
}

uint32_t source_rest_blank(const struct source *source, uint32_t at)
{
	const char *text = source->text;

	while (at < source->size &&
		(text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\f'))
		at++;
	if (at + 1 < source->size && text[at] == '/' && text[at + 1] == '/')
		while (at < source->size && text[at] != '\n')
			at++;
	return at < source->size && text[at] == '\n' ? at + 1 : NONE;
}
