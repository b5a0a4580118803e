/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in's command line under libFuzzer. The input is lines: words, up to a line `--files`;
 * behind it pairs of lines, the name of an options file and its text. No crash, no leak, every
 * place in the result exists; and the words that come out, which hold no options file any more,
 * mean the same when they are read again.
 */
#include "cli/shim_args.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct files {
	const char *const *lines; /* name, text, name, text, ... */
	uint32_t n;
};

static char *read_file(void *context, const char *path, size_t *size)
{
	const struct files *files = context;

	for (uint32_t i = 0; i + 1 < files->n; i += 2)
		if (strcmp(files->lines[i], path) == 0) {
			*size = strlen(files->lines[i + 1]);
			return strdup(files->lines[i + 1]);
		}
	return NULL;
}

static char *read_none(void *context, const char *path, size_t *size)
{
	(void)context;
	(void)path;
	(void)size;
	abort(); /* all were read the first time */
}

static void check_places(const struct shim_args *args)
{
	for (uint32_t i = 0; i < args->ninputs; i++) {
		const struct shim_input *in = &args->inputs[i];

		if (in->first > in->last || in->last >= args->words.n ||
			in->value > strlen(args->words.v[in->last]))
			abort();
	}
	if (args->output_word != UINT32_MAX &&
		(args->output_word >= args->words.n ||
			args->output_value > strlen(args->words.v[args->output_word])))
		abort();
	for (uint32_t i = 0; i < args->words.n; i++)
		if (!args->words.v[i])
			abort();
	if (args->words.v && args->words.v[args->words.n])
		abort();
}

static bool same_inputs(const struct shim_args *one, const struct shim_args *other)
{
	if (one->ninputs != other->ninputs)
		return false;
	for (uint32_t i = 0; i < one->ninputs; i++) {
		const struct shim_input *a = &one->inputs[i], *b = &other->inputs[i];

		if (a->kind != b->kind || a->first != b->first || a->last != b->last ||
			a->value != b->value)
			return false;
	}
	return true;
}

static void read_again(const struct shim_args *args)
{
	struct shim_args again;

	if (!shim_args_parse(&again, args->words.n, args->words.v, read_none, NULL) ||
		again.words.n != args->words.n || !same_inputs(args, &again) ||
		again.output_word != args->output_word ||
		again.output_value != args->output_value || again.version != args->version ||
		again.informs != args->informs || again.maxntid != args->maxntid ||
		again.override_directives != args->override_directives || again.expanded)
		abort();
	for (uint32_t i = 0; i < args->words.n; i++)
		if (strcmp(args->words.v[i], again.words.v[i]) != 0)
			abort();
	shim_args_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text, *lines[128];
	uint32_t n = 0, words = 0;
	struct shim_args args;

	while (n < 128 && (lines[n] = strsep(&rest, "\n")))
		n++;
	while (words < n && strcmp(lines[words], "--files") != 0)
		words++;
	struct files files = {
		(const char *const *)lines + words + 1, words < n ? n - words - 1 : 0};

	if (shim_args_parse(&args, words, lines, read_file, &files)) {
		check_places(&args);
		read_again(&args);
	} else if (!args.problem) {
		abort();
	}
	shim_args_free(&args);
	free(text);
	return 0;
}
