/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pass list. Comes in: PTX bytes. Goes out: the same bytes with fences, and what was found.
 * Each root function is analysed in an arena of its own that is emptied after it, so that memory
 * follows the largest function. Invariant: with an error anywhere in the text there is no output.
 */
#include "lib/internal.h"

#include <stdlib.h>
#include <string.h>

/* A kernel, or a function with a body: functions that some root calls are no roots (spec 2.7). */
static bool is_candidate(const struct module *module, uint32_t function, bool entries)
{
	const struct function_info *info = &module->functions[function];

	return info->has_body && info->is_entry == entries;
}

bool root_runs(const struct root *root, uint32_t function)
{
	for (uint32_t i = 0; i < root->result.nfunctions; i++)
		if (root->result.functions[i] == function)
			return true;
	return false;
}

bool root_runs_at(const struct root *root, uint32_t at)
{
	for (uint32_t i = 0; i < root->result.nfunctions; i++) {
		const struct function_info *info =
			&root->module->functions[root->result.functions[i]];

		if (info->body.begin <= at && at < info->body.end)
			return true;
	}
	return false;
}

static bool is_selected(struct job *job, const struct module *module, uint32_t function)
{
	if (!job->options->select)
		return true;
	uint32_t symbol = module->functions[function].symbol;
	struct slice name = names_text(module->names, module->symbols[symbol].name);

	return job->options->select(text_format(&job->keep, "%.*s", (int)name.size, name.text),
		job->options->select_context);
}

/* Functions that are to be run again. One has the same number in the text so far, and roots come module by module. */
static const bool *list_to_run(struct job *job, const struct module *module)
{
	const struct roots *roots = &job->of->roots;
	const struct module *same = &job->of->modules.v[module - job->modules.v];
	bool *to_run = ARENA_NEW(&job->keep, bool, module->nfunctions);

	for (; job->nseen < roots->n && roots->v[job->nseen].module <= same; job->nseen++)
		if (roots->v[job->nseen].module == same)
			to_run[roots->v[job->nseen].result.function] = roots->v[job->nseen].again;
	return to_run;
}

static void analyse_one(struct job *job, const struct module *module, uint32_t function)
{
	struct root root = {.module = module};

	if (job->to_run ? !job->to_run[function] : !is_selected(job, module, function))
		return;
	analyse_root_observed(module, function, &job->analysis, &job->scratch, &job->keep,
		&job->diags, &root.result, job->observer);
	arena_reset(&job->scratch);
	for (uint32_t i = 0; i < root.result.nfunctions; i++)
		job->covered[root.result.functions[i]] = true;
	ARENA_PUSH(&job->keep, job->roots.v, job->roots.n, job->roots.cap, root);
	if (job->options->progress)
		job->options->progress(module->functions[function].at.end, job->source.size,
			job->options->progress_context);
}

/* A later root that calls an earlier one takes its place; what an earlier one calls is no root. */
static void skip_covered(struct job *job, const struct module *module, uint32_t from)
{
	struct root *roots = job->roots.v;
	uint32_t *root_of = ARENA_NEW(&job->scratch, uint32_t, module->nfunctions); /* 1 + root */

	for (uint32_t j = from; j < job->roots.n; j++) {
		for (uint32_t k = 0; k < roots[j].result.nfunctions; k++) {
			uint32_t i = root_of[roots[j].result.functions[k]];

			if (i)
				roots[i - 1].skipped = true;
		}
		root_of[roots[j].result.function] = 1 + j;
	}
	arena_reset(&job->scratch);
}

static void list_without_analysis(struct job *job, const struct module *module)
{
	for (uint32_t i = 0; i < module->nfunctions; i++)
		if (is_candidate(module, i, true)) {
			struct root root = {.module = module, .result = {.function = i}};

			ARENA_PUSH(&job->keep, job->roots.v, job->roots.n, job->roots.cap, root);
		}
}

static void analyse_module(struct job *job, const struct module *module)
{
	if (!module->proxies) { /* spec 2.8: there is no async proxy to order */
		list_without_analysis(job, module);
		return;
	}
	job->covered = ARENA_NEW(&job->keep, bool, module->nfunctions);
	job->to_run = job->of ? list_to_run(job, module) : NULL;
	for (uint32_t i = 0; i < module->nfunctions; i++)
		if (is_candidate(module, i, true))
			analyse_one(job, module, i);
	uint32_t from = job->roots.n;

	/* Callees mostly stand before their callers: from the end on, few are analysed in vain. */
	for (uint32_t i = module->nfunctions; i-- > 0;)
		if (is_candidate(module, i, false) && !job->covered[i])
			analyse_one(job, module, i);
	skip_covered(job, module, from);
}

