/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: results of the roots, as byte offsets. Goes out: the public lists, with lines, names
 * and texts. Invariant: lists are ordered by place alone, so the same input gives the same report.
 */
#include "lib/internal.h"
#include "lib/place.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct numbered { /* a finding on its way to the public list */
	struct fencepost_finding *out;
	const struct finding *from;
	uint32_t root, number;
	uint32_t at;
};

struct publisher {
	struct box *box;
	struct job *job;
	struct arena *arena;
	struct numbered *v;
	uint32_t n, cap;
};

const char *text_format(struct arena *arena, const char *fmt, ...)
{
	va_list args, again;

	va_start(args, fmt);
	va_copy(again, args);
	int size = vsnprintf(NULL, 0, fmt, args);
	char *text = arena_alloc(arena, (size_t)(size < 0 ? 0 : size) + 1);

	vsnprintf(text, (size_t)(size < 0 ? 0 : size) + 1, fmt, again);
	va_end(again);
	va_end(args);
	return text;
}

const char *text_copy(struct arena *arena, struct slice from)
{
	char *text = arena_alloc_unset(arena, from.size + 1);

	memcpy(text, from.text, from.size);
	text[from.size] = 0;
	return text;
}

static const struct place *primary(const struct finding *finding)
{
	bool async_first =
		finding->rule == RULE_BULK_STORE_UNWAITED && finding->async.at.begin != NONE;

	if (finding->fence.at.begin != NONE)
		return &finding->fence;
	return finding->generic.at.begin != NONE && !async_first ? &finding->generic
								 : &finding->async;
}

static int by_line(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->from->rule != y->from->rule)
		return x->from->rule < y->from->rule ? -1 : 1;
	if (x->from->async.at.begin != y->from->async.at.begin)
		return x->from->async.at.begin < y->from->async.at.begin ? -1 : 1;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static struct fencepost_place *publish_place(
	struct publisher *p, const struct module *module, const struct place *place)
{
	if (place->at.begin == NONE)
		return NULL;
	struct fencepost_place *out = ARENA_NEW(p->arena, struct fencepost_place, 1);

	place_publish(p->job, module, place, out);
	return out;
}

static void publish_pairs(
	struct publisher *p, const struct finding *from, struct fencepost_finding *to)
{
	struct fencepost_pair *pairs = ARENA_NEW(p->arena, struct fencepost_pair, from->npairs + 1);

	for (uint32_t i = 0; i < from->npairs; i++) {
		const struct result_pair *pair = &from->pairs[i];
		bool again = i && pair[-1].generic_at == pair->generic_at; /* they are sorted */

		pairs[i] = (struct fencepost_pair){
			again ? pairs[i - 1].generic_line
			      : source_line(&p->job->source, pair->generic_at),
			source_line(&p->job->source, pair->async_at)};
	}
	to->pairs = pairs;
	to->npairs = from->npairs;
}

static void publish_way(struct publisher *p, const struct module *module,
	const struct finding *from, struct fencepost_finding *to)
{
	struct fencepost_handoff *handoffs =
		ARENA_NEW(p->arena, struct fencepost_handoff, from->nhandoffs + 1);
	struct fencepost_place *path = ARENA_NEW(p->arena, struct fencepost_place, from->npath + 1);

	for (uint32_t i = 0; i < from->nhandoffs; i++) {
		place_publish(p->job, module, &from->handoffs[i].release, &handoffs[i].release);
		place_publish(p->job, module, &from->handoffs[i].acquire, &handoffs[i].acquire);
		handoffs[i].release_line = handoffs[i].release.line;
		handoffs[i].acquire_line = handoffs[i].acquire.line;
	}
	for (uint32_t i = 0; i < from->npath; i++)
		place_publish(p->job, module, &from->path[i], &path[i]);
	to->handoffs = handoffs;
	to->nhandoffs = from->nhandoffs;
	to->path = path;
	to->npath = from->npath;
}

static void add_finding(
	struct publisher *p, uint32_t root, const struct finding *from, uint32_t number)
{
	const struct module *module = p->job->roots.v[root].module;
	struct fencepost_finding *to = ARENA_NEW(p->arena, struct fencepost_finding, 1);

