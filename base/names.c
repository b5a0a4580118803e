/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts to small integers, by uthash. Entries live in blocks that never move, since the hash links
 * point at them; `blocks` finds the entry of an id. Each id also carries marks for the stage that
 * is at work on the file (what does this name mean here?): a mark counts only when it was made
 * since the last names_forget, so forgetting all of them costs nothing.
 */
#include "base/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(key, size, hash) ((hash) = hash_bytes((key), (size)))
#define HASH_INITIAL_NUM_BUCKETS 256U
#define HASH_INITIAL_NUM_BUCKETS_LOG2 8U
#include <uthash.h>

enum { BLOCK = 256 };

struct entry {
	const char *text;
	uint32_t size, id;
	uint32_t epoch[NAMES_MARKS], mark[NAMES_MARKS];
	UT_hash_handle hh;
};

struct names {
	struct entry *table;
	struct entry **blocks;
	uint32_t n, nblocks, epoch;
	struct made *made;
};

struct made { /* a text that the source does not spell */
	struct made *next;
	char text[];
};

static uint64_t load(const char *p, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, p, size);
	return word;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* Eight bytes at a time: names run to kilobytes, and every register of the text passes here. */
static unsigned hash_bytes(const char *p, size_t size)
{
	uint64_t hash = size;
	size_t rest = size;

	for (; rest >= 8; rest -= 8, p += 8)
		hash = mix(hash, load(p, 8));
	if (rest >= 4)
		hash = mix(hash, load(p, 4) << 32 | load(p + rest - 4, 4));
	else if (rest)
		hash = mix(hash, (uint64_t)(unsigned char)p[0] << 16 |
					 (uint64_t)(unsigned char)p[rest / 2] << 8 |
					 (unsigned char)p[rest - 1]);
	return (unsigned)(hash ^ hash >> 32);
}

struct names *names_new(void)
{
	struct names *names = calloc(1, sizeof(*names));

	if (names)
		names->epoch = 1;
	return names;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	HASH_CLEAR(hh, names->table);
	for (uint32_t i = 0; i < names->nblocks; i++)
		free(names->blocks[i]);
	free(names->blocks);
	while (names->made) {
		struct made *next = names->made->next;

		free(names->made);
		names->made = next;
	}
	free(names);
}

static struct entry *entry_of(const struct names *names, uint32_t id)
{
	return &names->blocks[id / BLOCK][id % BLOCK];
}

static bool add_block(struct names *names)
{
	if ((names->nblocks & (names->nblocks - 1)) == 0) {
		size_t cap = names->nblocks ? 2 * (size_t)names->nblocks : 1;
		struct entry **blocks = realloc(names->blocks, cap * sizeof(struct entry *));

		if (!blocks)
			return false;
		names->blocks = blocks;
	}
	struct entry *block = calloc(BLOCK, sizeof(struct entry));

	if (!block)
		return false;
	names->blocks[names->nblocks++] = block;
	return true;
}

uint32_t names_add(struct names *names, const char *text, size_t size)
{
	struct entry *entry;
	unsigned hash;

	HASH_VALUE(text, size, hash);
	HASH_FIND_BYHASHVALUE(hh, names->table, text, size, hash, entry);
	if (entry)
		return entry->id;
	if (names->n == names->nblocks * BLOCK && !add_block(names))
		return NONE;
	entry = entry_of(names, names->n);
	*entry = (struct entry){.text = text, .size = (uint32_t)size, .id = names->n};
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, names->table, entry->text, size, hash, entry);
	if (!entry->hh.tbl)
		return NONE;
	return names->n++;
}

uint32_t names_add_copy(struct names *names, const char *text, size_t size)
{
	uint32_t known = names_find(names, text, size);

	if (known != NONE)
		return known;
	struct made *made = malloc(sizeof(*made) + size + 1);

	if (!made)
		return NONE;
	memcpy(made->text, text, size);
	made->text[size] = '\0'; /* who reads a number in a name looks at what follows it */
	made->next = names->made;
	names->made = made;
	return names_add(names, made->text, size);
}

uint32_t names_add_numbered(struct names *names, const char *text, size_t size, uint32_t number)
{
	char *whole = malloc(size + 11);

	if (!whole)
		return NONE;
	memcpy(whole, text, size);
	size_t n = size + (size_t)sprintf(whole + size, "%" PRIu32, number);
	uint32_t id = names_add_copy(names, whole, n);

	free(whole);
	return id;
}

uint32_t names_find(const struct names *names, const char *text, size_t size)
{
	struct entry *entry;

	HASH_FIND(hh, names->table, text, size, entry);
	return entry ? entry->id : NONE;
}

struct slice names_text(const struct names *names, uint32_t id)
{
	const struct entry *entry = entry_of(names, id);

	return (struct slice){entry->text, entry->size};
}

void names_forget(struct names *names)
{
	names->epoch++;
}

uint32_t names_mark(const struct names *names, uint32_t id, enum names_mark which)
{
	const struct entry *entry = entry_of(names, id);

	return entry->epoch[which] == names->epoch ? entry->mark[which] : NONE;
}

void names_set_mark(struct names *names, uint32_t id, enum names_mark which, uint32_t value)
{
	struct entry *entry = entry_of(names, id);

	entry->epoch[which] = names->epoch;
	entry->mark[which] = value;
}
