/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a solved flow. Out: text, one line per hand-off site, per event and per edge. Sets are printed as
 * `line/space` of their facts, with a letter for the form: p pending, i in flight, f fenced at the
 * writer, a arrived from another CTA, w arrived with a writer-side fence only.
 */
#include "analysis/flow_dump.h"

#include "analysis/flow_state.h"

static uint32_t line_of(const struct flow_setup *s, uint32_t insn)
{
	const struct function *fn = s->unit->fn;
	uint32_t at = insn < fn->ninsns ? fn->insns[insn].at.begin : fn->end_at.begin;

	return source_line(fn->module->source, at);
}

static void print_set(const struct flow_setup *s, struct bits set, FILE *out)
{
	static const char forms[FORM_COUNT] = {'p', 'i', 'f', 'a', 'w'};
	const char *separator = "";

	fputc('{', out);
	for (uint32_t f = bits_next(set, 0); f != NONE; f = bits_next(set, f + 1)) {
		const struct fact *fact = &s->facts.v[f];
		const char *space = fact->space == SPACE_GLOBAL ? "global"
			: fact->space == SPACE_CLUSTER		? "cluster"
								: "shared";

		fprintf(out, "%s%u/%s%c", separator,
			line_of(s, s->unit->accesses.v[fact->access].insn), space,
			forms[fact->form]);
		separator = " ";
	}
	fputc('}', out);
}

static const char *event_name(enum event_kind kind)
{
	switch (kind) {
	case EVENT_COMPLETE:
		return "load complete";
	case EVENT_PLACED:
		return "planned fence";
	case EVENT_LITERAL:
		return "new predicate";
	case EVENT_FENCE:
		return "fence";
	case EVENT_ACCESS:
		return "access";
	case EVENT_WAIT:
		return "cp.async wait";
	case EVENT_RELEASE:
		return "release";
	case EVENT_ACQUIRE:
		return "acquire";
	case EVENT_ASYNC:
		return "async";
	}
	return "";
}

static void dump_sites(const struct flow_setup *s, FILE *out)
{
	for (uint32_t i = 0; i < s->handoffs.n; i++) {
		const struct sync_site *site = &s->handoffs.sites[i];

		fprintf(out, "  site %u line %u:%s%s%s%s%s%s phases %u..", i, line_of(s, site->insn),
			site->releases ? " release" : "", site->acquires ? " acquire" : "",
			site->full ? " all-threads" : "", site->crosses ? " crosses" : "",
			site->is_exit ? " exit" : "", site->unknown ? " unknown" : "",
			site->min_phase);
		site->max_phase == NONE ? fputs("inf ->", out)
					: fprintf(out, "%u ->", site->max_phase);
		for (uint32_t k = 0; k < s->handoffs.to[i].n; k++)
			fprintf(out, " %u", line_of(s,
				s->handoffs.sites[s->handoffs.to[i].v[k]].insn));
		fputc('\n', out);
	}
}

static void dump_block(struct flow_setup *s, uint32_t b, FILE *out)
{
	if (flow_first(s, b) == flow_end(s, b) || !flow_reached(s, b))
		return;
	fprintf(out, "  block %u\n", b);
	flow_enter(s, b);
	for (uint32_t e = flow_first(s, b); e < flow_end(s, b); e++) {
		fprintf(out, "    line %u %s own ", line_of(s, s->events[e].insn),
			event_name((enum event_kind)s->events[e].kind));
		print_set(s, s->now.own, out);
		fputs(" foreign ", out);
		print_set(s, s->now.foreign, out);
		for (uint32_t l = 0; l < s->nliterals; l++) {
			fprintf(out, " if%u ", l);
			print_set(s, s->now.own_if[l], out);
			print_set(s, s->now.foreign_if[l], out);
		}
		fputc('\n', out);
		flow_step(s, e, false, NULL);
	}
}

void flow_dump(struct flow_setup *s, const struct flow *flow, FILE *out)
{
	dump_sites(s, out);
	for (uint32_t b = 0; !s->trivial && b < s->unit->cfg.n; b++)
		dump_block(s, b, out);
	for (uint32_t i = 0; i < flow->nedges; i++) {
		const struct edge *e = &flow->edges[i];

		fprintf(out, "  edge line %u -> line %u%s%s%s via",
			line_of(s, s->unit->accesses.v[e->generic].insn),
			line_of(s, s->unit->accesses.v[e->async].insn), e->own ? " own" : "",
			e->foreign ? " foreign" : "", e->weak ? " weak" : "");
		for (uint32_t k = 1; k + 1 < e->npath; k++)
			fprintf(out, " %u", line_of(s, e->path[k]));
		fputc('\n', out);
	}
}
