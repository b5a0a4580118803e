/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module as data: what PTX text says, each piece with its place in the text.
 *
 * Ids are indices. Registers are per function; symbols (variables, functions, parameters) are one id
 * space per function: ids below module->nsymbols belong to the module, the others to the function.
 * Names are resolved here once, by PTX's scoping (innermost first; labels over the whole block, also
 * forward; ISA 4.4, 5.4, 9.7.12), so no later stage looks at a name to find a thing.
 */
#pragma once

#include "base/arena.h"
#include "base/names.h"
#include "base/source.h"
#include "base/span.h"
#include "lexer/token.h"

/* First word of an opcode: OP_ld, OP_st, OP_wgmma ...; OP_UNKNOWN for what opcodes.def lacks. */
enum opcode {
	OP_UNKNOWN,
#define OPCODE(word) OP_##word,
#include "parser/opcodes.def"
#undef OPCODE
	OP_COUNT,
	/* made by the linker of calls (analysis/link.h), never by the parser: d = a */
	OP_LINK_MOV
};

/* What follows a dot, `::` included: MOD_shared, MOD_shared__cta ("shared::cta" has `::` as `__`).
 * Spellings that are no C names (and all others) come with an explicit identifier in modifiers.def:
 * MODIFIER(identifier, "spelling"). */
enum modifier {
	MOD_UNKNOWN,
#define MODIFIER(id, text) MOD_##id,
#include "parser/modifiers.def"
#undef MODIFIER
	MOD_COUNT
};

enum space { /* bits: an address may point into any of a set */
	SPACE_SHARED = 1,  /* shared::cta, of the executing CTA */
	SPACE_CLUSTER = 2, /* shared::cluster window: own CTA's or a peer's */
	SPACE_GLOBAL = 4,
	SPACE_LOCAL = 8,
	SPACE_CONST = 16,
	SPACE_PARAM = 32,
	SPACE_TENSOR = 64, /* tcgen05 tensor memory */
	SPACE_REG = 128
};

enum operand_kind {
	OPERAND_SINK,    /* _ */
	OPERAND_REG,     /* id: register; component: v.x */
	OPERAND_SPECIAL, /* id: name id of e.g. "%tid.x" (whole text); special: enum special_register */
	OPERAND_IMM,     /* imm: integer constant expression, folded */
	OPERAND_FLOAT,   /* imm: raw bits if exact hex form, else 0 */
	OPERAND_SYMBOL,  /* id: symbol; offset: constant byte offset; its address, or a .param name, or a function */
	OPERAND_LABEL,   /* id: label index */
	OPERAND_MEM,     /* [..]: children; child 0 the address (REG or SYMBOL with offset as the
	                  * added byte offset, or IMM; var[r]: SYMBOL with index child, see `indexed`), child 1.. what follows commas */
	OPERAND_LIST,    /* {..}: children; accumulators of wgmma may be those of others, too: nobody reads their nodes */
	OPERAND_PAIR,    /* d|p: two children */
	OPERAND_TUPLE,   /* (..) of a call: children */
	OPERAND_NAME     /* an identifier that nothing declares: id: name id */
};

enum special_register {
	SPECIAL_OTHER,
	SPECIAL_TID_X, SPECIAL_TID_Y, SPECIAL_TID_Z,
	SPECIAL_TID, /* all of them, as a vector */
	SPECIAL_NTID_X, SPECIAL_NTID_Y, SPECIAL_NTID_Z,
	SPECIAL_CTAID_X, SPECIAL_CTAID_Y, SPECIAL_CTAID_Z,
	SPECIAL_NCTAID_X, SPECIAL_NCTAID_Y, SPECIAL_NCTAID_Z,
	SPECIAL_LANEID, SPECIAL_WARPID, SPECIAL_NWARPID,
	SPECIAL_CLUSTER_CTARANK, SPECIAL_CLUSTER_NCTARANK,
	SPECIAL_CLUSTER_CTAID_X, SPECIAL_CLUSTER_CTAID_Y, SPECIAL_CLUSTER_CTAID_Z,
	SPECIAL_CLUSTERID, SPECIAL_NCLUSTERID, /* any component */
	SPECIAL_DYNAMIC_SMEM_SIZE, SPECIAL_TOTAL_SMEM_SIZE,
	SPECIAL_LANEMASK, /* any of lanemask_* */
	SPECIAL_SMID, SPECIAL_GRIDID, SPECIAL_CLOCK,
	SPECIAL_WARP_SZ /* the constant 32 written as WARP_SZ in an operand that could not be folded */
};

