/* SPDX-License-Identifier: Apache-2.0 */
/* Names as small integers: equal texts get equal ids, labels among themselves. */
#pragma once

#include "base/span.h"

struct names;

struct names *names_new(void); /* NULL: out of memory */
void names_free(struct names *);
/* The id of a text; a new one when unseen; NONE when memory is out. The bytes are viewed, not copied:
 * they must outlive the table. */
uint32_t names_add(struct names *, const char *text, size_t size);
/* The same for bytes that do not outlive the table: it keeps a copy. */
uint32_t names_add_copy(struct names *, const char *text, size_t size);
/* The id of the text with the number behind it. */
uint32_t names_add_numbered(struct names *, const char *text, size_t size, uint32_t number);
/* The same two for labels, of which there may be very many: a label is found as one only, and may have
 * another id than something else of the same text. */
uint32_t names_add_label(struct names *, const char *text, size_t size);
uint32_t names_add_label_numbered(
	struct names *, const char *text, size_t size, uint32_t number);
/* NONE when unseen. */
uint32_t names_find(const struct names *, const char *text, size_t size);
struct slice names_text(const struct names *, uint32_t id);

/* A number per name for the stage at work; NONE when not set since the last names_forget. */
enum names_mark { NAMES_LOCAL, NAMES_OPCODE, NAMES_MARKS };
void names_forget(struct names *);
uint32_t names_mark(const struct names *, uint32_t id, enum names_mark);
void names_set_mark(struct names *, uint32_t id, enum names_mark, uint32_t value);
