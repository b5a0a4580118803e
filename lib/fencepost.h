/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfencepost: PTX bytes in, the same bytes with the missing proxy fences and a list of findings out.
 *
 * Thread-safe: no global state; any number of calls may run at the same time. The library never
 * exits, prints, or opens a file. All it returns belongs to one result, freed by fencepost_free().
 *
 * ABI: structs that the library hands out are reached through pointers, and grow at their end only;
 * structs that the caller hands in begin with their size. FENCEPOST_API_VERSION counts additions.
 */
#ifndef FENCEPOST_H
#define FENCEPOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FENCEPOST_API_VERSION 2

#if defined(__GNUC__)
#define FENCEPOST_API __attribute__((visibility("default")))
#else
#define FENCEPOST_API
#endif

/* What a call came to. A finding is no failure: see fencepost_result. */
enum fencepost_status {
	FENCEPOST_OK = 0,
	FENCEPOST_BAD_INPUT = 1,   /* not PTX: the reasons are in result->diagnostics; ptx is NULL */
	FENCEPOST_BAD_OPTIONS = 2, /* a size of zero or a value out of range */
	FENCEPOST_NO_MEMORY = 3    /* *result is NULL */
};

enum fencepost_calls {
	FENCEPOST_CALLS_AUTO,
	FENCEPOST_CALLS_NONE,
	FENCEPOST_CALLS_WRITE,
	FENCEPOST_CALLS_ASYNC,
	FENCEPOST_CALLS_WORST
};

#define FENCEPOST_FIX_MISSING 1u
#define FENCEPOST_FIX_MISPLACED 2u
#define FENCEPOST_FIX_WIDE 4u
#define FENCEPOST_FIX_REDUNDANT 8u

#define FENCEPOST_HAZARD_RAW 1u
#define FENCEPOST_HAZARD_WAW 2u
#define FENCEPOST_HAZARD_WAR 4u

/* The options of the command line by the same names; fill with fencepost_options_init() first. */
struct fencepost_options {
	uint32_t size;           /* sizeof(struct fencepost_options) as the caller was compiled with */
	uint32_t fix;            /* FENCEPOST_FIX_* bits; 0: audit only, the PTX comes back unchanged */
	uint32_t rules;          /* bit 1 << n: the n-th rule may be reported (fencepost_rule_name) */
	uint32_t hazards;        /* FENCEPOST_HAZARD_* bits */
	uint32_t assume;         /* bit 1 << n: the n-th assumption is allowed (fencepost_assumption_name) */
	uint32_t calls;          /* enum fencepost_calls */
	uint8_t shared, global;  /* --spaces */
	uint8_t cross_threads;   /* --threads=cross */
	uint8_t writer_side;     /* --placement=writer */
	uint8_t strict;          /* wins over assume and cp_async_trust */
	uint8_t cp_async_trust;
	uint8_t mutate;
	uint8_t override_directives; /* maxntid replaces what .maxntid says (ptxas's option of that name) */
	uint32_t maxntid;        /* threads per block as told to the assembler; 0: not told */
	double budget_seconds;   /* per function */
	/* Analyse only kernels for which this answers true; NULL: all. Gets the mangled name. */
	bool (*select)(const char *kernel, void *context);
	void *select_context;
	/* Called after each function with the bytes of text that are done; NULL: not called. */
	void (*progress)(size_t done, size_t total, void *context);
	void *progress_context;
	/* Only the text and `edges_left` are asked for: fences that are there are not judged, no rule is asked but those of
	 * missing fences, and findings, assumptions and the verdict of a kernel say nothing of the rest. With mutate it
	 * counts as 0. */
	uint8_t text_only;
};

enum fencepost_level { FENCEPOST_NOTE, FENCEPOST_WARNING, FENCEPOST_ERROR };
enum fencepost_confidence { FENCEPOST_POSSIBLE, FENCEPOST_LIKELY, FENCEPOST_PROVEN };
enum fencepost_verdict {
	FENCEPOST_FINDINGS,
	FENCEPOST_INCOMPLETE,
	FENCEPOST_REVIEW,
	FENCEPOST_CLEAN
};
enum fencepost_state { FENCEPOST_NEW, FENCEPOST_BASELINE, FENCEPOST_SUPPRESSED };
enum fencepost_change { FENCEPOST_INSERT, FENCEPOST_REMOVE, FENCEPOST_NARROW };

/* About the input itself: unreadable, not PTX, a syntax error. */
struct fencepost_diagnostic {
	enum fencepost_level level;
	uint32_t line, column; /* from 1; 0: no place */
	size_t begin, end;     /* bytes of the input */
	const char *message;
};

/* A place of the CUDA, Python, ... source, as the PTX's .loc says. */
struct fencepost_source {
	const char *file;
	uint32_t line, column;
	const char *function; /* mangled name of the inlined function that this place is in, or NULL */
};

struct fencepost_place {
	uint32_t line, column;       /* from 1 */
	size_t begin, end;           /* bytes of the instruction, guard and `;` included */
	size_t opcode_begin, opcode_end;
	const char *opcode;          /* with its modifiers */
	const char *function;        /* the module function that it stands in */
	const struct fencepost_source *source; /* nsource places: the innermost, then where it was inlined */
	uint32_t nsource;            /* 0: no .loc */
};

