/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shapes of PTX text (ISA chapters 4, 5, 7, 11): directives, labels, blocks, guards, names, dotted
 * modifiers, operands. Which modifiers fit which opcode is table data elsewhere. Tokens come in, calls
 * of build_* go out; an action is one call. Invariant: no state of the parser is kept beside bison's
 * stack, so nesting costs stack entries and never recursion.
 */
%define api.pure full           /* no globals: several files are parsed at once */
%define api.token.prefix {TOK_}
%define api.value.type {uint32_t} /* counts; everything else is read from the locations */
%define api.location.type {struct span}
%define parse.error custom      /* "expected X, saw Y", worded by build_syntax_error */
%locations
%expect 0
%param {struct build *b}

%code requires {
	#include "base/span.h"
	struct build;
}

%code provides {
	#define YYLLOC_DEFAULT(current, rhs, n)                                                    \
		do {                                                                               \
			(current).begin = (n) ? YYRHSLOC(rhs, 1).begin : YYRHSLOC(rhs, 0).end;     \
			(current).end = (n) ? YYRHSLOC(rhs, n).end : YYRHSLOC(rhs, 0).end;         \
		} while (0)
}

%code {
	#include "parser/build.h"

	/* The whole stack lives in the frame of yyparse: leaving it by longjmp leaks nothing. 4096 levels of
	 * nesting take at most four entries each. */
	#define YYINITDEPTH 20000
	#define YYMAXDEPTH 20000

	static int yylex(YYSTYPE *value, struct span *at, struct build *b)
	{
		int kind = build_token(b, at);

		*value = kind == TOK_NUMBERS ? b->lexer.nnumbers : 0;
		return kind;
	}

	static void yyerror(const struct span *at, struct build *b, const char *message)
	{
		(void)message;
		build_too_deep(b, *at);
	}
}

%token YYEOF 0 "end of file"
%token START_FILE START_FUNCTION
%token NAME "name"
%token DOTTED "dotted name"
%token DOTWORD "modifier"
%token INT "integer"
%token FLOAT "floating-point number"
%token STRING "string"
%token WARP_SZ "WARP_SZ"
%token RUN "statements"
%token DATA "data"
%token NUMBERS "numbers"
%token VERSION ".version"
%token TARGET ".target"
%token ADDRESS_SIZE ".address_size"
%token FILE ".file"
%token SECTION ".section"
%token PRAGMA ".pragma"
%token ALIAS ".alias"
%token ENTRY ".entry"
%token FUNC ".func"
%token EXTERN ".extern"
%token VISIBLE ".visible"
%token WEAK ".weak"
%token COMMON ".common"
%token REG ".reg"
%token GLOBAL ".global"
%token CONST ".const"
%token SHARED ".shared"
%token LOCAL ".local"
%token PARAM ".param"
%token ALIGN ".align"
%token ATTRIBUTE ".attribute"
%token LOC ".loc"
%token BRANCHTARGETS ".branchtargets"
%token CALLTARGETS ".calltargets"
%token CALLPROTOTYPE ".callprototype"
%token SHL "<<"
%token SHR ">>"
%token LE "<="
%token GE ">="
%token EQ "=="
%token NE "!="
%token AND "&&"
%token OR "||"

%right '?' ':'
%left OR
%left AND
%left '|'
%left '^'
%left '&'
%left EQ NE
%left '<' '>' LE GE
%left SHL SHR
%left '+' '-'
%left '*' '/' '%'
%precedence UNARY

%start start

%%

start
	: START_FILE modules
	| START_FUNCTION function
	;

modules
	: %empty
	| modules module
	;

module
	: version items
	;

version
	: VERSION FLOAT TARGET	{ build_version(b, @1, @2); }
	  targets
	;

targets
	: target
	| targets ',' target
	;

target
	: NAME			{ build_target(b, @1); }
	;

items
	: %empty
	| items item		{ build_module_item_end(b); }
	;

item
	: TARGET targets
	| ADDRESS_SIZE INT	{ build_address_size(b, @2); }
	| file
	| section
	| pragma
	| ALIAS NAME ',' NAME ';' { build_alias(b, @2, @4); }
	| variable ';'
	| function
	| DOTWORD		{ if (!build_unknown_directive(b, @1)) YYERROR; }
	| error ';'
	| error '}'
	;

file
	: FILE INT STRING	{ build_file(b, @2, @3); }
	| FILE INT STRING ',' INT ',' INT { build_file(b, @2, @3); }
	;

