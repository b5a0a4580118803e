/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the grammar calls. Two kinds of runs: over a whole file (`fn` is NULL: modules, symbols and
 * the spans of functions are recorded, bodies only checked) and over one function (`fn` is filled).
 */
#pragma once

#include "base/diag.h"
#include "lexer/lexer.h"
#include "parser/ir.h"
#include "parser/parse.h"
#include "parser/ptx.tab.h"
#include "parser/scope.h"

enum { MAX_NESTING = 4096, MAX_BRANCH_RANGE = 1000000, MAX_VARIABLE_RANGE = 100000 };

/* An operand on its way into the function; children leave the stack before their parent enters. */
struct pending {
	struct operand operand;
	struct span at;
	bool is_unsigned;      /* of a constant: .u64 arithmetic */
	bool is_parenthesised; /* `(5)`: the argument list of a call, perhaps */
};

struct declaration {	  /* what was read of the one at hand */
	int space;	  /* token kind, 0: none yet */
	uint32_t linkage; /* bits: 1 << (token - TOK_EXTERN) */
	uint32_t align, vector;
	enum modifier type;
	uint8_t pointer_space;
	uint64_t elements; /* product of the dimensions */
	bool open;	   /* a dimension was left out */
	uint32_t values;   /* top-level values of the initialiser */
	bool has_values;
};

enum header_part { PART_NONE, PART_RETURNS, PART_PARAMETERS };

struct header { /* of the function or prototype at hand */
	enum header_part part;
	uint32_t linkage;
	uint32_t signature; /* running hash of parameter and return sizes */
	uint32_t nreturns, nparameters;
	bool noreturn;
	bool is_prototype;	       /* .callprototype: names nothing */
	uint32_t numbers[3], nnumbers; /* of the directive at hand */
};

struct opcode_entry { /* one spelling of an opcode, looked up once per function */
	uint16_t op, nmods;
	bool has_forms; /* see plain.h */
	const uint16_t *mods;
};

enum { OPCODE_MEMOS = 128 };

struct opcode_memo { /* the entry of a spelling that was looked up lately; size 0: none */
	const char *text;
	uint32_t size, entry;
};

struct build {
	struct lexer lexer;
	struct source *source;
	struct arena *arena;
	struct names *names;
	struct diags *diags; /* NULL in the first, fast run over a file */
	int start;	     /* pseudo-token to return first, or 0 */
	uint32_t nesting;
	bool failed;
	bool muted; /* in a body that is only checked, or an initialiser: build no values */
	bool quiet_before;
	bool counted; /* the instruction that is being checked counts as one that touches memory */
	bool jumps;   /* the instruction that is being checked is a branch or call */

	/* The file. */
	struct modules *modules;
	uint32_t symbols_cap, functions_cap, files_cap, modules_cap;
	uint32_t *taken; /* name ids seen as values: functions among them are address-taken */
	uint32_t ntaken, taken_cap;
	uint32_t current; /* module at hand, NONE before the first */

	struct declaration declaration;
	struct header header;
	uint32_t function; /* index of the function at hand, NONE outside */
	struct span *runs; /* of its body, if that is only checked */
	uint32_t nruns, runs_cap;
	struct span function_at;

	struct pending *stack;
	uint32_t nstack, stack_cap;

	/* The body. */
	const struct module *module;
	struct function *fn;
	struct scope scope;
	uint32_t accumulators, naccumulators; /* operands of the latest such list that can be shared; 0: none */
	struct slice accumulators_text; /* of it, braces included, if it is of names with numbers; else empty */
	uint32_t accumulators_when;	/* scope.renumbered then: while it is that, the text means the same */
	uint32_t operands_cap, wide_cap, insns_cap, symbols_cap_fn, tables_cap, locs_cap, pragmas_cap;
	struct opcode_entry *opcodes;
	uint32_t nopcodes, opcodes_cap;
	struct opcode_memo memo[OPCODE_MEMOS];
	uint32_t opcode; /* entry of the instruction at hand */
	uint16_t *extra; /* modifiers that stand apart: `add .u32` */
	uint32_t nextra, extra_cap;
	struct span opcode_at, guard_at;
	bool guarded, guard_negated;
	uint32_t loc, last_label;
	uint32_t *targets; /* entries of the table at hand */
	uint32_t ntargets, targets_cap;
	uint32_t **table_entries; /* by table: its v, still to be written */
	uint32_t ntable_entries, table_entries_cap;
};

/* The last n operands leave the stack for the function, side by side; returns the first one's
 * number. */
uint32_t build_settle(struct build *, uint32_t n);
/* A list that reaches from the operand `first` to the last one. Where it is the accumulators of a matrix product,
 * and the one before it has the same, those stand for both, and it is gone; tells where it begins. */
uint32_t build_share(struct build *, uint32_t first);
/* The list that was read last, and is that, has this text. */
void build_note_list(struct build *, const char *text, size_t size);
/* The list that begins at `text` says the same as the latest such list and can be shared with it: its end, behind the
 * brace; NULL: it has to be read. */
