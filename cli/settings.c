/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line. Comes in: argv. Goes out: settings that make sense together. Invariant:
 * whatever is wrong is said in one line and ends with status 2 before any file is touched.
 */
#include "cli/report.h"

#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum key {
	KEY_CHECK = 256,
	KEY_DUMP,
	KEY_WHY,
	KEY_EXPLAIN,
	KEY_MERGE,
	KEY_FORMAT,
	KEY_REPORT,
	KEY_FAIL_ON,
	KEY_KERNEL,
	KEY_BASELINE,
	KEY_WRITE_BASELINE,
	KEY_PROGRESS,
	KEY_COLOR,
	KEY_ANALYSIS /* and those behind it: options that lib/ knows by name */
};

static const char *const analysis_names[] = {"rules", "hazards", "spaces", "threads", "placement",
	"fix", "assume", "cp-async", "strict", "calls", "budget", "mutate"};
static const char *const formats[] = {"text", "json", "sarif", "html", NULL};
static const char *const stages[] = {
	"tokens", "ir", "cfg", "addresses", "flow", "plan", "dot", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};

#define KEY_OF(n) (KEY_ANALYSIS + (n))

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "What to do (rewrite FILE to standard output, if none is given):", 1},
	{NULL, 'o', "FILE", 0, "write the PTX there", 1},
	{NULL, 'i', NULL, 0, "rewrite in place, many files", 1},
	{"check", KEY_CHECK, NULL, 0, "audit files and folders, write no PTX", 1},
	{"dump", KEY_DUMP, "STAGE", 0, "tokens|ir|cfg|addresses|flow|plan|dot", 1},
	{"why", KEY_WHY, "LINE:LINE", 0, "why these two are an edge, or none", 1},
	{"explain", KEY_EXPLAIN, "RULE", 0, "print the page of a rule", 1},
	{"merge", KEY_MERGE, NULL, 0, "join JSON reports", 1},
	{NULL, 0, NULL, 0, "What to look for:", 2},
	{"rules", KEY_OF(0), "LIST", 0, "only these, or all but -RULE", 2},
	{"hazards", KEY_OF(1), "LIST", 0, "raw,waw,war", 2},
	{"spaces", KEY_OF(2), "LIST", 0, "shared,global", 2},
	{"threads", KEY_OF(3), "cross|same", 0, "follow hand-offs, or not", 2},
	{"kernel", KEY_KERNEL, "GLOB", 0, "only these kernels", 2},
	{"assume", KEY_OF(6), "LIST", 0, "assumptions that may rule edges out", 2},
	{"cp-async", KEY_OF(7), "fence|trust", 0, "cp.async data needs a fence, or not", 2},
	{"strict", KEY_OF(8), NULL, 0, "--assume=none --cp-async=fence", 2},
	{"calls", KEY_OF(9), "MODE", 0, "unknown callees: auto|none|write|async|worst", 2},
	{"budget", KEY_OF(10), "SECONDS", 0, "per function (60)", 2},
	{"mutate", KEY_OF(11), NULL, 0, "try the loss of every fence", 2},
	{NULL, 0, NULL, 0, "What to change:", 3},
	{"placement", KEY_OF(4), "writer|async", 0, "where fences go", 3},
	{"fix", KEY_OF(5), "LIST", 0, "missing,misplaced,wide,redundant; none", 3},
	{NULL, 0, NULL, 0, "What to report:", 4},
	{"format", KEY_FORMAT, "FORM", 0, "text|json|sarif|html", 4},
	{"report", KEY_REPORT, "FILE", 0, "write the report there", 4},
	{"fail-on", KEY_FAIL_ON, "LIST", 0, "levels, rules, incomplete, possible", 4},
	{"baseline", KEY_BASELINE, "FILE", 0, "only findings that are not in it", 4},
	{"write-baseline", KEY_WRITE_BASELINE, "FILE", 0, "write one", 4},
	{NULL, 'j', "N", 0, "files at the same time", 4},
	{"progress", KEY_PROGRESS, NULL, 0, "show it, on a terminal", 4},
	{NULL, 'q', NULL, 0, "print no findings, only what went wrong", 4},
	{NULL, 'v', NULL, 0, "say more; twice: all pairs", 4},
	{"color", KEY_COLOR, "WHEN", 0, "auto|always|never", 4}, {0}};

