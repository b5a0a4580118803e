/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading of ptxas command lines: each row is a command line and what is understood of it,
 * printed. What the rows expect was seen of ptxas 13.0 itself. Invariant: no row reads a real file.
 */
#include "cli/shim_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Options files that exist, name and text by turns. */
static const char *const files[] = {
	"plain",
	"-v -o \"q r.o\"\tb.ptx",
	"escapes",
	"-o q\\\\x\\\"y.o\\ny b.ptx",
	"joined",
	"-o q\"r s\"t.o\r\nb.ptx\r\n",
	"single",
	"-o 'x' b.ptx # c",
	"empty",
	"-o \"\" b.ptx",
	"string",
	"-ias \".version 8.3\n.entry\" -o x",
	"nested",
	"a.ptx -optf plain c.ptx",
	"cut",
	"a.ptx -o",
	"loop",
	"a.ptx -optf loop",
	"backslash",
	"a.ptx\\",
};

static char *reader(void *context, const char *path, size_t *size)
{
	(void)context;
	for (size_t i = 0; i < sizeof files / sizeof *files; i += 2) {
		if (strcmp(files[i], path))
			continue;
		*size = strlen(files[i + 1]);
		return strdup(files[i + 1]);
	}
	return NULL;
}

static const struct {
	const char *name, *line, *expected; /* the line is split at `|` */
} rows[] = {
	{"one input", "-arch=sm_90a|a.ptx|-o|x.o", "file a.ptx, out x.o"},
	{"several inputs", "a.ptx|b.ptx|-c", "file a.ptx, file b.ptx"},
	{"a comma is part of a path", "a.ptx,b.ptx", "file a.ptx,b.ptx"},
	{"standard input", "-|/dev/stdin", "stdin, file /dev/stdin"},
	{"an empty word is a path", "", "file "},
	{"a value may look like an option", "-o|-v|a.ptx", "file a.ptx, out -v"},
	{"a value may be a dash", "-o|-|a.ptx", "file a.ptx, out -"},
	{"a joined value", "-o=a=b|a.ptx", "file a.ptx, out a=b"},
	{"a long joined value", "--output-file=y|a.ptx", "file a.ptx, out y"},
	{"the last output counts", "-o|x|a.ptx|-o=y", "file a.ptx, out y"},
	{"no value is left", "a.ptx|-o", "file a.ptx"},
	{"a long name behind one dash is unknown", "-output-file|a.ptx", "file a.ptx"},
	{"a letter behind two dashes is unknown", "--o|a.ptx", "file a.ptx"},
	{"names are never shortened", "--out|a.ptx", "file a.ptx"},
	{"a level never takes the next word", "-O|3|-O3|a.ptx", "file 3, file a.ptx"},
	{"the long level does", "--opt-level|3|a.ptx", "file a.ptx"},
	{"machine both ways", "-m64|-m|64|--machine|64|a.ptx", "file a.ptx"},
	{"a value of every option", "-e|k|-dlcm|ca|-fmad|true|-regUsageLevel|5|-Ofc|max|a.ptx",
		"file a.ptx"},
	{"an unknown option takes nothing", "--new-option|a.ptx|--other=b.ptx", "file a.ptx"},
	{"PTX as a word", "-ias|.version 8.3, x", "string .version 8.3, x"},
	{"PTX as a joined word", "--input-as-string=.version=1", "string .version=1"},
	{"PTX and a file", "-ias|P|a.ptx|-ias=Q", "string P, file a.ptx, string Q"},
	{"version", "-V|a.ptx", "file a.ptx, version"},
	{"long version", "--version", "version"},
	{"help", "-h|a.ptx", "file a.ptx, informs"},
	{"list of versions", "--list-version", "informs"},
	{"no words", "-v", ""},
	{"block", "-maxntid|64|a.ptx", "file a.ptx, block 64"},
	{"block of three", "--maxntid=64,2,3|a.ptx", "file a.ptx, block 384"},
	{"block in two options", "-maxntid|64,|-maxntid|2|a.ptx", "file a.ptx, block 128"},
	{"block of four is ignored", "-maxntid|64,2,2,2|a.ptx", "file a.ptx"},
	{"block with a zero", "-maxntid|0|a.ptx", "file a.ptx"},
	{"block in hexadecimal is none", "-maxntid|0x40|a.ptx", "file a.ptx"},
	{"block with a leading zero", "-maxntid|064|a.ptx", "file a.ptx, block 64"},
	{"block of words", "-maxntid|-v|a.ptx", "file a.ptx"},
	{"block beside registers is ignored", "-maxntid|64|-maxrregcount|32|a.ptx", "file a.ptx"},
	{"block that overrides", "-maxntid|64|--override-directive-values|a.ptx",
		"file a.ptx, block 64, override"},
	{"options file", "-optf|plain|c.ptx", "file b.ptx, file c.ptx, out q r.o, expanded"},
	{"options file joined", "--options-file=escapes", "file b.ptx, out q\\x\"y.ony, expanded"},
	{"options file with joined quotes", "-optf=joined", "file b.ptx, out qr st.o, expanded"},
	{"options file with other quotes", "-optf|single",
		"file b.ptx, file #, file c, out 'x', expanded"},
	{"options file with an empty word", "-optf|empty", "file b.ptx, out , expanded"},
	{"options file with PTX", "-optf|string", "string .version 8.3\n.entry, out x, expanded"},
	{"options file in another", "-optf|nested|d.ptx",
		"file a.ptx, file b.ptx, file c.ptx, file d.ptx, out q r.o, expanded"},
	{"list of options files", "-optf|plain,cut|d.ptx",
		"file b.ptx, file a.ptx, out d.ptx, expanded"},
	{"option cut at the end of a file", "-optf|cut|z|d.ptx",
		"file a.ptx, file d.ptx, out z, expanded"},
	{"backslash at the end", "-optf|backslash", "file a.ptx, expanded"},
	{"options file that is missing", "a.ptx|-optf|nope|b.ptx",
		"an options file cannot be read"},
	{"options file that names itself", "-optf|loop", "options files include each other"},
};

