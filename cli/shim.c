/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fencepost-ptxas: takes the command line of ptxas, puts the missing fences into the PTX on the
 * way, and lets the real ptxas do the rest. Its output, its messages and its status are given back
 * as if it had been called itself.
 *
 * Invariant: an input that had to be fenced and was not is never assembled in silence.
 */
#include "cli/output.h"
#include "cli/shim_args.h"
#include "cli/shim_find.h"
#include "cli/shim_input.h"
#include "cli/shim_nvcc.h"
#include "cli/shim_run.h"
#include "cli/shim_settings.h"
#include "cli/shim_temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shim {
	const char *real; /* ptxas */
	char *const *argv;
	struct shim_args args;
	struct shim_settings settings;
	struct shim_text *texts; /* one for each input */
};

static void say(const char *level, const char *about, const char *text)
{
	fprintf(stderr, "fencepost-ptxas: %s: %s%s%s\n", level, about ? about : "",
		about ? ": " : "", text);
}

static _Noreturn void fail(int status, const char *about, const char *text)
{
	say("error", about, text);
	exit(status);
}

/* The real ptxas in our place, with the words that we were given or, where an options file was read
 * (it might be a pipe), those that it stands for. */
static _Noreturn void become_real(struct shim *shim)
{
	struct shim_words words = {0};
	shim_words_add(&words, shim->real, strlen(shim->real));
	for (char *const *word = shim->args.expanded ? shim->args.words.v : shim->argv; *word;
		word++)
		shim_words_add(&words, *word, strlen(*word));
	shim_run_instead(shim->real, words.v);
	fail(2, shim->real, strerror(errno));
}

/* The first word may be the name of what we stand in for: nvcc --ptxas-prefix=fencepost-ptxas. */
static const char *named_ptxas(char *const *argv)
{
	if (!argv[0])
		return NULL;
	const char *slash = strrchr(argv[0], '/');
	return !strcmp(slash ? slash + 1 : argv[0], "ptxas") ? argv[0] : NULL;
}

/* Triton and others take the text of --version for the name of the assembler. */
static _Noreturn void version(struct shim *shim)
{
	char *argv[] = {(char *)(uintptr_t)shim->real, (char[]){"--version"}, NULL};
	fflush(stdout);
	int status = shim_run(shim->real, argv, NULL, 0);
	if (status == 0)
		printf("fencepost-ptxas %s, options %016llx\n", fencepost_version(),
			(unsigned long long)shim_settings_hash(&shim->settings));
	fflush(stdout);
	shim_run_end(status);
}

static char *read_options_file(void *context, const char *path, size_t *size)
{
	(void)context;
	return shim_read(path, size, &(bool){false});
}

static void fence_inputs(struct shim *shim)
{
	struct fencepost_options options = shim->settings.options;
	options.maxntid = shim->args.maxntid;
	options.override_directives = shim->args.override_directives;
	options.text_only = !shim->settings.verbose;
	shim->texts = shim_grown(NULL, (shim->args.ninputs + 1) * sizeof *shim->texts);
	for (uint32_t i = 0; i < shim->args.ninputs; i++) {
		shim_text_read(&shim->texts[i], &shim->args, &shim->args.inputs[i]);
		shim_text_fence(&shim->texts[i], &options);
	}
}

static void say_result(const struct shim *shim, const struct shim_text *text)
{
	const struct fencepost_result *result = text->result;
	for (uint32_t i = 0; shim->settings.verbose && i < result->nfindings; i++) {
		const struct fencepost_finding *found = result->findings[i];
		const struct fencepost_place *place =
			found->generic ? found->generic : found->fence;
		fprintf(stderr, "fencepost-ptxas: %s:%u: %s: %s [%s]\n", text->shown,
			place ? place->line : 0, fencepost_level_name(found->level), found->message,
			fencepost_rule_name(found->rule));
	}
	for (uint32_t i = 0; shim->settings.verbose && i < result->nfences; i++) {
		const struct fencepost_fence *fence = result->fences[i];
		fprintf(stderr, "fencepost-ptxas: %s:%u: %s %s\n", text->shown, fence->line,
			fencepost_change_name(fence->change), fence->text ? fence->text : "");
	}
	if (result->edges_left && (!shim->settings.quiet || shim->settings.fail_on_edge))
		fprintf(stderr,
			"fencepost-ptxas: %s: %s: %u edge(s) left that no fence settles; fencepost "
			"--check says which\n",
			shim->settings.fail_on_edge ? "error" : "warning", text->shown,
			result->edges_left);
}

