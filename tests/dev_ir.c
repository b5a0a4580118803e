/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the IR of each file named; for development. Options: -t tokens, -c check only, -b build
 * bodies but print nothing. */
#include "parser/dump.h"
#include "parser/parse.h"

#include <string.h>

static void print_diags(struct source *source, const struct diags *diags)
{
	for (uint32_t i = 0; i < diags->n; i++) {
		const struct diag *d = &diags->v[i];

		if (d->at.begin == NONE)
			printf("%s: error: %s\n", source->name, d->message);
		else
			printf("%s:%u:%u: error: %s\n", source->name,
				source_line(source, d->at.begin),
				source_column(source, d->at.begin), d->message);
	}
}

static bool dump_bodies(
	const struct module *module, jmp_buf *out_of_memory, FILE *out, struct diags *diags)
{
	struct arena arena;
	bool ok = true;

	arena_init(&arena, out_of_memory);
	for (uint32_t i = 0; i < module->nfunctions; i++) {
		struct function fn;

		if (!module->functions[i].has_body)
			continue;
		if (!parse_function(module, i, &arena, &fn, diags))
			ok = false;
		else if (out)
			dump_function(&fn, out);
		arena_reset(&arena);
	}
	arena_free(&arena);
	return ok;
}

static bool run(const char *path, const char *mode)
{
	jmp_buf out_of_memory;
	struct arena arena;
	struct source source;
	struct diags diags = {0};
	struct modules modules;
	struct names *names = names_new();
	bool ok = false;

	if (setjmp(out_of_memory)) {
		fprintf(stderr, "%s: out of memory\n", path);
		return false;
	}
	arena_init(&arena, &out_of_memory);
	if (source_read(&source, path, &diags)) {
		if (strcmp(mode, "-t") == 0)
			dump_tokens(&source, stdout);
		ok = parse_modules(&source, &arena, names, &modules, &diags);
		for (uint32_t i = 0; ok && strcmp(mode, "-c") != 0 && i < modules.n; i++) {
			FILE *out = strcmp(mode, "-b") == 0 ? NULL : stdout;

			if (out)
				dump_module(&modules.v[i], out);
			ok &= dump_bodies(&modules.v[i], &out_of_memory, out, &diags);
		}
	}
	print_diags(&source, &diags);
	diags_free(&diags);
	names_free(names);
	arena_free(&arena);
	source_free(&source);
	return ok;
}

int main(int argc, char **argv)
{
	const char *mode = "";
	bool ok = true;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && argv[i][1])
			mode = argv[i];
		else
			ok &= run(argv[i], mode);
	}
	return ok ? 0 : 2;
}
