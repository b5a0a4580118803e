/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of spec section 5: stable ids, default levels, titles (from rules.def). */
#pragma once

#include <stdint.h>

enum level { LEVEL_NOTE, LEVEL_WARNING, LEVEL_ERROR };

enum rule {
#define RULE(id, text, level, title) RULE_##id,
#include "base/rules.def"
#undef RULE
	RULE_COUNT
};

const char *rule_text(enum rule);
const char *rule_title(enum rule);
enum level rule_level(enum rule);
/* RULE_COUNT when no rule has that id. */
enum rule rule_find(const char *text);
const char *level_text(enum level);
