/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says about the work of fencepost-ptxas. */
#pragma once

#include "lib/fencepost.h"

struct shim_settings {
	struct fencepost_options options;
	char *kernel;	    /* --kernel=GLOB, or NULL */
	bool quiet;	    /* -q: only errors */
	bool verbose;	    /* -v: each finding and each fence */
	bool pass_on_error; /* FENCEPOST_ON_ERROR=pass: an input that cannot be fenced is assembled
			       as it is */
	bool fail_on_edge;  /* FENCEPOST_ON_EDGE=fail: an edge that no fence settles stops the
			       assembly */
	bool in_place;	    /* FENCEPOST_INPLACE=1: the input file itself gets the fences */
	char problem[256];
};

/* False with a sentence in `problem` when a variable holds what it may not. */
bool shim_settings_read(struct shim_settings *);

/* The same for two settings that give the same output, whatever their spelling. */
uint64_t shim_settings_hash(const struct shim_settings *);

void shim_settings_free(struct shim_settings *);
