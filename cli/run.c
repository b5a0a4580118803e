/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewriting and --check. Comes in: settings. Goes out: PTX, a report, a status. Files are worked on
 * by several threads; reports and standard output are written by one, in order. Invariant: one
 * file's error does not stop the others, and the worst status wins.
 */
#include "cli/baseline.h"
#include "cli/files.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "lib/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct work { /* one file's, from a worker to the one that reports */
	struct file_result file;
	struct source source;
	struct diags diags;
	char *error;
	struct page page; /* for HTML */
	char anchor[16];
};

struct run_state {
	const struct settings *settings;
	struct fencepost_options options;
	struct inputs inputs;
	struct report report;
	struct output output; /* of the report */
	const char *report_path;
	struct held *held; /* PTX that waits until the report is written */
	uint32_t nheld, held_cap;
	struct baseline *baseline, *fresh;
	struct totals totals;
	struct progress progress;
	bool color; /* of standard error */
	int status;
};

static void raise_status(struct run_state *run, int status)
{
	if (status > run->status)
		run->status = status;
}

static void read_error(struct work *work, const char *fallback)
{
	const char *text = work->diags.n ? work->diags.v[0].message : fallback;

	work->error = strdup(text);
	work->file.error = work->error ? work->error : "out of memory";
}

static const char *name_of(const struct input *input)
{
	return strcmp(input->path, "-") == 0 ? "<stdin>" : input->path;
}

static void *work_on(void *context, uint32_t i)
{
	struct run_state *run = context;
	struct input *input = &run->inputs.v[i];
	struct work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->file.name = name_of(input);
	if (input->problem || !source_read(&work->source, input->path, &work->diags)) {
		read_error(work, input->problem ? input->problem : "cannot read");
		return work;
	}
	work->file.text = work->source.text;
	work->file.size = work->source.size;
	struct analysis_observer observer = {page_see, &work->page};
	bool html = run->settings->format == FORMAT_HTML;

	snprintf(work->anchor, sizeof(work->anchor), "f%u", i);
	work->page.anchor = work->anchor;
	work->file.page = html ? &work->page : NULL;
	enum fencepost_status status = run_observed(
		&run->options, &work->source, html ? &observer : NULL, &work->file.result);

	if (status == FENCEPOST_NO_MEMORY || status == FENCEPOST_BAD_OPTIONS)
		read_error(work, status == FENCEPOST_NO_MEMORY ? "out of memory"
							       : "an option is out of range");
	return work;
}

static bool fails(const struct fail_on *fail_on, const struct fencepost_result *result)
{
	for (uint32_t i = 0; i < result->nkernels; i++)
		if (fail_on->incomplete && result->kernels[i]->incomplete)
			return true;
	for (uint32_t i = 0; i < result->nfindings; i++) {
		const struct fencepost_finding *f = result->findings[i];

		if (f->state != FENCEPOST_NEW)
			continue;
		if ((fail_on->by_level && f->level >= fail_on->level) ||
			fail_on->rules >> f->rule & 1)
			return true;
		if (fail_on->possible && f->confidence == FENCEPOST_POSSIBLE &&
			fencepost_rule_level(f->rule) >= FENCEPOST_WARNING)
			return true;
	}
	return false;
}

static bool complain(struct run_state *run, const char *error)
{
	fprintf(stderr, "fencepost: error: %s\n", error);
	run->status = 2;
	return false;
}

static void complain_unwritten(struct run_state *run, const char *error)
{
	run->totals.unwritten++;
	complain(run, error);
}

/* A report that cannot be written is an error, and on an error nothing is written: the PTX waits
 * for it. Not in many files for what goes to the terminal. */
static bool waits_for_report(const struct run_state *run)
{
	return run->report.out && !(run->report.out == stderr && run->settings->in_place);
}

