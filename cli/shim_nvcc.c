/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command lines of our parents go in; whether nvcc embeds the PTX beside the cubin comes out.
 * Where it does, the driver may later compile that PTX, which has not our fences, for a GPU that
 * the cubin does not fit. ptxas is not told of it, so the nvcc that called us is looked at, in
 * /proc.
 *
 * Invariant: only a hint hangs on the answer; where /proc says nothing, it is no.
 */
#include "cli/shim_nvcc.h"

#include "cli/shim_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PARENTS 4 /* us, perhaps a shell or two, nvcc */

struct targets {
	bool code_named; /* what to make was said: -code, -gencode */
	bool code_is_ptx, no_fatbinary, arch_is_native;
};

/* The value of an option: joined by `=` or the next word; NULL: another option. */
static const char *value_of(const char *name, uint32_t n, char *const *words)
{
	size_t size = strlen(name);
	if (strncmp(words[0], name, size))
		return NULL;
	if (words[0][size] == '=')
		return words[0] + size + 1;
	return !words[0][size] && n > 1 ? words[1] : NULL;
}

static const char *value_of_either(const char *a, const char *b, uint32_t n, char *const *words)
{
	const char *value = value_of(a, n, words);
	return value ? value : value_of(b, n, words);
}

static void word_seen(struct targets *targets, uint32_t n, char *const *words)
{
	const char *code = value_of_either("-code", "--gpu-code", n, words);
	const char *both = value_of_either("-gencode", "--generate-code", n, words);
	const char *arch = value_of_either("-arch", "--gpu-architecture", n, words);
	if (both) {
		code = strstr(both, "code=");
		targets->code_named = true;
	}
	if (code) {
		targets->code_named = true;
		targets->code_is_ptx |= strstr(code, "compute_") != NULL;
	}
	if (arch)
		targets->arch_is_native = !strcmp(arch, "native");
	if (!strcmp(words[0], "-cubin") || !strcmp(words[0], "--cubin"))
		targets->no_fatbinary = true;
}

bool shim_nvcc_words_embed(uint32_t n, char *const *words)
{
	struct targets targets = {0};
	for (uint32_t i = 0; i < n; i++)
		word_seen(&targets, n - i, words + i);
	if (targets.no_fatbinary)
		return false;
	return targets.code_named ? targets.code_is_ptx : !targets.arch_is_native;
}

static bool add_parent_words(pid_t process, struct shim_words *words)
{
	char path[40], text[1 << 16];
	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)process);
	FILE *file = fopen(path, "r");
	if (!file)
		return false;
	size_t size = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[size] = '\0';
	for (size_t at = 0; at < size; at += strlen(text + at) + 1)
		shim_words_add(words, text + at, strlen(text + at));
	return words->n > 0;
}

static pid_t parent_of(pid_t process)
{
	char path[40], text[512];
	int parent = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
	FILE *file = fopen(path, "r");
	if (!file)
		return 0;
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	const char *behind_name = strrchr(text, ')');
	return behind_name && sscanf(behind_name, ") %*c %d", &parent) == 1 ? parent : 0;
}

static bool is_nvcc(const char *word)
{
	const char *slash = strrchr(word, '/');
	return !strcmp(slash ? slash + 1 : word, "nvcc");
}

/* nvcc puts the words of these variables around its own. */
static void add_variable(struct shim_words *words, const char *name)
{
	const char *value = getenv(name);
	if (value)
		shim_words_split(words, value, strlen(value));
}

bool shim_nvcc_embeds(void)
{
	pid_t process = getppid();
	bool embeds = false, found = false;
	for (int i = 0; i < MAX_PARENTS && process > 1 && !found; i++) {
		struct shim_words words = {0};
		found = add_parent_words(process, &words) && is_nvcc(words.v[0]);
		if (found) {
			add_variable(&words, "NVCC_PREPEND_FLAGS");
			add_variable(&words, "NVCC_APPEND_FLAGS");
			embeds = shim_nvcc_words_embed(words.n, words.v);
		}
		shim_words_free(&words);
		process = parent_of(process);
	}
	return embeds;
}