	*to = (struct fencepost_finding){.rule = from->rule,
		.level = (enum fencepost_level)from->level,
		.confidence = (enum fencepost_confidence)from->confidence,
		.state = (enum fencepost_state)from->state,
		.kernel = function_text(p->job, module, p->job->roots.v[root].result.function),
		.generic = publish_place(p, module, &from->generic),
		.async = publish_place(p, module, &from->async),
		.fence = publish_place(p, module, &from->fence),
		.unfixable = from->unfixable,
		.suppressed = from->suppressed,
		.fingerprint = from->fingerprint,
		.unlisted = from->unlisted};
	publish_pairs(p, from, to);
	publish_way(p, module, from, to);
	to->primary = primary(from) == &from->fence	? to->fence
		      : primary(from) == &from->generic ? to->generic
							: to->async;
	struct numbered one = {to, from, root, number, primary(from)->at.begin};

	ARENA_PUSH(p->arena, p->v, p->n, p->cap, one);
}

/* A hint says nothing only if it does so in every root that contains it. */
static bool hint_is_used(const struct job *job, const struct result_hint *hint)
{
	uint32_t n;

	sites_at(&job->sites, hint->at.at.begin, SITE_USED_HINT, &n);
	return n > 0;
}

static bool hint_said_before(const struct job *job, uint32_t before, const struct result_hint *hint)
{
	uint32_t n;
	const struct site *first = sites_at(&job->sites, hint->at.at.begin, SITE_HINT, &n);

	return n && first->root < before;
}

/* With rules, hazards, kernels or other threads left out, a hint may speak of what was not looked
 * for. */
static bool looked_for_all(const struct job *job)
{
	struct analysis_options all = analysis_defaults();

	return job->analysis.rules == all.rules && job->analysis.hazards == all.hazards &&
	       job->analysis.shared && job->analysis.global && job->analysis.cross_threads &&
	       !job->options->select;
}

static void add_hint(
	struct publisher *p, uint32_t root, const struct result_hint *hint, enum rule rule)
{
	struct finding *finding = ARENA_NEW(p->arena, struct finding, 1);
	struct slice text = {
		p->job->source.text + hint->at.at.begin, hint->at.at.end - hint->at.at.begin};

	*finding = (struct finding){.rule = (uint8_t)rule,
		.level = (uint8_t)rule_level(rule),
		.confidence = CONFIDENCE_PROVEN,
		.generic = hint->at,
		.async = {.at = {NONE, NONE}},
		.fence = {.at = {NONE, NONE}},
		.detail = hint->invalid};
	finding->fingerprint = fingerprint_text(
		fingerprint_text(FINGERPRINT_SEED, rule_text(rule), strlen(rule_text(rule))),
		text.text, text.size);
	add_finding(p, root, finding, UINT32_MAX);
}

static void add_hints(struct publisher *p, uint32_t i)
{
	const struct root *root = &p->job->roots.v[i];

	for (uint32_t h = 0; h < root->result.nhints; h++) {
		const struct result_hint *hint = &root->result.hints[h];
		enum rule rule = hint->invalid ? RULE_HINT_INVALID : RULE_HINT_UNUSED;

		if (!(p->job->analysis.rules >> rule & 1) || hint_said_before(p->job, i, hint))
			continue;
		if (hint->invalid || (looked_for_all(p->job) && !root->result.budget_spent &&
					     !hint_is_used(p->job, hint)))
			add_hint(p, i, hint, rule);
	}
}

static int by_print(const void *a, const void *b)
{
	const struct numbered *x = *(struct numbered *const *)a, *y = *(struct numbered *const *)b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->from->fingerprint != y->from->fingerprint)
		return x->from->fingerprint < y->from->fingerprint ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Equal fingerprints in one kernel (the same two instructions again) are told apart by their order.
 */
