/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole road under libFuzzer: any bytes in; no crash, no leak, an output that is the input when
 * nothing was inserted, the same where only the text is asked for, and (when every edge could be settled) one that a
 * second run leaves alone.
 */
#include "lib/fencepost.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set(struct fencepost_options *options, const char *name, const char *value)
{
	char error[200];

	if (!fencepost_options_set(options, name, value, error, sizeof(error)))
		abort();
}

/* The text itself chooses among four sets of options: replaying needs no more than the bytes. */
static struct fencepost_options options_of(const uint8_t *data, size_t size)
{
	struct fencepost_options options;
	unsigned int sum = 0;

	fencepost_options_init(&options, sizeof(options));
	options.budget_seconds = 2;
	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	switch (sum >> 8 & 7) {
	case 0:
		set(&options, "strict", NULL);
		set(&options, "mutate", NULL);
		break;
	case 1:
		set(&options, "placement", "async");
		break;
	case 2:
		set(&options, "fix", "missing,misplaced,wide,redundant");
		set(&options, "calls", "worst");
		break;
	}
	return options;
}

static struct fencepost_result *run(
	const struct fencepost_options *options, const char *ptx, size_t size)
{
	struct fencepost_result *result;

	fencepost_run(options, "fuzz", ptx, size, &result);
	return result;
}

static bool is_incomplete(const struct fencepost_result *result)
{
	for (uint32_t i = 0; i < result->nkernels; i++)
		if (result->kernels[i]->incomplete)
			return true;
	return false;
}

static bool same(const struct fencepost_result *result, const char *ptx, size_t size)
{
	return result->ptx_size == size && memcmp(result->ptx, ptx, size) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fencepost_options options = options_of(data, size);
	struct fencepost_result *first = run(&options, (const char *)data, size), *second;

	if (!first)
		return 0;
	if (first->ptx) {
		if (!first->changed && !same(first, (const char *)data, size))
			abort();
		options.text_only = 1;
		second = run(&options, (const char *)data, size);
		if (!second || !second->ptx)
			abort();
		if (!is_incomplete(first) && !is_incomplete(second) &&
			(!same(second, first->ptx, first->ptx_size) || second->edges_left != first->edges_left))
			abort();
		fencepost_free(second);
		options.text_only = 0;
		second = run(&options, first->ptx, first->ptx_size);
		if (!second || !second->ptx)
			abort();
		if (first->edges_left == 0 && !is_incomplete(first) &&
			!same(second, first->ptx, first->ptx_size))
			abort();
		fencepost_free(second);
	}
	fencepost_free(first);
	return 0;
}
