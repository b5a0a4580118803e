/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOLD = 10 };

const char *const batch_head = ".version 8.3\n.target sm_90a\n.address_size 64\n"
			       ".shared .align 1024 .b8 pool[4096];\n";

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

static bool same_file(const char *a, const char *b)
{
	char *x = file_read(a), *y = file_read(b);
	bool same = x && y && strcmp(x, y) == 0;
	free(x);
	free(y);
	return same;
}

/* ---- what is reported ---- */

static void tell(const char *what, const struct batch *b, int k, int generic, int async)
{
	const struct program *p = &b->programs[k];
	printf("%s: %s lines %d -> %d:\n%s\n%s\n", what, p->name, generic + 1, async + 1,
		p->lines[generic].text, p->lines[async].text);
}

static const struct meeting *find(const struct outcome *o, int generic, int async)
{
	for (int i = 0; i < o->n; i++)
		if (o->v[i].generic == generic && o->v[i].async == async)
			return &o->v[i];
	return NULL;
}

static void compare_strict(const struct batch *b, int k, struct counts *c)
{
	const struct outcome *o = &b->outcomes[k];
	const struct answer *a = &b->answers[k];
	int base = b->first_line[k];
	for (int i = 0; i < o->n; i++) {
		const struct meeting *m = &o->v[i];
		if (!m->strict || answer_find(a, m->generic + base, m->async + base))
			continue;
		if (c->strict_missed++ < TOLD)
			tell("missed (strict)", b, k, m->generic, m->async);
	}
	for (int i = 0; i < a->n; i++) {
		const struct meeting *m = find(o, a->v[i].generic - base, a->v[i].async - base);
		c->strict_beyond += !m || !m->strict;
	}
	c->strict_edges += o->strict_edges;
}

static void compare_plain(const struct batch *b, int k, struct counts *c)
{
	const struct outcome *o = &b->outcomes[k];
	const struct answer *a = &b->answers[k];
	int base = b->first_line[k];
	for (int i = 0; i < o->n; i++) {
		const struct meeting *m = &o->v[i];
		counts_by(m->plain ? c->edge_by : c->covered_by, m->features);
		if (!m->plain || b->programs[k].races ||
			answer_find(a, m->generic + base, m->async + base))
			continue;
		if (c->missed++ < TOLD)
			tell("missed", b, k, m->generic, m->async);
	}
	for (int i = 0; i < a->n; i++) {
		const struct meeting *m = find(o, a->v[i].generic - base, a->v[i].async - base);
		if (m && m->plain)
			continue;
		c->beyond++;
		counts_by(c->beyond_by, m ? m->features : b->programs[k].features);
	}
	c->edges += o->edges;
	c->with_edges += o->edges > 0;
	c->silent += !a->known;
	counts_by(c->with, b->programs[k].features);
}

/* A hint suppresses what names a line of its own and nothing else. */
static void check_suppressed(const struct batch *b, int k, struct counts *c)
{
	const struct answer *a = &b->answers[k];
	const struct program *p = &b->programs[k];
	for (int i = 0; i < a->n; i++) {
		int g = a->v[i].generic - b->first_line[k], x = a->v[i].async - b->first_line[k];
		if (!a->v[i].suppressed)
			continue;
		c->suppressed++;
		if (p->lines[g].step.may_ignore || p->lines[x].step.may_ignore)
			continue;
		tell("wrongly suppressed", b, k, g, x);
		c->suppressed_wrong++;
	}
}

/* ---- fences that are there ---- */

/* Edges of a changed program that the original does not have and the tool does not claim it has. */
static int new_edges(const struct program *changed, const struct batch *b, int k)
{
	const struct outcome *before = &b->outcomes[k];
	int base = b->first_line[k];
	struct outcome after = {0};
	int n = 0;
	program_run(changed, &after);
	for (int i = 0; i < after.n; i++) {
		int g = changed->lines[after.v[i].generic].origin;
		int a = changed->lines[after.v[i].async].origin;
		const struct meeting *m = find(before, g, a);
		n += after.v[i].plain && !(m && m->plain) &&
		     !answer_find(&b->answers[k], g + base, a + base);
	}
	free(after.v);
	return n;
}