static void number_prints(struct publisher *p)
{
	struct numbered **v = ARENA_NEW(p->arena, struct numbered *, p->n + 1);
	uint64_t ordinal = 0;

	for (uint32_t i = 0; i < p->n; i++)
		v[i] = &p->v[i];
	if (p->n)
		qsort(v, p->n, sizeof(struct numbered *), by_print);
	for (uint32_t i = 0; i < p->n; i++) {
		bool again = i && v[i - 1]->root == v[i]->root &&
			     v[i - 1]->from->fingerprint == v[i]->from->fingerprint;

		ordinal = again ? ordinal + 1 : 0;
		v[i]->out->fingerprint = fingerprint_text(
			v[i]->from->fingerprint, (const char *)&ordinal, sizeof(ordinal));
	}
}

static void publish_findings(struct publisher *p)
{
	struct fencepost_result *result = &p->box->result;

	for (uint32_t i = 0; i < p->job->roots.n; i++) {
		const struct root *root = &p->job->roots.v[i];

		for (uint32_t f = 0; f < root->result.nfindings && !root->skipped; f++)
			if (!root->dropped || !root->dropped[f])
				add_finding(p, i, &root->result.findings[f], f);
		if (!root->skipped)
			add_hints(p, i);
		result->edges_left += root->skipped ? 0 : root->result.edges_left;
	}
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), by_line);
	number_prints(p);
	struct fencepost_finding **list = ARENA_NEW(p->arena, struct fencepost_finding *, p->n + 1);

	for (uint32_t i = 0; i < p->n; i++)
		list[i] = p->v[i].out;
	result->findings = list;
	result->nfindings = p->n;
}

/* By root and its own number of a finding: the number in the published list, or NONE. */
static uint32_t **number_findings(const struct publisher *p)
{
	uint32_t **numbers = ARENA_NEW(p->arena, uint32_t *, p->job->roots.n + 1);

	for (uint32_t r = 0; r < p->job->roots.n; r++) {
		uint32_t n = p->job->roots.v[r].result.nfindings + 1;

		numbers[r] = ARENA_NEW(p->arena, uint32_t, n);
		memset(numbers[r], 0xff, sizeof(**numbers) * n);
	}
	for (uint32_t i = 0; i < p->n; i++) /* findings about hints have no number in a root */
		if (p->v[i].root < p->job->roots.n &&
			p->v[i].number < p->job->roots.v[p->v[i].root].result.nfindings)
			numbers[p->v[i].root][p->v[i].number] = i;
	return numbers;
}

static void publish_fences(struct publisher *p)
{
	struct fencepost_result *result = &p->box->result;
	uint32_t **numbers = number_findings(p);
	struct fencepost_fence **list =
		ARENA_NEW(p->arena, struct fencepost_fence *, p->job->changes.n + 1);

	for (uint32_t i = 0; i < p->job->changes.n; i++) {
		const struct text_change *change = &p->job->changes.v[i];
		struct fencepost_fence *fence = ARENA_NEW(p->arena, struct fencepost_fence, 1);
		uint32_t *fixes = ARENA_NEW(p->arena, uint32_t, change->nfixes + 1);

		*fence = (struct fencepost_fence){
			.change = (enum fencepost_change)change->fence.change,
			.line = source_line(&p->job->source, change->fence.at),
			.column = source_column(&p->job->source, change->fence.at),
			.offset = change->fence.at,
			.text = change_text(p->job, change),
			.weight = change->fence.weight,
			.fixes = fixes,
			.kernel = function_text(p->job, change->module,
				p->job->roots.v[change->root].result.function),
			.reason = change->fence.reason};
		for (uint32_t f = 0; f < change->nfixes; f++) {
			uint32_t number = numbers[change->fixes[f].root][change->fixes[f].finding];

			if (number != NONE)
				fixes[fence->nfixes++] = number;
		}
		result->inserted += fence->change == FENCEPOST_INSERT;
		result->removed += fence->change == FENCEPOST_REMOVE;
		result->narrowed += fence->change == FENCEPOST_NARROW;
		list[i] = fence;
	}
	result->fences = list;
	result->nfences = p->job->changes.n;
}

/* By root, from its findings alone. */
static enum fencepost_verdict *list_verdicts(const struct publisher *p)
{
	enum fencepost_verdict *of =
		ARENA_NEW(p->arena, enum fencepost_verdict, p->job->roots.n + 1);

	for (uint32_t r = 0; r < p->job->roots.n; r++)
		of[r] = FENCEPOST_CLEAN;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct fencepost_finding *finding = p->v[i].out;
		enum fencepost_verdict *verdict = &of[p->v[i].root];