static uint32_t choice(
	struct argp_state *state, const char *option, const char *const *names, const char *value)
{
	for (uint32_t i = 0; names[i]; i++)
		if (strcmp(names[i], value) == 0)
			return i;
	char known[120] = "";

	for (uint32_t i = 0; names[i]; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			i ? ", " : "", names[i]);
	argp_error(state, "--%s: unknown `%s', expected one of %s", option, value, known);
	return 0;
}

static uint32_t number(struct argp_state *state, const char *what, const char *value, char stop)
{
	char *end;

	errno = 0;
	unsigned long n = strtoul(value, &end, 10);

	if (end == value || (*end && *end != stop) || errno || n == 0 || n > 1000000000 ||
		*value == '-')
		argp_error(state, "%s: `%s' is no number from 1 on", what, value);
	return (uint32_t)n;
}

static void set_mode(struct argp_state *state, struct settings *settings, enum mode mode)
{
	if (settings->mode != MODE_REWRITE && settings->mode != mode)
		argp_error(
			state, "--check, --dump, --why, --explain and --merge exclude each other");
	settings->mode = mode;
}

static bool fail_on_word(struct fail_on *fail_on, const char *word)
{
	for (int level = FENCEPOST_NOTE; level <= FENCEPOST_ERROR; level++)
		if (strcmp(word, fencepost_level_name((enum fencepost_level)level)) == 0) {
			if (!fail_on->by_level || level < (int)fail_on->level)
				fail_on->level = (enum fencepost_level)level;
			return fail_on->by_level = true;
		}
	for (uint32_t rule = 0; fencepost_rule_name(rule); rule++)
		if (strcmp(word, fencepost_rule_name(rule)) == 0) {
			fail_on->rules |= UINT32_C(1) << rule;
			return true;
		}
	if (strcmp(word, "incomplete") == 0)
		return fail_on->incomplete = true;
	if (strcmp(word, "possible") == 0)
		return fail_on->possible = true;
	return strcmp(word, "none") == 0;
}

static void set_fail_on(struct argp_state *state, struct settings *settings, const char *value)
{
	char *copy = strdup(value), *rest = copy;

	if (!copy)
		argp_failure(state, 2, ENOMEM, "--fail-on");
	settings->fail_on = (struct fail_on){0};
	settings->fail_on_given = true;
	for (char *word; (word = strsep(&rest, ","));)
		if (!fail_on_word(&settings->fail_on, word))
			argp_error(state,
				"--fail-on: unknown `%s', expected error, warning, note, a rule, "
				"incomplete, "
				"possible, or none",
				word);
	free(copy);
}

static void set_why(struct argp_state *state, struct settings *settings, const char *value)
{
	const char *colon = strchr(value, ':');

	if (!colon)
		argp_error(state, "--why: `%s' is not LINE:LINE", value);
	settings->why_generic = number(state, "--why", value, ':');
	settings->why_async = number(state, "--why", colon + 1, 0);
}

static void set_analysis(struct argp_state *state, struct settings *settings, int key, char *value)
{
	char error[600];

	if (!fencepost_options_set(&settings->options, analysis_names[key - KEY_ANALYSIS], value,
		    error, sizeof(error)))
		argp_error(state, "%s", error);
}

static void append(
	struct argp_state *state, const char *const **list, uint32_t *n, const char *text)
{
	const char **grown = malloc(sizeof(*grown) * ((size_t)*n + 2));