pragma
	: PRAGMA strings ';'	{ build_pragma(b, @$, @2); }
	;

strings
	: STRING
	| strings ',' STRING
	;

section
	: SECTION section_name '{' section_lines '}'
	| SECTION section_name '{' section_lines error '}'
	;

section_name
	: DOTWORD
	| NAME
	| DOTTED
	| STRING
	;

section_lines
	: %empty
	| section_lines section_line
	;

section_line
	: DOTWORD section_values
	| NAME ':'
	| DATA
	;

section_values
	: section_value
	| section_values ',' section_value
	;

section_value
	: constant
	| section_symbol
	| section_symbol '+' constant
	| section_symbol '-' constant
	| section_symbol '-' section_symbol
	;

section_symbol
	: NAME
	| DOTWORD
	;

/* Variables: module level, bodies, parameters. */

linkages
	: linkage
	| linkages linkage
	;

linkage
	: EXTERN		{ build_linkage(b, TOK_EXTERN); }
	| VISIBLE		{ build_linkage(b, TOK_VISIBLE); }
	| WEAK			{ build_linkage(b, TOK_WEAK); }
	| COMMON		{ build_linkage(b, TOK_COMMON); }
	;

variable
	: space declaration
	| linkages space declaration
	;

declaration
	: specifiers declarators
	;

space
	: REG			{ build_space(b, TOK_REG); }
	| GLOBAL		{ build_space(b, TOK_GLOBAL); }
	| CONST			{ build_space(b, TOK_CONST); }
	| SHARED		{ build_space(b, TOK_SHARED); }
	| LOCAL			{ build_space(b, TOK_LOCAL); }
	| PARAM			{ build_space(b, TOK_PARAM); }
	;

specifiers
	: %empty
	| specifiers specifier
	;

specifier
	: ALIGN INT		{ build_align(b, @2); }
	| attribute
	| DOTWORD		{ build_specifier(b, @1); }
	| GLOBAL		{ build_pointer_space(b, SPACE_GLOBAL); }
	| CONST			{ build_pointer_space(b, SPACE_CONST); }
	| SHARED		{ build_pointer_space(b, SPACE_SHARED); }
	| LOCAL			{ build_pointer_space(b, SPACE_LOCAL); }
	| PARAM			{ build_pointer_space(b, SPACE_PARAM); }
	;

attribute
	: ATTRIBUTE '(' attribute_items ')'
	;

attribute_items
	: attribute_item
	| attribute_items ',' attribute_item
	;

attribute_item
	: DOTWORD
	| DOTWORD '(' INT ')'
	| DOTWORD '(' INT ',' INT ')'
	;

declarators
	: declarator
	| declarators ',' declarator
	;

declarator
	: NAME			{ build_declare(b, @1); }
	| NAME '<' INT '>'	{ build_declare_range(b, @1, @3); }
	| NAME dimensions	{ build_declare(b, @1); }
	| NAME initialiser	{ build_declare(b, @1); }
	| NAME dimensions initialiser { build_declare(b, @1); }
	;

dimensions
	: dimension
	| dimensions dimension
	;

dimension
	: '[' ']'		{ build_dimension_open(b); }
	| '[' constant ']'	{ build_dimension(b); }
	;

initialiser
	: '='			{ build_initialiser_begin(b); }
	  value			{ build_initialiser_end(b, $3); }
	;

value
	: scalar		{ $$ = 1; }
	| '{' '}'		{ $$ = 0; }
	| '{' values '}'	{ $$ = $2; }
	;

values
	: value_item
	| values ',' value_item	{ $$ = $1 + $3; }
	;

value_item
	: value			{ $$ = 1; }
	| NAME '=' value	{ $$ = 1; }
	| NUMBERS		/* how many */
	;

scalar
	: constant
	| value_symbol
	| value_symbol '+' constant
	| value_symbol '-' constant
	| INT '(' scalar ')'	/* a byte of an address: 0xFF00(x) */
	;

value_symbol
	: NAME			{ build_value_name(b, @1); }
	| NAME '(' NAME ')'	{ build_value_name(b, @3); }
	;

/* Functions. */

function
	: function_head attributes returns function_name parameters directives function_body
	;

attributes
	: %empty
	| attributes attribute
	;

function_head
	: ENTRY			{ build_function(b, TOK_ENTRY, @$); }
	| FUNC			{ build_function(b, TOK_FUNC, @$); }
	| linkages ENTRY	{ build_function(b, TOK_ENTRY, @$); }
	| linkages FUNC		{ build_function(b, TOK_FUNC, @$); }
	;

