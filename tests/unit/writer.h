/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs for the tests of value sets: a text that grows, and numbers that its seed
 * decides. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct writer {
	char text[24000]; /* with a 0 behind it */
	size_t n;
	uint64_t seed;
	uint32_t labels, counters; /* names given out so far */
	uint32_t left;		   /* statements still to be written */
	bool local;		   /* uses local memory */
	bool apart; /* threads may part: nothing that they do together, one loop at most */
};

/* How many random programs a test makes: `usual`, or what FENCEPOST_ROUNDS in the environment asks for. */
uint32_t writer_rounds(uint32_t usual);
/* One of 0 .. n-1. */
uint32_t pick(struct writer *, uint32_t n);
/* Appends; the test fails where the text is full. */
void put(struct writer *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
