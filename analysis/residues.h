/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a register holds in one thread, as far as its low bits are known: modulo a power of two. Of an address
 * the offset in its variable. Kept with the values, by thread.
 */
#pragma once

#include "analysis/threads.h"
#include "analysis/value_private.h"

struct residue { /* value modulo 2^bits */
	uint64_t value;
	uint32_t bits;
};

struct residue_part { /* a register or a number, from which low bits follow */
	uint32_t node;	 /* NONE: it is a number, */
	uint32_t symbol; /* counted from this one; or NONE */
	uint32_t bits;	 /* of the number, that are known */
	uint64_t plus;	 /* the number, or what is added to the register */
};

/* How the low bits of a register follow, in any thread. */
struct residue_form {
	uint8_t kind;	  /* see residues_private.h */
	uint8_t most;	  /* so many bits at most do */
	uint8_t width;	  /* of the register */
	bool is_address;
	uint64_t factor;
	struct residue_part a, b;
	struct residue set; /* what its set says, whoever runs it */
	uint32_t set_assumptions;
};

/* What a register holds in each thread, filled as threads are asked about. */
struct residues {
	struct residues *next;
	uint32_t node;
	uint32_t assumptions;
	struct residue_form form;
	uint32_t open_from, open_end; /* no number follows in these threads from the thread alone */
	struct thread_set asked;
	struct residue v[]; /* by thread, where it was asked about */
};

static const struct residue residue_unknown = {0, 0};

static inline struct residue residue_modulo(uint64_t value, uint32_t bits)
{
	return (struct residue){value, bits > 64 ? 64 : bits};
}

/* What is kept of a register; NULL: too much is kept already. */
struct residues *residues_of(struct values *, uint32_t node);
/* Finds what residue_of_node() is asked about many threads, for all of them at once. What is not found so is left to it. */
void residues_fill(struct values *, uint32_t variable, uint32_t node, const struct thread_set *);
/* A register, or an operand that is a register, a number or a variable with or without a constant behind it, in a
 * thread. Of addresses those in `variable` alone are known. Adds the assumptions. */
struct residue residue_of_node(
	struct values *, uint32_t variable, uint32_t tid, uint32_t node, uint32_t *assumptions);
struct residue residue_of(struct values *, uint32_t variable, uint32_t tid, const struct operand *,
	uint32_t *assumptions);