const char *build_same_list(struct build *, const char *text);

/* For tests: the same as parse.h's, but every token goes through the grammar. */
bool parse_modules_by_tokens(struct source *, struct arena *, struct names *, struct modules *);
bool parse_function_by_tokens(
	const struct module *, uint32_t index, struct arena *, struct function *, struct diags *);

int build_token(struct build *, struct span *at);
void build_error(struct build *, struct span at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void build_too_deep(struct build *, struct span at);
void build_syntax_error(struct build *, struct span at, const char *const *expected, int n);
struct slice build_text(const struct build *, struct span at);
uint32_t build_name_id(const struct build *, struct span at);

/* module.c: the level of modules and functions */
void build_version(struct build *, struct span word, struct span number);
void build_target(struct build *, struct span name);
void build_address_size(struct build *, struct span number);
void build_file(struct build *, struct span number, struct span name);
void build_alias(struct build *, struct span name, struct span target);
bool build_unknown_directive(struct build *, struct span at);
void build_item_end(struct build *);
void build_module_item_end(struct build *);
/* At `.version`: passes over a module that cannot hold async operations (spec 2.8). */
bool module_skip_old(struct build *, struct span word);
void build_function(struct build *, int kind, struct span at);
void build_function_name(struct build *, struct span name);
void build_returns_begin(struct build *);
void build_returns_end(struct build *);
void build_parameters_begin(struct build *);
void build_parameters_end(struct build *);
void build_directive(struct build *, struct span at);
void build_directive_number(struct build *, struct span at);
void build_prototype(struct build *, struct span semicolon);
void build_body(struct build *, struct span brace);
void build_body_end(struct build *, struct span body);
void build_module_end(struct build *);
void build_value_name(struct build *, struct span name);
void build_taken(struct build *, struct span name);

uint32_t module_add_symbol(struct build *, struct symbol);
uint32_t module_find_symbol(const struct module *, const char *text, size_t size);

/* declare.c: variables, registers, parameters */
void build_linkage(struct build *, int kind);
void build_space(struct build *, int kind);
void build_align(struct build *, struct span number);
void build_specifier(struct build *, struct span at);
void build_pointer_space(struct build *, enum space);
void build_dimension(struct build *);
void build_dimension_open(struct build *);
void build_initialiser_begin(struct build *);
void build_initialiser_end(struct build *, uint32_t values);
void build_declare(struct build *, struct span name);
void build_declare_range(struct build *, struct span name, struct span count);

/* constant.c: constant expressions, folded on the stack */
struct pending *build_push(struct build *, enum operand_kind, struct span at);
bool number_read(const char *text, size_t size, uint64_t *value);
uint64_t build_number(const struct build *, struct span at);
void build_integer(struct build *, struct span at);
void build_float(struct build *, struct span at);
void build_warp_size(struct build *, struct span at);
void build_parenthesised(struct build *, struct span at);
void build_cast(struct build *, struct span type, struct span at);
void build_unary(struct build *, int op, struct span at);
void build_binary(struct build *, int op, struct span at);
void build_choice(struct build *, struct span at);

/* operand.c */
void build_constant(struct build *);
void build_reference(struct build *, struct span at);
void build_component(struct build *, struct span name, struct span component);
void build_sink(struct build *, struct span at);
void build_add(struct build *, struct span at);
void build_pair(struct build *, struct span at);
void build_negated(struct build *, struct span at);
void build_indexed(struct build *, struct span at);
void build_group(struct build *, enum operand_kind, uint32_t n, struct span at);

/* body.c: statements */
void build_body_begin(struct build *);
void build_body_finish(struct build *, struct span body);
void build_block(struct build *);
void build_block_end(struct build *);
void build_label(struct build *, struct span name);
void build_guard(struct build *, struct span name);
void build_guard_not(struct build *, struct span name);
enum opcode build_opcode(struct build *, struct span at); /* OP_UNKNOWN where nothing is built */
void build_modifier(struct build *, struct span at);
void build_instruction(struct build *, struct span at);
/* The same where the last n operands of the function are those of the instruction. */
void build_instruction_of(struct build *, struct span at, uint32_t noperands);
void build_pragma(struct build *, struct span at, struct span strings);
void build_location(
	struct build *, struct span at, struct span file, struct span line, struct span column);
void build_inlined(
	struct build *, struct span word, struct span file, struct span line, struct span column);
void build_location_function(struct build *, struct span word, struct span name);
void build_branch_target(struct build *, struct span name);
void build_branch_range(struct build *, struct span name, struct span count);
void build_call_target(struct build *, struct span name);
void build_prototype_begin(struct build *);
void build_table_end(struct build *, enum table_kind, struct span at);
/* run.c: many statements at once */
void build_run(struct build *, struct span at);
enum opcode build_op(const struct build *); /* of the instruction at hand */
