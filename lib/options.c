/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options by their names on the command line. Comes in: a name and a value. Goes out: fields of the
 * options struct, or one line that says what is wrong. Invariant: a wrong value changes nothing.
 */
#include "lib/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const assumption_names[] = {"named-ids", "converged-warp", "stage-stride",
	"map-gap", "aligned-tma", "no-wrap", "consumed-loads", "flat-block", "param-global",
	"distinct-params", "race-free", "one-arrival", "multicast-self", "loaded-global",
	"own-stage"};
static const char *const hazard_names[] = {"raw", "waw", "war"};
static const char *const space_names[] = {"shared", "global"};
static const char *const fix_names[] = {"missing", "misplaced", "wide", "redundant"};
static const char *const calls_names[] = {"auto", "none", "write", "async", "worst"};

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof(*(array))))

void fencepost_options_init(struct fencepost_options *options, size_t size)
{
	struct analysis_options defaults = analysis_defaults();
	struct fencepost_options all = {.fix = defaults.fix,
		.rules = defaults.rules,
		.hazards = defaults.hazards,
		.assume = defaults.assume,
		.calls = defaults.calls,
		.shared = defaults.shared,
		.global = defaults.global,
		.cross_threads = defaults.cross_threads,
		.writer_side = defaults.writer_side,
		.budget_seconds = defaults.budget_seconds};

	if (size > sizeof(all))
		memset((char *)options + sizeof(all), 0, size - sizeof(all));
	all.size = (uint32_t)size;
	memcpy(options, &all, size < sizeof(all) ? size : sizeof(all));
}

bool options_analysis(const struct fencepost_options *given, struct fencepost_options *full,
	struct analysis_options *out)
{
	if (given->size < offsetof(struct fencepost_options, budget_seconds))
		return false;
	fencepost_options_init(full, sizeof(*full));
	memcpy(full, given, given->size < sizeof(*full) ? given->size : sizeof(*full));
	if (full->calls > FENCEPOST_CALLS_WORST || full->assume & ~(uint32_t)ASSUME_ALL ||
		full->fix > 15 || full->hazards > 7 || !(full->budget_seconds >= 0))
		return false;
	*out = (struct analysis_options){.hazards = full->hazards,
		.shared = full->shared,
		.global = full->global,
		.cross_threads = full->cross_threads,
		.writer_side = full->writer_side,
		.strict = full->strict,
		.cp_async_trust = full->cp_async_trust && !full->strict,
		.mutate = full->mutate,
		.text_only = full->text_only && !full->mutate,
		.fix = full->fix,
		.assume = full->strict ? 0 : full->assume,
		.rules = full->rules,
		.calls = (enum calls_mode)full->calls,
		.budget_seconds = full->budget_seconds,
		.maxntid = full->maxntid,
		.override_directives = full->override_directives};
	return true;
}

