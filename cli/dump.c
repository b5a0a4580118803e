/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --dump and --why: what a stage made of the input. Comes in: one file. Goes out: text on standard
 * output (or -o). The stages are those of every run, looked at before their memory is given back.
 */
#include "cli/dot.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/why.h"

#include "analysis/flow_dump.h"
#include "lib/internal.h"
#include "parser/dump.h"

#include <stdlib.h>
#include <string.h>

struct dump {
	const struct settings *settings;
	FILE *out;
	uint32_t roots, pairs;
};

static uint32_t line_of(const struct unit *unit, uint32_t insn)
{
	const struct function *fn = unit->fn;

	return source_line(unit->module->source,
		insn < fn->ninsns ? fn->insns[insn].at.begin : fn->end_at.begin);
}

static void print_opcode(const struct unit *unit, uint32_t insn, FILE *out)
{
	struct span at = insn_opcode_at(unit->fn, &unit->fn->insns[insn]);

	fprintf(out, "%.*s", (int)(at.end - at.begin), unit->module->source->text + at.begin);
}

static void dump_cfg(const struct unit *unit, FILE *out)
{
	for (uint32_t b = 0; b < unit->cfg.n; b++) {
		const struct block *block = &unit->cfg.blocks[b];

		fprintf(out, "B%u:", b);
		if (block->count)
			fprintf(out, " lines %u-%u, %u instructions", line_of(unit, block->first),
				line_of(unit, block->first + block->count - 1), block->count);
		for (uint32_t i = 0; i < block->succ.n; i++)
			fprintf(out, "%s B%u", i ? "," : ", to", block->succ.v[i]);
		if (block->loop_depth)
			fprintf(out, ", loop depth %u, head B%u", block->loop_depth,
				block->loop_head);
		if (block->idom != NONE)
			fprintf(out, ", dominated by B%u", block->idom);
		fprintf(out, "%s\n", block->exits ? ", exits" : "");
	}
}

void access_print(const struct unit *unit, uint32_t number, FILE *out)
{
	const struct access *a = &unit->accesses.v[number];
	char address[256];

	value_print(unit->values, &a->address, address, sizeof(address));
	fprintf(out, "line %u: ", line_of(unit, a->insn));
	print_opcode(unit, a->insn, out);
	fprintf(out, ": %s", a->proxy == PROXY_ASYNC ? "async" : "generic");
	fprintf(out, " %s%s", a->reads ? "read" : "", a->reads && a->writes ? "-" : "");
	fprintf(out, "%s of", a->writes ? "write" : "");
	fprintf(out, "%s%s%s", a->spaces & SPACE_SHARED ? " shared" : "",
		a->spaces & SPACE_CLUSTER ? " cluster" : "",
		a->spaces & SPACE_GLOBAL ? " global" : "");
	fprintf(out, " at %s, ", address);
	if (a->bytes == UINT64_MAX)
		fputs("to the end of the variable", out);
	else
		fprintf(out, "%llu bytes", (unsigned long long)a->bytes);
	fprintf(out, "%s%s%s\n", a->exact ? ", exact" : "", a->cp_async ? ", cp.async data" : "",
		a->call ? ", by an unknown callee" : "");
}

static void dump_addresses(const struct unit *unit, FILE *out)
{
	for (uint32_t i = 0; i < unit->accesses.n; i++) {
		fprintf(out, "%u: ", i);
		access_print(unit, i, out);
	}
}

static void dump_plan(const struct analysis_view *view, FILE *out)
{
	static const char *const verbs[] = {"insert", "remove", "narrow"};
	const struct unit *unit = view->unit;

	for (uint32_t i = 0; i < view->plan->nfences; i++)
		fprintf(out, "is there in line %u, weight %llu\n",
			line_of(unit, view->plan->fences[i].insn),
			(unsigned long long)view->plan->fences[i].weight);
	for (uint32_t i = 0; i < view->plan->nchanges; i++) {
		const struct fence_change *c = &view->plan->changes[i];

		fprintf(out, "%s", verbs[c->change]);
		if (c->change != CHANGE_REMOVE)
			fprintf(out, " %s", fence_text(c->kind));
		fprintf(out, " %s line %u, weight %llu, settles",
			c->change != CHANGE_INSERT ? "in"
			: c->behind		   ? "behind"
						   : "before",
			line_of(unit, c->before), (unsigned long long)c->weight);
		for (uint32_t e = 0; e < c->nedges; e++) {
			const struct edge *edge = &view->flow->edges[c->edges[e]];

			fprintf(out, " %u-%u", line_of(unit, unit->accesses.v[edge->generic].insn),
				line_of(unit, unit->accesses.v[edge->async].insn));
		}
		fprintf(out, "%s%s\n", c->reason ? ": " : "", c->reason ? c->reason : "");
	}
	for (uint32_t i = 0; i < view->plan->nunfixable; i++) {
		const struct edge *edge = &view->flow->edges[view->plan->unfixable[i].edge];

		fprintf(out, "left: %u-%u: %s\n",
			line_of(unit, unit->accesses.v[edge->generic].insn),
			line_of(unit, unit->accesses.v[edge->async].insn),
			view->plan->unfixable[i].reason);
	}
	fprintf(out, "weight of all fences: %llu before, %llu after\n",
		(unsigned long long)view->plan->weight_before,
		(unsigned long long)view->plan->weight_after);
}

