/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lexer and grammar under libFuzzer: any bytes in; no crash, no leak, and the fast run over statements
 * accepts exactly what the grammar accepts token by token.
 */
#include "parser/build.h"
#include "parser/dump.h"
#include "parser/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool accepts_slowly(struct source *source, struct arena *arena, struct names *names)
{
	struct modules modules = {0};
	struct build b = {.source = source,
		.arena = arena,
		.names = names,
		.function = NONE,
		.current = NONE,
		.modules = &modules,
		.start = TOK_START_FILE};

	lexer_init(&b.lexer, source->text, source->size, (struct span){0, source->size}, arena, NULL);
	return ptxparse(&b) == 0 && !b.failed;
}

static void build_bodies(
	const struct modules *modules, struct arena *arena, struct diags *diags, FILE *out)
{
	for (uint32_t i = 0; i < modules->n; i++)
		for (uint32_t j = 0; j < modules->v[i].nfunctions; j++) {
			struct function fn;

			if (modules->v[i].functions[j].has_body &&
				parse_function(&modules->v[i], j, arena, &fn, diags))
				dump_function(&fn, out);
			arena_reset(arena);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	jmp_buf failed;
	struct arena arena, body;
	struct source source;
	struct diags diags = {0};
	struct modules modules;
	struct names *names = names_new(), *others = names_new();
	FILE *out = fopen("/dev/null", "w");

	arena_init(&arena, &failed);
	arena_init(&body, &failed);
	arena.limit = body.limit = 256u << 20;
	if (!source_copy(&source, "fuzz", (const char *)data, size, &diags))
		abort();
	if (!setjmp(failed)) {
		bool ok = parse_modules(&source, &arena, names, &modules, &diags);

		/* a text of another kind is refused before the grammar sees it */
		if (ok != accepts_slowly(&source, &arena, others) && (ok || diags.v[0].message[0] != 'n'))
			abort();
		if (ok)
			build_bodies(&modules, &body, &diags, out);
	}
	fclose(out);
	diags_free(&diags);
	names_free(names);
	names_free(others);
	arena_free(&arena);
	arena_free(&body);
	source_free(&source);
	return 0;
}
