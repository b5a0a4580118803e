/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the grammar. A file is first parsed by the plain parser over runs of statements, which is
 * fast and silent; when that fails a second parser, made of the same grammar with LAC (so that it
 * knows exactly what could have followed), reads the tokens one by one and words the errors.
 */
#include "parser/parse.h"
#include "parser/build.h"

#include <string.h>

int ptx_explain_parse(struct build *);

static void start(struct build *b, struct source *source, struct span part, struct arena *arena,
	struct names *names, struct diags *diags)
{
	*b = (struct build){.source = source,
		.arena = arena,
		.names = names,
		.diags = diags,
		.function = NONE,
		.current = NONE};
	lexer_init(&b->lexer, source->text, source->size, part, arena, diags);
}

static struct span whole(const struct source *source)
{
	return (struct span){0, source->size};
}

/* The first token of PTX is `.version`; whatever starts otherwise is some other kind of file. */
static bool is_ptx(struct source *source, struct diags *diags)
{
	struct lexer lexer;
	struct span at;

	lexer_init(&lexer, source->text, source->size, whole(source), NULL, NULL);
	int kind = lexer_next(&lexer, &at);

	if (kind == TOK_VERSION)
		return true;
	if (kind == TOK_YYEOF)
		diag_add(diags, DIAG_ERROR, at, "not PTX: expected '.version', saw end of file");
	else if (kind == TOK_PTXerror)
		diag_add(diags, DIAG_ERROR, at, "not PTX: expected '.version'");
	else
		diag_add(diags, DIAG_ERROR, at, "not PTX: expected '.version', saw '%.*s'",
			(int)(at.end - at.begin > 60 ? 60 : at.end - at.begin),
			source->text + at.begin);
	return false;
}

static void explain(struct source *source, struct arena *arena, struct names *names,
	struct modules *modules, struct diags *diags)
{
	struct build b;
	uint32_t before = diags->errors;

	*modules = (struct modules){0};
	start(&b, source, whole(source), arena, names, diags);
	b.modules = modules;
	b.start = TOK_START_FILE;
	ptx_explain_parse(&b);
	if (diags->errors == before)
		diag_add(diags, DIAG_ERROR, whole(source), "syntax error");
}

/* The ISA edition that the tables and effects were made from. */
enum { KNOWN_MAJOR = 9, KNOWN_MINOR = 5 };

static void note_newer(const struct modules *modules, struct diags *diags)
{
	for (uint32_t i = 0; i < modules->n; i++) {
		const struct module *module = &modules->v[i];

		if (module->version_major > KNOWN_MAJOR ||
			(module->version_major == KNOWN_MAJOR &&
				module->version_minor > KNOWN_MINOR))
			diag_add(diags, DIAG_NOTE, module->version_at,
				"PTX ISA %d.%d is newer than %d.%d, which this program was written "
				"for",
				module->version_major, module->version_minor, KNOWN_MAJOR,
				KNOWN_MINOR);
	}
}

bool parse_modules(struct source *source, struct arena *arena, struct names *names,
	struct modules *modules, struct diags *diags)
{
	struct build b;

	*modules = (struct modules){0};
	if (!is_ptx(source, diags))
		return false;
	start(&b, source, whole(source), arena, names, NULL);
	b.lexer.runs = true;
	b.modules = modules;
	b.start = TOK_START_FILE;
	if (ptxparse(&b) != 0 || b.failed) {
		explain(source, arena, names, modules, diags);
		*modules = (struct modules){0};
		return false;
	}
	if (b.current != NONE)
		build_module_end(&b);
	note_newer(modules, diags);
	return true;
}

static bool build_function_ir(
	struct build *b, const struct module *module, uint32_t index, struct function *fn)
{
	*fn = (struct function){.module = module, .index = index};
	b->module = module;
	b->fn = fn;
	b->start = TOK_START_FUNCTION;
	return ptxparse(b) == 0 && !b->failed;
}

bool parse_function(const struct module *module, uint32_t index, struct arena *arena,
	struct function *fn, struct diags *diags)
{
	struct build b;

	start(&b, module->source, module->functions[index].at, arena, module->names, diags);
	b.lexer.runs = true;
	b.lexer.known = module->functions[index].runs;
	b.lexer.nknown = module->functions[index].nruns;
	return build_function_ir(&b, module, index, fn);
}

bool parse_function_by_tokens(const struct module *module, uint32_t index, struct arena *arena,
	struct function *fn, struct diags *diags)
{
	struct build b;

	start(&b, module->source, module->functions[index].at, arena, module->names, diags);
	return build_function_ir(&b, module, index, fn);
}

bool parse_modules_by_tokens(
	struct source *source, struct arena *arena, struct names *names, struct modules *modules)
{
	struct build b;

	*modules = (struct modules){0};
	start(&b, source, whole(source), arena, names, NULL);
	b.modules = modules;
	b.start = TOK_START_FILE;
	return ptxparse(&b) == 0 && !b.failed;
}
