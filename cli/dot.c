/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: the stages of one root. Goes out: a graph in the language of graphviz. A block shows
 * only what matters for proxies: accesses, fences, hand-offs; the rest is a count. Names of nodes
 * are block numbers, so that a page can link to them.
 */
#include "cli/dot.h"

#include "analysis/findings.h"
#include "analysis/handoff.h"

enum role { ROLE_GENERIC = 1, ROLE_ASYNC = 2, ROLE_FENCE = 4, ROLE_SYNC = 8 };

static uint32_t roles_of(const struct effect *effect)
{
	uint32_t roles = 0;

	for (uint8_t i = 0; i < effect->ntouches; i++) {
		const struct touch *touch = &effect->touches[i];

		if (touch->mbarrier ||
			!(touch->spaces & (SPACE_SHARED | SPACE_CLUSTER | SPACE_GLOBAL)))
			continue;
		roles |= touch->proxy == PROXY_ASYNC ? ROLE_ASYNC : ROLE_GENERIC;
	}
	if (effect->fence != FENCE_NONE && effect->fence != FENCE_MBARRIER_INIT)
		roles |= ROLE_FENCE;
	if (effect->releases || effect->acquires)
		roles |= ROLE_SYNC;
	return roles;
}

static const char *fill(uint32_t roles)
{
	if ((roles & (ROLE_GENERIC | ROLE_ASYNC)) == (ROLE_GENERIC | ROLE_ASYNC))
		return "#e6d5f5";
	if (roles & ROLE_ASYNC)
		return "#ffe0b3";
	if (roles & ROLE_GENERIC)
		return "#cfe3ff";
	return roles & ROLE_FENCE ? "#d5f5d5" : "#f4f4f4";
}

static void print_text(const struct function *fn, const struct insn *insn, FILE *out)
{
	const char *text = fn->module->source->text;
	bool blank = false;

	fprintf(out, "%u: ", source_line(fn->module->source, insn->at.begin));
	for (uint32_t i = insn->at.begin, n = 0; i < insn->at.end && n < 56; i++) {
		if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
			blank = true;
			continue;
		}
		if (blank)
			fputc(' ', out), n++;
		blank = false;
		if (text[i] == '"' || text[i] == '\\')
			fputc('\\', out);
		fputc(text[i], out), n++;
	}
	fputs("\\l", out);
}

static void print_block(const struct unit *unit, uint32_t b, const char *anchor, FILE *out)
{
	const struct block *block = &unit->cfg.blocks[b];
	uint32_t all = 0, hidden = 0, shown = 0, first = block->first;

	fprintf(out, "\tb%u [label=\"B%u%s\\l", b, b, block->loop_depth ? " (in a loop)" : "");
	for (uint32_t k = block->first; k < block->first + block->count; k++) {
		uint32_t roles = roles_of(unit->effects[k]);

		all |= roles;
		if (!roles || shown >= 10) {
			hidden++;
			continue;
		}
		if (hidden)
			fprintf(out, "... %u more\\l", hidden);
		hidden = 0;
		if (!shown++)
			first = k;
		print_text(unit->fn, &unit->fn->insns[k], out);
	}
	if (hidden)
		fprintf(out, "... %u more\\l", hidden);
	fprintf(out, "\", fillcolor=\"%s\"%s", fill(all),
		all & ROLE_FENCE ? ", color=\"#1a7f37\", penwidth=2" : "");
	if (anchor && block->count)
		fprintf(out, ", URL=\"#%sL%u\"", anchor,
			source_line(unit->module->source, unit->fn->insns[first].at.begin));
	fputs("];\n", out);
}

static void print_flow_edges(const struct unit *unit, FILE *out)
{
	for (uint32_t b = 0; b < unit->cfg.n; b++)
		for (uint32_t i = 0; i < unit->cfg.blocks[b].succ.n; i++)
			fprintf(out, "\tb%u -> b%u;\n", b, unit->cfg.blocks[b].succ.v[i]);
}

/* One line per pair of blocks, however many sites pair. */
static void print_once(const struct unit *unit, struct bits seen, uint32_t from, uint32_t to,
	const char *style, FILE *out)
{
	uint32_t a = unit->cfg.block_of[from], b = unit->cfg.block_of[to];

	if (a == NONE || b == NONE || bits_has(seen, a * unit->cfg.n + b))
		return;
	bits_set(seen, a * unit->cfg.n + b);
	fprintf(out, "\tb%u -> b%u [%s];\n", a, b, style);
}

static void print_handoffs(struct unit *unit, struct bits seen, FILE *out)
{
	struct handoffs handoffs = {0};

	handoff_pair(unit, &handoffs);
	for (uint32_t i = 0; i < handoffs.n; i++)
		for (uint32_t j = 0; j < handoffs.to[i].n; j++) {
			const struct sync_site *to = &handoffs.sites[handoffs.to[i].v[j]];

			if (!handoffs.sites[i].is_exit && handoffs.sites[i].insn != to->insn)
				print_once(unit, seen, handoffs.sites[i].insn, to->insn,
					"style=dashed, color=\"#6e7781\", constraint=false", out);
		}
}

static void print_missing(const struct analysis_view *view, struct bits seen, FILE *out)
{
	const struct unit *unit = view->unit;

	for (uint32_t i = 0; i < view->flow->nedges; i++) {
		const struct edge *edge = &view->flow->edges[i];

		print_once(unit, seen, unit->accesses.v[edge->generic].insn,
			unit->accesses.v[edge->async].insn,
			edge_suppressed(unit, edge)
				? "color=\"#d4a0a0\", style=dotted, constraint=false"
				: "color=\"#cf222e\", penwidth=2, constraint=false",
			out);
	}
}

void dot_print(const struct analysis_view *view, const char *name, const char *anchor, FILE *out)
{
	/* The pairing keeps what it finds on the unit's arena and changes nothing else. */
	struct unit unit = *view->unit;
	uint32_t pairs = unit.cfg.n * unit.cfg.n;

	fprintf(out, "digraph \"%s\" {\n", name);
	fputs("\tnode [shape=box, style=filled, fontname=\"monospace\", fontsize=10];\n", out);
	fputs("\tedge [color=\"#57606a\"];\n", out);
	for (uint32_t b = 0; b < unit.cfg.n; b++)
		print_block(&unit, b, anchor, out);
	print_flow_edges(&unit, out);
	if (view->solved && unit.cfg.n < 20000) {
		print_handoffs(&unit, bits_new(unit.arena, pairs), out);
		print_missing(view, bits_new(unit.arena, pairs), out);
	}
	fputs("}\n", out);
}