struct operand {
	uint8_t kind;      /* enum operand_kind */
	uint8_t special;   /* enum special_register */
	bool negated : 1;  /* !p, or -r / -sym in the rare places that allow it */
	bool indexed : 1;  /* MEM: var[r]: child 0 is SYMBOL, child 1 the index REG (byte offset), then the rest */
	bool formal : 1;   /* REG that linking has put in the place of a function's own parameter or result */
	bool wide : 1;     /* `offset` is 1 + its index in function->wide_offsets */
	char component;    /* 'x' 'y' 'z' 'w' 'r' 'g' 'b' 'a', or 0 */
	union {
		uint32_t id;
		uint32_t children; /* of MEM, LIST, PAIR, TUPLE: how many; see operand_count() */
	};
	union {
		int64_t imm; /* IMM, FLOAT */
		struct {
			union {
				int32_t offset; /* REG, SYMBOL: bytes, if not `wide`: see operand_offset(); 0: none */
				uint32_t first; /* children: function->operands[first .. first + children) */
			};
			uint32_t node; /* REG: for the analysis, which keeps here what it reads: analysis/ssa.h */
		};
	};
};

_Static_assert(sizeof(struct operand) == 16, "there are several to an instruction");

struct insn {
	struct span at;        /* from its guard (or opcode) to its `;` included; empty: of none in the text */
	const uint16_t *mods;  /* enum modifier, in order of the text */
	uint16_t op;           /* enum opcode */
	uint8_t nmods, count;  /* INSN_PARTS_MOST at the most */
	uint32_t guard;        /* register of @p, or NONE */
	uint32_t first;        /* top-level operands: function->operands[first .. first+count) */
	uint32_t context : 31; /* call context number; 0: the root itself */
	bool guard_negated : 1; /* @!p */
};

#define INSN_PARTS_MOST UINT8_MAX

_Static_assert(sizeof(struct insn) == 32, "there are as many as instructions");

struct reg {
	uint32_t name;  /* name id; one of a range `%r<4>`: of `%r` */
	uint32_t number; /* in its range, or NONE */
	uint16_t type;  /* enum modifier of its type: MOD_b32, MOD_pred ... */
	uint8_t bits;   /* 1 for .pred, 8, 16, 32, 64, 128 */
	uint8_t vector; /* 1, 2, 4 */
};

_Static_assert(sizeof(struct reg) == 12, "there are nearly as many as instructions");

enum symbol_kind { SYMBOL_VAR, SYMBOL_FUNC, SYMBOL_PARAM, SYMBOL_RETURN, SYMBOL_ALIAS };

struct symbol {
	uint8_t kind;
	uint8_t space;     /* one enum space bit; functions: 0 */
	uint8_t ptr_space; /* `.param .ptr .global`: SPACE_GLOBAL ...; 0: not said */
	bool is_extern, is_visible, is_weak;
	bool unsized;      /* x[] without initialiser: dynamic shared memory, size 0 */
	bool is_noreturn;  /* some declaration of the function says `.noreturn' */
	uint32_t name;     /* name id */
	uint64_t size;     /* bytes */
	uint32_t align;    /* bytes, 1 if not said (natural alignment of the type applied) */
	uint16_t type;     /* enum modifier of the element type */
	uint32_t target;   /* FUNC: function index with a body, or NONE; ALIAS: symbol id */
	struct span at;    /* its name */
};

