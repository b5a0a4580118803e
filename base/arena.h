/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is given back all at once. Everything that belongs to one function of the input lives
 * in one arena, which is emptied after it, so that peak memory follows the largest function.
 */
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_chunk;
struct arena_block;

enum { ARENA_SIZES = 32 };

struct arena {
	struct arena *parent;       /* of a stage; else NULL */
	struct arena *root;         /* of a stage: the outermost one, where its chunks come from */
	struct arena_chunk *chunks; /* newest first */
	size_t next_chunk;          /* bytes of the next one, if larger than what is asked for; 0: first */
	unsigned char *at, *end;    /* where the next bytes come from */
	struct arena_block *spare[ARENA_SIZES]; /* given back, by binary logarithm of the size */
	bool apart;                 /* some may lie side by side and be two */
	size_t used;                /* bytes handed out since the last reset, less those given back */
	size_t limit;               /* fail beyond this many bytes; 0: no limit */
	jmp_buf *on_failure;        /* longjmp(.., 1) target when memory runs out; never NULL in use */
};

void arena_init(struct arena *, jmp_buf *on_failure);
/* Zeroed bytes, aligned to 16; never NULL: out of memory leaves through on_failure. */
void *arena_alloc(struct arena *, size_t bytes);
/* The same for bytes that are written before they are read: they come as they are. */
void *arena_alloc_unset(struct arena *, size_t bytes);
/* These bytes, as many as were asked for, are not needed any more: large ones are handed out again. */
void arena_give_back(struct arena *, void *, size_t bytes);
/* Gives back all but the first `new_bytes` of them. */
void arena_trim(struct arena *, void *, size_t old_bytes, size_t new_bytes);
/* A larger zero-extended copy of `old` (in place where it was the newest allocation); `old` is given
 * back. */
void *arena_grow(struct arena *, void *old, size_t old_bytes, size_t new_bytes);
/* The same, with any contents behind the old ones. */
void *arena_extend(struct arena *, void *old, size_t old_bytes, size_t new_bytes);
/* A stage: an arena within another, which arena_end() gives back all at once. Its blocks are those of the
 * outermost one, so that a stage within a stage wastes no more than one. A stage that is left by
 * on_failure needs no end: its blocks go with the others. */
void arena_begin(struct arena *stage, struct arena *parent);
void arena_end(struct arena *stage);
/* Where much is in use: large blocks that were given back take no memory of the system until they are handed out
 * again. For when larger ones are wanted, or another arena is to grow; of an outermost one. */
void arena_relax(struct arena *);
/* Forgets every allocation and keeps the largest chunk for the next use. */
void arena_reset(struct arena *);
void arena_free(struct arena *);

#define ARENA_NEW(arena, type, n) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(n)))
/* Of an array with room for `cap`, what is behind the n-th. */
#define ARENA_TRIM(arena, v, n, cap)                                                               \
	arena_trim((arena), (v), sizeof(*(v)) * (size_t)(cap), sizeof(*(v)) * (size_t)(n))
#define ARENA_GIVE_BACK(arena, v, n) arena_give_back((arena), (v), sizeof(*(v)) * (size_t)(n))
#define ARENA_UNSET(arena, type, n)                                                                \
	((type *)arena_alloc_unset((arena), sizeof(type) * (size_t)(n)))

/* Appends `item` to the growing array `v` with `n` items and room for `cap`; behind the n-th there
 * are no zeroes. */
#define ARENA_PUSH(arena, v, n, cap, item)                                                         \
	do {                                                                                       \
		if ((n) == (cap)) {                                                                \
			size_t cap_ = (cap) ? 2 * (size_t)(cap) : 16;                              \
			(v) = arena_extend((arena), (v), sizeof(*(v)) * (size_t)(cap),             \
				sizeof(*(v)) * cap_);                                              \
			(cap) = (uint32_t)cap_;                                                    \
		}                                                                                  \
		(v)[(n)++] = (item);                                                               \
	} while (0)