returns
	: %empty
	| '(' { build_returns_begin(b); } parameter_list ')' { build_returns_end(b); }
	;

function_name
	: NAME			{ build_function_name(b, @1); }
	;

parameters
	: %empty
	| '(' { build_parameters_begin(b); } parameter_list ')' { build_parameters_end(b); }
	;

parameter_list
	: %empty
	| some_parameters
	;

some_parameters
	: parameter
	| some_parameters ',' parameter
	;

parameter
	: parameter_space specifiers declarator
	| parameter_space specifiers '_' { build_declare(b, @3); }
	| parameter_space specifiers '_' dimensions { build_declare(b, @3); }
	;

parameter_space
	: PARAM			{ build_space(b, TOK_PARAM); }
	| REG			{ build_space(b, TOK_REG); }
	;

directives
	: %empty
	| directives directive
	;

directive
	: DOTWORD		{ build_directive(b, @1); }
	| DOTWORD integers	{ build_directive(b, @1); }
	| attribute
	| PRAGMA strings ';'
	;

integers
	: integer
	| integers ',' integer
	;

integer
	: INT			{ build_directive_number(b, @1); }
	;

function_body
	: ';'			{ build_prototype(b, @1); }
	| body_open statements '}' { build_body_end(b, @$); }
	| body_open statements error '}' { build_body_end(b, @$); }
	;

body_open
	: '{'			{ build_body(b, @1); }
	;

statements
	: %empty
	| statements statement
	;

statement
	: NAME ':'		{ build_label(b, @1); }
	| block_open statements '}' { build_block_end(b); }
	| block_open statements error '}' { build_block_end(b); }
	| instruction ';'	{ build_instruction(b, @$); }
	| variable ';'		{ build_item_end(b); }
	| location
	| pragma
	| BRANCHTARGETS branch_targets ';' { build_table_end(b, TABLE_BRANCH, @$); }
	| CALLTARGETS call_targets ';' { build_table_end(b, TABLE_CALL, @$); }
	| prototype ';'		{ build_table_end(b, TABLE_PROTOTYPE, @$); }
	| DOTWORD		{ if (!build_unknown_directive(b, @1)) YYERROR; }
	| RUN			{ build_run(b, @1); }
	| error ';'		{ build_item_end(b); }
	;

block_open
	: '{'			{ build_block(b); }
	;

location
	: LOC INT INT INT	{ build_location(b, @$, @2, @3, @4); }
	| LOC INT INT INT ',' NAME INT INT INT
				{ build_location(b, @$, @2, @3, @4); build_inlined(b, @6, @7, @8, @9); }
	| LOC INT INT INT ',' NAME NAME location_offset
				{ build_location(b, @$, @2, @3, @4); build_location_function(b, @6, @7); }
	| LOC INT INT INT ',' NAME NAME location_offset ',' NAME INT INT INT
				{ build_location(b, @$, @2, @3, @4); build_location_function(b, @6, @7);
				  build_inlined(b, @10, @11, @12, @13); }
	;

location_offset
	: %empty
	| '+' INT
	;

branch_targets
	: branch_target
	| branch_targets ',' branch_target
	;

branch_target
	: NAME			{ build_branch_target(b, @1); }
	| NAME '<' INT '>'	{ build_branch_range(b, @1, @3); }
	;

call_targets
	: NAME			{ build_call_target(b, @1); }
	| call_targets ',' NAME	{ build_call_target(b, @3); }
	;

prototype
	: prototype_head returns prototype_name parameters directives
	;

prototype_name
	: NAME
	| '_'
	;

prototype_head
	: CALLPROTOTYPE		{ build_prototype_begin(b); }
	;

/* Instructions. */

instruction
	: opcode
	| opcode operands
	| guard opcode
	| guard opcode operands
	;

guard
	: '@' NAME		{ build_guard(b, @2); }
	| '@' '!' NAME		{ build_guard_not(b, @3); }
	;

opcode
	: NAME			{ build_opcode(b, @1); }
	| DOTTED		{ build_opcode(b, @1); }
	| opcode any_dotword	{ build_modifier(b, @2); }
	;