		if (finding->state == FENCEPOST_SUPPRESSED)
			continue;
		if (finding->level >= FENCEPOST_WARNING)
			*verdict = FENCEPOST_FINDINGS;
		else if (*verdict == FENCEPOST_CLEAN && finding->confidence == FENCEPOST_POSSIBLE &&
			 fencepost_rule_level(finding->rule) >= FENCEPOST_WARNING)
			*verdict = FENCEPOST_REVIEW;
	}
	return of;
}

static enum fencepost_verdict verdict_of(
	const struct kernel_result *result, enum fencepost_verdict by_findings)
{
	if (by_findings != FENCEPOST_FINDINGS && (result->nunmodelled || result->budget_spent))
		return FENCEPOST_INCOMPLETE;
	return by_findings;
}

static const char *const *assumption_list(struct publisher *p, uint32_t mask, uint32_t *n)
{
	const char **list = ARENA_NEW(p->arena, const char *, 33);

	for (uint32_t i = 0; i < 32 && fencepost_assumption_name(i); i++)
		if (mask >> i & 1)
			list[(*n)++] = fencepost_assumption_name(i);
	return list;
}

static struct fencepost_kernel *publish_kernel(
	struct publisher *p, uint32_t i, enum fencepost_verdict by_findings)
{
	const struct root *root = &p->job->roots.v[i];
	const struct function_info *info = &root->module->functions[root->result.function];
	struct fencepost_kernel *kernel = ARENA_NEW(p->arena, struct fencepost_kernel, 1);

	*kernel = (struct fencepost_kernel){
		.name = function_text(p->job, root->module, root->result.function),
		.line = source_line(&p->job->source, info->at.begin),
		.is_entry = info->is_entry,
		.instructions = root->result.instructions,
		.generic = root->result.generic,
		.async = root->result.async,
		.fences = root->result.fences,
		.verdict = verdict_of(&root->result, by_findings),
		.incomplete = root->result.nunmodelled || root->result.budget_spent,
		.pairs_ruled_out = root->result.pairs_ruled_out,
		.unmodelled = root->result.unmodelled,
		.nunmodelled = root->result.nunmodelled};
	kernel->assumptions = assumption_list(p, root->result.assumptions, &kernel->nassumptions);
	return kernel;
}

static int by_kernel(const void *a, const void *b)
{
	const struct fencepost_kernel *x = *(struct fencepost_kernel *const *)a,
				      *y = *(struct fencepost_kernel *const *)b;

	return x->line != y->line ? (x->line < y->line ? -1 : 1) : strcmp(x->name, y->name);
}

static void publish_kernels(struct publisher *p)
{
	struct fencepost_kernel **list =
		ARENA_NEW(p->arena, struct fencepost_kernel *, p->job->roots.n + 1);
	const enum fencepost_verdict *verdicts = list_verdicts(p);

	for (uint32_t i = 0; i < p->job->roots.n; i++)
		if (!p->job->roots.v[i].skipped)
			list[p->box->result.nkernels++] = publish_kernel(p, i, verdicts[i]);
	if (p->box->result.nkernels)
		qsort(list, p->box->result.nkernels, sizeof(struct fencepost_kernel *), by_kernel);
	p->box->result.kernels = list;
}

/* A fence of a callee is needed if one root needs it. */
static void merge_mutation(struct publisher *p, struct fencepost_mutation **list, uint32_t *n,
	const struct root *root, const struct result_mutation *from)
{
	struct fencepost_mutation *one = ARENA_NEW(p->arena, struct fencepost_mutation, 1);
	uint32_t begin = from->fence.at.begin;

	*one = (struct fencepost_mutation){.line = source_line(&p->job->source, begin),
		.column = source_column(&p->job->source, begin),
		.kernel = function_text(p->job, root->module, root->result.function),
		.text = text_copy(p->arena,
			(struct slice){p->job->source.text + begin, from->fence.at.end - begin}),
		.verdict = from->verdict};
	for (uint32_t i = 0; i < *n; i++)
		if (list[i]->line == one->line && list[i]->column == one->column) {
			if (one->verdict == FENCE_NEEDED || list[i]->verdict == FENCE_SPARE)
				list[i]->verdict = one->verdict;
			return;
		}
	list[(*n)++] = one;
}

