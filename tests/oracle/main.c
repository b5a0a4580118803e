/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the tool with the oracle on random programs, a batch of many kernels at a time. See
 * README.md for what is required of it.
 */
#include "batch.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- workers ---- */

/* Every jobs-th batch from the first on; false if the tool broke. */
static bool work(const struct options *o, int first, struct counts *c)
{
	struct batch *b = calloc(1, sizeof(*b));
	snprintf(b->dir, sizeof(b->dir), "/tmp/oracle-XXXXXX");
	if (!b || !mkdtemp(b->dir))
		abort();
	b->o = o;
	snprintf(b->out, sizeof(b->out), "%s/out.ptx", b->dir);
	snprintf(b->again, sizeof(b->again), "%s/again.ptx", b->dir);
	snprintf(b->report, sizeof(b->report), "%s/report.json", b->dir);
	bool fine = true, stop = false;
	for (long at = (long)first * o->batch; fine && !stop && at < o->count;
		at += (long)o->jobs * o->batch) {
		struct counts now = {0};
		uint64_t seed = o->seed + (uint64_t)at;
		snprintf(b->in, sizeof(b->in), "%s/%llu.ptx", b->dir, (unsigned long long)seed);
		batch_make(
			b, seed, (int)(o->count - at < o->batch ? o->count - at : o->batch), &now);
		fine = batch_check(b, &now);
		now.programs = b->n;
		if (o->keep && (!fine || counts_bad(&now)))
			batch_keep(b);
		counts_add(c, &now);
		stop = o->brief && counts_bad(&now);
		batch_clear(b);
		fflush(stdout);
	}
	for (int k = 0; k < MAX_BATCH; k++)
		free(b->outcomes[k].v);
	rmdir(b->dir);
	free(b);
	return fine;
}

static bool work_parallel(const struct options *o, struct counts *c)
{
	int ends[2];
	bool fine = pipe(ends) == 0;
	for (int i = 0; i < o->jobs; i++) {
		if (fork() != 0)
			continue;
		struct counts mine = {0};
		bool well = work(o, i, &mine);
		well &= write(ends[1], &mine, sizeof(mine)) == (ssize_t)sizeof(mine);
		fflush(stdout);
		_exit(well ? 0 : 1);
	}
	for (int i = 0; i < o->jobs; i++) {
		struct counts mine = {0};
		int status;
		fine &= wait(&status) > 0 && status == 0;
		fine &= fine && read(ends[0], &mine, sizeof(mine)) == (ssize_t)sizeof(mine);
		counts_add(c, &mine);
	}
	return fine;
}

static uint64_t feature_of(const char *name)
{
	for (int i = 0; i < NFEATURES; i++)
		if (strcmp(feature_names[i], name) == 0)
			return UINT64_C(1) << i;
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: oracle [-cx] [-n PROGRAMS] [-s SEED] [-b BATCH] [-j JOBS] [-k KEEP] [-w FEATURE] TOOL\n"
		"       oracle -p [-n PROGRAMS] [-s SEED]     print programs and their edges\n");
	return 2;
}

static void print_programs(const struct options *o)
{
	static const char *const verdicts[] = {"ran", "too long", "stuck", "arrives twice"};
	static struct program p;
	struct outcome out = {0};
	int line = HEAD_LINES + 1;
	fputs(batch_head, stdout);
	for (long k = 0; k < o->count; k++) {
		program_make(&p, o->seed + (uint64_t)k);
		if (o->with & ~p.features) {
			program_clear(&p);
			continue;
		}
		for (int i = 0; i < p.n; i++)
			printf("%s\n", p.lines[i].text);
		enum verdict v = program_run(&p, &out);
		printf("// %s\n", verdicts[v]);
		for (int i = 0; i < out.n; i++)
			printf("// %d -> %d%s\n", out.v[i].generic + line, out.v[i].async + line,
				out.v[i].plain	  ? ""
				: out.v[i].strict ? " strict"
						  : " covered");
		line += p.n + 1 + out.n;
		program_clear(&p);
	}
	free(out.v);
}

int main(int argc, char **argv)
{
	struct options o = {.batch = 50, .seed = 1, .jobs = 1};
	bool print = false;
	for (int c; (c = getopt(argc, argv, "cn:s:b:j:k:pw:x")) != -1;)
		switch (c) {
		case 'c':
			o.cover = true;
			break;
		case 'n':
			o.count = atol(optarg);
			break;
		case 's':
			o.seed = strtoull(optarg, NULL, 10);
			break;
		case 'b':
			o.batch = atoi(optarg);
			break;
		case 'j':
			o.jobs = atoi(optarg);
			break;
		case 'k':
			o.keep = optarg;
			break;
		case 'p':
			print = true;
			break;
		case 'w':
			o.with |= feature_of(optarg);
			if (!o.with)
				return usage();
			break;
		case 'x':
			o.brief = true;
			break;
		default:
			return usage();
		}
	if (o.count == 0)
		o.count = print ? 1 : 5000;
	if (print) {
		print_programs(&o);
		return 0;
	}
	if (o.jobs == 0)
		o.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (optind + 1 != argc || o.batch < 1 || o.batch > MAX_BATCH || o.jobs < 1)
		return usage();
	o.tool = argv[optind];
	struct counts c = {0};
	bool fine = o.jobs > 1 ? work_parallel(&o, &c) : work(&o, 0, &c);
	counts_tell(&c);
	bool thin = o.cover && counts_thin(&c);
	return fine && !thin && !counts_bad(&c) ? 0 : 1;
}