struct label {
	uint32_t name;
	uint32_t insn;  /* the instruction it stands before; == insns.n at the end of the body */
	uint32_t table; /* index into tables if it names .branchtargets/.calltargets/.callprototype, else NONE */
	struct span at;
};

enum table_kind { TABLE_BRANCH, TABLE_CALL, TABLE_PROTOTYPE };

struct table { /* .branchtargets: label ids; .calltargets: symbol ids; .callprototype: its text */
	uint8_t kind;
	bool noreturn;
	const uint32_t *v;
	uint32_t n;
	uint32_t signature; /* equal numbers: equal parameter/return lists (types, sizes); for indirect calls */
	struct span at;
};

struct loc { /* .loc file line column {, function_name .., inlined_at file line column} */
	uint32_t file, line, column;
	uint32_t inlined_file, inlined_line, inlined_column; /* file 0: none */
	uint32_t function_name; /* name id of the text after function_name, or NONE */
	struct span at;
};

struct loc_part { /* of function->locs, those of one body */
	uint32_t first, n;
};

struct pragma {
	uint32_t before; /* instruction index */
	struct span at;
	struct slice text; /* inside the quotes */
};

enum hint_kind { HINT_IGNORE, HINT_OFF, HINT_ON, HINT_GENERIC, HINT_ASYNC, HINT_NEUTRAL, HINT_INVALID };

struct hint {
	uint8_t kind;
	uint32_t before;     /* the first instruction after the comment */
	struct span at;
	struct slice reason; /* empty: none given */
};

enum directive_kind { DIRECTIVE_MAXNTID, DIRECTIVE_REQNTID, DIRECTIVE_REQNCTAPERCLUSTER,
	DIRECTIVE_MAXCLUSTERRANK, DIRECTIVE_EXPLICITCLUSTER, DIRECTIVE_NORETURN, DIRECTIVE_COUNT };

/* What the scan and the header say of a function; lives as long as the module. */
struct function_info {
	uint32_t symbol;
	bool is_entry, has_body;
	uint32_t ndim[DIRECTIVE_COUNT]; /* how many numbers were given; 0: directive absent */
	uint32_t dim[DIRECTIVE_COUNT][3]; /* missing dimensions are 1 */
	struct span at, header, body;   /* body: from `{` to `}` included */
	uint32_t signature;
	/* seen by the scan of the body, over-approximate; false means certainly absent */
	bool may_async;   /* a word that can be an async access */
	bool may_fence;   /* fence.proxy */
	bool may_hint, may_call, may_shared; /* .shared or generic memory accesses */
	bool may_unknown; /* an opcode that opcodes.def lacks */
	uint32_t ninsns;  /* instructions */
	uint32_t nmemory; /* those that, going by the opcode, may touch shared or global memory */
	const struct span *runs; /* of ordinary statements in the body, in order of the text; NULL: not kept */
	uint32_t nruns;
};

struct function { /* one body, parsed; freed after use */
	const struct module *module;
	uint32_t index; /* in module->functions */
	struct insn *insns; uint32_t ninsns;
	uint32_t *insert_at;       /* by instruction: see insn_insert_at(); NULL: the begin of each */
	const uint32_t *origins;   /* by call context: its function in the module; NULL: all is of `index` */
	struct operand *operands; uint32_t noperands;
	uint32_t nshared;              /* operands more there would be if matrix products did not share accumulators */
	int64_t *wide_offsets; uint32_t nwide_offsets; /* those that do not fit into an operand */
	struct reg *regs; uint32_t nregs;
	struct symbol *symbols; uint32_t nsymbols; /* parameters, returns, locals: id - module->nsymbols */
	struct label *labels; uint32_t nlabels;
	struct table *tables; uint32_t ntables;
	struct loc *locs; uint32_t nlocs; /* of each body in order of the text */
	const struct loc_part *loc_parts; /* by call context; NULL: all are of `index` */
	struct pragma *pragmas; uint32_t npragmas;
	struct hint *hints; uint32_t nhints;
	uint32_t first_param, nparams, first_return, nreturns; /* symbol ids */
	struct span end_at; /* the closing brace: where a body that falls off its end ends */
};