static int by_mutation(const void *a, const void *b)
{
	const struct fencepost_mutation *x = *(struct fencepost_mutation *const *)a,
					*y = *(struct fencepost_mutation *const *)b;

	return x->line != y->line ? (x->line < y->line ? -1 : 1)
				  : (x->column > y->column) - (x->column < y->column);
}

static void publish_mutations(struct publisher *p)
{
	struct fencepost_result *result = &p->box->result;
	uint32_t most = 0;

	for (uint32_t i = 0; i < p->job->roots.n; i++)
		most += p->job->roots.v[i].result.nmutation;
	struct fencepost_mutation **list =
		ARENA_NEW(p->arena, struct fencepost_mutation *, most + 1);

	for (uint32_t i = 0; i < p->job->roots.n && p->job->analysis.mutate; i++)
		for (uint32_t m = 0; m < p->job->roots.v[i].result.nmutation; m++)
			if (!p->job->roots.v[i].skipped)
				merge_mutation(p, list, &result->nmutations, &p->job->roots.v[i],
					&p->job->roots.v[i].result.mutation[m]);
	if (result->nmutations)
		qsort(list, result->nmutations, sizeof(struct fencepost_mutation *), by_mutation);
	result->mutations = list;
	result->mutated = p->job->analysis.mutate;
}

static void publish_diagnostics(struct publisher *p)
{
	struct fencepost_result *result = &p->box->result;
	struct job *job = p->job;
	struct fencepost_diagnostic **list =
		ARENA_NEW(p->arena, struct fencepost_diagnostic *, job->diags.n + 2);

	for (uint32_t i = 0; i < job->diags.n; i++) {
		const struct diag *diag = &job->diags.v[i];
		struct fencepost_diagnostic *out =
			ARENA_NEW(p->arena, struct fencepost_diagnostic, 1);

		*out = (struct fencepost_diagnostic){.level = (enum fencepost_level)diag->level,
			.message = text_format(p->arena, "%s", diag->message)};
		if (diag->at.begin != NONE && job->source.text) {
			out->line = source_line(&job->source, diag->at.begin);
			out->column = source_column(&job->source, diag->at.begin);
			out->begin = diag->at.begin;
			out->end = diag->at.end;
		}
		list[result->ndiagnostics++] = out;
	}
	if (job->diags.dropped) {
		struct fencepost_diagnostic *out =
			ARENA_NEW(p->arena, struct fencepost_diagnostic, 1);

		out->level = FENCEPOST_ERROR;
		out->message =
			text_format(p->arena, "%u more errors are not shown", job->diags.dropped);
		list[result->ndiagnostics++] = out;
	}
	result->diagnostics = list;
}

/* With each finding the first planned fence that settles it. */
static void describe_all(const struct publisher *p)
{
	const struct fencepost_result *result = &p->box->result;
	const struct fencepost_fence **settled_by =
		ARENA_NEW(p->arena, const struct fencepost_fence *, p->n + 1);

	for (uint32_t i = result->nfences; i-- > 0;)
		for (uint32_t f = 0; f < result->fences[i]->nfixes; f++)
			settled_by[result->fences[i]->fixes[f]] = result->fences[i];
	for (uint32_t i = 0; i < p->n; i++)
		describe(p->job, p->v[i].from, p->v[i].out, settled_by[i]);
}

void publish(struct box *box)
{
	struct publisher p = {.box = box, .job = &box->job, .arena = &box->job.keep};
	const struct modules *modules = &box->job.modules;

	if (modules->n && modules->v[0].target.text) {
		box->result.ptx_version = text_format(
			p.arena, "%u.%u", modules->v[0].version_major, modules->v[0].version_minor);
		box->result.target = text_format(
			p.arena, "%.*s", (int)modules->v[0].target.size, modules->v[0].target.text);
	}
	publish_findings(&p);
	publish_fences(&p);
	publish_kernels(&p);
	publish_mutations(&p);
	publish_diagnostics(&p);
	describe_all(&p);
}