	if (!grown)
		argp_failure(state, 2, ENOMEM, "reading the command line");
	if (*n)
		memcpy(grown, *list, sizeof(*grown) * *n);
	free((void *)(uintptr_t)*list);
	grown[(*n)++] = text;
	grown[*n] = NULL;
	*list = grown;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case 'o':
		settings->output = arg;
		return 0;
	case 'i':
		settings->in_place = true;
		return 0;
	case 'j':
		settings->jobs = number(state, "-j", arg, 0);
		return 0;
	case 'q':
		settings->quiet = true;
		return 0;
	case 'v':
		settings->verbosity++;
		return 0;
	case KEY_CHECK:
		set_mode(state, settings, MODE_CHECK);
		return 0;
	case KEY_MERGE:
		set_mode(state, settings, MODE_MERGE);
		return 0;
	case KEY_DUMP:
		set_mode(state, settings, MODE_DUMP);
		settings->stage = (enum stage)choice(state, "dump", stages, arg);
		return 0;
	case KEY_WHY:
		set_mode(state, settings, MODE_WHY);
		set_why(state, settings, arg);
		return 0;
	case KEY_EXPLAIN:
		set_mode(state, settings, MODE_EXPLAIN);
		settings->rule = arg;
		return 0;
	case KEY_FORMAT:
		settings->format = (enum format)choice(state, "format", formats, arg);
		return 0;
	case KEY_REPORT:
		settings->report = arg;
		return 0;
	case KEY_FAIL_ON:
		set_fail_on(state, settings, arg);
		return 0;
	case KEY_KERNEL:
		append(state, &settings->kernels, &settings->nkernels, arg);
		return 0;
	case KEY_BASELINE:
		settings->baseline = arg;
		return 0;
	case KEY_WRITE_BASELINE:
		settings->write_baseline = arg;
		return 0;
	case KEY_PROGRESS:
		settings->progress = settings->progress_given = true;
		return 0;
	case KEY_COLOR:
		settings->color = (enum color)choice(state, "color", colors, arg);
		return 0;
	case ARGP_KEY_ARG:
		append(state, &settings->paths, &settings->npaths, arg);
		return 0;
	default:
		if (key < KEY_ANALYSIS || key >= KEY_ANALYSIS + 12)
			return ARGP_ERR_UNKNOWN;
		set_analysis(state, settings, key, arg);
		return 0;
	}
}

/* The file that a path leads to, or will lead to when it is made; NULL: no such folder. */
static char *place_of(const char *path)
{
	char *at = realpath(path, NULL);

	if (at)
		return at;
	char *copy = strdup(path), *again = strdup(path), *whole = NULL;
	char *folder = copy ? realpath(dirname(copy), NULL) : NULL;

	if (again && folder && asprintf(&whole, "%s/%s", folder, basename(again)) < 0)
		whole = NULL;
	free(folder);
	free(copy);
	free(again);
	return whole;
}

/* Both are one file, and no device: what is written to one would be lost in the other. */
static bool same_file(const char *a, const char *b)
{
	struct stat st;

	if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0)
		return strcmp(a, b) == 0;
	if (stat(a, &st) == 0 && !S_ISREG(st.st_mode))
		return false;
	char *one = place_of(a), *other = place_of(b);
	bool same = one && other && strcmp(one, other) == 0;

	free(one);
	free(other);
	return same;
}

/* Written files must not take each other's place, nor, but for the PTX itself, an input's. */
static const char *clash(const struct settings *s)
{
	const char *ptx = s->output ? s->output : s->in_place ? NULL : "-";

	if (s->report && s->mode == MODE_REWRITE && ptx && same_file(s->report, ptx))
		return "the report would take the place of the PTX";
	if (s->report && s->write_baseline && same_file(s->report, s->write_baseline))
		return "--report and --write-baseline name one file";
	for (uint32_t i = 0; i < s->npaths; i++) {
		if (strcmp(s->paths[i], "-") == 0)
			continue;
		if (s->report && same_file(s->report, s->paths[i]))
			return "--report names an input";
		if (s->write_baseline && same_file(s->write_baseline, s->paths[i]))
			return "--write-baseline names an input";
	}
	return NULL;
}

