/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the tool with the oracle on random programs. For each batch, one module of many
 * kernels goes through the tool three ways: --check, --check --strict, and a rewrite whose output
 * is run by the oracle and rewritten again. Required: every edge of the oracle is reported, none
 * is left after the rewrite, the second rewrite changes nothing, and a kernel called clean in
 * which the oracle finds nothing keeps its text. What is reported beyond the oracle is counted.
 */
#include "program.h"

#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_BATCH = 200 };

struct pair {
	int generic, async;
};

/* What the tool says of one kernel. */
struct answer {
	struct pair *v;
	int n;
	bool clean, known, unfixable;
};

struct counts {
	long programs, discarded, edges, edges_strict, missed, missed_strict, extra, extra_strict;
	long left, wrong_text, unstable, changed, silent, over_inserted, inserted, found_again;
	long with_edges;
};

struct options {
	const char *tool, *keep;
	long count;
	int batch;
	uint64_t seed;
	bool print;
};

struct batch {
	struct program programs[MAX_BATCH];
	int first_line[MAX_BATCH];
	struct edges plain[MAX_BATCH], strict[MAX_BATCH];
	int n;
	char dir[64], in[96], out[96], again[96], report[96];
};

static char *file_read(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		return NULL;
	char *text = NULL;
	size_t size = 0, got;
	char buf[65536];
	while ((got = fread(buf, 1, sizeof(buf), f)) > 0) {
		text = realloc(text, size + got + 1);
		memcpy(text + size, buf, got);
		size += got;
	}
	fclose(f);
	if (text)
		text[size] = '\0';
	return text;
}

static int run_tool(const char *tool, const char *args)
{
	char command[1024];
	snprintf(command, sizeof(command), "%s %s", tool, args);
	int status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* ---- the tool's report ---- */

static void answer_add(struct answer *a, int generic, int async)
{
	a->v = realloc(a->v, (size_t)(a->n + 1) * sizeof(*a->v));
	a->v[a->n++] = (struct pair){generic, async};
}

static struct answer *answer_of(struct answer *answers, const struct batch *b, const char *kernel)
{
	for (int i = 0; kernel && i < b->n; i++)
		if (strcmp(b->programs[i].name, kernel) == 0)
			return &answers[i];
	return NULL;
}

static void take_finding(struct answer *answers, const struct batch *b, const json_t *finding)
{
	const char *rule = json_string_value(json_object_get(finding, "rule"));
	struct answer *a =
		answer_of(answers, b, json_string_value(json_object_get(finding, "kernel")));
	if (!a || !rule || strncmp(rule, "missing-", 8) != 0)
		return;
	a->unfixable |= json_is_string(json_object_get(finding, "unfixable"));
	const json_t *pairs = json_object_get(finding, "pairs");
	for (size_t i = 0; i < json_array_size(pairs); i++) {
		const json_t *p = json_array_get(pairs, i);
		answer_add(a, (int)json_integer_value(json_array_get(p, 0)),
			(int)json_integer_value(json_array_get(p, 1)));
	}
}

static bool report_read(const char *path, const struct batch *b, struct answer *answers)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);
	if (!root) {
		fprintf(stderr, "oracle: report: %s\n", error.text);
		return false;
	}
	json_t *file = json_array_get(json_object_get(root, "files"), 0), *v;
	size_t i;
	json_array_foreach(json_object_get(file, "kernels"), i, v)
	{
		struct answer *a =
			answer_of(answers, b, json_string_value(json_object_get(v, "name")));
		const char *verdict = json_string_value(json_object_get(v, "verdict"));
		if (a && verdict) {
			a->known = true;
			a->clean = strcmp(verdict, "clean") == 0;
		}
	}
	json_array_foreach(json_object_get(file, "findings"), i, v) take_finding(answers, b, v);
	json_decref(root);
	return true;
}

static void answers_free(struct answer *answers, int n)
{
	for (int i = 0; i < n; i++)
		free(answers[i].v);
	memset(answers, 0, sizeof(*answers) * (size_t)n);
}

