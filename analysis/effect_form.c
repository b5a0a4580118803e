/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an instruction. Out: the row of effects.def that describes it. Invariant: a row is taken only
 * if it asks for every modifier that can change the proxy, so that a new form is never mistaken for
 * an old.
 */
#include "analysis/effect_form.h"

/* clang-format off */
#define SHARED SPACE_SHARED
#define CLUSTER (SPACE_SHARED | SPACE_CLUSTER)
#define GLOBAL SPACE_GLOBAL
#define ANYWHERE (CLUSTER | SPACE_GLOBAL | SPACE_LOCAL | SPACE_CONST | SPACE_PARAM)

#define WITH(...) .with = {__VA_ARGS__}
#define ANY .first = 0
#define NAMES(a, b) .first = (a), .second = (b)
#define NO_TOUCH .touches = {{0}}
#define TOUCHES(...) .touches = {__VA_ARGS__}
#define ROLE(...) __VA_ARGS__
#define NO_ROLE .sync = SYNC_NONE
#define BRACKET(n) (n)
#define PLAIN(n) (0x80 | (n))
#define WIDTH EXTENT_FIXED, 0
#define BYTES(n) EXTENT_FIXED, (n)
#define LANES EXTENT_LANES, 16
#define SIZE(n) EXTENT_OPERAND, (n)
#define GR(place, slot, spaces, ...) {PROXY_GENERIC, FORM_READS, place, slot, spaces, __VA_ARGS__}
#define GW(place, slot, spaces, ...) {PROXY_GENERIC, FORM_WRITES, place, slot, spaces, __VA_ARGS__}
#define GX(place, slot, spaces, ...)                                                               \
	{PROXY_GENERIC, FORM_READS | FORM_WRITES, place, slot, spaces, __VA_ARGS__}
#define GR_LATER(place, slot, spaces, ...)                                                         \
	{PROXY_GENERIC, FORM_READS | FORM_LATER, place, slot, spaces, __VA_ARGS__}
#define GW_LATER(place, slot, spaces, ...)                                                         \
	{PROXY_GENERIC, FORM_WRITES | FORM_LATER, place, slot, spaces, __VA_ARGS__}
#define GX_LATER(place, slot, spaces, ...)                                                         \
	{PROXY_GENERIC, FORM_READS | FORM_WRITES | FORM_LATER, place, slot, spaces, __VA_ARGS__}
#define ASYNC(access, place, slot, spaces, extent, size, more)                                     \
	{PROXY_ASYNC, (access) | (more), place, slot, spaces, extent, size}
#define AR(place, slot, spaces, ...) ASYNC_(FORM_READS, place, slot, spaces, __VA_ARGS__)
#define AW(place, slot, spaces, ...) ASYNC_(FORM_WRITES, place, slot, spaces, __VA_ARGS__)
#define AX(place, slot, spaces, ...)                                                               \
	ASYNC_(FORM_READS | FORM_WRITES, place, slot, spaces, __VA_ARGS__)
#define ASYNC_(...) ASYNC(__VA_ARGS__) /* expands SIZE(n) to the two arguments it is */
#define MB(place, slot, spaces)                                                                    \
	{PROXY_GENERIC, FORM_READS | FORM_WRITES | FORM_MBARRIER, place, slot, spaces, BYTES(8)}
#define TM(place) {PROXY_TENSORMAP, FORM_READS, place, SLOT_NONE, GLOBAL, BYTES(128)}
#define TW(place, slot) {PROXY_TENSORMAP, FORM_WRITES, place, slot, GLOBAL, BYTES(128)}
#define OTHER(place, slot, spaces)                                                                 \
	{PROXY_OTHER, FORM_READS | FORM_WRITES, place, slot, spaces, EXTENT_UNKNOWN, 0}

#define FORM(word, mods, names, touched, role, sec, since, cpu, text)                              \
	{.op = OP_##word, mods, names, touched, .section = sec, .ptx = since, .target = cpu,       \
		.example = text, role},
#define PURE(word, sec, since, text)                                                               \
	FORM(word, WITH(0), ANY, NO_TOUCH, ROLE(.flags = FORM_PURE), sec, since, "sm_90a", text)
#define NEWER(word, sec, since, cpu, text)                                                         \
	FORM(word, WITH(0), ANY, NO_TOUCH, ROLE(.flags = FORM_PURE | FORM_NEWER), sec, since, cpu, \
		text)
/* clang-format on */

static const struct form forms[] = {
#include "analysis/effects.def"
};

const struct form *effect_forms(uint32_t *n)
{
	*n = sizeof(forms) / sizeof(*forms);
	return forms;
}

/* Modifiers that move an instruction to another proxy or make it another operation. */
static const bool is_significant[MOD_COUNT] = {[MOD_async] = true,
	[MOD_bulk] = true,
	[MOD_tensor] = true,
	[MOD_reduce] = true,
	[MOD_proxy] = true,
	[MOD_proxy__readonly] = true,
	[MOD_async__generic] = true,
	[MOD_tensormap__generic] = true};

static bool asks_for(const struct form *form, enum modifier mod)
{
	for (uint32_t i = 0; i < 6 && form->with[i]; i++)
		if (form->with[i] == mod)
			return true;
	return false;
}

static bool has_its_modifiers(const struct form *form, const struct insn *insn)
{
	for (uint32_t i = 0; i < 6 && form->with[i]; i++)
		if (!insn_has(insn, form->with[i]))
			return false;
	if (form->op == OP_tensormap || form->op == OP_fence) /* the row's own words decide */
		return true;
	for (uint32_t i = 0; i < insn->nmods; i++)
		if (is_significant[insn->mods[i]] && !asks_for(form, insn->mods[i]))
			return false;
	return true;
}

static uint8_t slot_spaces(const struct insn *insn, uint32_t slot)
{
	for (uint32_t i = 0, seen = 0; i < insn->nmods; i++) {
		uint8_t spaces = effect_modifier_spaces(insn->mods[i]);

		if (spaces && seen++ == slot)
			return spaces;
	}
	return 0;
}

static bool names_its_spaces(const struct form *form, const struct insn *insn)
{
	return (!form->first || (form->first & slot_spaces(insn, 0))) &&
	       (!form->second || (form->second & slot_spaces(insn, 1)));
}

const struct form *effect_form(const struct insn *insn)
{
	uint32_t low = 0, high = sizeof(forms) / sizeof(*forms);

	while (low < high) { /* the first row of the word; rows are in the order of enum opcode */
		uint32_t middle = (low + high) / 2;

		if (forms[middle].op < insn->op)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < sizeof(forms) / sizeof(*forms) && forms[low].op == insn->op; low++)
		if (has_its_modifiers(&forms[low], insn) && names_its_spaces(&forms[low], insn))
			return &forms[low];
	return NULL;
}

uint8_t effect_modifier_spaces(enum modifier mod)
{
	if (mod == MOD_shared || mod == MOD_shared__cta)
		return SPACE_SHARED;
	if (mod == MOD_shared__cluster)
		return SPACE_SHARED | SPACE_CLUSTER;
	if (mod == MOD_global)
		return SPACE_GLOBAL;
	if (mod == MOD_local)
		return SPACE_LOCAL;
	if (mod == MOD_const)
		return SPACE_CONST;
	if (mod == MOD_param || mod == MOD_param__entry || mod == MOD_param__func)
		return SPACE_PARAM;
	return 0;
}

uint8_t effect_slot_spaces(const struct insn *insn, enum form_slot slot)
{
	return slot == SLOT_NONE ? 0 : slot_spaces(insn, slot - SLOT_FIRST);
}
