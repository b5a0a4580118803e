/* SPDX-License-Identifier: Apache-2.0 */
/* The public names of rules, levels, verdicts: one place, so that every report spells them alike.
 */
#include "lib/internal.h"

#ifndef FENCEPOST_VERSION
#define FENCEPOST_VERSION "0.0.0"
#endif

const char *fencepost_version(void)
{
	return FENCEPOST_VERSION;
}

const char *fencepost_rule_name(uint32_t rule)
{
	return rule < RULE_COUNT ? rule_text(rule) : NULL;
}

const char *fencepost_rule_title(uint32_t rule)
{
	return rule < RULE_COUNT ? rule_title(rule) : NULL;
}

enum fencepost_level fencepost_rule_level(uint32_t rule)
{
	return rule < RULE_COUNT ? (enum fencepost_level)rule_level(rule) : FENCEPOST_NOTE;
}

const char *fencepost_level_name(enum fencepost_level level)
{
	return level_text((enum level)level);
}

const char *fencepost_confidence_name(enum fencepost_confidence confidence)
{
	static const char *const names[] = {"possible", "likely", "proven"};

	return confidence <= FENCEPOST_PROVEN ? names[confidence] : NULL;
}

const char *fencepost_verdict_name(enum fencepost_verdict verdict)
{
	static const char *const names[] = {"findings", "incomplete", "review", "clean"};

	return verdict <= FENCEPOST_CLEAN ? names[verdict] : NULL;
}

const char *fencepost_state_name(enum fencepost_state state)
{
	static const char *const names[] = {"new", "baseline", "suppressed"};

	return state <= FENCEPOST_SUPPRESSED ? names[state] : NULL;
}

const char *fencepost_change_name(enum fencepost_change change)
{
	static const char *const names[] = {"insert", "remove", "narrow"};

	return change <= FENCEPOST_NARROW ? names[change] : NULL;
}