/* Options that were read but do not go together. */
static const char *conflict(const struct settings *s)
{
	bool rewrite = s->mode == MODE_REWRITE;

	if (s->mode == MODE_EXPLAIN)
		return s->npaths ? "--explain takes no file" : NULL;
	if (!s->npaths)
		return "no file given";
	if (s->in_place && s->output)
		return "-i and -o exclude each other";
	if ((s->in_place || (s->output && s->mode != MODE_MERGE && s->mode != MODE_DUMP)) &&
		!rewrite)
		return "-i and -o go with rewriting only";
	if (s->mode == MODE_MERGE && (s->format == FORMAT_SARIF || s->format == FORMAT_HTML))
		return "--merge writes JSON only";
	if (s->mode == MODE_MERGE && s->report)
		return "--merge writes to standard output, or to -o FILE";
	if (rewrite && !s->in_place && s->npaths > 1)
		return "several files need -i, or --check";
	if ((s->mode == MODE_DUMP || s->mode == MODE_WHY) && s->npaths > 1)
		return "--dump and --why take one file";
	if (rewrite && !s->in_place && !s->output && s->format != FORMAT_TEXT && !s->report)
		return "standard output takes the PTX: this --format needs --report=FILE, -o or -i";
	if (s->in_place)
		for (uint32_t i = 0; i < s->npaths; i++)
			if (strcmp(s->paths[i], "-") == 0)
				return "-i cannot rewrite standard input";
	if ((s->fail_on_given || s->baseline || s->write_baseline) && s->mode != MODE_CHECK)
		return "--fail-on, --baseline and --write-baseline go with --check";
	return clash(s);
}

static bool in_argp;

/* --help and --version end inside argp, which does not look whether its words were taken. */
static void check_written(void)
{
	if (!in_argp || !fflush(stdout))
		return;
	fprintf(stderr, "fencepost: error: -: cannot write: %s\n", strerror(errno));
	_exit(2);
}

void settings_read(struct settings *settings, int argc, char **argv)
{
	static const struct argp argp = {.options = options,
		.parser = parse_opt,
		.args_doc = "FILE\n--check PATH...\n-i FILE...\n--merge REPORT...\n--explain RULE",
		.doc = "Puts the missing proxy fences into PTX, or audits it.\v"
		       "FILE may be - for standard input. Status: 0 done, 1 --check found "
		       "something or "
		       "an edge is left, 2 wrong usage or input."};
	const char *wrong;

	*settings = (struct settings){
		.fail_on = {.level = FENCEPOST_ERROR, .by_level = true, .incomplete = true}};
	fencepost_options_init(&settings->options, sizeof(settings->options));
	argp_err_exit_status = 2;
	in_argp = true;
	atexit(check_written);
	if (argp_parse(&argp, argc, argv, 0, NULL, settings))
		exit(2);
	in_argp = false;
	wrong = conflict(settings);
	if (wrong) {
		fprintf(stderr, "%s: error: %s\nTry `%s --help' for more information.\n",
			program_invocation_short_name, wrong, program_invocation_short_name);
		exit(2);
	}
}

void settings_free(struct settings *settings)
{
	free((void *)(uintptr_t)settings->kernels);
	free((void *)(uintptr_t)settings->paths);
}

bool settings_color(const struct settings *settings, FILE *out)
{
	if (settings->color != COLOR_AUTO)
		return settings->color == COLOR_ALWAYS;
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	return isatty(fileno(out)) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

static bool select_kernel(const char *name, void *context)
{
	const struct settings *settings = context;
	char *plain = demangle(name);
	bool selected = false;

	for (uint32_t i = 0; i < settings->nkernels && !selected; i++)
		selected = fnmatch(settings->kernels[i], name, 0) == 0 ||
			   (plain && fnmatch(settings->kernels[i], plain, 0) == 0);
	free(plain);
	return selected;
}

void settings_select(const struct settings *settings, struct fencepost_options *options_of_run)
{
	if (!settings->nkernels)
		return;
	options_of_run->select = select_kernel;
	options_of_run->select_context = (void *)(uintptr_t)settings;
}