static void complain(const struct shim *shim)
{
	for (uint32_t i = 0; i < shim->args.ninputs; i++)
		if (shim->texts[i].bad)
			shim_text_complain(&shim->texts[i]);
}

/* ptxas is asked what it says of the input as it is. If it takes it, the fault is ours and nothing
 * may be written; if not, its words and its status are what the caller waits for, and nothing else:
 * XLA reads the newest version of PTX out of the first line of its complaint. */
static _Noreturn void reject(struct shim *shim, const char *shown)
{
	static const char nowhere[] = "/dev/null";
	struct shim_args *args = &shim->args;
	struct shim_words words = {0};
	shim_words_add(&words, shim->real, strlen(shim->real));
	for (uint32_t i = 0; i < args->words.n; i++) {
		bool is_output = i == args->output_word;
		size_t size = is_output ? args->output_value : strlen(args->words.v[i]);
		shim_words_add(&words, args->words.v[i], size);
		if (is_output) {
			char *word = words.v[words.n - 1];
			words.v[words.n - 1] = shim_grown(word, size + sizeof nowhere);
			memcpy(words.v[words.n - 1] + size, nowhere, sizeof nowhere);
		}
	}
	if (args->output_word == UINT32_MAX) {
		shim_words_add(&words, "-o", 2);
		shim_words_add(&words, nowhere, sizeof nowhere - 1);
	}
	int status = shim_run(shim->real, words.v, NULL, 0);
	if (status)
		shim_run_end(status);
	complain(shim);
	fail(2, shown,
		"not fenced, so not assembled; FENCEPOST_ON_ERROR=pass assembles it as it is");
}

static void judge(struct shim *shim)
{
	bool edges = false, once = false;
	const char *bad = NULL;
	for (uint32_t i = 0; i < shim->args.ninputs; i++) {
		const struct shim_text *text = &shim->texts[i];
		once |= text->once;
		if (text->bad && !bad)
			bad = text->shown;
		if (!text->result || text->bad)
			continue;
		say_result(shim, text);
		edges |= text->result->edges_left > 0;
	}
	if (bad && (shim->settings.pass_on_error || once))
		complain(shim);
	if (bad && shim->settings.pass_on_error)
		say("warning", bad, "not fenced; assembled as it is");
	else if (bad && once)
		fail(2, bad,
			"not fenced, so not assembled; FENCEPOST_ON_ERROR=pass assembles it as it "
			"is");
	else if (bad)
		reject(shim, bad);
	if (edges && shim->settings.fail_on_edge)
		exit(1);
}

static void replace_file(const char *path, const char *text, size_t size)
{
	char error[256];
	if (!output_write(path, text, size, error, sizeof error))
		fail(2, NULL, error);
}

static void rewrite_in_place(struct shim *shim)
{
	for (uint32_t i = 0; i < shim->args.ninputs; i++) {
		struct shim_text *text = &shim->texts[i];
		if (!shim->settings.in_place || shim->args.inputs[i].kind != SHIM_FILE ||
			text->once || !shim_text_changed(text))
			continue;
		size_t size;
		const char *output = shim_text_output(text, &size);
		replace_file(text->shown, output, size);
		text->bad = true; /* ptxas reads the file itself now */
	}
}

static bool needs_copy(const struct shim_text *text)
{
	return shim_text_changed(text) || (text->once && text->text);
}

/* The command line for ptxas with copies in the place of inputs; places gets one row for each copy.
 */
static struct shim_words told(struct shim *shim, struct shim_place *places, uint32_t *nplaces)
{
	struct shim_words words = {0};
	uint32_t next = 0;
	shim_words_add(&words, shim->real, strlen(shim->real));
	for (uint32_t i = 0; i < shim->args.ninputs; i++) {
		const struct shim_input *input = &shim->args.inputs[i];
		const struct shim_text *text = &shim->texts[i];
		for (; next < input->first; next++)
			shim_words_add(
				&words, shim->args.words.v[next], strlen(shim->args.words.v[next]));
		if (!needs_copy(text))
			continue;
		size_t size;
		const char *output = shim_text_output(text, &size);
		const char *path = shim_temp_file(text->name, output, size);
		if (!path)
			fail(2, "a temporary file cannot be written", strerror(errno));
		shim_words_add(&words, path, strlen(path));
		places[(*nplaces)++] = (struct shim_place){path, text->shown, text->edits,
			shim_text_changed(text) ? text->nedits : 0, shim->args.ninputs == 1};
		next = input->last + 1;
	}
	for (; next < shim->args.words.n; next++)
		shim_words_add(&words, shim->args.words.v[next], strlen(shim->args.words.v[next]));
	return words;
}