static void dump_flow(const struct analysis_view *view, FILE *out)
{
	struct flow again = {0};

	if (!view->solved)
		return;
	flow_solve(view->setup, NULL, &again); /* the planner ran it with other fences */
	flow_dump(view->setup, &again, out);
}

static void see(const struct analysis_view *view, const struct kernel_result *result, void *context)
{
	struct dump *dump = context;
	const struct module *module = view->unit->module;
	uint32_t symbol = module->functions[result->function].symbol;
	struct slice slice = names_text(module->names, module->symbols[symbol].name);
	char *name = strndup(slice.text, slice.size);

	dump->roots++;
	if (name && dump->settings->mode == MODE_DUMP && dump->settings->stage != STAGE_DOT)
		fprintf(dump->out, "%s:\n", name);
	if (dump->settings->mode == MODE_WHY)
		dump->pairs += why_print(
			view, dump->settings->why_generic, dump->settings->why_async, dump->out);
	else if (dump->settings->stage == STAGE_CFG)
		dump_cfg(view->unit, dump->out);
	else if (dump->settings->stage == STAGE_ADDRESSES)
		dump_addresses(view->unit, dump->out);
	else if (dump->settings->stage == STAGE_FLOW)
		dump_flow(view, dump->out);
	else if (dump->settings->stage == STAGE_PLAN)
		dump_plan(view, dump->out);
	else
		dot_print(view, name ? name : "", NULL, dump->out);
	free(name);
}

/* Tokens and IR need no analysis, and show input that the analysis refuses. */
static bool dump_parsed(
	struct source *source, const struct settings *settings, FILE *out, struct diags *diags)
{
	jmp_buf out_of_memory;
	struct arena arena, body;
	struct modules modules;
	struct names *volatile names = names_new();

	arena_init(&arena, &out_of_memory);
	arena_init(&body, &out_of_memory);
	if (!names || setjmp(out_of_memory)) {
		diag_add(diags, DIAG_ERROR, (struct span){NONE, NONE}, "out of memory");
	} else if (settings->stage == STAGE_TOKENS) {
		dump_tokens(source, out);
	} else if (parse_modules(source, &arena, names, &modules, diags)) {
		for (uint32_t m = 0; m < modules.n; m++) {
			dump_module(&modules.v[m], out);
			for (uint32_t i = 0; i < modules.v[m].nfunctions; i++) {
				struct function fn;

				if (modules.v[m].functions[i].has_body &&
					parse_function(&modules.v[m], i, &body, &fn, diags))
					dump_function(&fn, out);
				arena_reset(&body);
			}
		}
	}
	arena_free(&body);
	arena_free(&arena);
	names_free(names);
	return !diags->errors;
}

static void print_errors(struct source *source, const struct diags *diags, bool color)
{
	for (uint32_t i = 0; i < diags->n; i++) {
		const struct diag *d = &diags->v[i];

		if (d->at.begin == NONE || !source->text) {
			fprintf(stderr, "%s: error: %s\n", source->name, d->message);
			continue;
		}
		uint32_t line = source_line(source, d->at.begin);

		fprintf(stderr, "%s:%u:%u: error: %s\n", source->name, line,
			source_column(source, d->at.begin), d->message);
		print_excerpt(
			stderr, source->text, source->size, d->at.begin, d->at.end, line, color);
	}
}

static bool dump_analysed(struct source *source, struct dump *dump, bool color)
{
	struct fencepost_options options = dump->settings->options;
	struct analysis_observer observer = {see, dump};
	struct file_result file = {.name = source->name,
		.text = source->text,
		.size = source->size,
		.error = "out of memory"};

	settings_select(dump->settings, &options);
	bool good = run_observed(&options, source, &observer, &file.result) == FENCEPOST_OK;

	print_diagnostics(stderr, &file, color, false);
	if (good && !dump->roots)
		fprintf(stderr, "%s: note: no kernel to show\n", source->name);
	fencepost_free(file.result);
	if (good && dump->settings->mode == MODE_WHY && !dump->pairs) {
		fprintf(stderr,
			"%s: error: no kernel has a generic access of shared or global memory in "
			"line %u and an async one in line %u; the generic one's line comes first\n",
			source->name, dump->settings->why_generic, dump->settings->why_async);
		return false;
	}
	return good;
}

int run_dump(const struct settings *settings)
{
	struct source source = {0};
	struct diags diags = {0};
	struct output output;
	const char *path = settings->output ? settings->output : "-";
	char error[4400];
	bool color = settings_color(settings, stderr), good;

	if (!output_open(&output, path, error, sizeof(error))) {
		fprintf(stderr, "fencepost: error: %s\n", error);
		return 2;
	}
	struct dump dump = {settings, output.file, 0, 0};

	source.name = settings->paths[0];
	good = source_read(&source, settings->paths[0], &diags);
	if (good && settings->mode == MODE_DUMP && settings->stage <= STAGE_IR)
		good = dump_parsed(&source, settings, dump.out, &diags);
	else if (good)
		good = dump_analysed(&source, &dump, color);
	print_errors(&source, &diags, color);
	source_free(&source);
	diags_free(&diags);
	if (!output_commit(&output, path, error, sizeof(error))) {
		fprintf(stderr, "fencepost: error: %s\n", error);
		good = false;
	}
	return good ? 0 : 2;
}