static bool hold(struct run_state *run, const char *path, const struct fencepost_result *result,
	char *error, size_t size)
{
	if (run->nheld == run->held_cap) {
		uint32_t cap = run->held_cap ? 2 * run->held_cap : 16;
		struct held *grown = realloc(run->held, sizeof(*grown) * cap);

		if (!grown) {
			snprintf(error, size, "out of memory");
			return false;
		}
		run->held = grown;
		run->held_cap = cap;
	}
	struct held *held = &run->held[run->nheld];

	if (held_open(held, path, result->ptx, result->ptx_size, error, size)) {
		run->nheld++;
		return true;
	}
	held_free(held);
	return false;
}

/* The rewritten text goes where the command line says; an unchanged file in place stays untouched.
 */
static void write_ptx(struct run_state *run, const struct file_result *file, const char *path)
{
	const struct settings *settings = run->settings;
	char error[4200];

	if (settings->in_place && !file->result->changed)
		return;
	if (settings->nkernels && !file->result->nkernels)
		return; /* an error, said when the report is closed */
	if (!settings->in_place)
		path = settings->output ? settings->output : "-";
	bool good = waits_for_report(run) ? hold(run, path, file->result, error, sizeof(error))
					  : output_write(path, file->result->ptx,
						    file->result->ptx_size, error, sizeof(error));

	if (!good)
		complain_unwritten(run, error);
}

static void release_held(struct run_state *run, bool commit)
{
	char error[4200];

	for (uint32_t i = 0; i < run->nheld; i++) {
		if (commit && !held_commit(&run->held[i], error, sizeof(error)))
			complain_unwritten(run, error);
		held_free(&run->held[i]);
	}
	free(run->held);
	run->held = NULL;
	run->nheld = 0;
}

static void judge(struct run_state *run, const struct file_result *file, const char *path)
{
	if (!file->result || file->result->status != FENCEPOST_OK) {
		raise_status(run, 2);
		return;
	}
	if (run->settings->mode == MODE_CHECK) {
		raise_status(run, fails(&run->settings->fail_on, file->result));
		return;
	}
	raise_status(run, file->result->edges_left > 0);
	write_ptx(run, file, path);
}

static void finish_file(void *context, uint32_t i, void *result)
{
	struct run_state *run = context;
	struct work nothing = {.file = {.name = run->inputs.v[i].path, .error = "out of memory"}};
	struct work *work = result ? result : &nothing;
	struct file_result *file = &work->file;

	progress_clear(&run->progress);
	if (run->baseline)
		baseline_apply(run->baseline, file, i);
	print_diagnostics(stderr, file, run->color, !run->settings->quiet);
	judge(run, file, run->inputs.v[i].path);
	totals_add(&run->totals, file);
	if (run->report.out)
		report_file(&run->report, file);
	if (run->fresh && !baseline_add(run->fresh, file))
		raise_status(run, 2);
	progress_step(&run->progress, run->inputs.v[i].size);
	if (!result)
		return;
	fencepost_free(file->result);
	source_free(&work->source);
	diags_free(&work->diags);
	free(work->error);
	page_free(&work->page);
	free(work);
}

/* Opened before the first file, so that an unwritable place costs no work. */
static bool open_report(struct run_state *run)
{
	const struct settings *s = run->settings;
	char error[4200];

	if (s->report) {
		if (!output_open(&run->output, s->report, error, sizeof(error)))
			return complain(run, error);
		run->report_path = s->report;
		report_begin(&run->report, s, s->format, run->output.file);
	} else if (!s->quiet || s->format != FORMAT_TEXT) {
		bool text_beside_ptx = s->mode == MODE_REWRITE && s->format == FORMAT_TEXT;

		report_begin(&run->report, s, s->format, text_beside_ptx ? stderr : stdout);
	}
	return true;
}

