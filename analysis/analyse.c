/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: one root function of a module. Goes out: its findings and fence changes. The
 * stages are called in order here and nowhere else; each reads what the ones before it left in the
 * unit. Invariant: what a stage could not do ends as `unmodelled`, so that the verdict is never
 * clean.
 */
#include "analysis/callees.h"
#include "analysis/findings.h"
#include "analysis/locals.h"
#include "analysis/map_box.h"
#include "analysis/scene.h"

#include <stdlib.h>

struct run {
	struct linked linked;
	struct unit unit;
	struct budget budget;
	struct hint_map hints;
	struct flow flow;
	struct plan plan;
	struct audit audit;
	struct check_finding *checks;
	struct analysis_view view;
};

struct analysis_options analysis_defaults(void)
{
	return (struct analysis_options){.hazards = HAZARD_RAW | HAZARD_WAW | HAZARD_WAR,
		.shared = true,
		.global = true,
		.cross_threads = true,
		.writer_side = true,
		.fix = FIX_MISSING | FIX_MISPLACED,
		.assume = ASSUME_ALL,
		.rules = (UINT32_C(1) << RULE_COUNT) - 1,
		.calls = CALLS_AUTO,
		.budget_seconds = 60};
}

static const char *join(struct arena *arena, const char *a, struct slice b)
{
	size_t n = strlen(a);
	char *text = arena_alloc(arena, n + b.size + 3);

	memcpy(text, a, n);
	text[n] = '`';
	memcpy(text + n + 1, b.text, b.size);
	text[n + 1 + b.size] = '\'';
	return text;
}

static struct slice text_of(const struct unit *unit, struct span at)
{
	return (struct slice){unit->module->source->text + at.begin, at.end - at.begin};
}

static void note_unknown(struct unit *unit)
{
	for (uint32_t i = 0; i < unit->cfg.active.n; i++) {
		uint32_t k = unit->cfg.active.v[i];
		const struct effect *effect = unit->effects[k];

		if (!effect->known && effect->may_touch_memory && unit->cfg.block_of[k] != NONE)
			unit_note(unit, k,
				join(unit->arena, "unknown instruction ",
					text_of(unit, insn_opcode_at(unit->fn, &unit->fn->insns[k]))));
	}
}

static void count(const struct unit *unit, struct kernel_result *result, struct arena *keep)
{
	uint32_t cap = 0;

	result->instructions = unit->fn->ninsns;
	for (uint32_t i = 0; i < unit->accesses.n; i++) {
		const struct access *access = &unit->accesses.v[i];
		bool again =
			i && access[-1].insn == access->insn && access[-1].proxy == access->proxy;

		if (!again && access->proxy == PROXY_GENERIC)
			result->generic++;
		if (!again && access->proxy == PROXY_ASYNC)
			result->async++;
	}
	for (uint32_t i = 0; i < unit->cfg.active.n; i++) {
		uint32_t k = unit->cfg.active.v[i];
		uint8_t fence = unit->effects[k]->fence;

		if (fence == FENCE_NONE || fence == FENCE_MBARRIER_INIT)
			continue;
		result->fences++;
		ARENA_PUSH(keep, result->fence_sites, result->nfence_sites, cap,
			unit->fn->insns[k].at.begin);
	}
}

static void list_functions(const struct linked *linked, uint32_t root, struct arena *keep,
	struct kernel_result *result)
{
	result->functions = ARENA_NEW(keep, uint32_t, linked->nbodies + 1);
	result->functions[result->nfunctions++] = root;
	for (uint32_t i = 0; i < linked->nbodies; i++)
		if (linked->bodies[i]->index != root)
			result->functions[result->nfunctions++] = linked->bodies[i]->index;
}

