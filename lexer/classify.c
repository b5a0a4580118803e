/* SPDX-License-Identifier: Apache-2.0 */
/* What an opcode may do, going by its text alone: for functions that nobody parses. */
#include "lexer/lexer.h"
#include "parser/words.h"

#include <string.h>

static bool contains(const char *text, size_t size, const char *part)
{
	return memmem(text, size, part, strlen(part)) != NULL;
}

/* A `ld` or `st` without a space may go anywhere. */
static uint32_t classify_access(const char *text, size_t size)
{
	if (contains(text, size, ".param") || contains(text, size, ".local") ||
		contains(text, size, ".const"))
		return 0;
	return contains(text, size, ".global") ? SEEN_MEMORY : SEEN_MEMORY | SEEN_SHARED;
}

/* The rule of thumb that a form nobody knows is judged by (ISA 8.6), for words that have no async form yet. */
static uint32_t classify_new(const char *text, size_t size)
{
	return contains(text, size, ".async") && contains(text, size, "bulk")
		       ? SEEN_ASYNC | SEEN_MEMORY | SEEN_SHARED
		       : 0;
}

/* By the first word, and for the words with several lives by what follows (ISA 9.7.9, 9.7.13-16). */
uint32_t lexer_classify(const char *text, size_t size)
{
	const char *dot = memchr(text, '.', size);
	enum opcode op = opcode_find(text, dot ? (size_t)(dot - text) : size);

	switch ((int)op) {
	case OP_UNKNOWN:
		return SEEN_UNKNOWN | SEEN_ASYNC | SEEN_MEMORY | SEEN_SHARED;
	case OP_call:
		return SEEN_CALL;
	case OP_fence:
	case OP_membar:
		return !dot || contains(text, size, ".proxy") ? SEEN_FENCE : 0;
	case OP_wgmma:
	case OP_tcgen05:
	case OP_clusterlaunchcontrol:
	case OP_fabric:
		return SEEN_ASYNC | SEEN_MEMORY | SEEN_SHARED;
	case OP_cp:
		if (contains(text, size, "_group") || contains(text, size, ".wait_all"))
			return contains(text, size, "bulk") ? SEEN_ASYNC : 0;
		/* fallthrough */
	case OP_multimem:
		return SEEN_MEMORY | SEEN_SHARED |
		       (!dot || contains(text, size, "bulk") ? SEEN_ASYNC : 0);
	case OP_tensormap:
		return SEEN_MEMORY | SEEN_SHARED | SEEN_FENCE | SEEN_ASYNC;
	case OP_mbarrier: /* its rule asks for the init, whether anything async follows or not */
		return SEEN_SHARED | (!dot || contains(text, size, ".init") ? SEEN_ASYNC : 0);
	case OP_ld:
	case OP_st:
		return classify_access(text, size) | classify_new(text, size);
	case OP_ldu:
	case OP_atom:
	case OP_red:
	case OP_ldmatrix:
	case OP_stmatrix:
	case OP_discard:
		return SEEN_MEMORY | SEEN_SHARED | classify_new(text, size);
	case OP_wmma:
		return contains(text, size, ".mma.") ? 0 : SEEN_MEMORY | SEEN_SHARED;
	default:
		return classify_new(text, size);
	}
}
