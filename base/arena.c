/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bump allocation from malloc'ed chunks. What is given back, and what is left of a chunk when
 * another is begun, waits in lists by size for whoever asks for that much; only blocks of some size
 * do, so that the lists stay short, and neighbours among them become one when a large one is wanted
 * and none is there. What is handed out is cleared then, but for arena_alloc_unset()
 * and arena_extend().
 */
#include "base/arena.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) /* gcc */
#define POISONS 1
#elif defined(__has_feature) /* clang */
#define POISONS __has_feature(address_sanitizer)
#else
#define POISONS 0
#endif

#if POISONS
#include <sanitizer/asan_interface.h>
#define HIDE(p, size) __asan_poison_memory_region((p), (size))
#define SHOW(p, size) __asan_unpoison_memory_region((p), (size))
#else
#define HIDE(p, size) ((void)(p), (void)(size))
#define SHOW(p, size) ((void)(p), (void)(size))
#endif

enum {
	ALIGNMENT = 16,
	FIRST_CHUNK = 64 * 1024,
	FIRST_OF_STAGE = 16 * 1024,
	LARGEST_OF_STAGE = 256 * 1024, /* its rest is no use to others */
	LARGE = 32 * 1024, /* worth a search among what is spare */
	LARGEST_STEP = 8 * 1024 * 1024
};
enum { SPARE_LEAST = 2048, LOOK_AT = 8 }; /* bytes; blocks of a list that may be too small */

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
	unsigned char bytes[];
};

struct arena_block { /* lies in the bytes that it is about */
	struct arena_block *next;
	size_t size;
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

static uint32_t list_of(size_t size)
{
	uint32_t log2 = 63 - (uint32_t)__builtin_clzll(size);

	return log2 < ARENA_SIZES ? log2 : ARENA_SIZES - 1;
}

static void set_aside(struct arena *arena, void *p, size_t size)
{
	struct arena_block *block = p;

	if (size < SPARE_LEAST) {
		HIDE(p, size);
		return;
	}
	struct arena_block **list = &arena->spare[list_of(size)];

	SHOW(block, sizeof(*block));
	*block = (struct arena_block){*list, size};
	*list = block;
	arena->apart = true;
	HIDE(block + 1, size - sizeof(*block));
}

static void begin(struct arena *arena, unsigned char *at, size_t size)
{
	if (arena->at)
		set_aside(arena, arena->at, (size_t)(arena->end - arena->at));
	arena->at = at;
	arena->end = at + size;
}

/* A spare block of at least that size, taken off its list, or NULL. */
static struct arena_block *find_spare(struct arena *arena, size_t size)
{
	for (uint32_t k = list_of(size); k < ARENA_SIZES; k++) {
		struct arena_block **link = &arena->spare[k];

		for (uint32_t seen = 0; *link && seen < LOOK_AT; seen++, link = &(*link)->next) {
			struct arena_block *block = *link;

			if (block->size < size)
				continue;
			*link = block->next;
			SHOW(block, block->size);
			return block;
		}
	}
	return NULL;
}

/* ---- neighbours among what is spare ---- */

/* Two lists by address as one. */
static struct arena_block *merge(struct arena_block *a, struct arena_block *b)
{
	struct arena_block *first = NULL, **end = &first;

	while (a && b) {
		struct arena_block **lower = a < b ? &a : &b;

		*end = *lower;
		end = &(*lower)->next;
		*lower = (*lower)->next;
	}
	*end = a ? a : b;
	return first;
}

/* All spare blocks by address; the lists are empty behind it. */
static struct arena_block *take_all(struct arena *arena)
{
	struct arena_block *sorted[ARENA_SIZES] = {NULL}; /* of up to 2^k blocks, as digits of a number */
	struct arena_block *all = NULL;

