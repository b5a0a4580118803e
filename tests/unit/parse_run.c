/* SPDX-License-Identifier: Apache-2.0 */
#include "parse_run.h"

#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

void run_end(struct run *run)
{
	diags_free(&run->diags);
	names_free(run->names);
	arena_free(&run->arena);
	arena_free(&run->body);
	source_free(&run->source);
	free(run);
}

static void parse_all(struct run *run)
{
	run->ok = parse_modules(&run->source, &run->arena, run->names, &run->modules, &run->diags);
	for (uint32_t i = 0; i < run->modules.n; i++)
		for (uint32_t j = 0; j < run->modules.v[i].nfunctions; j++) {
			struct function fn;

			if (run->modules.v[i].functions[j].has_body)
				run->ok &= parse_function(
					&run->modules.v[i], j, &run->body, &fn, &run->diags);
			arena_reset(&run->body);
		}
}

struct run *parse_limited(const char *text, size_t size, size_t limit)
{
	struct run *volatile run = calloc(1, sizeof(*run));

	run->names = names_new();
	arena_init(&run->arena, &run->failed);
	arena_init(&run->body, &run->failed);
	run->arena.limit = run->body.limit = limit;
	assert_true(source_copy(&run->source, "text", text, size, &run->diags));
	if (setjmp(run->failed)) {
		run_end(run);
		return NULL;
	}
	parse_all(run);
	return run;
}

struct run *parse(const char *text, size_t size)
{
	struct run *run = parse_limited(text, size, 0);

	assert_non_null(run);
	return run;
}
