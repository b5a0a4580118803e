/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of libraries: hundreds of thousands of decimal numbers with commas between.
 */
#pragma once

#include <stdint.h>

/* From a comma behind a number on: passes over `, 12, 7,0` as long as each number is decimal, with no zero in
 * front, and at most one space stands behind each comma. Returns the last comma that it came to and adds the
 * numbers in front of it; p itself where something else follows soon. Two bytes in front of p, and all up to
 * `end`, can be read. */
const char *plain_numbers_pass(const char *p, const char *end, uint32_t *numbers);
