/* SPDX-License-Identifier: Apache-2.0 */
/* Which nvcc command lines leave PTX beside the cubin; as nvcc 13.0 --dryrun shows. */
#include "cli/shim_args.h"
#include "cli/shim_nvcc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *line;
	bool embeds;
} rows[] = {
	{"nvcc -c a.cu", true},
	{"nvcc -arch=sm_90a -c a.cu", true},
	{"nvcc -arch sm_90a -c a.cu", true},
	{"nvcc -arch=native -c a.cu", false},
	{"nvcc -arch=compute_90a -code=sm_90a -c a.cu", false},
	{"nvcc -arch compute_90a -code sm_90a,compute_90a -c a.cu", true},
	{"nvcc -gencode arch=compute_90a,code=sm_90a -c a.cu", false},
	{"nvcc -gencode=arch=compute_90a,code=sm_90a -c a.cu", false},
	{"nvcc --generate-code arch=compute_90a,code=[sm_90a,compute_90a] -c a.cu", true},
	{"nvcc -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90,code=compute_90 a.cu",
		true},
	{"nvcc -arch=sm_90a -cubin a.cu", false},
	{"nvcc --cubin -arch=sm_90a a.cu", false},
};

static void test_shim_nvcc_embeds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct shim_words words = {0};
		shim_words_split(&words, rows[i].line, strlen(rows[i].line));
		if (shim_nvcc_words_embed(words.n, words.v) != rows[i].embeds)
			fail_msg("%s", rows[i].line);
		shim_words_free(&words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_shim_nvcc_embeds)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