static void list_unmodelled(
	const struct unit *unit, struct arena *keep, struct kernel_result *result)
{
	result->unmodelled = ARENA_NEW(keep, const char *, unit->nunmodelled + 1);
	for (uint32_t i = 0; i < unit->nunmodelled; i++) {
		const char *what = unit->unmodelled[i].what;
		bool there = false;

		for (uint32_t j = 0; j < result->nunmodelled && !there; j++)
			there = strcmp(result->unmodelled[j], what) == 0;
		if (!there)
			result->unmodelled[result->nunmodelled++] =
				strcpy(arena_alloc(keep, strlen(what) + 1), what);
	}
}

/* Rules that --rules leaves out are neither reported nor planned for. */
static void drop_unwanted(struct run *run)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < run->flow.nedges; i++)
		if (edge_wanted(run->unit.options, &run->flow.edges[i]))
			run->flow.edges[kept++] = run->flow.edges[i];
	run->flow.nedges = kept;
}

struct wanted {
	const struct unit *unit;
	struct edge_index known;
};

static bool is_wanted_and_new(const void *data, const struct edge *edge)
{
	const struct wanted *w = data;

	return edge_wanted(w->unit->options, edge) && edge_index_is_new(&w->known, edge);
}

/* Whether some load that counts as complete would be an edge else (spec 4: what rules an edge out is named). */
static void name_complete_loads(struct run *run)
{
	struct wanted w = {.unit = &run->unit};

	edge_index_build(run->flow.edges, run->flow.nedges, run->unit.arena, &w.known);
	if (flow_open_loads_show(run->view.setup, is_wanted_and_new, &w))
		run->flow.assumptions |= ASSUME_CONSUMED_LOADS;
}

static void obey_ignores(struct run *run)
{
	if (!run->hints.nuses)
		return;
	struct bits named = bits_new(run->unit.arena, run->unit.fn->ninsns + 1);

	findings_named(&run->view, named);
	hints_ignore(&run->unit, named, &run->hints);
}

/* The fence rules are told from fences that are there: without one there is nothing to try. */
static bool wants_audit(const struct unit *unit, const struct kernel_result *result)
{
	uint32_t rules = 1u << RULE_FENCE_MISPLACED | 1u << RULE_FENCE_ISSUER_SIDE |
			 1u << RULE_FENCE_REDUNDANT | 1u << RULE_FENCE_TOO_WIDE;

	return result->nfence_sites && (unit->options->mutate || unit->options->rules & rules);
}

/* Where nothing is missing and no fence is there, or none is to become less, there is none to plan for. */
static bool wants_plan(const struct run *run, const struct kernel_result *result)
{
	bool lessens = run->unit.options->fix & (FIX_WIDE | FIX_REDUNDANT) && result->nfence_sites;

	return run->unit.options->fix && (run->flow.nedges || lessens);
}

/* A hint may be for what other rules than those of edges find. */
static bool is_told(const struct run *run)
{
	return !run->unit.options->text_only || run->hints.nuses || run->unit.observed;
}

static void solve(struct run *run, struct kernel_result *result)
{
	struct unit *unit = &run->unit;
	bool told = is_told(run), audits, plans;
	struct scene scene;

	unit->edges_only = !told && !(unit->options->fix & (FIX_WIDE | FIX_REDUNDANT));
	run->view.setup = flow_prepare(unit);
	value_rest(unit->values);
	flow_solve(run->view.setup, NULL, &run->flow);
	run->view.solved = true;
	drop_unwanted(run);
	if (told && !run->flow.incomplete)
		name_complete_loads(run);
	audits = told && wants_audit(unit, result) && !run->flow.incomplete;
	plans = wants_plan(run, result) && !run->flow.incomplete;
	if (audits || plans)
		scene_build(unit, run->view.setup, &scene);
	if (audits)
		audit_fences(&scene, &run->flow, &run->audit);
	if (told)
		checks_run(unit, &run->checks, &run->view.nchecks);
	run->view.checks = run->checks;
	obey_ignores(run);
	value_rest(unit->values);
	arena_relax(unit->lasting); /* the plan wants large blocks */
	if (plans)
		plan_fences(&scene, &run->flow, &run->plan);
}

