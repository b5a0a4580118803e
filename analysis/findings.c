/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: what the stages of one root found. Goes out: findings, one per rule, generic opcode and
 * block, async opcode and block (unrolled code would repeat them by the hundred otherwise), each
 * with all of its pairs. Invariant: every edge is in exactly one finding; nothing is dropped but
 * what
 * --rules leaves out.
 */
#include "analysis/items.h"

#include <stdlib.h>

static int by_number(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_numbers(const uint64_t *a, const uint64_t *b, uint32_t n)
{
	uint32_t i = 0;

	while (i + 1 < n && a[i] == b[i])
		i++;
	return a[i] < b[i] ? -1 : a[i] > b[i];
}

/* Items of one finding compare equal here. */
static int by_group(const struct item *x, const struct item *y)
{
	return by_numbers(x->group, y->group, sizeof(x->group) / sizeof(*x->group));
}

static int by_item(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = by_group(x, y);

	return order ? order
		     : by_numbers(x->within, y->within, sizeof(x->within) / sizeof(*x->within));
}

struct place place_of(const struct function *fn, uint32_t insn, struct arena *keep)
{
	struct place place = {.at = {NONE, NONE}, .opcode = {NONE, NONE}};

	if (insn == NONE)
		return place;
	place.at = fn->insns[insn].at;
	place.opcode = insn_opcode_at(fn, &fn->insns[insn]);
	place.kernel_function = insn_origin(fn, &fn->insns[insn]);
	uint32_t loc = insn_loc(fn, &fn->insns[insn]);

	if (loc == NONE)
		return place;
	uint32_t cap = 1; /* few were inlined */
	struct loc *sources = ARENA_UNSET(keep, struct loc, cap);

	sources[place.nsources++] = fn->locs[loc];

	/* inlined_at names a place that an earlier .loc gave (ISA 11.5.3 `.loc'): follow it. */
	while (fn->locs[loc].inlined_file) {
		struct loc at = {.file = fn->locs[loc].inlined_file,
			.line = fn->locs[loc].inlined_line,
			.column = fn->locs[loc].inlined_column,
			.function_name = NONE};
		uint32_t from = loc;

		while (from && !(fn->locs[from - 1].file == at.file &&
				       fn->locs[from - 1].line == at.line &&
				       fn->locs[from - 1].column == at.column))
			from--;
		if (from)
			at = fn->locs[from - 1];
		ARENA_PUSH(keep, sources, place.nsources, cap, at);
		if (!from)
			break;
		loc = from - 1;
	}
	place.sources = sources;
	return place;
}

static int by_pair(const void *a, const void *b)
{
	const struct result_pair *x = a, *y = b;
	int order = by_number(x->generic_at, y->generic_at);

	return order ? order : by_number(x->async_at, y->async_at);
}

static void push_pair(struct finding *finding, uint32_t *cap, uint32_t generic, uint32_t async,
	struct arena *keep)
{
	struct result_pair pair = {
		generic != NONE ? generic : async, async != NONE ? async : generic};

	ARENA_PUSH(keep, finding->pairs, finding->npairs, *cap, pair);
}

/* All pairs of the group, each once, in order of the text. */
static void set_pairs(struct finding *finding, const struct analysis_view *view,
	const struct item *v, uint32_t n, struct arena *keep)
{
	const struct function *fn = view->unit->fn;
	uint32_t cap = 0;

	for (uint32_t i = 0; i < n; i++)
		cap += v[i].nlost + (v[i].fence == NONE);
	finding->pairs =
		ARENA_NEW(keep, struct result_pair, cap); /* there are thousands of findings */
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t e = 0; e < v[i].nlost; e++) {
			const struct edge *edge = &v[i].lost[v[i].lost_edges[e]];

			push_pair(finding, &cap,
				offset_of(fn, item_insn(view->unit, edge->generic)),
				offset_of(fn, item_insn(view->unit, edge->async)), keep);
		}
		if (v[i].fence == NONE)
			push_pair(finding, &cap, offset_of(fn, v[i].generic),
				offset_of(fn, v[i].async), keep);
	}
	if (!finding->npairs)
		return;
	qsort(finding->pairs, finding->npairs, sizeof(*finding->pairs), by_pair);
	uint32_t kept = 1;

	for (uint32_t i = 1; i < finding->npairs; i++)
		if (by_pair(&finding->pairs[kept - 1], &finding->pairs[i]))
			finding->pairs[kept++] = finding->pairs[i];
	finding->npairs = kept;
}

