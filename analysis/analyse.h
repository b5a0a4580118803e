/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of one root as they stand before the arena is emptied, for those who want to look: --dump, --why, HTML. */
#pragma once

#include "analysis/hints.h"
#include "analysis/result.h"

struct analysis_view {
	const struct unit *unit;
	const struct linked *linked;
	struct flow_setup *setup;
	const struct flow *flow;
	const struct plan *plan;
	const struct audit *audit;
	const struct check_finding *checks;
	uint32_t nchecks;
	const struct hint_map *hints;
	bool solved; /* false: no proxy flow was run; flow, plan and audit are empty */
};

struct analysis_observer {
	void (*see)(const struct analysis_view *, const struct kernel_result *, void *context);
	void *context;
};

/* analyse_root, and shows the stages to the observer (NULL: nobody) at the end. */
void analyse_root_observed(const struct module *, uint32_t function, const struct analysis_options *,
	struct arena *scratch, struct arena *keep, struct diags *, struct kernel_result *,
	const struct analysis_observer *);
