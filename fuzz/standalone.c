/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds files (or standard input, as AFL++ does) to a fuzz target: for reproducing and for other
 * fuzzers. */
#include "base/diag.h"
#include "base/source.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool feed(const char *path)
{
	struct source source;
	struct diags diags = {0};
	bool ok = source_read(&source, path, &diags);

	if (ok)
		LLVMFuzzerTestOneInput((const uint8_t *)source.text, source.size);
	source_free(&source);
	diags_free(&diags);
	return ok;
}

int main(int argc, char **argv)
{
	bool ok = true;

	for (int i = 1; i < argc; i++)
		ok &= feed(argv[i]);
	return (argc > 1 ? ok : feed("-")) ? 0 : 2;
}
