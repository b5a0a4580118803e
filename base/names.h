/* SPDX-License-Identifier: Apache-2.0 */
/* Names as small integers: equal texts get equal ids. */
#pragma once

#include "base/span.h"

struct names;

struct names *names_new(void); /* NULL: out of memory */
void names_free(struct names *);
/* The id of a text; a new one when unseen; NONE when memory is out. The bytes are viewed, not copied:
 * they must outlive the table. */
uint32_t names_add(struct names *, const char *text, size_t size);
/* NONE when unseen. */
uint32_t names_find(const struct names *, const char *text, size_t size);
struct slice names_text(const struct names *, uint32_t id);
