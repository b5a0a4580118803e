/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a ptxas command line go in; which of them are inputs, the output and the block size
 * come out. Only what was seen of ptxas 13.0 is relied on: an option that takes a value takes the
 * next word whatever that looks like; options do not cluster and are never shortened; a value is
 * joined by `=`, with -O and -m also directly. What no table row knows is an option without a
 * value, so that a word is rather taken for an input (and looked at) than an input for a value (and
 * left without its fences).
 *
 * Invariant: words, handed to ptxas in this order, mean what the original command line meant.
 */
#include "cli/shim_args.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, VALUE, ATTACHED, VALUE_OR_ATTACHED };

enum meaning { PLAIN, INPUT, OUTPUT, OPTIONS, MAXNTID, REGISTERS, OVERRIDE, VERSION, INFORM };

struct option {
	const char *name, *letter;
	enum kind kind;
	enum meaning meaning;
};

/* Flags that mean nothing here need no row. */
static const struct option options[] = {
	{"Ofast-compile", "Ofc", VALUE, PLAIN},
	{"allow-expensive-optimizations", "allow-expensive-optimizations", VALUE, PLAIN},
	{"def-load-cache", "dlcm", VALUE, PLAIN},
	{"def-store-cache", "dscm", VALUE, PLAIN},
	{"device-function-maxrregcount", "func-maxrregcount", VALUE, PLAIN},
	{"device-stack-protector", "device-stack-protector", VALUE, PLAIN},
	{"entry", "e", VALUE, PLAIN},
	{"fmad", "fmad", VALUE, PLAIN},
	{"force-load-cache", "flcm", VALUE, PLAIN},
	{"force-store-cache", "fscm", VALUE, PLAIN},
	{"gpu-name", "arch", VALUE, PLAIN},
	{"help", "h", FLAG, INFORM},
	{"input-as-string", "ias", VALUE, INPUT},
	{"list-version", "version-ls", FLAG, INFORM},
	{"machine", "m", VALUE_OR_ATTACHED, PLAIN},
	{"maxntid", "maxntid", VALUE, MAXNTID},
	{"maxrregcount", "maxrregcount", VALUE, REGISTERS},
	{"minnctapersm", "minnctapersm", VALUE, PLAIN},
	{"opt-level", "O", ATTACHED, PLAIN},
	{"options-file", "optf", VALUE, OPTIONS},
	{"output-file", "o", VALUE, OUTPUT},
	{"override-directive-values", "override-directive-values", FLAG, OVERRIDE},
	{"position-independent-code", "pic", VALUE, PLAIN},
	{"register-usage-level", "regUsageLevel", VALUE, PLAIN},
	{"sanitize", "sanitize", VALUE, PLAIN},
	{"split-compile", "split-compile", VALUE, PLAIN},
	{"version", "V", FLAG, VERSION},
};

/* Far more than anybody nests; a file that names itself ends here. */
#define MAX_OPTIONS_FILES 256

struct parse {
	struct shim_args *args;
	struct shim_words todo; /* words not yet read; next is the first */
	uint32_t next;
	uint32_t files; /* options files read so far */
	shim_reader *reader;
	void *context;
	uint32_t block[3], nblock;
	bool block_wrong, registers;
};

void *shim_grown(void *old, size_t size)
{
	void *new = realloc(old, size);
	if (!new) {
		fputs("fencepost-ptxas: out of memory\n", stderr);
		exit(2);
	}
	return new;
}

static void words_push(struct shim_words *words, char *word)
{
	if (words->n + 2 > words->room) {
		words->room = words->room ? words->room * 2 : 16;
		words->v = shim_grown(words->v, words->room * sizeof *words->v);
	}
	words->v[words->n++] = word;
	words->v[words->n] = NULL;
}

void shim_words_add(struct shim_words *words, const char *text, size_t size)
{
	char *word = shim_grown(NULL, size + 1);
	memcpy(word, text, size);
	word[size] = '\0';
	words_push(words, word);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

void shim_words_split(struct shim_words *words, const char *text, size_t size)
{
	const char *end = text + strnlen(text, size);
	char *word = shim_grown(NULL, size + 1);
	while (text < end) {
		if (is_blank(*text)) {
			text++;
			continue;
		}
		size_t used = 0;
		bool quoted = false;
		for (; text < end && (quoted || !is_blank(*text)); text++) {
			if (*text == '"')
				quoted = !quoted;
			else if (*text != '\\')
				word[used++] = *text;
			else if (text + 1 < end)
				word[used++] = *++text;
		}
		shim_words_add(words, word, used);
	}
	free(word);
}

void shim_words_free(struct shim_words *words)
{
	for (uint32_t i = 0; i < words->n; i++)
		free(words->v[i]);
	free(words->v);
	*words = (struct shim_words){0};
}

/* The row of a word, and where in the word a joined value begins (0: none). */
static const struct option *option_of(const char *word, uint32_t *value)
{
	bool is_long = word[1] == '-';
	const char *name = word + 1 + is_long;
	size_t size = strcspn(name, "=");
	*value = name[size] == '=' ? (uint32_t)(name + size + 1 - word) : 0;
	if (!is_long && name[0] == 'm' && isdigit((unsigned char)name[1])) {
		*value = 2;
		size = 1;
	}
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		const char *known = is_long ? options[i].name : options[i].letter;
		if (strlen(known) == size && !memcmp(known, name, size))
			return &options[i];
	}
	return NULL;
}

