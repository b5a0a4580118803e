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

PENDING void checks_run(struct unit *unit, struct check_finding **findings, uint32_t *n)
{
	(void)unit, (void)findings, (void)n;
}

PENDING void value_print(const struct values *values, const struct value *value, char *out, size_t size)
{
	(void)values, (void)value;
	if (size)
		out[0] = 0;
}
