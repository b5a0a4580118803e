/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's hooks: half of the mutants come from mutate_ptx(), half from libFuzzer's own bytes.
 */
#include "fuzz/mutate.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other,
	size_t other_size, uint8_t *out, size_t room, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	if (seed % 2)
		return LLVMFuzzerMutate(data, size, room);
	for (unsigned int i = 0; i <= seed / 2 % 4; i++)
		size = mutate_ptx(data, size, room, seed + i, NULL, 0);
	return size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other,
	size_t other_size, uint8_t *out, size_t room, unsigned int seed)
{
	size_t size = one_size < room ? one_size : room;

	for (size_t i = 0; i < size; i++)
		out[i] = one[i];
	for (unsigned int i = 0; i < 8; i++)
		size = mutate_ptx(out, size, room, seed * 8 + i, other, other_size);
	return size;
}