/* ---- comparing ---- */

static bool reported(const struct answer *a, int generic, int async)
{
	for (int i = 0; i < a->n; i++)
		if (a->v[i].generic == generic && a->v[i].async == async)
			return true;
	return false;
}

static bool has_edge(const struct edges *e, int generic, int async)
{
	for (int i = 0; i < e->n; i++)
		if (e->v[i].generic == generic && e->v[i].async == async)
			return true;
	return false;
}

static void tell(const char *what, const struct batch *b, int k, int generic, int async)
{
	const struct program *p = &b->programs[k];
	printf("%s: %s lines %d -> %d:\n%s\n%s\n", what, p->name, generic + 1, async + 1,
		p->lines[generic].text, p->lines[async].text);
}

static long compare(const struct batch *b, const struct edges *edges, const struct answer *answers,
	const char *mode, long *extra)
{
	long missed = 0;
	for (int k = 0; k < b->n; k++) {
		int base = b->first_line[k];
		for (int i = 0; i < edges[k].n; i++) {
			const struct edge *e = &edges[k].v[i];
			if (reported(&answers[k], e->generic + base, e->async + base))
				continue;
			if (missed++ < 10)
				tell(mode, b, k, e->generic, e->async);
		}
		for (int i = 0; i < answers[k].n; i++)
			*extra += !has_edge(&edges[k], answers[k].v[i].generic - base,
				answers[k].v[i].async - base);
	}
	return missed;
}

/* ---- the rewritten text ---- */

static char **lines_split(char *text, int *n)
{
	char **v = NULL;
	*n = 0;
	for (char *s = text; *s;) {
		char *end = strchr(s, '\n');
		if (!end)
			break;
		*end = '\0';
		if (*n % 1024 == 0)
			v = realloc(v, (size_t)(*n + 1024) * sizeof(*v));
		v[(*n)++] = s;
		s = end + 1;
	}
	return v;
}

/* The lines of one kernel: from behind its last declaration to its closing brace. */
static bool kernel_find(char **lines, int n, const struct program *p, int head, int *from, int *to)
{
	char start[80];
	snprintf(start, sizeof(start), ".visible .entry %s(", p->name);
	for (int i = 0; i < n; i++)
		if (strncmp(lines[i], start, strlen(start)) == 0) {
			*from = i + head;
			for (*to = *from; *to < n && strcmp(lines[*to], "}") != 0; (*to)++)
				;
			return *to < n;
		}
	return false;
}

static void check_rewritten(const struct batch *b, int k, char **lines, int n, int head,
	const struct answer *answer, struct counts *c)
{
	static struct program again;
	struct edges edges = {0};
	int from = 0, to = 0;
	if (!kernel_find(lines, n, &b->programs[k], head, &from, &to) ||
		!program_reread(&b->programs[k], lines + from, to - from, &again)) {
		printf("unexpected text in the rewritten %s\n", b->programs[k].name);
		c->wrong_text++;
		return;
	}
	int added = again.n - b->programs[k].n;
	c->inserted += added;
	c->over_inserted += added > 0 && b->plain[k].n == 0;
	c->changed += added > 0 && b->plain[k].n == 0 && answer->clean;
	if (added > 0 && b->plain[k].n == 0 && answer->clean)
		printf("%s is clean and was changed\n", b->programs[k].name);
	program_run(&again, false, &edges);
	if (edges.n > 0 && !answer->unfixable) {
		if (c->left < 10)
			printf("left after the rewrite: %s:\n%s\n%s\n", again.name,
				again.lines[edges.v[0].generic].text,
				again.lines[edges.v[0].async].text);
		c->left += edges.n;
	}
	free(edges.v);
	program_clear(&again);
}

static bool same_file(const char *a, const char *b)
{
	char *x = file_read(a), *y = file_read(b);
	bool same = x && y && strcmp(x, y) == 0;
	free(x);
	free(y);
	return same;
}