static void finish(struct run *run, struct arena *keep, struct kernel_result *result)
{
	struct unit *unit = &run->unit;

	result->pairs_ruled_out = run->flow.pairs_ruled_out;
	result->assumptions = unit->assumptions | run->flow.assumptions;
	result->budget_spent = run->flow.incomplete || run->budget.spent;
	if (result->budget_spent) { /* left unchanged: half a plan may be worse than none */
		run->plan = (struct plan){0};
		unit_note(unit, NONE,
			run->budget.spent ? "the time budget of the function is spent"
					  : "the function is too large for the flow's sets");
	}
	list_unmodelled(unit, keep, result);
	findings_build(&run->view, &run->hints, keep, result);
}

/* Without an async access there is no edge, without fences and hints nothing to judge: the scan of
 * the text has seen all that the report says of such a function. */
static bool leaves_early(const struct function_info *info)
{
	return !info->may_async && !info->may_fence && !info->may_hint && !info->may_call &&
	       !info->may_unknown;
}

static void report_scan(const struct function_info *info, uint32_t function, struct arena *keep,
	struct kernel_result *result)
{
	result->instructions = info->ninsns;
	result->generic = info->nmemory;
	result->functions = ARENA_NEW(keep, uint32_t, 1);
	result->functions[result->nfunctions++] = function;
}

void analyse_root_observed(const struct module *module, uint32_t function,
	const struct analysis_options *options, struct arena *scratch, struct arena *keep,
	struct diags *diags, struct kernel_result *result, const struct analysis_observer *observer)
{
	struct run *run = ARENA_NEW(scratch, struct run, 1);
	struct unit *unit = &run->unit;

	*result = (struct kernel_result){.function = function};
	if (!observer && leaves_early(&module->functions[function])) {
		report_scan(&module->functions[function], function, keep, result);
		return;
	}
	budget_start(&run->budget, options->budget_seconds);
	if (!link_calls(module, function, scratch, &run->linked, diags)) {
		result->unmodelled = ARENA_NEW(keep, const char *, 1);
		result->unmodelled[result->nunmodelled++] = "the function could not be read";
		return;
	}
	*unit = (struct unit){.module = module,
		.fn = &run->linked.fn,
		.options = options,
		.lasting = scratch,
		.arena = scratch,
		.budget = &run->budget,
		.observed = observer != NULL};
	run->view = (struct analysis_view){.unit = unit,
		.linked = &run->linked,
		.flow = &run->flow,
		.plan = &run->plan,
		.audit = &run->audit,
		.hints = &run->hints};
	list_functions(&run->linked, function, keep, result);
	unit->effects = effects_of(unit->fn, scratch);
	hints_read(unit->fn, unit->effects, scratch, &run->hints);
	unit->leave = run->hints.leave;
	cfg_build(&run->linked, unit->effects, scratch, &unit->cfg);
	note_unknown(unit);
	if (!observer) { /* the graph knows where they are */
		ARENA_GIVE_BACK(scratch, run->linked.fn.labels, run->linked.fn.nlabels);
		run->linked.fn.labels = NULL;
	}
	locals_solve(unit, &run->linked);
	access_collect(unit->fn, &unit->cfg, unit->values, options, unit->observed, scratch,
		&unit->accesses);
	callees_collect(unit, &run->linked);
	map_boxes_find(unit);
	count(unit, result, keep);
	solve(run, result);
	arena_relax(scratch); /* what is found is kept elsewhere */
	finish(run, keep, result);
	if (observer)
		observer->see(&run->view, result, observer->context);
}

void analyse_root(const struct module *module, uint32_t function,
	const struct analysis_options *options, struct arena *scratch, struct arena *keep,
	struct diags *diags, struct kernel_result *result)
{
	analyse_root_observed(module, function, options, scratch, keep, diags, result, NULL);
}
