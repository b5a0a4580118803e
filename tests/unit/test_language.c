/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Language cases from a file: what is accepted, with the IR understood, and what is refused, with
 * place and text. A case is `=== name`, then `body` or `module` and a verdict (`ok`, `ok newer`:
 * this tool takes what the assembler of the day does not, `error`), the text, `---`, the expected
 * lines. Arguments: the file, and a ptxas against which the verdicts are held. UPDATE=1 prints the
 * file anew.
 */
#include "parser/dump.h"
#include "parser/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char prologue[] =
	".version 9.0 .target sm_90a .address_size 64 .global .b32 gv[16]; "
	".entry k(.param .u64 kp) { .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<5>; "
	".reg .f32 %f<8>; .shared .align 16 .b8 sm[1024]; .local .align 4 .b8 lo[64];\n";
static const char epilogue[] = "\nret; }\n";

struct language_case {
	char *name, *text, *expected;
	bool is_body, ok, newer;
};

static char *read_file(const char *path)
{
	struct source source;
	struct diags diags = {0};

	if (!source_read(&source, path, &diags)) {
		fprintf(stderr, "%s: %s\n", path, diags.v[0].message);
		exit(2);
	}
	return source.text;
}

/* `\xNN` stands for a byte that a text file should not hold. */
static size_t unescape(char *text, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++) {
		unsigned byte;

		if (text[i] == '\\' && text[i + 1] == 'x' &&
			sscanf(text + i + 2, "%2x", &byte) == 1) {
			text[n++] = (char)byte;
			i += 3;
		} else {
			text[n++] = text[i];
		}
	}
	return n;
}

static char *whole_text(const struct language_case *c, size_t *size)
{
	size_t room = strlen(c->text) + sizeof(prologue) + sizeof(epilogue);
	char *text = calloc(1, room), *copy = strdup(c->text);
	size_t n = unescape(copy, strlen(copy)), before = c->is_body ? sizeof(prologue) - 1 : 0;

	memcpy(text, prologue, before);
	memcpy(text + before, copy, n);
	if (c->is_body)
		memcpy(text + before + n, epilogue, sizeof(epilogue));
	*size = before + n + (c->is_body ? sizeof(epilogue) - 1 : 0);
	free(copy);
	return text;
}

static void print_diags(
	struct source *source, const struct diags *diags, uint32_t lines_before, FILE *out)
{
	for (uint32_t i = 0; i < diags->n; i++)
		fprintf(out, "%u:%u: %s\n",
			source_line(source, diags->v[i].at.begin) - lines_before,
			source_column(source, diags->v[i].at.begin), diags->v[i].message);
}

static void print_bodies(
	const struct module *module, bool is_body, struct diags *diags, jmp_buf *failed, FILE *out)
{
	struct arena arena;

	arena_init(&arena, failed);
	for (uint32_t i = 0; i < module->nfunctions; i++) {
		struct function fn;

		if (!module->functions[i].has_body ||
			!parse_function(module, i, &arena, &fn, diags))
			continue;
		fn.nsymbols = is_body ? 0 : fn.nsymbols;
		fn.ninsns -= is_body; /* the epilogue's */
		dump_function(&fn, out);
		arena_reset(&arena);
	}
	arena_free(&arena);
}

static char *understand(const struct language_case *c, bool *ok)
{
	jmp_buf failed;
	struct arena arena;
	struct source source;
	struct diags diags = {0};
	struct modules modules;
	struct names *names = names_new();
	size_t size, printed;
	char *text = whole_text(c, &size), *result;
	FILE *out = open_memstream(&result, &printed);

	if (setjmp(failed))
		abort();
	arena_init(&arena, &failed);
	source_copy(&source, "case", text, size, &diags);
	if (parse_modules(&source, &arena, names, &modules, &diags)) {
		for (uint32_t i = 0; i < modules.n; i++) {
			if (!c->is_body)
				dump_module(&modules.v[i], out);
			print_bodies(&modules.v[i], c->is_body, &diags, &failed, out);
		}
	}
	*ok = diags.errors == 0;
	if (!*ok)
		rewind(out);
	print_diags(&source, &diags, c->is_body, out);
	fclose(out);
	if (!*ok && diags.n == 0)
		result[0] = '\0';
	if (c->is_body && *ok) /* the line "body k" */
		memmove(result, strchr(result, '\n') + 1, strlen(strchr(result, '\n')));
	diags_free(&diags);
	names_free(names);
	arena_free(&arena);
	source_free(&source);
	free(text);
	return result;
}

static void print_case(const struct language_case *c)
{
	bool ok;
	char *result = understand(c, &ok);

	printf("=== %s\n%s %s%s\n%s---\n%s", c->name, c->is_body ? "body" : "module",
		ok ? "ok" : "error", c->newer ? " newer" : "", c->text, result);
	free(result);
}

static void check_case(void **state)
{
	const struct language_case *c = *state;
	bool ok;
	char *result = understand(c, &ok);

	assert_string_equal(result, c->expected);
	assert_int_equal(ok, c->ok);
	free(result);
}

static const char *ptxas;

static void check_ptxas(void **state)
{
	const struct language_case *c = *state;
	char path[] = "/tmp/languageXXXXXX", command[512];
	size_t size;
	char *text = whole_text(c, &size);
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");

	fwrite(text, 1, size, file);
	fclose(file);
	snprintf(command, sizeof(command), "'%s' -c -arch=sm_90a -o /dev/null %s >/dev/null 2>&1",
		ptxas, path);
	bool takes = system(command) == 0;

	unlink(path);
	free(text);
	if (takes != (c->ok && !c->newer))
		fail_msg("%s: ptxas %s it", c->name, takes ? "takes" : "refuses");
}

static char *cut(char *text, const char *mark)
{
	char *at = strstr(text, mark);

	if (!at)
		return NULL;
	at[1] = '\0'; /* keep the newline before the mark */
	return at + strlen(mark);
}

static char empty[] = "";

static struct language_case *read_cases(char *text, size_t *n)
{
	struct language_case *v = NULL;
	char *next = text + strlen("=== ");

	for (*n = 0; next; ++*n) {
		v = realloc(v, (*n + 1) * sizeof(*v));
		char *name = next, *head = strchr(name, '\n') + 1, *body = strchr(head, '\n') + 1;

		next = cut(body - 1, "\n=== ");
		char *expected = cut(body - 1, "\n---\n");

		head[-1] = body[-1] = '\0';
		v[*n] = (struct language_case){.name = name,
			.text = body,
			.expected = expected,
			.is_body = strncmp(head, "body", 4) == 0,
			.ok = strstr(head, " ok") != NULL,
			.newer = strstr(head, " newer") != NULL};
		if (expected == body) /* empty text */
			v[*n].text = empty;
	}
	return v;
}

int main(int argc, char **argv)
{
	size_t n;

	if (argc < 2)
		return 2;
	char *text = read_file(argv[1]);
	struct language_case *cases = read_cases(text, &n);

	for (size_t i = 0; getenv("UPDATE") && i < n; i++)
		print_case(&cases[i]);
	if (getenv("UPDATE"))
		return 0;
	struct CMUnitTest *tests = calloc(n, sizeof(*tests));

	ptxas = argc > 2 ? argv[2] : NULL;
	for (size_t i = 0; i < n; i++) {
		tests[i].name = cases[i].name;
		tests[i].test_func = ptxas ? check_ptxas : check_case;
		tests[i].initial_state = &cases[i];
	}
	int failed = _cmocka_run_group_tests("language", tests, n, NULL, NULL);

	free(tests);
	free(cases);
	free(text);
	return failed ? 99 : 0;
}