/* ---- a batch ---- */

static void batch_make(
	struct batch *b, const struct options *o, uint64_t *seed, long want, struct counts *c)
{
	b->n = 0;
	while (b->n < want && b->n < o->batch) {
		struct program *p = &b->programs[b->n];
		program_make(p, (*seed)++);
		enum verdict v = program_run(p, false, &b->plain[b->n]);
		if (v != RAN || program_run(p, true, &b->strict[b->n]) != RAN) {
			c->discarded++;
			program_clear(p);
			continue;
		}
		b->n++;
	}
	FILE *f = fopen(b->in, "w");
	if (!f)
		abort();
	fprintf(f, ".version 8.3\n.target sm_90a\n.address_size 64\n");
	int line = 3;
	for (int k = 0; k < b->n; k++) {
		int head = program_print(&b->programs[k], f);
		b->first_line[k] = line + head + 1;
		line += head + b->programs[k].n + 1;
	}
	fclose(f);
}

static bool check_once(const struct batch *b, const struct options *o, const char *path,
	const char *flags, struct answer *answers)
{
	char args[512];
	snprintf(args, sizeof(args), "--check %s --fail-on=none --format=json %s >%s", flags, path,
		b->report);
	int status = run_tool(o->tool, args);
	if (status > 1) {
		fprintf(stderr, "oracle: status %d from: %s %s\n", status, o->tool, args);
		return false;
	}
	return report_read(b->report, b, answers);
}

static bool batch_check(struct batch *b, const struct options *o, struct counts *c)
{
	static struct answer answers[MAX_BATCH];
	char args[512];
	int n = 0, head = b->first_line[0] - 4;
	long missed = c->missed + c->missed_strict, left = c->left + c->wrong_text + c->unstable;
	if (!check_once(b, o, b->in, "--strict", answers))
		return false;
	c->missed_strict += compare(b, b->strict, answers, "missed (strict)", &c->extra_strict);
	answers_free(answers, b->n);
	if (!check_once(b, o, b->in, "", answers))
		return false;
	c->missed += compare(b, b->plain, answers, "missed", &c->extra);
	for (int k = 0; k < b->n; k++) {
		c->silent += !answers[k].known;
		c->edges += b->plain[k].n;
		c->edges_strict += b->strict[k].n;
		c->with_edges += b->plain[k].n > 0;
	}

	snprintf(args, sizeof(args), "-q -o %s %s", b->out, b->in);
	int status = run_tool(o->tool, args);
	char *text = status <= 1 ? file_read(b->out) : NULL;
	if (!text) {
		fprintf(stderr, "oracle: status %d from: %s %s\n", status, o->tool, args);
		return false;
	}
	char **lines = lines_split(text, &n);
	for (int k = 0; k < b->n; k++)
		check_rewritten(b, k, lines, n, head, &answers[k], c);
	free(lines);
	free(text);
	answers_free(answers, b->n);

	snprintf(args, sizeof(args), "-q -o %s %s", b->again, b->out);
	if (run_tool(o->tool, args) > 1 || !same_file(b->out, b->again)) {
		printf("not idempotent: the batch that starts with %s\n", b->programs[0].name);
		c->unstable++;
	}
	if (!check_once(b, o, b->out, "", answers))
		return false;
	for (int k = 0; k < b->n; k++) {
		if (answers[k].n == 0 || answers[k].unfixable)
			continue;
		printf("found in the rewritten %s\n", b->programs[k].name);
		c->found_again += answers[k].n;
	}
	answers_free(answers, b->n);

	if (o->keep && (missed < c->missed + c->missed_strict ||
			       left < c->left + c->wrong_text + c->unstable)) {
		snprintf(args, sizeof(args), "%s %s/", b->in, o->keep);
		run_tool("cp", args);
	}
	return true;
}

static void batch_clear(struct batch *b)
{
	for (int k = 0; k < b->n; k++)
		program_clear(&b->programs[k]);
	unlink(b->in);
	unlink(b->out);
	unlink(b->again);
	unlink(b->report);
}

