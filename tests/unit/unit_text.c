/* SPDX-License-Identifier: Apache-2.0 */
#include "unit_text.h"

#include "analysis/locals.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char head[] = ".version 8.6\n.target sm_90a\n.address_size 64\n"
			   ".global .align 128 .b8 source[512];\n.global .align 128 .b8 drain[512];\n"
			   ".visible .entry k(.param .u64 out)\n.maxntid 128, 1, 1\n{\n"
			   ".reg .pred %p<10>;\n.reg .b16 %h<4>;\n.reg .b32 %r<50>;\n.reg .b64 %rd<20>;\n"
			   ".reg .f32 %f<20>;\n.shared .align 1024 .b8 tile[2048];\n"
			   ".shared .align 128 .b8 other[512];\n.shared .align 8 .b64 full;\n"
			   ".shared .align 8 .b64 empty;\n.local .align 16 .b8 depot[64];\n";

void unit_text_parse(struct unit_text *t, const char *body)
{
	char *text;

	memset(t, 0, sizeof(*t));
	assert_true(asprintf(&text, "%s%s\n}\n", head, body) > 0);
	t->first_line = 1;
	for (const char *c = head; *c; c++)
		t->first_line += *c == '\n';
	if (setjmp(t->out_of_memory))
		fail_msg("out of memory");
	arena_init(&t->arena, &t->out_of_memory);
	t->names = names_new();
	assert_true(source_copy(&t->source, "body", text, strlen(text), &t->diags));
	free(text);
	bool parsed = parse_modules(&t->source, &t->arena, t->names, &t->modules, &t->diags) &&
		link_calls(&t->modules.v[0], 0, &t->arena, &t->linked, &t->diags);

	if (!parsed)
		fail_msg("%s", t->diags.n ? t->diags.v[0].message : "not parsed");
	t->options = analysis_defaults();
}

void unit_text_analyse(struct unit_text *t)
{
	const struct function *fn = &t->linked.fn;

	t->unit = (struct unit){
		.module = &t->modules.v[0],
		.fn = fn,
		.options = &t->options,
		.lasting = &t->arena,
		.arena = &t->arena,
		.budget = &t->budget,
		.effects = effects_of(fn, &t->arena),
	};
	cfg_build(&t->linked, t->unit.effects, &t->arena, &t->unit.cfg);
	locals_solve(&t->unit, &t->linked);
	access_collect(fn, &t->unit.cfg, t->unit.values, &t->options, true, &t->arena,
		&t->unit.accesses);
}

void unit_text_free(struct unit_text *t)
{
	arena_free(&t->arena);
	names_free(t->names);
	source_free(&t->source);
	diags_free(&t->diags);
}

uint32_t unit_text_line(struct unit_text *t, uint32_t insn)
{
	const struct function *fn = &t->linked.fn;
	uint32_t at = insn < fn->ninsns ? fn->insns[insn].at.begin : fn->end_at.begin;

	return source_line(&t->source, at) - t->first_line + 1;
}
