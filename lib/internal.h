/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of lib/ share, and what cli/ may use beyond the public interface: a look at the stages. */
#pragma once

#include "analysis/findings.h"
#include "base/diag.h"
#include "lib/fencepost.h"
#include "lib/sites.h"
#include "parser/parse.h"
#include "rewrite/edit.h"

enum option_list { OPTION_HAZARDS, OPTION_FIX, OPTION_CALLS };
/* The n-th name that an option's list knows; NULL past the last. */
const char *option_name(enum option_list, uint32_t n);
/* False when a field is out of range. `full` gets every field, whatever the caller was compiled with. */
bool options_analysis(const struct fencepost_options *given, struct fencepost_options *full,
	struct analysis_options *);

/* One root with the module it is of. */
struct root {
	const struct module *module;
	struct kernel_result result;
	bool skipped;  /* another root covers it */
	bool again;    /* to be run again with the text so far */
	bool *dropped; /* by finding: not true in every root that runs the fence */
};

struct roots {
	struct root *v;
	uint32_t n, cap;
};

struct fixed {
	uint32_t root, finding;
};

struct text_change { /* of the text, for all roots */
	const struct module *module;
	uint32_t root; /* the first that wants it */
	int32_t turn;  /* 0, or of a run again that inserts it: behind others of its place; in front, below 0 */
	struct result_fence fence;
	struct fixed *fixes;
	uint32_t nfixes, fixes_cap;
};

struct text_changes {
	struct text_change *v;
	uint32_t n, cap;
};

/* The name of an inlined function, behind its label in .debug_str. */
struct inlined {
	const char *at, *name; /* NULL: no name is there */
	bool is_read;
};

/* A file on its way: everything lives on `keep`, what one root needs on `scratch`. */
struct job {
	const char *name;
	const struct fencepost_options *options;
	struct analysis_options analysis;
	const struct analysis_observer *observer; /* NULL: nobody looks */
	struct source source;
	struct diags diags;
	struct names *names;
	struct arena keep, scratch;
	jmp_buf *out_of_memory; /* the box's */
	struct job *again;      /* a run of the text so far, while there is one */
	const struct job *of;   /* what this one runs again: only its roots that are marked so; or NULL */
	struct modules modules;
	struct roots roots;
	bool *covered;	     /* by function of the module that is analysed: some root runs it */
	const bool *to_run;  /* by function of the same: to be run again; NULL: all that are selected */
	uint32_t nseen;	     /* roots of `of` that were looked at for that */
	struct sites sites;  /* of all roots that are not skipped */
	struct text_changes changes;
	/* Of the module whose labels of .debug_str are numbered in names: see place.c */
	const struct module *labelled;
	struct inlined *labels;
	uint32_t nlabels;
	/* Of the function whose name was asked for last, and its text: see place.c */
	const struct module *named_in;
	uint32_t named;
	const char *name_text;
};

/* The public result with all that it owns. */
struct box {
	struct fencepost_result result; /* first: the caller's pointer is the box's */
	struct job job;
	jmp_buf out_of_memory;
};

/* As fencepost_run, with an observer, or NULL; the text is not copied and stays as long as the result. */
enum fencepost_status run_observed(const struct fencepost_options *, const struct source *,
	const struct analysis_observer *, struct fencepost_result **);

/* Whether a function, or what stands at an offset, is part of a root. */
bool root_runs(const struct root *, uint32_t function);
bool root_runs_at(const struct root *, uint32_t at);
/* Runs the text so far as the job was run, the roots marked `again`, for its changes; until job_end_again. */
struct job *job_again(struct job *, struct slice text);
void job_end_again(struct job *);
/* Puts the changes of all roots together: one list by place, the same text changed once. */
void combine_roots(struct job *);
void sort_changes(struct text_changes *);
/* Of changes in order, one for two of one place where one does; whether there are fewer now. */
bool merge_changes(struct job *);
/* Goes on with combined changes until a further run would change nothing. */
void settle_changes(struct job *);
/* The text with the job's changes, and the edits of it, one each. */
struct slice apply_changes(struct job *, struct edits *);
/* Builds the public lists from the roots. */
void publish(struct box *);
/* The output text, and what each change puts there, on the arena. */
struct slice write_output(struct box *);
/* Writes message and help of a finding whose places are known; with the planned fence that settles it, or NULL. */
void describe(
	struct job *, const struct finding *, struct fencepost_finding *, const struct fencepost_fence *);
/* printf to a text on the arena. */
const char *text_format(struct arena *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A copy of a text, which has no NUL in it. */
const char *text_copy(struct arena *, struct slice);