static bool takes_next_word(const struct option *option, const char *word)
{
	if (option->kind == ATTACHED) /* -O3 and --opt-level 3, never -O 3 */
		return word[1] == '-';
	return option->kind != FLAG;
}

static void input_add(struct shim_args *args, struct shim_input input)
{
	args->inputs = shim_grown(args->inputs, (args->ninputs + 1) * sizeof *args->inputs);
	args->inputs[args->ninputs++] = input;
}

static void block_add(struct parse *parse, const char *list)
{
	while (*list) {
		char *end;
		unsigned long value = strtoul(list, &end, 10);
		if (!isdigit((unsigned char)*list) || (*end && *end != ',') || value == 0 ||
			value > UINT16_MAX || parse->nblock == 3) {
			parse->block_wrong = true;
			return;
		}
		parse->block[parse->nblock++] = (uint32_t)value;
		list = *end ? end + 1 : end;
	}
}

/* Puts the words of a file in front of those not yet read. */
static bool options_read(struct parse *parse, const char *path)
{
	if (++parse->files > MAX_OPTIONS_FILES) {
		parse->args->problem = "options files include each other";
		return false;
	}
	size_t size;
	char *text = parse->reader(parse->context, path, &size);
	if (!text) {
		parse->args->problem = "an options file cannot be read";
		return false;
	}
	struct shim_words words = {0};
	shim_words_split(&words, text, size);
	free(text);
	for (uint32_t i = parse->next; i < parse->todo.n; i++)
		words_push(&words, parse->todo.v[i]);
	free(parse->todo.v);
	parse->todo = words;
	parse->next = 0;
	parse->args->expanded = true;
	return true;
}

/* The files of a list are read in its order, so the last is put in front first. */
static bool options_list(struct parse *parse, char *list)
{
	for (char *comma; (comma = strrchr(list, ',')); *comma = '\0')
		if (comma[1] && !options_read(parse, comma + 1))
			return false;
	return !*list || options_read(parse, list);
}

/* The value of an option stands in the last word so far, from byte value on. */
static void value_seen(struct parse *parse, enum meaning meaning, uint32_t first, uint32_t value)
{
	struct shim_args *args = parse->args;
	uint32_t last = args->words.n - 1;
	if (meaning == INPUT) {
		input_add(args, (struct shim_input){SHIM_STRING, first, last, value});
	} else if (meaning == OUTPUT) {
		args->output_word = last;
		args->output_value = value;
	} else if (meaning == MAXNTID) {
		block_add(parse, args->words.v[last] + value);
	} else if (meaning == REGISTERS) {
		parse->registers = true;
	}
}

static void flag_seen(struct shim_args *args, enum meaning meaning)
{
	args->override_directives |= meaning == OVERRIDE;
	args->version |= meaning == VERSION;
	args->informs |= meaning == INFORM;
}

static char *next_word(struct parse *parse)
{
	return parse->todo.v[parse->next++];
}

static bool option_seen(struct parse *parse, char *word)
{
	struct shim_words *words = &parse->args->words;
	uint32_t first = words->n, value;
	const struct option *option = option_of(word, &value);
	words_push(words, word);
	if (!option)
		return true;
	if (option->kind == FLAG) {
		flag_seen(parse->args, option->meaning);
		return true;
	}
	if (!value) {
		if (!takes_next_word(option, word) || parse->next == parse->todo.n)
			return true;
		words_push(words, next_word(parse));
	}
	if (option->meaning != OPTIONS) {
		value_seen(parse, option->meaning, first, value);
		return true;
	}
	bool read = options_list(parse, words->v[words->n - 1] + value);
	while (words->n > first)
		free(words->v[--words->n]);
	words->v[words->n] = NULL;
	return read;
}

/* A block is bounded by the product; -maxrregcount makes ptxas ignore it, and so do wrong numbers.
 */
static uint32_t block_threads(const struct parse *parse)
{
	uint64_t threads = 1;
	for (uint32_t i = 0; i < parse->nblock; i++)
		threads *= parse->block[i];
	bool counts = parse->nblock && !parse->block_wrong && !parse->registers;
	return counts && threads <= UINT32_MAX ? (uint32_t)threads : 0;
}

bool shim_args_parse(
	struct shim_args *args, uint32_t n, char *const *words, shim_reader *reader, void *context)
{
	*args = (struct shim_args){.output_word = UINT32_MAX};
	struct parse parse = {.args = args, .reader = reader, .context = context};
	for (uint32_t i = 0; i < n; i++)
		shim_words_add(&parse.todo, words[i], strlen(words[i]));
	bool good = true;
	while (good && parse.next < parse.todo.n) {
		char *word = next_word(&parse);
		if (word[0] == '-' && word[1]) {
			good = option_seen(&parse, word);
			continue;
		}
		uint32_t at = args->words.n;
		words_push(&args->words, word);
		enum shim_input_kind kind = word[0] == '-' ? SHIM_STDIN : SHIM_FILE;
		input_add(args, (struct shim_input){kind, at, at, 0});
	}
	args->maxntid = block_threads(&parse);
	while (parse.next < parse.todo.n)
		free(next_word(&parse));
	free(parse.todo.v);
	return good;
}

void shim_args_free(struct shim_args *args)
{
	shim_words_free(&args->words);
	free(args->inputs);
	*args = (struct shim_args){0};
}
