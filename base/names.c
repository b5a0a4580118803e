/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts to small integers, by uthash. Links of the hash live in blocks that never move, entries in
 * others: `blocks` finds the entry of an id. Each id also carries marks for the stage that is at work
 * on the file (what does this name mean here?): a mark counts only when it was made since the last
 * names_forget, so forgetting all of them costs nothing.
 *
 * Labels that differ in the number at their end alone are a series: a table by number, where the
 * numbers are dense. Invariant: a label is in its series' table, or in the hash, or in both if the
 * table had no place for it when it was first named.
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
enum { PREFIX_MOST = 24, DIGITS_MOST = 9 }; /* bytes of a label in a series */

struct entry {
	const char *text;
	uint32_t size;
	uint32_t epoch[NAMES_MARKS], mark[NAMES_MARKS];
};

struct link { /* of a name that is found by its text */
	UT_hash_handle hh;
	uint32_t id;
};

struct link_block {
	struct link_block *next;
	struct link links[BLOCK];
};

struct series {
	const char *prefix;
	uint32_t size;
	uint32_t *ids;    /* by number: 1 + id, or 0 */
	uint32_t n;       /* numbers that have a place there */
	uint32_t nasked;  /* questions that a larger table would have answered */
	uint32_t nhashed; /* those that were left to the hash */
	UT_hash_handle hh;
};

struct names {
	struct link *table;
	struct link_block *links; /* newest first */
	struct entry **blocks;
	struct series *series;
	struct series *latest; /* the one that was found or made last, or NULL */
	uint32_t n, nlinks, nblocks, epoch;
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
	struct series *series, *after;

	HASH_CLEAR(hh, names->table);
	HASH_ITER(hh, names->series, series, after) {
		HASH_DEL(names->series, series);
		free(series->ids);
		free(series);
	}
	while (names->links) {
		struct link_block *next = names->links->next;

		free(names->links);
		names->links = next;
	}
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

static uint32_t add_entry(struct names *names, const char *text, size_t size)
{
	if (names->n == names->nblocks * BLOCK && !add_block(names))
		return NONE;
	*entry_of(names, names->n) = (struct entry){.text = text, .size = (uint32_t)size};
	return names->n++;
}

static struct link *new_link(struct names *names)
{
	uint32_t at = names->nlinks % BLOCK;

	if (!at) {
		struct link_block *block = calloc(1, sizeof(*block));

		if (!block)
			return NULL;
		block->next = names->links;
		names->links = block;
	}
	names->nlinks++;
	return &names->links->links[at];
}

uint32_t names_add(struct names *names, const char *text, size_t size)
{
	struct link *link;
	unsigned hash;

	HASH_VALUE(text, size, hash);
	HASH_FIND_BYHASHVALUE(hh, names->table, text, size, hash, link);
	if (link)
		return link->id;
	link = new_link(names);
	if (!link)
		return NONE;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, names->table, text, size, hash, link);
	if (!link->hh.tbl)
		return NONE;
	return link->id = add_entry(names, text, size);
}

static const char *copied(struct names *names, const char *text, size_t size)
{
	struct made *made = malloc(sizeof(*made) + size + 1);

	if (!made)
		return NULL;
	memcpy(made->text, text, size);
	made->text[size] = '\0'; /* who reads a number in a name looks at what follows it */
	made->next = names->made;
	names->made = made;
	return made->text;
}

uint32_t names_add_copy(struct names *names, const char *text, size_t size)
{
	uint32_t known = names_find(names, text, size);

	if (known != NONE)
		return known;
	const char *copy = copied(names, text, size);

	return copy ? names_add(names, copy, size) : NONE;
}

static char *numbered(const char *text, size_t size, uint32_t number)
{
	char *whole = malloc(size + 11);

	if (!whole)
		return NULL;
	memcpy(whole, text, size);
	sprintf(whole + size, "%" PRIu32, number);
	return whole;
}

