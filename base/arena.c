/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bump allocation from a list of malloc'ed chunks, the newest first. What is handed out is
 * cleared then, but for arena_alloc_unset() and arena_extend().
 */
#include "base/arena.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_CHUNK = 64 * 1024, LARGEST_STEP = 8 * 1024 * 1024 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	size_t padding; /* keeps `bytes` aligned */
	unsigned char bytes[];
};

_Static_assert(offsetof(struct arena_chunk, bytes) % ALIGNMENT == 0, "chunks keep their alignment");

void arena_init(struct arena *arena, jmp_buf *on_failure)
{
	*arena = (struct arena){.on_failure = on_failure};
}

static _Noreturn void fail(struct arena *arena)
{
	longjmp(*arena->on_failure, 1);
}

static size_t round_up(struct arena *arena, size_t bytes)
{
	if (bytes > SIZE_MAX / 2)
		fail(arena);
	return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* Chunks grow with what is in use, so that their number stays logarithmic. */
static struct arena_chunk *add_chunk(struct arena *arena, size_t bytes)
{
	size_t size = arena->chunks ? arena->chunks->size * 2 : FIRST_CHUNK;

	if (size > LARGEST_STEP)
		size = LARGEST_STEP;
	if (size < bytes)
		size = bytes;
	struct arena_chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		fail(arena);
	chunk->next = arena->chunks;
	chunk->size = size;
	chunk->used = 0;
	arena->chunks = chunk;
	return chunk;
}

static void charge(struct arena *arena, size_t bytes)
{
	if (arena->limit && bytes > arena->limit - arena->used)
		fail(arena);
	arena->used += bytes;
}

static void *take(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk = arena->chunks;

	charge(arena, size);
	if (!chunk || size > chunk->size - chunk->used)
		chunk = add_chunk(arena, size);
	void *p = chunk->bytes + chunk->used;

	chunk->used += size;
	return p;
}

void *arena_alloc_unset(struct arena *arena, size_t bytes)
{
	return take(arena, round_up(arena, bytes ? bytes : 1));
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	size_t size = round_up(arena, bytes ? bytes : 1);

	return memset(take(arena, size), 0, size);
}

void *arena_extend(struct arena *arena, void *old, size_t old_bytes, size_t new_bytes)
{
	struct arena_chunk *chunk = arena->chunks;

	if (!old)
		return arena_alloc_unset(arena, new_bytes);
	size_t old_size = round_up(arena, old_bytes ? old_bytes : 1);
	size_t size = round_up(arena, new_bytes);
	unsigned char *p = old;

	if (size <= old_size)
		return old;
	if (p + old_size == chunk->bytes + chunk->used &&
		size - old_size <= chunk->size - chunk->used) {
		charge(arena, size - old_size);
		chunk->used += size - old_size;
		return old;
	}
	return memcpy(take(arena, size), old, old_bytes);
}

void *arena_grow(struct arena *arena, void *old, size_t old_bytes, size_t new_bytes)
{
	size_t kept = old ? old_bytes : 0, size = round_up(arena, new_bytes ? new_bytes : 1);
	unsigned char *p = arena_extend(arena, old, old_bytes, new_bytes);

	if (size > kept)
		memset(p + kept, 0, size - kept);
	return p;
}

void arena_reset(struct arena *arena)
{
	struct arena_chunk *largest = arena->chunks;

	for (struct arena_chunk *chunk = arena->chunks; chunk; chunk = chunk->next)
		if (chunk->size > largest->size)
			largest = chunk;
	while (arena->chunks) {
		struct arena_chunk *next = arena->chunks->next;

		if (arena->chunks != largest)
			free(arena->chunks);
		arena->chunks = next;
	}
	if (largest) {
		largest->next = NULL;
		largest->used = 0;
	}
	arena->chunks = largest;
	arena->used = 0;
}

void arena_free(struct arena *arena)
{
	while (arena->chunks) {
		struct arena_chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
	arena->used = 0;
}