static bool fail(char *error, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool fail(char *error, size_t size, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (size)
		vsnprintf(error, size, fmt, args);
	va_end(args);
	return false;
}

/* "a, b and c" of all names, for messages. */
static void list_names(const char *const *names, uint32_t n, char *out, size_t size)
{
	size_t at = 0;

	for (uint32_t i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s",
			i == 0	     ? ""
			: i + 1 == n ? " or "
				     : ", ",
			names[i]);
}

static uint32_t find_name(const char *const *names, uint32_t n, const char *word, size_t size)
{
	for (uint32_t i = 0; i < n; i++)
		if (strlen(names[i]) == size && memcmp(names[i], word, size) == 0)
			return i;
	return n;
}

struct list {
	const char *option;
	const char *const *names;
	uint32_t n;
	bool none; /* `none' alone is the empty list */
};

/* A comma list as a mask: names add; if the first has a minus, it starts from all and minus takes
 * away. */
static bool parse_list(
	const struct list *list, const char *value, uint32_t *mask, char *error, size_t size)
{
	uint32_t out = value[0] == '-' ? (UINT32_C(1) << list->n) - 1 : 0;
	const char *at = value;
	char known[400];

	list_names(list->names, list->n, known, sizeof(known));
	if (list->none && strcmp(value, "none") == 0) {
		*mask = 0;
		return true;
	}
	for (;;) {
		bool minus = *at == '-';
		const char *word = at + minus;
		size_t length = strcspn(word, ",");
		uint32_t i = find_name(list->names, list->n, word, length);

		if (i == list->n)
			return fail(error, size, "--%s: unknown `%.*s', expected %s%s",
				list->option, (int)(length < 80 ? length : 80), word, known,
				list->none ? ", or none" : "");
		out = minus ? out & ~(UINT32_C(1) << i) : out | UINT32_C(1) << i;
		if (!word[length])
			break;
		at = word + length + 1;
	}
	*mask = out;
	return true;
}

static bool parse_choice(
	const struct list *list, const char *value, uint32_t *choice, char *error, size_t size)
{
	uint32_t i = find_name(list->names, list->n, value, strlen(value));
	char known[200];

	list_names(list->names, list->n, known, sizeof(known));
	if (i == list->n)
		return fail(error, size, "--%s: unknown `%.80s', expected %s", list->option, value,
			known);
	*choice = i;
	return true;
}

static bool parse_seconds(const char *value, double *seconds, char *error, size_t size)
{
	char *end;
	double number = strtod(value, &end);

	if (end == value || *end || !(number >= 0) || number > 1e9)
		return fail(error, size, "--budget: `%.80s' is no number of seconds", value);
	*seconds = number;
	return true;
}

static bool set_rules(
	struct fencepost_options *options, const char *value, char *error, size_t size)
{
	const char *names[RULE_COUNT];

	for (uint32_t i = 0; i < RULE_COUNT; i++)
		names[i] = rule_text(i);
	return parse_list(&(struct list){"rules", names, RULE_COUNT, true}, value, &options->rules,
		error, size);
}

static bool set_spaces(
	struct fencepost_options *options, const char *value, char *error, size_t size)
{
	uint32_t mask = 0;

	if (!parse_list(&(struct list){"spaces", space_names, COUNT(space_names), false}, value,
		    &mask, error, size))
		return false;
	options->shared = mask & 1;
	options->global = mask >> 1 & 1;
	return true;
}

static bool set_choice(struct fencepost_options *options, const char *name, const char *value,
	char *error, size_t size)
{
	static const char *const threads[] = {"cross", "same"},
				 *const placement[] = {"writer", "async"},
				 *const cp_async[] = {"fence", "trust"};
	struct list list = {name, threads, 2, false};
	uint32_t choice;

	if (strcmp(name, "placement") == 0)
		list.names = placement;
	if (strcmp(name, "cp-async") == 0)
		list.names = cp_async;
	if (!parse_choice(&list, value, &choice, error, size))
		return false;
	if (list.names == threads)
		options->cross_threads = choice == 0;
	else if (list.names == placement)
		options->writer_side = choice == 0;
	else
		options->cp_async_trust = choice == 1;
	return true;
}

bool fencepost_options_set(struct fencepost_options *options, const char *name, const char *value,
	char *error, size_t size)
{
	name += strncmp(name, "--", 2) == 0 ? 2 : 0;
	if (strcmp(name, "strict") == 0 || strcmp(name, "mutate") == 0) {
		if (value)
			return fail(error, size, "--%s takes no value", name);
		*(name[0] == 's' ? &options->strict : &options->mutate) = 1;
		return true;
	}
	if (!value || !*value)
		return fail(error, size, "--%.80s needs a value", name);
	if (strcmp(name, "rules") == 0)
		return set_rules(options, value, error, size);
	if (strcmp(name, "spaces") == 0)
		return set_spaces(options, value, error, size);
	if (strcmp(name, "hazards") == 0)
		return parse_list(&(struct list){name, hazard_names, COUNT(hazard_names), false},
			value, &options->hazards, error, size);
	if (strcmp(name, "assume") == 0)
		return parse_list(
			&(struct list){name, assumption_names, COUNT(assumption_names), true},
			value, &options->assume, error, size);
	if (strcmp(name, "fix") == 0)
		return parse_list(&(struct list){name, fix_names, COUNT(fix_names), true}, value,
			&options->fix, error, size);
	if (strcmp(name, "calls") == 0)
		return parse_choice(&(struct list){name, calls_names, COUNT(calls_names), false},
			value, &options->calls, error, size);
	if (strcmp(name, "budget") == 0)
		return parse_seconds(value, &options->budget_seconds, error, size);
	if (strcmp(name, "threads") == 0 || strcmp(name, "placement") == 0 ||
		strcmp(name, "cp-async") == 0)
		return set_choice(options, name, value, error, size);
	return fail(error, size, "unknown option `--%.80s'", name);
}

const char *fencepost_assumption_name(uint32_t n)
{
	return n < COUNT(assumption_names) ? assumption_names[n] : NULL;
}

const char *option_name(enum option_list list, uint32_t n)
{
	switch (list) {
	case OPTION_HAZARDS:
		return n < COUNT(hazard_names) ? hazard_names[n] : NULL;
	case OPTION_FIX:
		return n < COUNT(fix_names) ? fix_names[n] : NULL;
	case OPTION_CALLS:
		return n < COUNT(calls_names) ? calls_names[n] : NULL;
	}
	return NULL;
}
