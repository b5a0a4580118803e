/* SPDX-License-Identifier: Apache-2.0 */
/* rules.def as tables. */
#include "base/rules.h"

#include <string.h>

static const struct {
	const char *text, *title;
	enum level level;
} rules[RULE_COUNT] = {
#define RULE(id, text, level, title) {text, title, LEVEL_##level},
#include "base/rules.def"
#undef RULE
};

const char *rule_text(enum rule rule)
{
	return rules[rule].text;
}

const char *rule_title(enum rule rule)
{
	return rules[rule].title;
}

enum level rule_level(enum rule rule)
{
	return rules[rule].level;
}

enum rule rule_find(const char *text)
{
	enum rule rule = 0;

	while (rule < RULE_COUNT && strcmp(rules[rule].text, text) != 0)
		rule++;
	return rule;
}

const char *level_text(enum level level)
{
	static const char *const texts[] = {"note", "warning", "error"};

	return texts[level];
}