static void push_handoff(struct finding *finding, uint32_t *cap, const struct function *fn,
	uint32_t release, uint32_t acquire, struct arena *keep)
{
	if (release == NONE || acquire == NONE)
		return;
	for (uint32_t i = 0; i < finding->nhandoffs; i++)
		if (finding->handoffs[i].release.at.begin == offset_of(fn, release) &&
			finding->handoffs[i].acquire.at.begin == offset_of(fn, acquire))
			return;
	struct result_handoff handoff = {place_of(fn, release, keep), place_of(fn, acquire, keep)};

	ARENA_PUSH(keep, finding->handoffs, finding->nhandoffs, *cap, handoff);
}

static void set_way(struct finding *finding, const struct function *fn, const struct edge *edge,
	struct arena *keep)
{
	uint32_t cap = edge->npath;

	finding->path = ARENA_NEW(keep, struct place, cap);
	for (uint32_t i = 0; i < edge->npath; i++) {
		struct place place = place_of(fn, edge->path[i], keep);

		if (finding->npath && finding->path[finding->npath - 1].at.begin == place.at.begin)
			continue;
		ARENA_PUSH(keep, finding->path, finding->npath, cap, place);
	}
}

static void set_edges(struct finding *finding, const struct analysis_view *view,
	const struct item *v, uint32_t n, struct arena *keep)
{
	const struct function *fn = view->unit->fn;
	uint32_t cap = 1;

	finding->handoffs = ARENA_NEW(keep, struct result_handoff, cap); /* few have more */
	for (uint32_t i = 0; i < n; i++) {
		finding->hazards |= v[i].hazard;
		finding->spaces |= v[i].space;
		finding->cross_cta |= v[i].cross_cta;
		finding->waiting_side |= v[i].waiting_side;
		if (!finding->unfixable && v[i].unfixable)
			finding->unfixable = v[i].unfixable;
		if (v[i].edge == NONE)
			continue;
		const struct edge *edge = &view->flow->edges[v[i].edge];

		finding->unlisted += edge->more;
		push_handoff(finding, &cap, fn, edge->release, edge->acquire, keep);
		if (!finding->npath)
			set_way(finding, fn, edge, keep);
	}
	if (v[0].nlost) {
		const struct edge *edge = &v[0].lost[v[0].lost_edges[0]];

		push_handoff(finding, &cap, fn, edge->release, edge->acquire, keep);
		set_way(finding, fn, edge, keep);
	}
}

static const char *keep_text(const char *text, struct arena *keep)
{
	return text ? strcpy(arena_alloc(keep, strlen(text) + 1), text) : NULL;
}

static uint8_t level_of(const struct analysis_options *options, const struct item *item)
{
	if (item->confidence == CONFIDENCE_POSSIBLE && !options->strict)
		return LEVEL_NOTE;
	return (uint8_t)rule_level(item->rule);
}

/* Order-free over the pairs, so that the order of unrolled copies does not matter. */
static uint64_t group_print(struct prints *prints, const struct item *v, uint32_t n)
{
	const struct function *fn = prints->fn;
	uint32_t symbol = fn->module->functions[fn->index].symbol;
	struct slice name = names_text(fn->module->names, fn->module->symbols[symbol].name);
	const char *rule = rule_text(v[0].rule);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t one = fingerprint_insn(prints, FINGERPRINT_SEED, v[i].generic);

		one = fingerprint_insn(prints, one, v[i].async);
		sum += fingerprint_insn(prints, one, v[i].fence);
	}
	uint64_t print = fingerprint_text(FINGERPRINT_SEED, rule, strlen(rule));

	print = fingerprint_name(print, name.text, name.size);
	return fingerprint_text(print, (const char *)&sum, sizeof(sum));
}