	for (uint32_t k = 0; k < ARENA_SIZES; k++)
		while (arena->spare[k]) {
			struct arena_block *one = arena->spare[k];
			uint32_t digit = 0;

			arena->spare[k] = one->next;
			one->next = NULL;
			for (; sorted[digit]; digit++) {
				one = merge(sorted[digit], one);
				sorted[digit] = NULL;
			}
			sorted[digit] = one;
		}
	for (uint32_t k = 0; k < ARENA_SIZES; k++)
		all = merge(all, sorted[k]);
	return all;
}

/* Makes one block of those that lie side by side. */
static void join_spares(struct arena *arena)
{
	struct arena_block *block = take_all(arena);

	while (block) {
		struct arena_block *next = block->next;
		size_t size = block->size;

		for (; (unsigned char *)next == (unsigned char *)block + size; next = next->next)
			size += next->size;
		SHOW(block, size);
		set_aside(arena, block, size);
		block = next;
	}
	arena->apart = false;
}

/* The size of about the largest spare block, if it is at least that large; else 0. */
static size_t largest_spare(const struct arena *arena, size_t least)
{
	for (uint32_t k = ARENA_SIZES; k-- > list_of(least);)
		if (arena->spare[k] && arena->spare[k]->size >= least)
			return arena->spare[k]->size;
	return 0;
}

/* Rather than memory that was never touched a stage takes what its root has lying about. */
static size_t fitting_chunk(struct arena *root, size_t bytes, size_t size)
{
	size_t least = sizeof(struct arena_chunk) + (bytes > LARGE ? bytes : LARGE);

	if (size < LARGE)
		return size;
	if (root->apart)
		join_spares(root);
	size_t spare = largest_spare(root, least);

	if (!spare || spare - sizeof(struct arena_chunk) >= size)
		return size;
	return spare - sizeof(struct arena_chunk);
}

static size_t next_size(size_t size, size_t largest)
{
	return size < largest / 2 ? 2 * size : largest;
}

/* Chunks grow with what is in use, so that their number stays logarithmic. */
static void add_chunk(struct arena *arena, size_t bytes)
{
	size_t size = arena->next_chunk ? arena->next_chunk
		      : arena->parent ? FIRST_OF_STAGE
				      : FIRST_CHUNK;

	if (size < bytes)
		size = bytes;
	arena->next_chunk = next_size(size, arena->parent ? LARGEST_OF_STAGE : LARGEST_STEP);
	if (arena->parent)
		size = fitting_chunk(arena->root, bytes, size);
	struct arena_chunk *chunk =
		arena->parent ? arena_alloc_unset(arena->root, sizeof(*chunk) + size)
			      : malloc(sizeof(*chunk) + size);

	if (!chunk)
		fail(arena);
	chunk->next = arena->chunks;
	chunk->size = size;
	arena->chunks = chunk;
	begin(arena, chunk->bytes, size);
}

static void charge(struct arena *arena, size_t bytes)
{
	if (arena->limit && bytes > arena->limit - arena->used)
		fail(arena);
	arena->used += bytes;
}

static void *take_spare(struct arena *arena, size_t size)
{
	struct arena_block *block = find_spare(arena, size);

	if (!block && size >= LARGE && arena->apart) {
		join_spares(arena);
		block = find_spare(arena, size);
	}
	if (block)
		set_aside(arena, (unsigned char *)block + size, block->size - size);
	return block;
}

/* Large ones come from any block that fits, small ones all from where the last one came from. */
static void *take(struct arena *arena, size_t size)
{
	charge(arena, size);
	void *p = size >= SPARE_LEAST ? take_spare(arena, size) : NULL;

	if (p)
		return p;
	if (size > (size_t)(arena->end - arena->at)) {
		struct arena_block *block =
			size < SPARE_LEAST ? find_spare(arena, SPARE_LEAST) : NULL;

		if (block)
			begin(arena, (unsigned char *)block, block->size);
		else
			add_chunk(arena, size);
	}
	p = arena->at;
	arena->at += size;
	SHOW(p, size);
	return p;
}

void arena_give_back(struct arena *arena, void *p, size_t bytes)
{
	size_t size = round_up(arena, bytes ? bytes : 1);

	if (!p)
		return;
	arena->used -= size;
	if ((unsigned char *)p + size == arena->at) {
		arena->at = p;
		HIDE(p, size);
	} else {
		set_aside(arena, p, size);
	}
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

void arena_trim(struct arena *arena, void *p, size_t old_bytes, size_t new_bytes)
{
	size_t kept = round_up(arena, new_bytes ? new_bytes : 1);

	if (p && round_up(arena, old_bytes ? old_bytes : 1) > kept)
		arena_give_back(
			arena, (unsigned char *)p + kept, round_up(arena, old_bytes) - kept);
}

void *arena_extend(struct arena *arena, void *old, size_t old_bytes, size_t new_bytes)
{
	if (!old)
		return arena_alloc_unset(arena, new_bytes);
	size_t old_size = round_up(arena, old_bytes ? old_bytes : 1);
	size_t size = round_up(arena, new_bytes);
	unsigned char *p = old;

	if (size <= old_size)
		return old;
	if (p + old_size == arena->at && size - old_size <= (size_t)(arena->end - arena->at)) {
		charge(arena, size - old_size);
		SHOW(arena->at, size - old_size);
		arena->at += size - old_size;
		return old;
	}
	void *copy = memcpy(take(arena, size), old, old_bytes);

	arena_give_back(arena, old, old_size);
	return copy;
}

void *arena_grow(struct arena *arena, void *old, size_t old_bytes, size_t new_bytes)
{
	size_t kept = old ? old_bytes : 0, size = round_up(arena, new_bytes ? new_bytes : 1);
	unsigned char *p = arena_extend(arena, old, old_bytes, new_bytes);

	if (size > kept)
		memset(p + kept, 0, size - kept);
	return p;
}

void arena_begin(struct arena *stage, struct arena *parent)
{
	*stage = (struct arena){.parent = parent,
		.root = parent->root ? parent->root : parent,
		.on_failure = parent->on_failure};
}

/* Newest first: what was taken one behind the other goes back as one block. */
void arena_end(struct arena *stage)
{
	unsigned char *from = NULL;
	size_t size = 0;

	while (stage->chunks) {
		struct arena_chunk *chunk = stage->chunks;
		size_t whole = sizeof(*chunk) + chunk->size;
		bool joins = (unsigned char *)chunk + whole == from;

		stage->chunks = chunk->next;
		SHOW(chunk, whole);
		if (!joins)
			arena_give_back(stage->root, from, size);
		from = (unsigned char *)chunk;
		size = joins ? size + whole : whole;
	}
	arena_give_back(stage->root, from, size);
	*stage = (struct arena){0};
}

/* The whole pages of it: they read as zeros then. */
static void return_pages(unsigned char *from, unsigned char *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)from + page - 1) & ~(page - 1), end = (uintptr_t)to & ~(page - 1);

	if (begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void arena_relax(struct arena *arena)
{
	if (arena->used < LARGEST_STEP) /* new pages cost more than they save */
		return;
	if (arena->apart)
		join_spares(arena);
	for (uint32_t k = list_of(LARGE); k < ARENA_SIZES; k++)
		for (struct arena_block *block = arena->spare[k]; block; block = block->next)
			return_pages((unsigned char *)(block + 1), (unsigned char *)block + block->size);
	return_pages(arena->at, arena->end);
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
	*arena = (struct arena){
		.chunks = largest, .limit = arena->limit, .on_failure = arena->on_failure};
	if (!largest)
		return;
	arena->next_chunk = next_size(largest->size, LARGEST_STEP);
	largest->next = NULL;
	SHOW(largest->bytes, largest->size);
	begin(arena, largest->bytes, largest->size);
}

void arena_free(struct arena *arena)
{
	while (arena->chunks) {
		struct arena_chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
	*arena = (struct arena){.limit = arena->limit, .on_failure = arena->on_failure};
}
