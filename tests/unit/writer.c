/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

uint32_t writer_rounds(uint32_t usual)
{
	const char *text = getenv("FENCEPOST_ROUNDS");

	return text ? (uint32_t)strtoul(text, NULL, 10) : usual;
}

uint32_t pick(struct writer *w, uint32_t n)
{
	w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(w->seed >> 33) % n;
}

void put(struct writer *w, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	w->n += (size_t)vsnprintf(w->text + w->n, sizeof(w->text) - w->n, fmt, args);
	va_end(args);
	assert_true(w->n < sizeof(w->text) - 1);
}
