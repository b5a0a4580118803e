/* SPDX-License-Identifier: Apache-2.0 */
/* The tables are sorted by byte (a unit test looks), so that a binary search finds a word. */
#include "parser/words.h"
#include "parser/ptx.tab.h"

#include <string.h>

static const char *const opcodes[OP_COUNT] = {
	[OP_UNKNOWN] = "",
#define OPCODE(word) [OP_##word] = #word,
#include "parser/opcodes.def"
#undef OPCODE
};

static const char *const modifiers[MOD_COUNT] = {
	[MOD_UNKNOWN] = "",
#define MODIFIER(id, text) [MOD_##id] = text,
#include "parser/modifiers.def"
#undef MODIFIER
};

struct word {
	const char *text;
	int value;
};

static const struct word directives[] = {
	{"address_size", TOK_ADDRESS_SIZE},
	{"alias", TOK_ALIAS},
	{"align", TOK_ALIGN},
	{"attribute", TOK_ATTRIBUTE},
	{"branchtargets", TOK_BRANCHTARGETS},
	{"callprototype", TOK_CALLPROTOTYPE},
	{"calltargets", TOK_CALLTARGETS},
	{"common", TOK_COMMON},
	{"const", TOK_CONST},
	{"entry", TOK_ENTRY},
	{"extern", TOK_EXTERN},
	{"file", TOK_FILE},
	{"func", TOK_FUNC},
	{"global", TOK_GLOBAL},
	{"loc", TOK_LOC},
	{"local", TOK_LOCAL},
	{"param", TOK_PARAM},
	{"pragma", TOK_PRAGMA},
	{"reg", TOK_REG},
	{"section", TOK_SECTION},
	{"shared", TOK_SHARED},
	{"target", TOK_TARGET},
	{"version", TOK_VERSION},
	{"visible", TOK_VISIBLE},
	{"weak", TOK_WEAK},
};

static const struct word header_directives[] = {
	{"explicitcluster", DIRECTIVE_EXPLICITCLUSTER},
	{"maxclusterrank", DIRECTIVE_MAXCLUSTERRANK},
	{"maxntid", DIRECTIVE_MAXNTID},
	{"noreturn", DIRECTIVE_NORETURN},
	{"reqnctapercluster", DIRECTIVE_REQNCTAPERCLUSTER},
	{"reqntid", DIRECTIVE_REQNTID},
};

static const struct word specials[] = {
	{"%clock", SPECIAL_CLOCK},
	{"%clock64", SPECIAL_CLOCK},
	{"%clock_hi", SPECIAL_CLOCK},
	{"%cluster_ctaid.x", SPECIAL_CLUSTER_CTAID_X},
	{"%cluster_ctaid.y", SPECIAL_CLUSTER_CTAID_Y},
	{"%cluster_ctaid.z", SPECIAL_CLUSTER_CTAID_Z},
	{"%cluster_ctarank", SPECIAL_CLUSTER_CTARANK},
	{"%cluster_nctarank", SPECIAL_CLUSTER_NCTARANK},
	{"%clusterid.x", SPECIAL_CLUSTERID},
	{"%clusterid.y", SPECIAL_CLUSTERID},
	{"%clusterid.z", SPECIAL_CLUSTERID},
	{"%ctaid.x", SPECIAL_CTAID_X},
	{"%ctaid.y", SPECIAL_CTAID_Y},
	{"%ctaid.z", SPECIAL_CTAID_Z},
	{"%dynamic_smem_size", SPECIAL_DYNAMIC_SMEM_SIZE},
	{"%gridid", SPECIAL_GRIDID},
	{"%laneid", SPECIAL_LANEID},
	{"%lanemask_eq", SPECIAL_LANEMASK},
	{"%lanemask_ge", SPECIAL_LANEMASK},
	{"%lanemask_gt", SPECIAL_LANEMASK},
	{"%lanemask_le", SPECIAL_LANEMASK},
	{"%lanemask_lt", SPECIAL_LANEMASK},
	{"%nclusterid.x", SPECIAL_NCLUSTERID},
	{"%nclusterid.y", SPECIAL_NCLUSTERID},
	{"%nclusterid.z", SPECIAL_NCLUSTERID},
	{"%nctaid.x", SPECIAL_NCTAID_X},
	{"%nctaid.y", SPECIAL_NCTAID_Y},
	{"%nctaid.z", SPECIAL_NCTAID_Z},
	{"%ntid.x", SPECIAL_NTID_X},
	{"%ntid.y", SPECIAL_NTID_Y},
	{"%ntid.z", SPECIAL_NTID_Z},
	{"%nwarpid", SPECIAL_NWARPID},
	{"%smid", SPECIAL_SMID},
	{"%tid", SPECIAL_TID},
	{"%tid.x", SPECIAL_TID_X},
	{"%tid.y", SPECIAL_TID_Y},
	{"%tid.z", SPECIAL_TID_Z},
	{"%total_smem_size", SPECIAL_TOTAL_SMEM_SIZE},
	{"%warpid", SPECIAL_WARPID},
};