any_dotword
	: DOTWORD
	| VERSION | TARGET | ADDRESS_SIZE | FILE | SECTION | PRAGMA | ALIAS | ENTRY | FUNC | EXTERN
	| VISIBLE | WEAK | COMMON | REG | GLOBAL | CONST | SHARED | LOCAL | PARAM | ALIGN | ATTRIBUTE
	| LOC | BRANCHTARGETS | CALLTARGETS | CALLPROTOTYPE
	;

operands
	: operand		{ $$ = 1; }
	| operands ',' operand	{ $$ = $1 + 1; }
	;

operand
	: constant		{ build_constant(b); }
	| place
	;

/* Every operand but the constants. */
place
	: reference
	| reference '+' constant { build_add(b, @$); }
	| reference '|' reference { build_pair(b, @$); }
	| '!' reference		{ build_negated(b, @$); }
	| '-' reference		{ build_negated(b, @$); }
	| memory
	| memory any_dotword
	| reference '[' address ']' { build_indexed(b, @$); }
	| '{' '}'		{ build_group(b, OPERAND_LIST, 0, @$); }
	| '{' operands '}'	{ build_group(b, OPERAND_LIST, $2, @$); }
	| '(' ')'		{ build_group(b, OPERAND_TUPLE, 0, @$); }
	| '(' place ')'		{ build_group(b, OPERAND_TUPLE, 1, @$); }
	| '(' operand ',' operands ')' { build_group(b, OPERAND_TUPLE, $4 + 1, @$); }
	;

reference
	: NAME			{ build_reference(b, @1); }
	| DOTTED		{ build_reference(b, @1); }
	| NAME DOTWORD		{ build_component(b, @1, @2); }
	| '_'			{ build_sink(b, @1); }
	;

memory
	: '[' address ']'	{ build_group(b, OPERAND_MEM, 1, @$); }
	| '[' address ',' operands ']' { build_group(b, OPERAND_MEM, $4 + 1, @$); }
	;

address
	: reference
	| reference '+' constant { build_add(b, @$); }
	| constant		{ build_constant(b); }
	;

/* ISA 4.5.4. The value is on the builder's stack. */
constant
	: INT			{ build_integer(b, @1); }
	| FLOAT			{ build_float(b, @1); }
	| WARP_SZ		{ build_warp_size(b, @1); }
	| '(' constant ')'	{ build_parenthesised(b, @$); }
	| '(' DOTWORD ')' constant %prec UNARY { build_cast(b, @2, @$); }
	| '-' constant %prec UNARY { build_unary(b, '-', @$); }
	| '+' constant %prec UNARY { build_unary(b, '+', @$); }
	| '!' constant %prec UNARY { build_unary(b, '!', @$); }
	| '~' constant %prec UNARY { build_unary(b, '~', @$); }
	| constant '*' constant	{ build_binary(b, '*', @$); }
	| constant '/' constant	{ build_binary(b, '/', @$); }
	| constant '%' constant	{ build_binary(b, '%', @$); }
	| constant '+' constant	{ build_binary(b, '+', @$); }
	| constant '-' constant	{ build_binary(b, '-', @$); }
	| constant SHL constant	{ build_binary(b, TOK_SHL, @$); }
	| constant SHR constant	{ build_binary(b, TOK_SHR, @$); }
	| constant '<' constant	{ build_binary(b, '<', @$); }
	| constant '>' constant	{ build_binary(b, '>', @$); }
	| constant LE constant	{ build_binary(b, TOK_LE, @$); }
	| constant GE constant	{ build_binary(b, TOK_GE, @$); }
	| constant EQ constant	{ build_binary(b, TOK_EQ, @$); }
	| constant NE constant	{ build_binary(b, TOK_NE, @$); }
	| constant '&' constant	{ build_binary(b, '&', @$); }
	| constant '^' constant	{ build_binary(b, '^', @$); }
	| constant '|' constant	{ build_binary(b, '|', @$); }
	| constant AND constant	{ build_binary(b, TOK_AND, @$); }
	| constant OR constant	{ build_binary(b, TOK_OR, @$); }
	| constant '?' constant ':' constant { build_choice(b, @$); }
	;

%%

int yyreport_syntax_error(const yypcontext_t *context, struct build *b)
{
	enum { MOST = 80 };
	yysymbol_kind_t kinds[MOST];
	const char *names[MOST];
	int n = yypcontext_expected_tokens(context, kinds, MOST);

	for (int i = 0; i < n; i++)
		names[i] = yysymbol_name(kinds[i]);
	build_syntax_error(b, *yypcontext_location(context), names, n);
	return 0;
}
