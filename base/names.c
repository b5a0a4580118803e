/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts to small integers, by a table of hashes and ids that is open addressed and at most half
 * full. A look-up touches a slot, and an entry and its text where the whole hash is the same: with
 * hundreds of thousands of names each is a cache miss. Entries live in blocks that never move. Each
 * id also carries marks for the stage that is at work on the file (what does this name mean here?):
 * a mark counts only when it was made since the last names_forget, so forgetting all of them costs
 * nothing.
 */
#include "base/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, FIRST_SLOTS = 512 };

struct entry {
	const char *text;
	uint32_t size;
	uint32_t epoch[NAMES_MARKS], mark[NAMES_MARKS];
};

struct slot {
	uint32_t hash;
	uint32_t number; /* 1 + id; 0: free */
};

struct names {
	struct slot *slots;
	uint32_t mask; /* one less than how many there are, a power of two */
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
static uint32_t hash_bytes(const char *p, size_t size)
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
	return (uint32_t)(hash ^ hash >> 32);
}

struct names *names_new(void)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->epoch = 1;
	names->mask = FIRST_SLOTS - 1;
	names->slots = calloc(FIRST_SLOTS, sizeof(*names->slots));
	if (names->slots)
		return names;
	free(names);
	return NULL;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	free(names->slots);
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

/* The slot of the text, or the free one where it belongs. */
static struct slot *find_slot(
	const struct names *names, const char *text, size_t size, uint32_t hash)
{
	for (uint32_t i = hash & names->mask;; i = (i + 1) & names->mask) {
		struct slot *slot = &names->slots[i];

		if (!slot->number)
			return slot;
		if (slot->hash != hash)
			continue;
		const struct entry *entry = entry_of(names, slot->number - 1);

		if (entry->size == size && memcmp(entry->text, text, size) == 0)
			return slot;
	}
}

static bool add_slots(struct names *names)
{
	uint32_t mask = 2 * names->mask + 1;
	struct slot *slots = calloc((size_t)mask + 1, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t k = 0; k <= names->mask; k++) {
		uint32_t i = names->slots[k].hash & mask;

		if (!names->slots[k].number)
			continue;
		while (slots[i].number)
			i = (i + 1) & mask;
		slots[i] = names->slots[k];
	}
	free(names->slots);
	names->slots = slots;
	names->mask = mask;
	return true;
}

uint32_t names_add(struct names *names, const char *text, size_t size)
{
	uint32_t hash = hash_bytes(text, size);
	struct slot *slot = find_slot(names, text, size, hash);

	if (slot->number)
		return slot->number - 1;
	if (names->n == names->nblocks * BLOCK && !add_block(names))
		return NONE;
	*entry_of(names, names->n) = (struct entry){.text = text, .size = (uint32_t)size};
	*slot = (struct slot){hash, ++names->n};
	if (names->n > names->mask / 2 && !add_slots(names)) {
		*slot = (struct slot){0};
		names->n--;
		return NONE;
	}
	return names->n - 1;
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
	const struct slot *slot = find_slot(names, text, size, hash_bytes(text, size));

	return slot->number ? slot->number - 1 : NONE;
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
