/* SPDX-License-Identifier: Apache-2.0 */
/* Changes PTX by statements, registers, qualifiers and numbers, so that much of it stays PTX. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Changes text[0..size) in place, one small step that `seed` chooses, within `room` bytes; gives
 * the new size. Statements may be taken from `other` (NULL: from the text). */
size_t mutate_ptx(uint8_t *text, size_t size, size_t room, uint32_t seed, const uint8_t *other,
	size_t other_size);