/* nvcc's temporary files, of which the fatbinary may get one that we do not change. */
static void warn_of_embedded_ptx(const struct shim *shim)
{
	for (uint32_t i = 0; !shim->settings.quiet && i < shim->args.ninputs; i++) {
		const struct shim_text *text = &shim->texts[i];
		if (!shim_text_changed(text) || !shim_nvcc_embeds())
			continue;
		say("warning", text->shown,
			"nvcc may embed this PTX, without the fences, beside the cubin; "
			"FENCEPOST_INPLACE=1, or a code=sm_... alone, avoids that");
		return;
	}
}

static _Noreturn void assemble(struct shim *shim)
{
	bool copies = false;
	rewrite_in_place(shim);
	for (uint32_t i = 0; i < shim->args.ninputs; i++)
		copies |= needs_copy(&shim->texts[i]);
	if (!copies)
		become_real(shim);
	warn_of_embedded_ptx(shim);
	const char *problem = shim_temp_begin(shim->args.ninputs);
	if (problem)
		fail(2, NULL, problem);
	uint32_t nplaces = 0;
	struct shim_place *places = shim_grown(NULL, shim->args.ninputs * sizeof *places);
	struct shim_words words = told(shim, places, &nplaces);
	int status = shim_run(shim->real, words.v, places, nplaces);
	if (status < 0)
		fail(2, shim->real, strerror(errno));
	shim_run_end(status);
}

/* A pipe must not get the number of a standard stream that the caller closed. */
static void open_standard_streams(void)
{
	for (int file = 0; file <= STDERR_FILENO; file++)
		if (fcntl(file, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			exit(2);
}

static void help(void)
{
	puts("Usage: fencepost-ptxas [ptxas options] <ptx file>,...\n"
	     "Puts missing proxy fences into the PTX input, then runs the real ptxas.\n\n"
	     "  FENCEPOST_OPTIONS   options of fencepost that change the PTX, -v, -q\n"
	     "  FENCEPOST_PTXAS     the real ptxas (else the next one on PATH)\n"
	     "  FENCEPOST_ON_ERROR  input that cannot be fenced: fail (default) or pass\n"
	     "  FENCEPOST_ON_EDGE   an edge that no fence settles: warn (default) or fail\n"
	     "  FENCEPOST_INPLACE   1: the input file itself gets the fences\n\n"
	     "All other options are those of ptxas: ptxas --help.");
}

int main(int argc, char **argv)
{
	struct shim shim = {.argv = argv + (argc > 0)};
	const char *problem;
	open_standard_streams();
	if (argc == 2 && !strcmp(argv[1], "--fencepost-help")) {
		help();
		return 0;
	}
	const char *named = named_ptxas(shim.argv);
	shim.argv += named != NULL;
	shim.real = shim_find_ptxas(named, &problem);
	if (!shim.real)
		fail(2, NULL, problem);
	bool guarded = shim_find_guarded();
	shim_find_guard(shim.real);
	uint32_t n = 0;
	while (shim.argv[n])
		n++;
	if (guarded || !shim_args_parse(&shim.args, n, shim.argv, read_options_file, NULL) ||
		shim.args.informs || (!shim.args.version && !shim.args.ninputs)) {
		shim.args.expanded &= !guarded && !shim.args.problem;
		become_real(&shim);
	}
	if (!shim_settings_read(&shim.settings)) {
		if (!shim.settings.pass_on_error)
			fail(2, NULL, shim.settings.problem);
		say("warning", shim.settings.problem, "nothing is fenced");
		become_real(&shim);
	}
	if (shim.args.version)
		version(&shim);
	fence_inputs(&shim);
	judge(&shim);
	assemble(&shim);
}