/* Without all that are called redundant there is no new edge. */
static void check_redundant(const struct batch *b, int k, struct counts *c)
{
	static struct program two[2];
	const struct answer *a = &b->answers[k];
	const struct program *now = &b->programs[k];
	c->redundant += a->nspare;
	for (int i = 0; i < a->nspare; i++) {
		struct program *next = &two[i % 2];
		int line = a->spare[i] - b->first_line[k], at = 0;
		while (now->lines[at].origin != line)
			at++;
		program_without(now, at, next);
		if (i > 0)
			program_clear(&two[(i + 1) % 2]);
		now = next;
	}
	if (a->nspare == 0)
		return;
	int n = now->races ? 0 : new_edges(now, b, k);
	if (n && c->redundant_wrong < TOLD)
		printf("%s: a fence called redundant is needed\n", b->programs[k].name);
	c->redundant_wrong += n;
	program_clear(&two[(a->nspare + 1) % 2]);
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

/* From a program's first line to that of the next. */
static bool program_find(char **lines, int n, const struct program *p, int *from, int *to)
{
	for (*from = 0; *from < n && strcmp(lines[*from], p->lines[0].text) != 0; (*from)++)
		;
	for (*to = *from + 1; *to < n && strncmp(lines[*to], "// program ", 11) != 0; (*to)++)
		;
	return *from < n;
}

/* Inserted fences without which nothing is missing, each loss assumed before the next. */
static int count_spare(const struct program *p)
{
	static struct program without;
	struct program *now = malloc(sizeof(*now));
	int spare = 0;
	program_without(p, NONE, now);
	for (int i = 0; i < now->n;) {
		struct outcome o = {0};
		if (now->lines[i].origin != NONE) {
			i++;
			continue;
		}
		program_without(now, i, &without);
		program_run(&without, &o);
		free(o.v);
		if (o.edges) {
			program_clear(&without);
			i++;
			continue;
		}
		spare++;
		program_clear(now);
		*now = without;
	}
	program_clear(now);
	free(now);
	return spare;
}

/* Edges that neither a hint nor a reason in the report explains. */
static int count_left(
	const struct batch *b, int k, const struct program *p, const struct outcome *o, bool strict)
{
	int left = 0;
	for (int i = 0; i < o->n; i++) {
		if (!(strict ? o->v[i].strict : o->v[i].plain && !p->races))
			continue;
		int g = p->lines[o->v[i].generic].origin, a = p->lines[o->v[i].async].origin;
		const struct pair *said =
			answer_find(&b->answers[k], g + b->first_line[k], a + b->first_line[k]);
		if (said && (said->suppressed || said->unfixable))
			continue;
		if (left++ == 0)
			tell("left after the rewrite", b, k, g, a);
	}
	return left;
}

struct rewrite {
	const char *flags;
	bool strict, spare;
	long *left;
};

static void check_one(const struct batch *b, int k, const struct program *again,
	const struct rewrite *w, struct counts *c)
{
	struct outcome o = {0};
	int added = 0;
	for (int i = 0; i < again->n; i++)
		added += again->lines[i].origin == NONE;
	bool same = added == 0 && again->n == b->programs[k].n;
	if (!same)
		program_run(again, &o);
	int left = count_left(b, k, again, same ? &b->outcomes[k] : &o, w->strict);
	*w->left += left;
	if (w->spare) {
		bool idle = added > 0 && b->outcomes[k].edges == 0;
		c->inserted += added;
		c->over_inserted += idle;
		if (idle && b->answers[k].clean)
			printf("%s is clean and was changed\n", b->programs[k].name);
		c->changed += idle && b->answers[k].clean;
		if (added && !left && o.edges == 0)
			c->spare += count_spare(again);
	}
	free(o.v);
}

/* Rewrites the batch and runs each program of the result. */
static bool check_rewrite(
	const struct batch *b, const struct rewrite *w, const char *to, struct counts *c)
{
	static struct program again;
	char args[512];
	int n = 0;
	snprintf(args, sizeof(args), "-q %s -o %s %s", w->flags, to, b->in);
	int status = tool_run(b->o->tool, args);
	char *text = status <= 1 ? file_read(to) : NULL;
	if (!text) {
		fprintf(stderr, "oracle: status %d from: %s %s\n", status, b->o->tool, args);
		return false;
	}
	char **lines = lines_split(text, &n);
	for (int k = 0; k < b->n; k++) {
		int from = 0, end = 0;
		if (program_find(lines, n, &b->programs[k], &from, &end) &&
			program_reread(&b->programs[k], lines + from, end - from, &again)) {
			check_one(b, k, &again, w, c);
			program_clear(&again);
			continue;
		}
		printf("unexpected text in the rewritten %s\n", b->programs[k].name);
		c->wrong_text++;
	}
	free(lines);
	free(text);
	return true;
}

/* ---- a batch ---- */

void batch_make(struct batch *b, uint64_t seed, int want, struct counts *c)
{
	b->n = 0;
	for (int i = 0; i < want; i++) {
		struct program *p = &b->programs[b->n];
		program_make(p, seed + (uint64_t)i);
		if (b->o->with & ~p->features) {
			program_clear(p);
			continue;
		}
		if (p->n >= MAX_LINES / 2 || program_run(p, &b->outcomes[b->n]) != RAN) {
			c->discarded++;
			program_clear(p);
			continue;
		}
		b->answers[b->n].name = p->name;
		b->n++;
	}
	FILE *f = fopen(b->in, "w");
	if (!f)
		abort();
	fputs(batch_head, f);
	int line = HEAD_LINES + 1;
	for (int k = 0; k < b->n; k++) {
		b->first_line[k] = line;
		line += b->programs[k].n;
		for (int i = 0; i < b->programs[k].n; i++)
			fprintf(f, "%s\n", b->programs[k].lines[i].text);
	}
	fclose(f);
}

static bool check_text(struct batch *b, const char *flags)
{
	return tool_check(b->o->tool, b->in, flags, b->report, b->answers, b->n);
}

/* The second rewrite changes nothing, and nothing is reported that the first one did not explain.
 */
static bool check_again(struct batch *b, struct counts *c)
{
	char args[512];
	snprintf(args, sizeof(args), "-q -o %s %s", b->again, b->out);
	int status = tool_run(b->o->tool, args);

	if (status > 1) { /* killed, perhaps: nothing is known of its answer */
		fprintf(stderr, "oracle: status %d from: %s %s\n", status, b->o->tool, args);
		return false;
	}
	if (!same_file(b->out, b->again)) {
		printf("not idempotent: the batch that starts with %s\n", b->programs[0].name);
		c->unstable++;
	}
	if (!tool_check(b->o->tool, b->out, "", b->report, b->answers, b->n))
		return false;
	for (int k = 0; k < b->n; k++)
		for (int i = 0; i < b->answers[k].n; i++) {
			if (b->answers[k].v[i].unfixable || b->answers[k].v[i].suppressed)
				continue;
			printf("found in the rewritten %s\n", b->programs[k].name);
			c->found_again++;
		}
	return true;
}

bool batch_check(struct batch *b, struct counts *c)
{
	const struct rewrite plain = {"", false, true, &c->left};
	const struct rewrite strict = {"--strict", true, false, &c->strict_left};
	const struct rewrite trim = {
		"--fix=missing,misplaced,wide,redundant", false, false, &c->trimmed_left};
	if (!check_text(b, "--strict"))
		return false;
	for (int k = 0; k < b->n; k++)
		compare_strict(b, k, c);
	if (!check_rewrite(b, &strict, b->again, c) || !check_text(b, ""))
		return false;
	for (int k = 0; k < b->n; k++) {
		compare_plain(b, k, c);
		check_suppressed(b, k, c);
		check_redundant(b, k, c);
	}
	return check_rewrite(b, &trim, b->again, c) && check_rewrite(b, &plain, b->out, c) &&
	       check_again(b, c);
}

void batch_keep(const struct batch *b)
{
	char args[256];
	snprintf(args, sizeof(args), "%s %s/", b->in, b->o->keep);
	tool_run("cp", args);
}

void batch_clear(struct batch *b)
{
	answers_clear(b->answers, b->n);
	for (int k = 0; k < b->n; k++)
		program_clear(&b->programs[k]);
	unlink(b->in);
	unlink(b->out);
	unlink(b->again);
	unlink(b->report);
}
