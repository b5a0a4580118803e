/* SPDX-License-Identifier: Apache-2.0 */
/* The time a function may take (--budget). Passes ask now and then and leave early when it is spent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct budget {
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: no limit */
	uint32_t asked;
	bool spent; /* sticky: the function is then `incomplete` and left unchanged */
};

void budget_start(struct budget *, double seconds);
/* Reads the clock. */
bool budget_is_over(struct budget *);

/* True once the time is over; reads the clock on the first and then on every 256th call only. */
static inline bool budget_spent(struct budget *budget)
{
	if (budget->spent || !budget->deadline_ns || budget->asked++ % 256)
		return budget->spent;
	return budget_is_over(budget);
}
