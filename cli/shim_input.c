/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input of the command line goes in; its text, the library's result and the list of lines that
 * were added come out. A text that does not begin as PTX is not touched: ptxas knows best what to
 * say of it.
 *
 * Invariant: what was read from a pipe is kept, changed or not, since nobody can read it again.
 */
#include "cli/shim_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *read_all(int file, size_t room, size_t *size)
{
	char *text = shim_grown(NULL, room + 1);
	ssize_t got;
	*size = 0;
	while ((got = read(file, text + *size, room - *size)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(text);
			return NULL;
		}
		*size += (size_t)got;
		if (*size == room) {
			room *= 2;
			text = shim_grown(text, room + 1);
		}
	}
	text[*size] = '\0';
	return text;
}

char *shim_read(const char *path, size_t *size, bool *once)
{
	bool is_stdin = !strcmp(path, "-");
	int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	char *text = NULL;
	if (file < 0)
		return NULL;
	if (!fstat(file, &about) && !S_ISDIR(about.st_mode)) {
		bool regular = S_ISREG(about.st_mode);
		*once = is_stdin || !regular;
		text = read_all(file, regular ? (size_t)about.st_size + 1 : 1 << 16, size);
	}
	if (!is_stdin)
		close(file);
	return text;
}

void shim_text_read(
	struct shim_text *text, const struct shim_args *args, const struct shim_input *input)
{
	const char *word = args->words.v[input->last] + input->value;
	*text = (struct shim_text){.shown = word};
	if (input->kind == SHIM_STRING) {
		text->shown = "application ptx input"; /* ptxas's own words */
		text->text = strdup(word);
		text->size = strlen(word);
	} else {
		text->text = shim_read(word, &text->size, &text->once);
	}
	const char *slash = strrchr(text->shown, '/');
	text->name = slash && slash[1] ? slash + 1 : text->shown;
}

static size_t skip_comment(const char *text, size_t at, size_t size)
{
	bool is_line = text[at + 1] == '/';
	const char *stop = is_line ? "\n" : "*/";
	const char *end = memmem(text + at + 2, size - at - 2, stop, strlen(stop));
	return end ? (size_t)(end - text) + strlen(stop) : size;
}

bool shim_text_is_ptx(const char *text, size_t size)
{
	static const char version[] = ".version";
	size_t at = 0;
	while (at < size) {
		if (text[at] == '/' && at + 1 < size &&
			(text[at + 1] == '/' || text[at + 1] == '*'))
			at = skip_comment(text, at, size);
		else if (strchr(" \t\r\n\v\f", text[at]) && text[at])
			at++;
		else
			break;
	}
	return size - at >= sizeof version && !memcmp(text + at, version, sizeof version - 1);
}

static uint32_t count_lines(const char *text, size_t size)
{
	uint32_t lines = 0;
	for (const char *end = text + size;
		text < end && (text = memchr(text, '\n', (size_t)(end - text))); text++)
		lines++;
	return lines;
}

static int by_line(const void *left, const void *right)
{
	const struct shim_edit *a = left, *b = right;
	return (a->line > b->line) - (a->line < b->line);
}

static void note_edits(struct shim_text *text)
{
	const struct fencepost_result *result = text->result;
	text->edits = shim_grown(NULL, (result->nfences + 1) * sizeof *text->edits);
	for (uint32_t i = 0; i < result->nfences; i++) {
		const struct fencepost_fence *fence = result->fences[i];
		uint32_t more = count_lines(fence->bytes, fence->nbytes);
		uint32_t less = count_lines(text->text + fence->offset, fence->length);
		if (more != less)
			text->edits[text->nedits++] =
				(struct shim_edit){fence->line, (int32_t)more - (int32_t)less};
	}
	qsort(text->edits, text->nedits, sizeof *text->edits, by_line);
}

void shim_text_complain(const struct shim_text *text)
{
	const struct fencepost_result *result = text->result;
	for (uint32_t i = 0; result && i < result->ndiagnostics; i++) {
		const struct fencepost_diagnostic *said = result->diagnostics[i];
		fprintf(stderr, "fencepost-ptxas: %s:%u:%u: %s: %s\n", text->shown, said->line,
			said->column, fencepost_level_name(said->level), said->message);
	}
	if (text->status != FENCEPOST_BAD_INPUT)
		fprintf(stderr, "fencepost-ptxas: %s: error: %s\n", text->shown,
			text->status == FENCEPOST_NO_MEMORY ? "out of memory" : "wrong options");
}

void shim_text_fence(struct shim_text *text, const struct fencepost_options *options)
{
	if (!text->text || !shim_text_is_ptx(text->text, text->size))
		return;
	text->status = fencepost_run(options, text->shown, text->text, text->size, &text->result);
	text->bad = text->status != FENCEPOST_OK;
	if (!text->bad)
		note_edits(text);
}

bool shim_text_changed(const struct shim_text *text)
{
	return text->result && !text->bad && text->result->changed;
}

const char *shim_text_output(const struct shim_text *text, size_t *size)
{
	bool changed = shim_text_changed(text);
	*size = changed ? text->result->ptx_size : text->size;
	return changed ? text->result->ptx : text->text;
}

void shim_text_free(struct shim_text *text)
{
	free(text->text);
	free(text->edits);
	if (text->result)
		fencepost_free(text->result);
	*text = (struct shim_text){0};
}
