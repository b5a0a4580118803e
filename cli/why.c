/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: two lines. Goes out, for each pair of a generic access in the first and an async access
 * in the second: an edge and its way; or what rules it out - the addresses, or fences that cover
 * it, or that no path and no hand-off leads from one to the other.
 */
#include "cli/why.h"

#include "analysis/findings.h"
#include "lib/fencepost.h"

static uint32_t line_of(const struct unit *unit, uint32_t insn)
{
	return source_line(unit->module->source, unit->fn->insns[insn].at.begin);
}

static void print_assumptions(uint32_t mask, FILE *out)
{
	for (uint32_t i = 0, n = 0; fencepost_assumption_name(i); i++)
		if (mask >> i & 1)
			fprintf(out, "%s%s",
				n++ ? ", " : " (by assumption: ", fencepost_assumption_name(i));
	fputs(mask ? ")\n" : "\n", out);
}

static void print_way(const struct unit *unit, const struct edge *edge, FILE *out)
{
	fprintf(out, "  an edge: the way is");
	for (uint32_t i = 0; i < edge->npath; i++)
		fprintf(out, "%s line %u", i ? "," : "", line_of(unit, edge->path[i]));
	if (edge->release != NONE && edge->acquire != NONE)
		fprintf(out, "; handed over by line %u to line %u", line_of(unit, edge->release),
			line_of(unit, edge->acquire));
	fprintf(out, "%s%s\n", edge->own ? "; on one thread's path" : "",
		edge_suppressed(unit, edge) ? "; suppressed by a hint" : "");
}

/* Fences without which the pair would be an edge. */
static bool print_covering(const struct analysis_view *view, uint32_t g, uint32_t a, FILE *out)
{
	bool any = false;

	for (uint32_t i = 0; i < view->audit->nfences; i++) {
		const struct fence_report *report = &view->audit->fences[i];

		for (uint32_t e = 0; e < report->nedges; e++) {
			const struct edge *edge = &view->audit->lost[report->edges[e]];

			if (edge->generic != g || edge->async != a)
				continue;
			fprintf(out, "  no edge: the fence in line %u covers it\n",
				line_of(view->unit, report->insn));
			any = true;
			break;
		}
	}
	return any;
}

static bool is_edge_without_fences(const struct analysis_view *view, uint32_t g, uint32_t a)
{
	uint8_t *none = ARENA_NEW(view->unit->arena, uint8_t, view->unit->fn->ninsns + 1);
	struct fence_view bare = {.existing = none};
	struct flow flow = {0};

	flow_solve(view->setup, &bare, &flow);
	for (uint32_t i = 0; i < flow.nedges; i++)
		if (flow.edges[i].generic == g && flow.edges[i].async == a)
			return true;
	return false;
}

static void print_pair(const struct analysis_view *view, uint32_t g, uint32_t a, FILE *out)
{
	struct unit unit = *view->unit;
	const struct access *x = &unit.accesses.v[g], *y = &unit.accesses.v[a];

	access_print(&unit, g, out);
	access_print(&unit, a, out);
	if (!x->writes && !y->writes) {
		fputs("  no edge: neither writes\n", out);
		return;
	}
	struct overlap overlap =
		access_overlap(unit.values, &unit.accesses, g, a, unit.options, unit.arena);

	if (!overlap.may) {
		fprintf(out, "  no edge: the bytes are distinct: %s",
			overlap.reason ? overlap.reason : "no common space");
		print_assumptions(overlap.assumptions, out);
		return;
	}
	bool found = false;

	for (uint32_t i = 0; i < view->flow->nedges; i++)
		if (view->flow->edges[i].generic == g && view->flow->edges[i].async == a) {
			print_way(&unit, &view->flow->edges[i], out);
			found = true;
		}
	if (found || print_covering(view, g, a, out))
		return;
	if (is_edge_without_fences(view, g, a))
		fputs("  no edge: several fences cover it, each way its own\n", out);
	else
		fputs("  no edge: no path and no hand-off leads from the first to the second, or "
		      "the "
		      "access is complete before; see --dump=flow\n",
			out);
}

uint32_t why_print(
	const struct analysis_view *view, uint32_t generic_line, uint32_t async_line, FILE *out)
{
	const struct accesses *accesses = &view->unit->accesses;
	uint32_t pairs = 0;

	for (uint32_t g = 0; g < accesses->n; g++)
		for (uint32_t a = 0; a < accesses->n; a++)
			if (accesses->v[g].proxy == PROXY_GENERIC &&
				accesses->v[a].proxy == PROXY_ASYNC &&
				line_of(view->unit, accesses->v[g].insn) == generic_line &&
				line_of(view->unit, accesses->v[a].insn) == async_line) {
				print_pair(view, g, a, out);
				pairs++;
			}
	return pairs;
}
