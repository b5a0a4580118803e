/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the time is cheap only now and then: the clock is read on every 256th call, and once the
 * budget is spent it stays so. */
#include "base/budget.h"

#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void budget_start(struct budget *budget, double seconds)
{
	*budget = (struct budget){0};
	if (seconds > 0 && seconds < 1e9)
		budget->deadline_ns = now_ns() + (uint64_t)(seconds * 1e9);
}

bool budget_is_over(struct budget *budget)
{
	budget->spent = now_ns() >= budget->deadline_ns;
	return budget->spent;
}