static void say(FILE *out, const char *what, const char *text)
{
	fprintf(out, "%s%s%s", ftell(out) ? ", " : "", what, text);
}

static char *print(const struct shim_args *args)
{
	static const char *const kinds[] = {"file ", "stdin", "string "};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	for (uint32_t i = 0; i < args->ninputs; i++) {
		const struct shim_input *input = &args->inputs[i];
		bool named = input->kind != SHIM_STDIN;
		say(out, kinds[input->kind],
			named ? args->words.v[input->last] + input->value : "");
	}
	if (args->output_word != UINT32_MAX)
		say(out, "out ", args->words.v[args->output_word] + args->output_value);
	if (args->version)
		say(out, "version", "");
	if (args->informs)
		say(out, "informs", "");
	if (args->maxntid) {
		say(out, "block ", "");
		fprintf(out, "%u", args->maxntid);
	}
	if (args->override_directives)
		say(out, "override", "");
	if (args->expanded)
		say(out, "expanded", "");
	fclose(out);
	return text;
}

static uint32_t split(char *line, char **words)
{
	uint32_t n = 0;
	for (char *next = line; next; n++) {
		words[n] = next;
		next = strchr(next, '|');
		if (next)
			*next++ = '\0';
	}
	return n;
}

static void test_shim_args_understood(void **state)
{
	(void)state;
	int failed = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *line = strdup(rows[i].line), *words[32];
		struct shim_args args;
		bool good = shim_args_parse(&args, split(line, words), words, reader, NULL);
		char *seen = good ? print(&args) : strdup(args.problem);
		if (strcmp(seen, rows[i].expected)) {
			print_error("%s:\n  expected %s\n  saw      %s\n", rows[i].name,
				rows[i].expected, seen);
			failed++;
		}
		free(seen);
		free(line);
		shim_args_free(&args);
	}
	assert_int_equal(failed, 0);
}

/* Without options files the words are those of the command line, in its order. */
static void test_shim_args_words_kept(void **state)
{
	(void)state;
	char line[] = "-arch=sm_90a|-maxntid|64|-O3|-m64|--new|a.ptx|-|-ias|P|-o|x";
	char *words[32];
	uint32_t n = split(line, words);
	struct shim_args args;
	assert_true(shim_args_parse(&args, n, words, reader, NULL));
	assert_int_equal(args.words.n, n);
	for (uint32_t i = 0; i < n; i++)
		assert_string_equal(args.words.v[i], words[i]);
	assert_null(args.words.v[n]);
	shim_args_free(&args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shim_args_understood),
		cmocka_unit_test(test_shim_args_words_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
