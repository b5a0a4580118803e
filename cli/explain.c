/* SPDX-License-Identifier: Apache-2.0 */
/* --explain, and the help texts of SARIF: the pages of docs/rules.md, which are built in. */
#include "cli/run.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Made from docs/rules.md (cli/embed.awk): the lines of all pages, each page begun by "## id". */
extern const char *const rule_pages[];

/* The lines of a rule's page: from its heading to the next one. */
static const char *const *find_page(const char *rule, uint32_t *n)
{
	for (const char *const *line = rule_pages; *line; line++) {
		if (strncmp(*line, "## ", 3) != 0 || strcmp(*line + 3, rule) != 0)
			continue;
		*n = 1;
		while (line[*n] && strncmp(line[*n], "## ", 3) != 0)
			++*n;
		while (*n > 1 && !*line[*n - 1])
			--*n;
		return line;
	}
	return NULL;
}

int run_explain(const struct settings *settings)
{
	uint32_t n;
	const char *const *page = find_page(settings->rule, &n);

	if (!page) {
		fprintf(stderr, "fencepost: error: no rule `%s'; there are:", settings->rule);
		for (uint32_t i = 0; fencepost_rule_name(i); i++)
			fprintf(stderr, "%s %s", i ? "," : "", fencepost_rule_name(i));
		fputc('\n', stderr);
		return 2;
	}
	for (uint32_t i = 0; i < n; i++)
		puts(page[i]);
	return fflush(stdout) ? 2 : 0;
}

static size_t page_size(const char *const *page, uint32_t n)
{
	size_t size = 1;

	for (uint32_t i = 0; i < n; i++)
		size += strlen(page[i]) + 1;
	return size;
}

struct json_t *rule_help(uint32_t rule)
{
	uint32_t n = 0;
	const char *const *page = find_page(fencepost_rule_name(rule), &n);
	char *text = malloc(page ? page_size(page, n) : 1), *at = text;
	json_t *help;

	if (!text)
		return json_null();
	*at = 0;
	for (uint32_t i = 2; page && i < n; i++) /* without the heading */
		at += sprintf(at, "%s\n", page[i]);
	help = json_pack("{s:s, s:s}", "text", text, "markdown", text);
	free(text);
	return help;
}
