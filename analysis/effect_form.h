/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a row of effects.def reads: which instructions it is for (opcode word, modifiers that must
 * all be there, which spaces the first and second space modifier name) and what they do. The rows
 * of a word stand together, the one with more conditions first; the first that fits is taken.
 */
#pragma once

#include "analysis/effect.h"

enum form_access {
	FORM_READS = 1,
	FORM_WRITES = 2,
	FORM_MBARRIER = 4,
	FORM_HIDDEN = 8,      /* the global bytes of a tensor map */
	FORM_LATER = 16,      /* generic proxy, completes later */
	FORM_DESCRIPTOR = 32, /* the operand is a matrix descriptor; a list or [tmem] in its place
				 touches nothing */
	FORM_MULTICAST = 64   /* a peer's bytes as well with .multicast or tcgen05's cta_group::2 */
};

enum form_slot { SLOT_NONE, SLOT_FIRST, SLOT_SECOND }; /* the space modifier that names the space */

struct form_touch {
	uint8_t proxy;	/* enum proxy */
	uint8_t access; /* enum form_access bits; 0 ends the list */
	uint8_t place;	/* BRACKET(n): n-th [..] operand from 0 on; PLAIN(n): operand n */
	uint8_t slot;	/* enum form_slot */
	uint8_t spaces; /* where the address may point when no modifier says it */
	uint8_t extent; /* enum extent_kind */
	uint32_t
		size; /* bytes of EXTENT_FIXED (0: by type and vector), operand of EXTENT_OPERAND */
};

enum form_flag {
	FORM_PURE = 1,
	FORM_RELEASES = 2,
	FORM_ACQUIRES = 4,
	FORM_RELAXED = 8,
	FORM_ALL = 16,
	FORM_READ_ONLY = 32,
	FORM_CALL = 64,
	FORM_BRANCH = 128,
	FORM_EXIT = 256,
	FORM_WARP = 512,
	FORM_GROUP = 1024,
	FORM_WIDE = 2048, /* a cluster-wide form whatever its scope says */
	FORM_NEWER = 4096 /* newer than the assembler the table was checked with */
};

struct form {
	uint16_t op;
	uint16_t with[6];      /* enum modifier; 0 ends the list */
	uint8_t first, second; /* enum space bits one of which the 1st / 2nd space modifier names;
				  0: any or none */
	struct form_touch touches[4];
	uint8_t sync, fence;		  /* enum sync_kind, fence_kind */
	uint16_t flags;			  /* enum form_flag bits */
	uint8_t barrier, count, mbarrier; /* operand + 1, operand + 1, bracket + 1; 0: none */
	const char *section;		  /* of PTX ISA 9.1 */
	const char *ptx;		  /* version that brought it */
	const char *target;		  /* the example assembles for it */
	const char *example;
};

const struct form *effect_forms(uint32_t *n);
/* The row of an instruction, or NULL. */
const struct form *effect_form(const struct insn *);
/* The enum space bits that a modifier names, or 0 for one that names no space. */
uint8_t effect_modifier_spaces(enum modifier);
/* What the first or second space modifier of the instruction names, or 0. */
uint8_t effect_slot_spaces(const struct insn *, enum form_slot);