struct fencepost_pair {
	uint32_t generic_line, async_line;
};

struct fencepost_handoff {
	uint32_t release_line, acquire_line;
	struct fencepost_place release, acquire;
};

struct fencepost_finding {
	uint32_t rule; /* see fencepost_rule_name */
	enum fencepost_level level;
	enum fencepost_confidence confidence;
	enum fencepost_state state; /* the caller may set FENCEPOST_BASELINE */
	const char *kernel;
	const struct fencepost_place *primary; /* where to look first: one of the three below */
	const struct fencepost_place *generic, *async, *fence; /* NULL: no such place */
	const struct fencepost_pair *pairs;
	uint32_t npairs;
	const struct fencepost_handoff *handoffs;
	uint32_t nhandoffs;
	const struct fencepost_place *path; /* generic, (release, acquire)*, async */
	uint32_t npath;
	const char *message;    /* one line: names both instructions */
	const char *help;       /* one line: what to do */
	const char *unfixable;  /* why no fence could be put, or NULL */
	const char *suppressed; /* the hint's reason, or NULL */
	uint64_t fingerprint;
	uint64_t unlisted;      /* of very large functions: so many pairs more at most, for which those of `pairs` stand */
};

struct fencepost_fence {
	enum fencepost_change change;
	uint32_t line, column;  /* INSERT: of what it stands before; else of the fence */
	size_t offset;          /* the same as a byte of the input */
	size_t length;          /* bytes of the input that it replaces; 0 for INSERT */
	const char *text;       /* the fence as written: "fence.proxy.async.shared::cta;" */
	const char *bytes;      /* what stands in the output instead, newline and indentation included */
	size_t nbytes;
	uint64_t weight;        /* 10^loop depth */
	const uint32_t *fixes;  /* indices into findings */
	uint32_t nfixes;
	const char *kernel;
	const char *reason;     /* or NULL */
};

/* One proxy fence of the input, taken away (--mutate). */
struct fencepost_mutation {
	uint32_t line, column;
	const char *kernel;
	const char *text;
	uint8_t verdict; /* 0 needed, 1 spare, 2 not known */
};

struct fencepost_kernel {
	const char *name;
	uint32_t line;
	bool is_entry;
	uint32_t instructions, generic, async, fences;
	enum fencepost_verdict verdict;
	bool incomplete;                /* something is not modelled, whatever the verdict */
	uint64_t pairs_ruled_out;
	const char *const *unmodelled;
	uint32_t nunmodelled;
	const char *const *assumptions; /* those that ruled an edge out */
	uint32_t nassumptions;
};

struct fencepost_result {
	enum fencepost_status status;
	const char *ptx;    /* the output, NUL behind it; NULL on error */
	size_t ptx_size;
	bool changed;
	uint32_t edges_left; /* missing fences that no fence in the output settles (new findings only) */
	const char *ptx_version, *target; /* of the first module; NULL: not read */
	uint32_t inserted, removed, narrowed;
	struct fencepost_diagnostic *const *diagnostics;
	uint32_t ndiagnostics;
	struct fencepost_kernel *const *kernels;
	uint32_t nkernels;
	struct fencepost_finding *const *findings; /* by line */
	uint32_t nfindings;
	struct fencepost_fence *const *fences;
	uint32_t nfences;
	struct fencepost_mutation *const *mutations;
	uint32_t nmutations;
	bool mutated;       /* the self-check was asked for and ran */
};

FENCEPOST_API const char *fencepost_version(void);

/* The defaults of the command line; size is sizeof(struct fencepost_options). */
FENCEPOST_API void fencepost_options_init(struct fencepost_options *, size_t size);

/* Sets one option as on the command line ("assume", "none", the dashes may lead); value NULL where it
 * takes none. False with a message in `error` when the option or its value is wrong. Knows what changes
 * the analysis: rules hazards spaces threads placement fix assume cp-async strict calls budget mutate. */
FENCEPOST_API bool fencepost_options_set(struct fencepost_options *, const char *name,
	const char *value, char *error, size_t error_size);

/* Rewrites (or, with fix = 0, audits) one PTX text. `name` is how messages call it. Sets *result in
 * every case but FENCEPOST_NO_MEMORY and FENCEPOST_BAD_OPTIONS. */
FENCEPOST_API enum fencepost_status fencepost_run(const struct fencepost_options *,
	const char *name, const char *ptx, size_t size, struct fencepost_result **result);

FENCEPOST_API void fencepost_free(struct fencepost_result *);

/* Names by number, NULL past the last. */
FENCEPOST_API const char *fencepost_rule_name(uint32_t rule);
FENCEPOST_API const char *fencepost_rule_title(uint32_t rule);
FENCEPOST_API enum fencepost_level fencepost_rule_level(uint32_t rule);
FENCEPOST_API const char *fencepost_assumption_name(uint32_t assumption);
FENCEPOST_API const char *fencepost_level_name(enum fencepost_level);
FENCEPOST_API const char *fencepost_confidence_name(enum fencepost_confidence);
FENCEPOST_API const char *fencepost_verdict_name(enum fencepost_verdict);
FENCEPOST_API const char *fencepost_state_name(enum fencepost_state);
FENCEPOST_API const char *fencepost_change_name(enum fencepost_change);

#ifdef __cplusplus
}
#endif

#endif
