/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names inside one body (ISA 4.4, 5.4): blocks nest, inner declarations hide outer ones from their
 * place on, labels hold for their whole block. Everything is linear in the text: a block's end
 * visits what was declared in it and the references that its labels settle, once each.
 */
#pragma once

#include "parser/ir.h"
#include "lexer/numbered_name.h"

enum binding_kind { BINDING_REG, BINDING_RANGE, BINDING_SYMBOL };

struct binding {
	uint8_t kind;
	uint8_t bits, vector;
	bool numbered; /* a range, or a name with a number */
	uint16_t type;
	uint32_t local;	   /* the name */
	uint32_t previous; /* binding that this one hides, or NONE */
	uint32_t id;	   /* register, symbol; a range: its own number */
	/* of a range: */
	uint64_t count;
	uint32_t *regs; /* [number], one more than the id; 0: not named yet, or one of the `nhashed` in range_regs */
	uint32_t nregs, nasked, nhashed;
};

struct local_name { /* what a name means here and now */
	uint32_t name;
	uint32_t binding;   /* innermost, or NONE */
	uint32_t label;	    /* last definition in the open blocks, or NONE */
	uint32_t reference; /* newest unsettled label reference, or NONE */
};

struct range_reg { /* register `%r5` of a range `%r<10>` */
	uint32_t range, number;
	uint32_t reg; /* one more than its id; 0: a free place */
};

enum { PREFIX_BITS = 4 };

struct prefix { /* of a range, as an integer (numbered_name.h); 0: a free place */
	uint64_t text;
	uint32_t local;
	bool hidden; /* perhaps, by a name that is declared by itself: `%r5` behind `%r<10>` */
	uint32_t nregs;	      /* of the innermost range, a view of its table that is good until something */
	const uint32_t *regs; /* is bound, unbound or moved; 0: nobody has looked */
};

struct reference { /* a name that a label may still settle */
	uint32_t local, previous;
	uint32_t operand;	/* in function->operands, or NONE: */
	struct span at;		/* of that operand */
	uint32_t table, entry;	/* in function->tables[table].v */
	bool settled, required; /* required: it must be a label (a branch's target) */
};

struct open_block {
	uint32_t nbindings, nlabels, nreferences; /* when it was opened */
};

struct scope {
	struct arena *arena;
	struct names *names;
	struct function *fn;
	struct local_name *locals;
	uint32_t nlocals, locals_cap;
	struct binding *bindings;
	uint32_t nbindings, bindings_cap;
	struct range_reg *range_regs; /* hashed; a power of two of places, half of them free */
	uint32_t nrange_regs, range_regs_bits;
	struct prefix prefixes[1 << PREFIX_BITS]; /* by hash; the first to come has the place */
	struct reference *references;
	uint32_t nreferences, references_cap;
	uint32_t *open_labels, *hidden_labels; /* labels of the open blocks, and what each hides */
	uint32_t nopen_labels, open_labels_cap, nhidden_labels, hidden_labels_cap;
	struct open_block *blocks;
	uint32_t nblocks, blocks_cap;
	uint32_t nranges;
	uint32_t room; /* numbers that tables of whole ranges may still have places for; given by who begins */
	uint32_t renumbered;  /* how often names with numbers may have come to mean something else */
	bool digit_prefixes;  /* a range's prefix ends in a digit: `%r1<4>` */
	uint32_t regs_cap, labels_cap;
};

struct resolved {
	enum { RESOLVED_NOTHING, RESOLVED_REG, RESOLVED_SYMBOL } kind;
	uint32_t id;
};

void scope_init(struct scope *, struct arena *, struct names *, struct function *);
void scope_open(struct scope *);
/* Closes the innermost block; `table_entries` has the entries of each table, to be written. */
void scope_close(struct scope *, uint32_t **table_entries);
/* Nothing is looked up any more. */
void scope_end(struct scope *);
void scope_add_reg(
	struct scope *, const char *text, size_t size, enum modifier type, uint8_t vector);
/* A register that no name leads to. */
uint32_t scope_new_reg(struct scope *, const char *text, size_t size, enum modifier type);
void scope_add_range(struct scope *, const char *text, size_t size, uint64_t count,
	enum modifier type, uint8_t vector);
void scope_add_symbol(struct scope *, const char *text, size_t size, uint32_t symbol);
struct resolved scope_find(struct scope *, const char *text, size_t size);
/* Adds a label before the instruction that comes next; false when the block has one of that name.
 */
bool scope_add_label(
	struct scope *, const char *text, size_t size, struct span at, uint32_t *label);
/* Remembers an operand (entry NONE) or an entry of a table (operand NONE) that a label may settle.
 */
void scope_refer(struct scope *, uint32_t name, struct reference);

static inline struct prefix *scope_prefix_place(struct scope *scope, uint64_t prefix)
{
	return &scope->prefixes[prefix * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PREFIX_BITS)];
}

/* The register of that number where the prefix has no view of it, or NONE. */
uint32_t scope_find_unseen(struct scope *, struct prefix *, uint32_t number);

static inline uint32_t scope_find_number(
	struct scope *scope, struct prefix *prefix, uint32_t number)
{
	uint32_t reg = number < prefix->nregs ? prefix->regs[number] : 0;

	return reg ? reg - 1 : scope_find_unseen(scope, prefix, number);
}

/* The register of a range that the name means, or NONE: scope_find knows. */
static inline uint32_t scope_find_numbered(struct scope *scope, struct numbered_name name)
{
	struct prefix *prefix = scope_prefix_place(scope, name.prefix);

	return prefix->text == name.prefix ? scope_find_number(scope, prefix, name.number) : NONE;
}
