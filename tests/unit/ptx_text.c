/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void fail_with(const struct ptx_text *t)
{
	const struct diag *d = &t->diags.v[0];

	fail_msg("offset %u: %s", d->at.begin, d->message);
}

void ptx_text_parse(struct ptx_text *t, const char *text)
{
	memset(t, 0, sizeof(*t));
	t->names = names_new();
	arena_init(&t->arena, &t->out_of_memory);
	if (setjmp(t->out_of_memory))
		fail_msg("out of memory");
	if (!source_copy(&t->source, "test.ptx", text, strlen(text), &t->diags) ||
		!parse_modules(&t->source, &t->arena, t->names, &t->modules, &t->diags))
		fail_with(t);
}

void ptx_text_free(struct ptx_text *t)
{
	arena_free(&t->arena);
	names_free(t->names);
	diags_free(&t->diags);
	source_free(&t->source);
}

struct function *ptx_text_body(struct ptx_text *t, uint32_t index)
{
	struct function *fn = ARENA_NEW(&t->arena, struct function, 1);

	if (!parse_function(&t->modules.v[0], index, &t->arena, fn, &t->diags))
		fail_with(t);
	return fn;
}

uint32_t ptx_text_find(const struct ptx_text *t, const char *name)
{
	const struct module *m = &t->modules.v[0];

	for (uint32_t i = 0; i < m->nfunctions; i++) {
		struct slice s = names_text(m->names, m->symbols[m->functions[i].symbol].name);

		if (m->functions[i].has_body && s.size == strlen(name) &&
			!memcmp(s.text, name, s.size))
			return i;
	}
	fail_msg("no function %s", name);
	return NONE;
}