static bool open_baselines(struct run_state *run)
{
	char error[4400];

	if (run->settings->baseline) {
		run->baseline = baseline_read(run->settings->baseline, error, sizeof(error));
		if (!run->baseline) {
			fprintf(stderr, "%s\n", error);
			run->status = 2;
			return false;
		}
	}
	if (run->settings->write_baseline) {
		run->fresh = baseline_new();
		if (!run->fresh)
			return complain(run, "out of memory");
	}
	return true;
}

/* Which file is which is known once all are. */
static bool compare_files(struct run_state *run)
{
	const char **names = calloc(run->inputs.n + 1, sizeof(*names));
	bool good = names;

	for (uint32_t i = 0; i < run->inputs.n && good; i++)
		names[i] = name_of(&run->inputs.v[i]);
	if (good && run->baseline)
		good = baseline_inputs(run->baseline, names, run->inputs.n);
	if (good && run->fresh)
		good = baseline_inputs(run->fresh, names, run->inputs.n);
	free(names);
	const char *unclear = good && run->baseline ? baseline_unclear(run->baseline) : NULL;

	if (unclear && !run->settings->quiet)
		fprintf(stderr,
			"fencepost: warning: %s: `%s' may be any of several files: what is known "
			"of it "
			"counts as new; write the baseline again\n",
			run->settings->baseline, unclear);
	return good;
}

/* False: it is not where it should be. */
static bool close_report(struct run_state *run)
{
	char error[4400];
	uint32_t nfixed = 0;
	struct fixed_finding *fixed = run->baseline ? baseline_fixed(run->baseline, &nfixed) : NULL;
	bool good = !run->report.out || report_end(&run->report, &run->totals, fixed, nfixed);

	free(fixed);
	if (run->report_path) {
		good = output_commit(&run->output, run->report_path, error, sizeof(error));
		if (!good)
			complain(run, error);
	} else if (!good) {
		complain(run, "cannot write the report");
	}
	return good;
}

static void close_run(struct run_state *run)
{
	char error[4400];

	release_held(run, close_report(run));
	/* Nothing looked at must not look like nothing found. */
	if (run->settings->nkernels && !run->totals.kernels && !run->totals.broken)
		complain(run, "no kernel of these files matches --kernel");
	if (run->report_path && !run->settings->quiet)
		print_summary(stderr, run->settings, &run->totals, run->color);
	/* After an input error the baseline would forget that file's findings: it stays as it was.
	 */
	if (run->fresh && run->totals.broken)
		complain(run, "the baseline is not written because of the errors above");
	else if (run->fresh &&
		 !baseline_write(run->fresh, run->settings->write_baseline, error, sizeof(error)))
		complain(run, error);
}

/* Where only a status is asked for, nobody reads where fences would go; where only the PTX, nobody what else is found. */
static void leave_out(struct run_state *run)
{
	if (run->report.out)
		return;
	if (run->settings->mode == MODE_CHECK)
		run->options.fix = 0;
	else
		run->options.text_only = !run->fresh;
}

static uint32_t threads_of(const struct settings *settings)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return settings->jobs ? settings->jobs : cores > 0 ? (uint32_t)cores : 1;
}

int run_files(const struct settings *settings)
{
	struct run_state run = {.settings = settings, .color = settings_color(settings, stderr)};
	struct pool pool = {work_on, finish_file, &run};

	run.options = settings->options;
	settings_select(settings, &run.options);
	if (open_baselines(&run) && inputs_collect(settings, &run.inputs) && compare_files(&run) &&
		open_report(&run)) {
		leave_out(&run);
		progress_start(&run.progress, settings, run.inputs.n, run.inputs.bytes);
		if (!pool_run(&pool, run.inputs.n, threads_of(settings)))
			complain(&run, "out of memory");
		progress_clear(&run.progress);
		close_run(&run);
	} else if (!run.status) {
		complain(&run, "out of memory");
	}
	inputs_free(&run.inputs);
	baseline_free(run.baseline);
	baseline_free(run.fresh);
	return run.status;
}