static void build_one(struct items *items, const struct item *v, uint32_t n, struct arena *keep,
	struct finding *finding)
{
	const struct analysis_view *view = items->view;
	const struct function *fn = view->unit->fn;

	*finding = (struct finding){.rule = v[0].rule,
		.confidence = v[0].confidence,
		.level = level_of(view->unit->options, &v[0]),
		.generic = place_of(fn, v[0].generic, keep),
		.async = place_of(fn, v[0].async, keep),
		.fence = place_of(fn, v[0].fence, keep),
		.detail = keep_text(v[0].detail, keep),
		.fingerprint = group_print(&items->prints, v, n)};
	if (v[0].hint != NONE) {
		struct slice reason = items->hints->uses[v[0].hint].hint->reason;
		char *text = arena_alloc(keep, reason.size + 1);

		memcpy(text, reason.text, reason.size);
		finding->suppressed = text;
		finding->state = STATE_SUPPRESSED;
	}
	set_pairs(finding, view, v, n, keep);
	set_edges(finding, view, v, n, keep);
	finding->unfixable = keep_text(finding->unfixable, keep);
}

static bool is_location(const char *at, const char *end)
{
	static const char word[] = ".loc";
	const size_t size = sizeof(word) - 1;

	if ((size_t)(end - at) <= size || memcmp(at, word, size) != 0 ||
		(at[size] != ' ' && at[size] != '\t'))
		return false;
	for (at += size; at < end; at++)
		if (memchr(":;{}\"/@[]|=", *at, 12)) /* something follows on its line */
			return false;
	return true;
}

/* A `.loc` stays with what follows it (ptx-proxies 4.4): the place before those that stand, one to
 * a line, before a statement that begins its line; comments between them that are no hints do not
 * count. */
