/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lexer and grammar under libFuzzer: any bytes in; no crash, no leak, and the fast run over
 * statements accepts exactly what the grammar accepts token by token, with the same IR.
 */
#include "parser/build.h"
#include "parser/dump.h"
#include "parser/parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *dump(const struct function *fn)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	dump_function(fn, out);
	fclose(out);
	return text;
}

/* Both ways to the IR of a body lead to the same one. */
static void build_body_twice(
	const struct module *module, uint32_t index, struct arena *arena, struct diags *diags)
{
	struct function one, other;
	bool ok = parse_function(module, index, arena, &one, diags);

	if (ok != parse_function_by_tokens(module, index, arena, &other, diags))
		abort();
	if (!ok)
		return;
	char *fast = dump(&one), *slow = dump(&other);

	if (strcmp(fast, slow) != 0)
		abort();
	free(fast);
	free(slow);
}

static void build_bodies(const struct modules *modules, struct arena *arena, struct diags *diags)
{
	for (uint32_t i = 0; i < modules->n; i++)
		for (uint32_t j = 0; j < modules->v[i].nfunctions; j++) {
			if (modules->v[i].functions[j].has_body)
				build_body_twice(&modules->v[i], j, arena, diags);
			arena_reset(arena);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	jmp_buf failed;
	struct arena arena, body;
	struct source source;
	struct diags diags = {0};
	struct modules modules, again;
	struct names *names = names_new(), *others = names_new();

	arena_init(&arena, &failed);
	arena_init(&body, &failed);
	arena.limit = body.limit = 256u << 20;
	if (!source_copy(&source, "fuzz", (const char *)data, size, &diags))
		abort();
	if (!setjmp(failed)) {
		bool ok = parse_modules(&source, &arena, names, &modules, &diags);

		/* a text of another kind is refused before the grammar sees it */
		if (ok != parse_modules_by_tokens(&source, &arena, others, &again) &&
			(ok || diags.v[0].message[0] != 'n'))
			abort();
		if (ok)
			build_bodies(&modules, &body, &diags);
	}
	diags_free(&diags);
	names_free(names);
	names_free(others);
	arena_free(&arena);
	arena_free(&body);
	source_free(&source);
	return 0;
}
