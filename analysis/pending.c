/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stand-ins for stages that are not in the tree yet, so that it links: the true ones replace them.
 * Invariant: with one of these in use no kernel is analysed, so none is called clean.
 */
#include "analysis/analyse.h"

#define PENDING __attribute__((weak))

PENDING bool link_calls(const struct module *module, uint32_t root, struct arena *arena,
	struct linked *linked, struct diags *diags)
{
	(void)module, (void)root, (void)arena, (void)linked, (void)diags;
	return false;
}

PENDING struct values *values_solve(const struct function *fn, const struct cfg *cfg,
	const struct analysis_options *options, struct arena *arena, struct budget *budget, uint32_t *used)
{
	(void)fn, (void)cfg, (void)options, (void)arena, (void)budget, (void)used;
	return NULL;
}

PENDING void access_collect(const struct function *fn, const struct cfg *cfg, const struct values *values,
	const struct analysis_options *options, struct arena *arena, struct accesses *accesses)
{
	(void)fn, (void)cfg, (void)values, (void)options, (void)arena, (void)accesses;
}

PENDING void plan_fences(
	struct unit *unit, struct flow_setup *setup, const struct flow *first, struct plan *plan)
{
	(void)unit, (void)setup, (void)first, (void)plan;
}

PENDING void audit_fences(
	struct unit *unit, struct flow_setup *setup, const struct flow *flow, struct audit *audit)
{
	(void)unit, (void)setup, (void)flow, (void)audit;
}

PENDING void checks_run(struct unit *unit, struct check_finding **findings, uint32_t *n)
{
	(void)unit, (void)findings, (void)n;
}

PENDING bool value_uniform(const struct values *values, uint32_t insn, const struct operand *operand)
{
	(void)values, (void)insn, (void)operand;
	return false;
}

PENDING int value_decided(const struct values *values, uint32_t insn)
{
	(void)values, (void)insn;
	return -1;
}

PENDING struct ids value_definitions(const struct values *values, uint32_t insn, uint32_t reg)
{
	(void)values, (void)insn, (void)reg;
	return (struct ids){0};
}

PENDING bool value_some_thread(
	const struct values *values, uint32_t insn, const struct operand *operand, bool negated)
{
	(void)values, (void)insn, (void)operand, (void)negated;
	return false;
}

PENDING uint32_t value_number(const struct values *values, uint32_t insn, const struct operand *operand)
{
	(void)values, (void)operand;
	return insn;
}

PENDING bool value_number_invariant(const struct values *values, uint32_t number)
{
	(void)values, (void)number;
	return false;
}

PENDING struct value value_of(
	const struct values *values, uint32_t insn, const struct operand *operand)
{
	(void)values, (void)insn, (void)operand;
	return (struct value){.base = BASE_UNKNOWN, .lo = INT64_MIN, .hi = INT64_MAX, .stride = 1};
}

PENDING struct overlap access_overlap(const struct values *values, const struct accesses *accesses,
	uint32_t g, uint32_t a, const struct analysis_options *options, struct arena *arena)
{
	(void)values, (void)options, (void)arena;
	return (struct overlap){
		.may = true, .spaces = accesses->v[g].spaces & accesses->v[a].spaces};
}

PENDING bool access_same_mbarrier(const struct values *values, uint32_t insn_a,
	const struct operand *a, uint32_t insn_b, const struct operand *b,
	const struct analysis_options *options, uint32_t *assumptions)
{
	(void)values, (void)insn_a, (void)a, (void)insn_b, (void)b, (void)options, (void)assumptions;
	return true;
}

PENDING void value_print(const struct values *values, const struct value *value, char *out, size_t size)
{
	(void)values, (void)value;
	if (size)
		out[0] = 0;
}