struct file_entry { uint32_t number; struct slice name; };

struct module { /* a file may hold several, one after the other */
	struct source *source;
	struct names *names;
	struct span at;
	uint16_t version_major, version_minor;
	uint32_t sm;                /* 90 of sm_90a or compute_90a; 0: unknown */
	char sm_suffix;             /* 'a', 'f' or 0 */
	bool debug;
	bool proxies;               /* version >= 8.0 and sm >= 90: the async proxy can exist */
	struct span version_at, target_at;
	struct slice target;        /* "sm_90a" */
	uint32_t address_bits;      /* 32 or 64 */
	struct symbol *symbols; uint32_t nsymbols;
	uint32_t *by_name;          /* symbol ids, sorted by name id */
	uint32_t *dynamic_shared; uint32_t ndynamic_shared; /* ids of the .extern .shared variables */
	struct function_info *functions; uint32_t nfunctions;
	struct file_entry *files; uint32_t nfiles;
	bool address_taken_any;     /* some function's address is taken outside calls */
	uint32_t *address_taken; uint32_t naddress_taken; /* function indices */
};

static inline bool insn_has(const struct insn *insn, enum modifier mod)
{
	for (uint32_t i = 0; i < insn->nmods; i++)
		if (insn->mods[i] == mod)
			return true;
	return false;
}

/* All such arrays start at one place (ISA 5.4.3). */
static inline bool symbol_is_dynamic_shared(const struct symbol *symbol)
{
	return symbol->kind == SYMBOL_VAR && symbol->space == SPACE_SHARED && symbol->is_extern;
}

/* Symbol by id: the module's or the function's. */
static inline const struct symbol *function_symbol(const struct function *fn, uint32_t id)
{
	return id < fn->module->nsymbols ? &fn->module->symbols[id]
					 : &fn->symbols[id - fn->module->nsymbols];
}

/* Byte offset where a statement put "before" instruction k belongs: at.begin, or the begin of a
 * `.pragma "used_bytes_mask ..."` that binds to it, or of hints that stand there. */
static inline uint32_t insn_insert_at(const struct function *fn, uint32_t k)
{
	return fn->insert_at ? fn->insert_at[k] : fn->insns[k].at.begin;
}

/* The function index in the module, which differs from the root's after linking. */
static inline uint32_t insn_origin(const struct function *fn, const struct insn *insn)
{
	return fn->origins ? fn->origins[insn->context] : fn->index;
}

/* The opcode with its modifiers, in the text. */
struct span insn_opcode_at(const struct function *, const struct insn *);
/* Index into function->locs of the .loc in force, or NONE. */
uint32_t insn_loc(const struct function *, const struct insn *);

/* Top-level operand i of an instruction, or NULL. */
static inline const struct operand *insn_operand(
	const struct function *fn, const struct insn *insn, uint32_t i)
{
	return i < insn->count ? &fn->operands[insn->first + i] : NULL;
}

/* What is added to a register or a symbol, in bytes. */
static inline int64_t operand_offset(const struct function *fn, const struct operand *operand)
{
	return operand->wide ? fn->wide_offsets[operand->offset - 1] : operand->offset;
}

static inline bool operand_has_children(const struct operand *operand)
{
	return operand->kind >= OPERAND_MEM && operand->kind <= OPERAND_TUPLE;
}

static inline uint32_t operand_count(const struct operand *operand)
{
	return operand_has_children(operand) ? operand->children : 0;
}

/* Child i of an operand, or NULL. */
static inline const struct operand *operand_child(
	const struct function *fn, const struct operand *operand, uint32_t i)
{
	return i < operand_count(operand) ? &fn->operands[operand->first + i] : NULL;
}

const char *opcode_text(enum opcode);
const char *modifier_text(enum modifier);