static uint32_t before_locations(const struct source *source, uint32_t statement)
{
	const char *text = source->text, *end = text + statement, *found = end;

	while (end > text && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\f'))
		end--;
	while (end > text && end[-1] == '\n') {
		const char *line = --end;

		while (line > text && line[-1] != '\n')
			line--;
		const char *next = line;

		while (line < end &&
			(*line == ' ' || *line == '\t' || *line == '\f' || *line == '\r'))
			line++;
		size_t size = (size_t)(end - line);
		bool comment = size >= 2 && line[0] == '/' && line[1] == '/' &&
			       !memmem(line, size, "*/", 2) && !memmem(line, size, "fencepost", 9);

		if (is_location(line, end))
			found = line;
		else if (size && !comment)
			break;
		end = next;
	}
	return (uint32_t)(found - text);
}

/* Every edge that a change settles belongs to a finding: `of_edge` says to which. */
static void set_changes(const struct analysis_view *view, const uint32_t *of_edge,
	struct arena *keep, struct kernel_result *result)
{
	const struct function *fn = view->unit->fn;
	uint32_t *listed = ARENA_NEW(view->unit->arena, uint32_t, result->nfindings + 1);
	uint32_t cap = 0; /* listed: by finding, 1 + the change that lists it */

	for (uint32_t i = 0; i < view->plan->nchanges; i++) {
		const struct fence_change *change = &view->plan->changes[i];
		bool at_end = change->before >= fn->ninsns;
		struct result_fence fence = {.change = change->change,
			.kind = change->kind,
			.behind = change->behind,
			.half = change->half,
			.weight = change->weight,
			.reason = keep_text(change->reason, keep)};

		fence.at = at_end ? fn->end_at.begin
			   : change->change == CHANGE_INSERT
				   ? before_locations(
					     fn->module->source, insn_insert_at(fn, change->before))
				   : fn->insns[change->before].at.begin;
		if (change->behind)
			fence.at = source_rest_blank(
				fn->module->source, fn->insns[change->before].at.end);
		if (!at_end)
			fence.fence = fn->insns[change->before].at;
		fence.fixes = ARENA_NEW(keep, uint32_t, change->nedges + 1);
		for (uint32_t e = 0; e < change->nedges; e++) {
			uint32_t finding = of_edge[change->edges[e]];

			if (finding == NONE || listed[finding] == i + 1)
				continue;
			listed[finding] = i + 1;
			fence.fixes[fence.nfixes++] = finding;
		}
		ARENA_PUSH(keep, result->changes, result->nchanges, cap, fence);
	}
}

static void set_mutation(
	const struct analysis_view *view, struct arena *keep, struct kernel_result *result)
{
	const struct audit *audit = view->audit;
	uint32_t cap = 0;

	for (uint32_t i = 0; i < audit->nfences; i++) {
		struct result_mutation m = {
			.fence = place_of(view->unit->fn, audit->fences[i].insn, keep),
			.verdict = audit->fences[i].verdict,
			.kind = audit->fences[i].kind};
		uint32_t k = 0;

		while (k < result->nmutation &&
			result->mutation[k].fence.at.begin != m.fence.at.begin)
			k++;
		if (k == result->nmutation)
			ARENA_PUSH(keep, result->mutation, result->nmutation, cap, m);
		else if (m.verdict == FENCE_NEEDED || result->mutation[k].verdict == FENCE_SPARE)
			result->mutation[k].verdict = m.verdict;
	}
}

static void set_hints(const struct analysis_view *view, const struct hint_map *hints,
	struct arena *keep, struct kernel_result *result)
{
	const struct function *fn = view->unit->fn;

	result->hints = ARENA_NEW(keep, struct result_hint, hints->nuses + 1);
	for (uint32_t i = 0; i < hints->nuses; i++) {
		const struct hint_use *use = &hints->uses[i];

		result->hints[result->nhints++] =
			(struct result_hint){.at = {.at = use->hint->at,
						     .opcode = use->hint->at,
						     .kernel_function = fn->index},
				.used = use->used || use->hint->kind == HINT_ON,
				.invalid = use->invalid};
	}
}

static void count_left(const struct analysis_view *view, struct kernel_result *result)
{
	uint8_t *settled = ARENA_NEW(view->unit->arena, uint8_t, view->flow->nedges + 1);

	for (uint32_t i = 0; i < view->plan->nchanges; i++)
		for (uint32_t e = 0; e < view->plan->changes[i].nedges; e++)
			settled[view->plan->changes[i].edges[e]] = 1;
	for (uint32_t i = 0; i < view->flow->nedges; i++)
		result->edges_left += !settled[i] &&
				      edge_wanted(view->unit->options, &view->flow->edges[i]) &&
				      !edge_suppressed(view->unit, &view->flow->edges[i]);
}

static uint32_t count_groups(const struct items *items)
{
	uint32_t n = items->n != 0;

	for (uint32_t i = 1; i < items->n; i++)
		n += by_group(&items->v[i - 1], &items->v[i]) != 0;
	return n;
}

void findings_build(const struct analysis_view *view, struct hint_map *hints, struct arena *keep,
	struct kernel_result *result)
{
	struct items items = {.view = view, .hints = hints};
	struct arena *scratch = view->unit->arena;

	items_collect(&items);
	items_number(&items);
	if (items.n)
		qsort(items.v, items.n, sizeof(*items.v), by_item);
	result->findings = ARENA_UNSET(keep, struct finding, count_groups(&items) + 1);
	uint32_t *of_edge = ARENA_NEW(scratch, uint32_t, view->flow->nedges + 1);

	memset(of_edge, 0xff, sizeof(*of_edge) * ((size_t)view->flow->nedges + 1));
	for (uint32_t from = 0, to; from < items.n; from = to) {
		for (to = from; to < items.n && !by_group(&items.v[from], &items.v[to]); to++)
			if (items.v[to].edge != NONE)
				of_edge[items.v[to].edge] = result->nfindings;
		build_one(&items, items.v + from, to - from, keep,
			&result->findings[result->nfindings++]);
	}
	set_changes(view, of_edge, keep, result);
	set_mutation(view, keep, result);
	set_hints(view, hints, keep, result);
	count_left(view, result);
}
