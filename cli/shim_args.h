/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ptxas, understood as far as fencepost-ptxas must: what is input, what is
 * output. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shim_input_kind {
	SHIM_FILE,  /* a path */
	SHIM_STDIN, /* the word "-" */
	SHIM_STRING /* the PTX itself: --input-as-string */
};

struct shim_words {
	char **v; /* NULL behind the last; each from malloc */
	uint32_t n, room;
};

struct shim_input {
	enum shim_input_kind kind;
	uint32_t first, last; /* the words that name it: one, or an option and its value */
	uint32_t value;	      /* first byte of the name or PTX in the last word */
};

struct shim_args {
	struct shim_words
		words; /* without the program's name, every options file put in its place */
	struct shim_input *inputs;
	uint32_t ninputs;
	uint32_t output_word,
		output_value; /* the -o that counts; output_word is UINT32_MAX: none */
	bool version;	      /* --version */
	bool informs;	      /* --help or --list-version: assembles nothing */
	bool expanded;	      /* an options file was read */
	uint32_t maxntid;     /* threads of a block; 0: not told, or ptxas ignores it */
	bool override_directives;
	const char *problem; /* set where shim_args_parse answers false */
};

/* Gives the text of an options file (from malloc) or NULL. */
typedef char *shim_reader(void *context, const char *path, size_t *size);

/* False when an options file cannot be read or they nest without end; ptxas then fails too. */
bool shim_args_parse(
	struct shim_args *, uint32_t n, char *const *words, shim_reader *, void *context);

void shim_args_free(struct shim_args *);

/* Appends a copy of text[0..size). */
void shim_words_add(struct shim_words *, const char *text, size_t size);

/* Splits as ptxas splits an options file: blanks separate, double quotes join, `\` takes the next
 * byte as it is; single quotes and `#` mean nothing. */
void shim_words_split(struct shim_words *, const char *text, size_t size);

void shim_words_free(struct shim_words *);

/* realloc() that ends the program with a message when there is no memory. */
void *shim_grown(void *, size_t);