uint32_t names_add_numbered(struct names *names, const char *text, size_t size, uint32_t number)
{
	char *whole = numbered(text, size, number);
	uint32_t id = whole ? names_add_copy(names, whole, strlen(whole)) : NONE;

	free(whole);
	return id;
}

uint32_t names_find(const struct names *names, const char *text, size_t size)
{
	struct link *link;

	HASH_FIND(hh, names->table, text, size, link);
	return link ? link->id : NONE;
}

/* ---- series ---- */

/* The bytes in front of the number at the end; 0: there is no such number, or it has a zero in front. */
static uint32_t prefix_size(const char *text, size_t size, uint32_t *number)
{
	size_t at = size;
	uint32_t unit = 1;

	*number = 0;
	for (; at > 1 && size - at < DIGITS_MOST && text[at - 1] >= '0' && text[at - 1] <= '9'; at--) {
		*number += unit * (uint32_t)(text[at - 1] - '0');
		unit *= 10;
	}
	if (at == size || at > PREFIX_MOST || (text[at] == '0' && size - at > 1))
		return 0;
	return (uint32_t)at;
}

static struct series *find_series(struct names *names, const char *prefix, uint32_t size)
{
	struct series *latest = names->latest;

	if (latest && latest->size == size && !memcmp(latest->prefix, prefix, size))
		return latest;
	HASH_FIND(hh, names->series, prefix, size, latest);
	return names->latest = latest;
}

static struct series *add_series(struct names *names, const char *prefix, uint32_t size)
{
	struct series *series = calloc(1, sizeof(*series));

	if (!series)
		return NULL;
	series->prefix = prefix;
	series->size = size;
	HASH_ADD_KEYPTR(hh, names->series, series->prefix, size, series);
	if (series->hh.tbl)
		return names->latest = series;
	free(series);
	return NULL;
}

/* Whether the table has a place for the number; it grows where that pays. */
static bool keeps_number(struct series *series, uint32_t number)
{
	if (number < series->n)
		return true;
	if (++series->nasked <= number / 64)
		return false;
	uint32_t n = 2 * series->n > number ? 2 * series->n : number + 1;
	uint32_t *ids = realloc(series->ids, n * sizeof(*ids));

	if (!ids)
		return false;
	memset(ids + series->n, 0, (n - series->n) * sizeof(*ids));
	series->ids = ids;
	series->n = n;
	return true;
}

uint32_t names_add_label(struct names *names, const char *text, size_t size)
{
	uint32_t number, prefix = prefix_size(text, size, &number), id = NONE;

	if (!prefix)
		return names_add(names, text, size);
	if (!find_series(names, text, prefix) && !add_series(names, text, prefix))
		return NONE;
	struct series *series = names->latest;

	if (!keeps_number(series, number)) {
		series->nhashed++;
		return names_add(names, text, size);
	}
	if (series->ids[number])
		return series->ids[number] - 1;
	if (series->nhashed)
		id = names_find(names, text, size);
	if (id == NONE)
		id = add_entry(names, text, size);
	series->ids[number] = id + 1; /* NONE: as before */
	return id;
}

/* NONE: it was no label so far. */
static uint32_t find_label(struct names *names, const char *text, size_t size)
{
	uint32_t number, prefix = prefix_size(text, size, &number);
	const struct series *series = prefix ? find_series(names, text, prefix) : NULL;

	if (!prefix)
		return names_find(names, text, size);
	if (series && number < series->n && series->ids[number])
		return series->ids[number] - 1;
	return series && series->nhashed ? names_find(names, text, size) : NONE;
}

uint32_t names_add_label_numbered(
	struct names *names, const char *text, size_t size, uint32_t number)
{
	char *whole = numbered(text, size, number);

	if (!whole)
		return NONE;
	uint32_t id = find_label(names, whole, strlen(whole));
	const char *copy = id == NONE ? copied(names, whole, strlen(whole)) : NULL;

	if (copy)
		id = names_add_label(names, copy, strlen(copy));
	free(whole);
	return id;
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
