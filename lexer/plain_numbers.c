/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many bytes at a time: whether a byte may stand in such a table follows from it and the two in front of it.
 */
#include "lexer/plain_numbers.h"

#include <stdbool.h>
#include <string.h>

enum { WIDTH = 16, STRETCH = 16 * WIDTH }; /* a count of a byte each does for so many */

typedef uint8_t bytes __attribute__((vector_size(WIDTH)));

static bytes load(const char *p)
{
	bytes v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bytes are(bytes v, char c)
{
	return (bytes)(v == (uint8_t)c);
}

static bytes are_digits(bytes v)
{
	return (bytes)((v - (uint8_t)'0') < (uint8_t)10);
}

/* All bytes of the stretch belong to such a table; adds its commas then. */
static bool pass_stretch(const char *p, uint32_t *commas)
{
	bytes wrong = {0}, count = {0};
	uint64_t halves[2];

	for (const char *end = p + STRETCH; p < end; p += WIDTH) {
		bytes now = load(p), before = load(p - 1);
		bytes digit = are_digits(now), comma = are(now, ',');

		wrong |= ~(digit | comma | (are(now, ' ') & are(before, ',')));
		wrong |= comma & ~are_digits(before);
		wrong |= digit & are(before, '0') & ~are_digits(load(p - 2));
		count -= comma;
	}
	memcpy(halves, &wrong, sizeof(wrong));
	if (halves[0] | halves[1])
		return false;
	for (uint32_t i = 0; i < WIDTH; i++)
		*commas += count[i];
	return true;
}

const char *plain_numbers_pass(const char *p, const char *end, uint32_t *numbers)
{
	const char *begin = p;
	uint32_t commas = 0;

	while (end - p >= STRETCH && pass_stretch(p, &commas))
		p += STRETCH;
	if (p == begin)
		return p;
	do
		p--;
	while (*p != ',');
	*numbers += commas - 1;
	return p;
}
