/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variables FENCEPOST_OPTIONS, FENCEPOST_ON_ERROR, FENCEPOST_ON_EDGE and FENCEPOST_INPLACE go
 * in, settings come out. FENCEPOST_OPTIONS is split like an options file of ptxas and holds what
 * the command line of fencepost takes and what changes the PTX; anything else in it is an error,
 * not ignored.
 *
 * Invariant: everything that can change the output is in the hash, because Triton names its cache
 * by the text of `ptxas --version`.
 */
#include "cli/shim_settings.h"

#include "cli/report.h"
#include "cli/shim_args.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool selected(const char *kernel, void *context)
{
	const char *glob = context;
	if (!fnmatch(glob, kernel, 0))
		return true;
	char *plain = demangle(kernel);
	bool matches = plain && !fnmatch(glob, plain, 0);
	free(plain);
	return matches;
}

static bool problem(struct shim_settings *settings, const char *word, const char *why)
{
	snprintf(settings->problem, sizeof settings->problem, "FENCEPOST_OPTIONS: %s: %s", word,
		why);
	return false;
}

static void set_kernel(struct shim_settings *settings, const char *glob)
{
	free(settings->kernel);
	settings->kernel = strdup(glob);
	settings->options.select = selected;
	settings->options.select_context = settings->kernel;
}

static bool set_option(struct shim_settings *settings, const char *name, const char *value)
{
	char error[160] = "";
	if (!strcmp(name, "--kernel") && value) {
		set_kernel(settings, value);
		return true;
	}
	if (fencepost_options_set(&settings->options, name, value, error, sizeof error))
		return true;
	return problem(settings, name, error[0] ? error : "not understood");
}

static bool is_flag(const char *name)
{
	return !strcmp(name, "--strict") || !strcmp(name, "--mutate");
}

/* One option, its value joined by `=` or in the next word; how many words it took, 0: wrong. */
static uint32_t set_words(struct shim_settings *settings, char **words)
{
	char *name = words[0], *value = strchr(name, '=');
	if (!strcmp(name, "-q") || !strcmp(name, "--quiet")) {
		settings->quiet = true;
		return 1;
	}
	if (!strcmp(name, "-v") || !strcmp(name, "--verbose")) {
		settings->verbose = true;
		return 1;
	}
	if (strncmp(name, "--", 2))
		return problem(settings, name, "no option that fencepost-ptxas knows");
	if (value)
		*value++ = '\0';
	if (value || is_flag(name))
		return set_option(settings, name, value);
	if (!words[1])
		return problem(settings, name, "no such option, or its value is missing");
	return set_option(settings, name, words[1]) ? 2 : 0;
}

static bool set_options(struct shim_settings *settings, const char *text)
{
	struct shim_words words = {0};
	shim_words_split(&words, text, strlen(text));
	uint32_t at = 0, took = 1;
	while (at < words.n && took) {
		took = set_words(settings, words.v + at);
		at += took;
	}
	shim_words_free(&words);
	return took;
}

/* A variable with two values: the first is the default. */
static bool choice(struct shim_settings *settings, const char *name, const char *usual,
	const char *other, bool *set)
{
	const char *value = getenv(name);
	*set = value && !strcmp(value, other);
	if (!value || !*value || *set || !strcmp(value, usual))
		return true;
	snprintf(settings->problem, sizeof settings->problem, "%s: neither %s nor %s", name, usual,
		other);
	return false;
}

bool shim_settings_read(struct shim_settings *settings)
{
	*settings = (struct shim_settings){0};
	fencepost_options_init(&settings->options, sizeof settings->options);
	const char *options = getenv("FENCEPOST_OPTIONS");
	bool good =
		choice(settings, "FENCEPOST_ON_ERROR", "fail", "pass", &settings->pass_on_error);
	good = choice(settings, "FENCEPOST_ON_EDGE", "warn", "fail", &settings->fail_on_edge) &&
	       good;
	good = choice(settings, "FENCEPOST_INPLACE", "0", "1", &settings->in_place) && good;
	return good && (!options || set_options(settings, options));
}

/* FNV-1a, 64 bits. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3u;
	return hash;
}

uint64_t shim_settings_hash(const struct shim_settings *settings)
{
	const struct fencepost_options *options = &settings->options;
	const uint64_t numbers[] = {options->fix, options->rules, options->hazards, options->assume,
		options->calls, options->shared, options->global, options->cross_threads,
		options->writer_side, options->strict, options->cp_async_trust,
		settings->pass_on_error, settings->fail_on_edge};
	const char *kernel = settings->kernel ? settings->kernel : "*";
	uint64_t hash = mix(0xcbf29ce484222325u, numbers, sizeof numbers);
	hash = mix(hash, &options->budget_seconds, sizeof options->budget_seconds);
	return mix(hash, kernel, strlen(kernel));
}

void shim_settings_free(struct shim_settings *settings)
{
	free(settings->kernel);
}