static int compare(const char *text, size_t size, const char *word)
{
	size_t i = 0;

	while (i < size && text[i] == word[i] && word[i])
		i++;
	return i == size ? -(word[i] != '\0') : (unsigned char)text[i] - (unsigned char)word[i];
}

static int word_find(const struct word *words, size_t n, const char *text, size_t size, int none)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;
		int order = compare(text, size, words[middle].text);

		if (order == 0)
			return words[middle].value;
		if (order < 0)
			n = middle;
		else
			low = middle + 1;
	}
	return none;
}

/* Index in a sorted list of texts whose first is the "unknown" one: 0 when missing. */
static uint32_t text_find(const char *const *texts, uint32_t n, const char *text, size_t size)
{
	uint32_t low = 1;

	while (low < n) {
		uint32_t middle = low + (n - low) / 2;
		int order = compare(text, size, texts[middle]);

		if (order == 0)
			return middle;
		if (order < 0)
			n = middle;
		else
			low = middle + 1;
	}
	return 0;
}

enum opcode opcode_find(const char *text, size_t size)
{
	return text_find(opcodes, OP_COUNT, text, size);
}

enum modifier modifier_find(const char *text, size_t size)
{
	return text_find(modifiers, MOD_COUNT, text, size);
}

const char *opcode_text(enum opcode op)
{
	return op < OP_COUNT ? opcodes[op] : "";
}

const char *modifier_text(enum modifier mod)
{
	return mod < MOD_COUNT ? modifiers[mod] : "";
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum special_register special_find(const char *text, size_t size)
{
	return (enum special_register)word_find(
		specials, COUNT(specials), text, size, SPECIAL_OTHER);
}

int directive_find(const char *text, size_t size)
{
	return word_find(directives, COUNT(directives), text, size, 0);
}

enum directive_kind header_directive_find(const char *text, size_t size)
{
	return (enum directive_kind)word_find(
		header_directives, COUNT(header_directives), text, size, DIRECTIVE_COUNT);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ISA 5.2: a letter, then the width (b32, s8, f64), and for packed ones a factor (f16x2). */
uint32_t modifier_type_bits(enum modifier mod)
{
	const char *text = modifier_text(mod);
	uint32_t bits = 0, factor = 1;

	if (mod == MOD_pred)
		return 1;
	if (mod == MOD_texref || mod == MOD_samplerref || mod == MOD_surfref)
		return 64;
	if (strncmp(text, "bf16", 4) == 0)
		text++;
	if (!strchr("bsuf", text[0]) || text[0] == '\0' || !is_digit(text[1]))
		return 0;
	for (text++; is_digit(*text); text++)
		bits = bits * 10 + (uint32_t)(*text - '0');
	if (*text == 'x')
		for (factor = 0, text++; is_digit(*text); text++)
			factor = factor * 10 + (uint32_t)(*text - '0');
	bits *= factor;
	return *text == '\0' && (bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128)
		       ? bits
		       : 0;
}
