/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds files, all files of folders, or standard input to a fuzz target: for replaying a corpus,
 * for reproducing, and for AFL++, whose compiler makes this a persistent process.
 */
#include "base/diag.h"
#include "base/source.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#ifdef __AFL_FUZZ_TESTCASE_LEN
#include <unistd.h>
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef __AFL_FUZZ_TESTCASE_LEN
__AFL_FUZZ_INIT();
#endif

static unsigned long fed;

static bool feed_file(const char *path)
{
	struct source source;
	struct diags diags = {0};
	bool ok = source_read(&source, path, &diags);

	if (ok) {
		LLVMFuzzerTestOneInput((const uint8_t *)source.text, source.size);
		fed++;
	} else {
		fprintf(stderr, "%s: cannot be read\n", path);
	}
	source_free(&source);
	diags_free(&diags);
	return ok;
}

static bool feed(const char *path)
{
	struct dirent **files;
	struct stat about;
	bool ok = true;

	if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
		return feed_file(path);
	int n = scandir(path, &files, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char *name;

		if (files[i]->d_name[0] != '.' &&
			asprintf(&name, "%s/%s", path, files[i]->d_name) > 0) {
			ok &= feed_file(name);
			free(name);
		}
		free(files[i]);
	}
	if (n >= 0)
		free(files);
	return ok && n >= 0;
}

int main(int argc, char **argv)
{
	bool ok = true;

#ifdef __AFL_FUZZ_TESTCASE_LEN
	if (argc == 1) {
		unsigned char *data = __AFL_FUZZ_TESTCASE_BUF;

		while (__AFL_LOOP(1000)) {
			size_t size = (size_t)__AFL_FUZZ_TESTCASE_LEN;
			/* a copy of its size, so that a read behind the end is seen */
			uint8_t *copy = malloc(size + 1);

			for (size_t i = 0; i < size; i++)
				copy[i] = data[i];
			LLVMFuzzerTestOneInput(copy, size);
			free(copy);
		}
		return 0;
	}
#endif
	for (int i = 1; i < argc; i++)
		ok &= feed(argv[i]);
	if (argc == 1)
		ok = feed_file("-");
	printf("%lu fed\n", fed);
	return ok && fed ? 0 : 2;
}