static void batch_free(struct batch *b)
{
	for (int k = 0; k < MAX_BATCH; k++) {
		free(b->plain[k].v);
		free(b->strict[k].v);
	}
	rmdir(b->dir);
	free(b);
}

static void tell_counts(const struct counts *c)
{
	printf("programs %ld (discarded %ld), with an edge %ld\n", c->programs, c->discarded,
		c->with_edges);
	printf("edges %ld, missed %ld, reported beyond %ld\n", c->edges, c->missed, c->extra);
	printf("strict: edges %ld, missed %ld, reported beyond %ld\n", c->edges_strict,
		c->missed_strict, c->extra_strict);
	printf("fences inserted %ld, in programs without an edge %ld, clean but changed %ld\n",
		c->inserted, c->over_inserted, c->changed);
	printf("edges left %ld, found again %ld, wrong texts %ld, unstable %ld, no verdict %ld\n",
		c->left, c->found_again, c->wrong_text, c->unstable, c->silent);
}

static int usage(void)
{
	fprintf(stderr, "usage: oracle [-n PROGRAMS] [-s SEED] [-b BATCH] [-k KEEP] TOOL\n"
			"       oracle -p [-s SEED]     print one program\n");
	return 2;
}

static int print_one(uint64_t seed)
{
	static struct program p;
	struct edges e[2] = {0};
	program_make(&p, seed);
	printf(".version 8.3\n.target sm_90a\n.address_size 64\n");
	int base = 4 + program_print(&p, stdout);
	for (int strict = 0; strict < 2; strict++) {
		enum verdict v = program_run(&p, strict, &e[strict]);
		printf("// %s%s\n", strict ? "strict" : "edges",
			v == RAN     ? ""
			: v == STUCK ? " (stuck)"
				     : " (too long)");
		for (int i = 0; i < e[strict].n; i++)
			printf("// %d -> %d\n", e[strict].v[i].generic + base,
				e[strict].v[i].async + base);
		free(e[strict].v);
	}
	program_clear(&p);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = {.count = 5000, .batch = 50, .seed = 1};
	for (int c; (c = getopt(argc, argv, "n:s:b:k:p")) != -1;)
		switch (c) {
		case 'n':
			o.count = atol(optarg);
			break;
		case 's':
			o.seed = strtoull(optarg, NULL, 10);
			break;
		case 'b':
			o.batch = atoi(optarg);
			break;
		case 'k':
			o.keep = optarg;
			break;
		case 'p':
			o.print = true;
			break;
		default:
			return usage();
		}
	if (o.print)
		return print_one(o.seed);
	if (optind + 1 != argc || o.batch < 1 || o.batch > MAX_BATCH)
		return usage();
	o.tool = argv[optind];

	struct counts c = {0};
	struct batch *b = calloc(1, sizeof(*b));
	snprintf(b->dir, sizeof(b->dir), "/tmp/oracle-XXXXXX");
	if (!b || !mkdtemp(b->dir))
		abort();
	bool fine = true;
	for (uint64_t seed = o.seed; fine && c.programs < o.count;) {
		snprintf(b->in, sizeof(b->in), "%s/%llu.ptx", b->dir, (unsigned long long)seed);
		snprintf(b->out, sizeof(b->out), "%s/out.ptx", b->dir);
		snprintf(b->again, sizeof(b->again), "%s/again.ptx", b->dir);
		snprintf(b->report, sizeof(b->report), "%s/report.json", b->dir);
		batch_make(b, &o, &seed, o.count - c.programs, &c);
		fine = batch_check(b, &o, &c);
		c.programs += b->n;
		batch_clear(b);
	}
	batch_free(b);
	tell_counts(&c);
	return fine && !(c.missed || c.missed_strict || c.left || c.wrong_text || c.unstable ||
			       c.changed || c.silent || c.found_again)
		       ? 0
		       : 1;
}
