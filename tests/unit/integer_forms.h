/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers make of small indices and unrolled loops, now and then with a number that is off. */
#pragma once

#include "writer.h"

/* x mod d, or nearly, by 16-bit multiplication: %r<d> from %r<x>. */
void form_short_remainder(struct writer *, uint32_t d, uint32_t x);
/* Fields of two registers put together. */
void form_fields(struct writer *, uint32_t d, uint32_t x, uint32_t y);
/* x rounded down by its low bits, or less than that. */
void form_rounded(struct writer *, uint32_t d, uint32_t x);

struct ended_loop {
	uint32_t label, counter, x; /* registers by number */
	int step;
	bool relative, leaves;
	const char *test;
};

/* A loop that ends where its counter is equal to a number; what stands between is its body. */
void form_open_ended_loop(struct writer *, struct ended_loop *, uint32_t counter, uint32_t x);
void form_close_ended_loop(struct writer *, const struct ended_loop *);