static void job_start(struct job *job, const char *name, jmp_buf *out_of_memory)
{
	arena_init(&job->keep, out_of_memory);
	arena_init(&job->scratch, out_of_memory);
	job->out_of_memory = out_of_memory;
	job->name = name;
}

static void job_free(struct job *job)
{
	source_free(&job->source);
	diags_free(&job->diags);
	names_free(job->names);
	arena_free(&job->keep);
	arena_free(&job->scratch);
}

/* The text stays where it is as long as the job. */
static void job_borrow(struct job *job, struct slice text)
{
	job->source = (struct source){.name = job->name,
		.text = (char *)(uintptr_t)text.text,
		.size = (uint32_t)text.size,
		.borrowed = true};
}

/* From the text to the changes of all roots. */
static void job_run(struct job *job)
{
	job->names = names_new();
	if (!job->names)
		longjmp(*job->out_of_memory, 1);
	if (!job->diags.errors &&
		parse_modules(&job->source, &job->keep, job->names, &job->modules, &job->diags))
		for (uint32_t i = 0; i < job->modules.n; i++)
			analyse_module(job, &job->modules.v[i]);
	if (job->diags.errors)
		job->roots.n = 0;
	else
		combine_roots(job);
}

struct job *job_again(struct job *job, struct slice text)
{
	struct fencepost_options *options = ARENA_NEW(&job->keep, struct fencepost_options, 1);
	struct job *again = ARENA_NEW(&job->keep, struct job, 1);

	*options = *job->options;
	options->progress = NULL;
	job_start(again, job->name, job->out_of_memory);
	again->options = options;
	again->analysis = job->analysis;
	again->of = job;
	job->again = again;
	job_borrow(again, text);
	job_run(again);
	return again;
}

void job_end_again(struct job *job)
{
	job_free(job->again);
	job->again = NULL;
}

static void run_passes(struct box *box)
{
	struct job *job = &box->job;

	box->result.status = FENCEPOST_BAD_INPUT;
	job_run(job);
	if (!job->diags.errors) {
		box->result.status = FENCEPOST_OK;
		settle_changes(job);
	}
	publish(box);
	if (job->diags.errors)
		return;
	struct slice output = write_output(box);

	box->result.ptx = output.text;
	box->result.ptx_size = output.size;
}

void fencepost_free(struct fencepost_result *result)
{
	struct box *box = (struct box *)result;

	if (!box)
		return;
	if (box->job.again)
		job_end_again(&box->job);
	job_free(&box->job);
	free(box);
}

/* What a call is given, apart from its options. */
struct input {
	const char *name;
	struct slice ptx;
	bool stays; /* it has a NUL behind it, and is there as long as the result */
	const struct analysis_observer *observer;
};

static enum fencepost_status run(const struct fencepost_options *options, const struct input *input,
	struct fencepost_result **out)
{
	struct box *box = calloc(1, sizeof(*box));
	struct fencepost_options *full;
	struct job *job;

	*out = NULL;
	if (!box)
		return FENCEPOST_NO_MEMORY;
	job = &box->job;
	job_start(job, NULL, &box->out_of_memory);
	if (setjmp(box->out_of_memory)) {
		fencepost_free(&box->result);
		return FENCEPOST_NO_MEMORY;
	}
	full = ARENA_NEW(&job->keep, struct fencepost_options, 1);
	if (!options_analysis(options, full, &job->analysis)) {
		fencepost_free(&box->result);
		return FENCEPOST_BAD_OPTIONS;
	}
	job->options = full;
	job->observer = input->observer;
	job->name = text_format(&job->keep, "%s", input->name);
	if (input->stays)
		job_borrow(job, input->ptx);
	else
		source_copy(&job->source, job->name, input->ptx.text, input->ptx.size, &job->diags);
	run_passes(box);
	*out = &box->result;
	return box->result.status;
}

enum fencepost_status run_observed(const struct fencepost_options *options,
	const struct source *source, const struct analysis_observer *observer,
	struct fencepost_result **result)
{
	return run(options,
		&(struct input){source->name, {source->text, source->size}, true, observer},
		result);
}

enum fencepost_status fencepost_run(const struct fencepost_options *options, const char *name,
	const char *ptx, size_t size, struct fencepost_result **result)
{
	return run(options, &(struct input){name, {ptx, size}, false, NULL}, result);
}
