/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX text -> tokens (ISA chapter 4). White space, comments, preprocessor lines and legacy @@DWARF
 * lines are the bytes between tokens. The NUL behind the text ends every match; nothing is copied and
 * nothing is written. Two scanners share their definitions: `scan` knows the language's tokens,
 * `scan_run` whole ordinary statements, and everything that the second one accepts the grammar
 * accepts too (a test compares the two).
 */
#include "lexer/lexer.h"
#include "lexer/numbered_name.h"
#include "lexer/plain_numbers.h"
#include "parser/ptx.tab.h"
#include "parser/words.h"

#include <string.h>

/*!re2c
	re2c:define:YYCTYPE = "unsigned char";
	re2c:define:YYCURSOR = p;
	re2c:define:YYMARKER = marker;
	re2c:yyfill:enable = 0;
	re2c:eof = -1;

	blank   = [ \t\r\n\f];
	inline  = [ \t];
	text    = [\x01-\x09\x0b-\x7f];
	letter  = [A-Za-z];
	follow  = [A-Za-z0-9_$];
	name    = letter follow* | [_$%] follow+;
	part    = [A-Za-z0-9_]+;
	dotword = "." part ("::" part)* ("::" [0-9]+ ":" [0-9]+)?; /* .sp::2:4 */
	decimal = "0" | [1-9][0-9]*;
	hexa    = "0x" [0-9A-Fa-f]+ | "0X" [0-9A-Fa-f]+;
	exact   = "0" [fF] [0-9A-Fa-f]{8} | "0" [dD] [0-9A-Fa-f]{16};
	integer = ("0" [0-7]* | [1-9][0-9]* | hexa | "0" [bB] [01]+) "U"?;
	exponent = [eE][+-]?[0-9]+;
	floating = [0-9]+ "." [0-9]* exponent? | "." [0-9]+ exponent? | [0-9]+ exponent | exact;
	hint    = "//" inline* "fencepost:";

	/* of whole statements */
	not_war = "W" | "WA" | ("W" (follow \ "A") | "WA" (follow \ "R")) follow*;
	plain_name = [A-VX-Za-z] follow* | not_war | [_$%] follow+;
	dots    = dotword*;
	/* none that begins as `.async' and `.bulk' do: those make an async access of any word */
	calm    = "." ([A-Zc-z0-9_] [A-Za-z0-9_]* | "a" ([A-Za-rt-z0-9_] [A-Za-z0-9_]*)?
		| "b" ([A-Za-tv-z0-9_] [A-Za-z0-9_]*)?) ("::" part)*;
	calms   = calm*;
	special = "%" follow+ ("." [a-z0-9]+)?;
	num     = "-"? decimal | "-"? hexa | exact;
	plain   = special | num;
	element = plain | plain_name | "_";
	list    = "{" blank* element (blank* "," blank* element)* blank* "}";
	address = "[" blank* plain_name (blank* "+" blank* "-"? (decimal | hexa))?
		(blank* "," blank* (element | list))* blank* "]";
	pair    = "%" follow+ "|" "%" follow+;
	free    = plain | pair | "!" special | address | list;
	frees   = free (blank* "," blank* free)*;
	operand = element | plain_name "|" plain_name | "!" plain_name | address | list;
	operands = operand (blank* "," blank* operand)*;
*/

static const char *skip_ascii_line(const char *p)
{
	while (*p && *p != '\n' && (unsigned char)*p < 0x80)
		p++;
	return p;
}

void lexer_init(struct lexer *lx, const char *text, uint32_t size, struct span part,
	struct arena *arena, struct diags *diags)
{
	*lx = (struct lexer){.text = text,
		.cursor = text + part.begin,
		.limit = text + part.end,
		.end = text + size,
		.fresh = true,
		.arena = arena,
		.diags = diags};
}

static uint32_t offset(const struct lexer *lx, const char *p)
{
	return (uint32_t)(p - lx->text);
}

static void error_at(
	struct lexer *lx, const char *begin, const char *end, const char *message)
{
	if (lx->diags)
		diag_add(lx->diags, DIAG_ERROR, (struct span){offset(lx, begin), offset(lx, end)}, "%s",
			message);
}

/* Names the byte that no token may hold. */
static void bad_byte(struct lexer *lx, const char *p)
{
	unsigned char c = (unsigned char)*p;
	struct span at = {offset(lx, p), offset(lx, p) + 1};

	if (!lx->diags)
		return;
	if (c == 0)
		diag_add(lx->diags, DIAG_ERROR, at, "NUL byte in the text");
	else if (c >= 0x80)
		diag_add(lx->diags, DIAG_ERROR, at, "byte 0x%02x is not ASCII", c);
	else if (c < 0x20 || c == 0x7f)
		diag_add(lx->diags, DIAG_ERROR, at, "control character 0x%02x", c);
	else
		diag_add(lx->diags, DIAG_ERROR, at, "unexpected character '%c'", c);
}

static void add_hint(struct lexer *lx, const char *begin, const char *end)
{
	const char *text = strchr(begin, ':') + 1;

	while (end > text && strchr(" \t\r\f", end[-1]))
		end--;
	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	struct hint_comment hint = {
		{offset(lx, begin), offset(lx, end)}, {offset(lx, text), offset(lx, end)}};

	lx->seen |= SEEN_HINT;
	if (lx->arena)
		ARENA_PUSH(lx->arena, lx->hints, lx->nhints, lx->hints_cap, hint);
}

/* The end of a block comment that starts at p, or NULL with an error. */
static const char *block_comment_end(struct lexer *lx, const char *p)
{
	const char *q = p + 2;

	for (;; q++) {
		if (*q == '*' && q[1] == '/')
			return q + 2;
		if (q == lx->end) {
			error_at(lx, p, p + 2, "comment without end");
			lx->cursor = q;
			return NULL;
		}
		if (*q == '\0' || (unsigned char)*q >= 0x80) {
			bad_byte(lx, q);
			while (q != lx->end && !(*q == '*' && q[1] == '/'))
				q++;
			lx->cursor = q == lx->end ? q : q + 2;
			return NULL;
		}
	}
}

/* A `#` or `@@` counts only as the first character of its line. */
static bool starts_line(const struct lexer *lx, const char *p)
{
	while (p > lx->text && (p[-1] == ' ' || p[-1] == '\t'))
		p--;
	return p == lx->text || p[-1] == '\n';
}

/* Lines to skip end at a newline or the end of the text; anything else is a byte that is not text. */
static bool line_ended(const struct lexer *lx, const char *p)
{
	return *p == '\n' || p == lx->end;
}

static int bad_line(struct lexer *lx, const char *p)
{
	bad_byte(lx, p);
	while (p != lx->end && *p != '\n')
		p++;
	lx->cursor = p;
	return TOK_PTXerror;
}

static bool ends_statement(int kind)
{
	return kind == ';' || kind == '{' || kind == '}' || kind == ':' || kind == TOK_RUN ||
	       kind == TOK_DATA;
}

static int found(struct lexer *lx, int kind, const char *begin, const char *end, struct span *at)
{
	*at = (struct span){offset(lx, begin), offset(lx, end)};
	lx->cursor = end;
	lx->fresh = ends_statement(kind);
	lx->depth += kind == '{';
	lx->depth -= kind == '}' && lx->depth;
	if (kind == '{' && (lx->values || lx->last == '='))
		lx->values++;
	lx->values -= kind == '}' && lx->values;
	lx->last = kind;
	lx->in_section = kind == TOK_SECTION ||
			 (lx->in_section && kind != ';' && (kind != '}' || lx->depth));
	return kind;
}

static int dotword_kind(const char *begin, const char *end)
{
	int kind = directive_find(begin + 1, (size_t)(end - begin - 1));

	return kind ? kind : TOK_DOTWORD;
}

static int scan(struct lexer *lx, struct span *at)
{
	const char *p = lx->cursor, *marker, *begin;

again:
	begin = p;
	if (begin >= lx->limit)
		return found(lx, TOK_YYEOF, lx->limit, lx->limit, at);
	/*!re2c
		blank+			{ goto again; }
		hint text*		{
						add_hint(lx, begin, p);
						if (line_ended(lx, p))
							goto again;
						*at = (struct span){offset(lx, p), offset(lx, p) + 1};
						return bad_line(lx, p);
					}
		"//" text*		{
						if (line_ended(lx, p))
							goto again;
						*at = (struct span){offset(lx, p), offset(lx, p) + 1};
						return bad_line(lx, p);
					}
		"/" "*"			{
						p = block_comment_end(lx, begin);
						if (p)
							goto again;
						*at = (struct span){offset(lx, begin), offset(lx, begin) + 2};
						return TOK_PTXerror;
					}
		"#" | "@@"		{
						if (!starts_line(lx, begin))
							goto bad;
						p = skip_ascii_line(p);
						if (line_ended(lx, p))
							goto again;
						*at = (struct span){offset(lx, p), offset(lx, p) + 1};
						return bad_line(lx, p);
					}

		"WARP_SZ"		{ return found(lx, TOK_WARP_SZ, begin, p, at); }
		name			{ return found(lx, TOK_NAME, begin, p, at); }
		name dotword+		{ return found(lx, TOK_DOTTED, begin, p, at); }
		"_"			{ return found(lx, '_', begin, p, at); }

		integer			{ return found(lx, TOK_INT, begin, p, at); }
		floating		{ return found(lx, TOK_FLOAT, begin, p, at); }
		dotword			{ return found(lx, dotword_kind(begin, p), begin, p, at); }

		["] [\x01-\x21\x23-\x7f]* ["]
					{ return found(lx, TOK_STRING, begin, p, at); }
		["]			{
						p = begin + 1;
						while (*p && (unsigned char)*p < 0x80)
							p++;
						if (p != lx->end) {
							*at = (struct span){offset(lx, p), offset(lx, p) + 1};
							return bad_line(lx, p);
						}
						*at = (struct span){offset(lx, begin), offset(lx, begin) + 1};
						error_at(lx, begin, begin + 1, "string without end");
						lx->cursor = p;
						return TOK_PTXerror;
					}

		"<<"			{ return found(lx, TOK_SHL, begin, p, at); }
		">>"			{ return found(lx, TOK_SHR, begin, p, at); }
		"<="			{ return found(lx, TOK_LE, begin, p, at); }
		">="			{ return found(lx, TOK_GE, begin, p, at); }
		"=="			{ return found(lx, TOK_EQ, begin, p, at); }
		"!="			{ return found(lx, TOK_NE, begin, p, at); }
		"&&"			{ return found(lx, TOK_AND, begin, p, at); }
		"||"			{ return found(lx, TOK_OR, begin, p, at); }
		[-+*/%<>=!~&|^?:;,@(){}[\]]
					{ return found(lx, (unsigned char)*begin, begin, p, at); }
		*			{
						if (begin >= lx->end)
							return found(lx, TOK_YYEOF, begin, begin, at);
						goto bad;
					}
	*/
bad:
	bad_byte(lx, begin);
	found(lx, TOK_YYEOF, begin, begin + 1, at);
	return TOK_PTXerror;
}

/* Behind the place of a `.loc`, blanks and comments: more of it follows, or nobody knows. */
static bool may_go_on(const char *p)
{
	for (;;) {
		p += strspn(p, " \t\r\n\f");
		if (p[0] != '/' || p[1] != '/')
			return *p == ',' || *p == '/';
		p += strcspn(p, "\n");
	}
}

/* The end of `{%f17, %f16, ...}` that begins at p; NULL: something else, or blanks of other kinds. */
static const char *numbered_list(struct lexer *lx, const char *p)
{
	struct sibling front = {.size = 0};
	struct numbered_name name;
	const char *begin = p;
	uint32_t number;

	/* products that add to the same registers follow one another */
	if (lx->list && (size_t)(lx->end - p) >= lx->list_size && !memcmp(p, lx->list, lx->list_size))
		return p + lx->list_size;
	do {
		for (p++; *p == ' '; p++)
			;
		if (sibling_read(&front, p, lx->end, &number)) {
			p += front.size;
			continue;
		}
		size_t n = *p == '%' ? numbered_name_read(p, &name) : 0;

		if (n == 0 || (p[n] != ',' && p[n] != '}'))
			return NULL;
		front = sibling_of(p, n, name.number, lx->end);
		p += n;
	} while (*p == ',');
	lx->list = begin;
	lx->list_size = (size_t)(p + 1 - begin);
	return p + 1;
}

/* The end of a `wgmma` whose first operand is such a list: a third of a Hopper kernel's bytes are these lists,
 * which cost several times as much in the states of scan_run. NULL: scan_run knows. */
static const char *scan_listed(struct lexer *lx, const char *p)
{
	const char *marker;
	/*!re2c
		"wgmma" dotword+ blank+ / "{"	{ goto list; }
		*				{ return NULL; }
	*/
list:
	p = numbered_list(lx, p);
	if (!p)
		return NULL;
	/*!re2c
		(blank* "," blank* operands)? blank* ";" { return p; }
		*				{ return NULL; }
	*/
}

/* What the opcode of a whole instruction leaves in `seen`. */
static uint32_t seen_in(const char *p)
{
	if (*p == '@')
		p += strcspn(p, " \t\r\n\f");
	p += strspn(p, " \t\r\n\f");
	return lexer_classify(p, strcspn(p, " \t\r\n\f;"));
}

/*
 * The longest stretch of ordinary statements from here on, or NULL: labels, .loc, declared registers and call parameters, and instructions whose operands are names, numbers, addresses, lists.
 * A `mov` of a bare name may take a function's address, so that one is left to the grammar. Blocks are
 * taken whole, one level deep: what stands in deeper ones is scanned again, but only once. WARP_SZ is
 * no name, so names that begin with its first three letters are left to the grammar as well.
 */
static const char *scan_run(struct lexer *lx)
{
	const char *p = lx->cursor, *marker, *begin, *listed, *last = NULL;
	struct lexer_counts n = {0}, taken = {0};
	uint32_t depth = 0, seen;
	bool blocks = false;

	lx->run_has_block = false;
again:
	begin = p;
	listed = *p == 'w' ? scan_listed(lx, p) : NULL;
	if (listed) {
		p = listed;
		goto told_by_text;
	}
	/*!re2c
		guard   = "@" "!"? plain_name blank+;
		place   = decimal blank+ decimal blank+ decimal;
		word    = [a-z] [a-z0-9_]*;
		quiet   = "abs" | "activemask" | "add" | "addc" | "and" | "bar" | "barrier" | "bfe" | "bfi"
			| "bfind" | "brev" | "clz" | "copysign" | "cos" | "cvt" | "cvta" | "div" | "dp2a"
			| "dp4a" | "elect" | "ex2" | "exit" | "fma" | "isspacep" | "lg2" | "lop3" | "mad"
			| "mad24" | "madc" | "mapa" | "match" | "max" | "min" | "mma" | "movmatrix" | "mul"
			| "mul24" | "nanosleep" | "neg" | "not" | "or" | "popc" | "prmt" | "rcp" | "redux"
			| "rem" | "ret" | "rsqrt" | "sad" | "selp" | "set" | "setp" | "shf" | "shfl" | "shl"
			| "shr" | "sin" | "slct" | "sqrt" | "sub" | "subc" | "tanh" | "testp" | "trap" | "vote"
			| "xor";
		apart   = "." ("param" | "local" | "const") calms;
		near    = (".volatile" | ".relaxed" | ".acquire" | ".release" | ".cta" | ".cluster")*
			".shared" ("::cta" | "::cluster")? calms;
		type     = "." [a-z] [a-z0-9]* [0-9] | ".pred"; /* no directive ends so */
		declared = plain_name (blank* "<" blank* decimal blank* ">")?;
		arguments = "(" blank* (element (blank* "," blank* element)*)? blank* ")";

		blank+			{ goto again; }
		"//" text* "\n"		{
						const char *q = begin + 2;

						while (*q == ' ' || *q == '\t')
							q++;
						if (strncmp(q, "fencepost:", 10) != 0)
							goto again;
						goto out;
					}
		"{"			{
						if (depth++)
							goto out;
						blocks = true;
						goto again;
					}
		"}"			{
						if (depth-- == 0)
							goto out;
						goto matched;
					}
		plain_name blank* ":"		{ goto matched; }
		".loc" blank+ place blank* "," blank* "function_name" blank+ plain_name
			blank* "," blank* "inlined_at" blank+ place blank
					{ goto matched; }
		".loc" blank+ place blank
					{
						if (may_go_on(p))
							goto out;
						goto matched;
					}
		".reg" blank+ type blank+ declared (blank* "," blank* declared)* blank* ";"
					{ goto matched; }
		".param" blank+ (".align" blank+ decimal blank+)? type blank+ plain_name
			("[" decimal "]")? blank* ";"
					{ goto matched; }
		guard? quiet calms blank* ";"
					{ goto instruction; }
		guard? quiet calms blank+ operands blank* ";"
					{ goto instruction; }
		guard? "mov" dots blank+ frees blank* ";"
					{ goto instruction; }
		guard? "mov" dots blank+ operands blank* ";"
					{ goto out; }
		guard? ("bra" | "bra.uni") blank+ plain_name blank* ";"
					{ goto instruction; }
		guard? ("ld" | "st") apart blank+ operands blank* ";"
					{ goto instruction; }
		guard? ("ld" | "st") ".global" calms blank+ operands blank* ";"
					{
						n.memory++;
						goto instruction;
					}
		guard? ("ld" | "st" | "atom" | "red") near blank+ operands blank* ";"
					{
						lx->seen |= SEEN_SHARED;
						n.memory++;
						goto instruction;
					}
		guard? "call" ".uni"? blank+ (arguments blank* "," blank*)? plain_name
			(blank* "," blank* arguments)? (blank* "," blank* plain_name)? blank* ";"
					{
						lx->seen |= SEEN_CALL;
						goto instruction;
					}
		guard? word dots (blank+ operands)? blank* ";"
					{ goto told_by_text; }
		*			{ goto out; }
	*/
told_by_text:
	seen = seen_in(begin);
	lx->seen |= seen;
	if (seen & SEEN_UNKNOWN)
		goto out;
	n.memory += (seen & SEEN_MEMORY) != 0;
instruction:
	n.instructions++;
matched:
	if (depth)
		goto again;
	last = p;
	taken = n;
	lx->run_has_block = blocks;
	goto again;
out:
	if (last && last > lx->limit)
		return NULL;
	lx->counts.instructions += taken.instructions;
	lx->counts.memory += taken.memory;
	return last;
}

/* The same for the lines of a .section: labels and numbers. */
static const char *scan_data(struct lexer *lx)
{
	const char *p = lx->cursor, *marker, *last = NULL;

	for (;;) {
		/*!re2c
			blank+		{ continue; }
			name blank* ":"	{ last = p; continue; }
			".b" ("8" | "16" | "32" | "64") blank+ num (blank* "," blank* num)* / blank
					{ last = p; continue; }
			*		{ return last > lx->limit ? NULL : last; }
		*/
	}
}

/* Numbers of an initialiser with commas between, as many as stand there plainly; NULL: not one. Tables of
 * libraries have hundreds of thousands. */
static const char *scan_numbers(struct lexer *lx)
{
	const char *p = lx->cursor, *marker, *last = NULL;

	lx->nnumbers = 0;
	for (;; lx->nnumbers++, last = p) {
		bool behind_comma;

		/*!re2c
			blank* num blank*	{ behind_comma = false; goto number; }
			"," blank* num blank*	{ behind_comma = true; goto number; }
			*			{ break; }
		*/
	number:
		if (behind_comma != (last != NULL) || (*p != ',' && *p != '}'))
			break;
		if (*p == ',' && lx->nnumbers % 64 == 0)
			p = plain_numbers_pass(p, lx->end, &lx->nnumbers);
	}
	return last && last > lx->limit ? NULL : last;
}

static int next_numbers(struct lexer *lx, struct span *at)
{
	const char *begin = lx->cursor, *end = scan_numbers(lx);

	return end ? found(lx, TOK_NUMBERS, begin, end, at) : 0;
}

static int next_run(struct lexer *lx, struct span *at)
{
	const char *begin = lx->cursor + strspn(lx->cursor, " \t\r\n\f");
	const char *end = lx->in_section ? scan_data(lx) : scan_run(lx);

	return end ? found(lx, lx->in_section ? TOK_DATA : TOK_RUN, begin, end, at) : 0;
}

/* The same text was read before: what did not begin a run then does not now. */
static int known_run(struct lexer *lx, struct span *at)
{
	uint32_t begin = offset(lx, lx->cursor + strspn(lx->cursor, " \t\r\n\f"));

	while (lx->nknown && lx->known->begin < begin) {
		lx->known++;
		lx->nknown--;
	}
	if (!lx->nknown || lx->known->begin != begin)
		return 0;
	lx->run_has_block = false; /* the nesting was counted then */
	return found(lx, TOK_RUN, lx->text + begin, lx->text + lx->known->end, at);
}

int lexer_next(struct lexer *lx, struct span *at)
{
	if (lx->known && lx->fresh && lx->depth && !lx->in_section) {
		int run = known_run(lx, at);

		return run ? run : scan(lx, at);
	}
	int kind = 0;

	if (lx->runs && lx->values && (lx->last == '{' || lx->last == ','))
		kind = next_numbers(lx, at);
	else if (lx->runs && lx->fresh && lx->depth)
		kind = next_run(lx, at);
	return kind ? kind : scan(lx, at);
}

void lexer_skip_directive(struct lexer *lx)
{
	const char *p = lx->cursor;
	uint32_t open = 0;
	char before = 0;
	bool in_string = false;

	for (; p < lx->limit && *p; p++) {
		if (*p == '"')
			in_string = !in_string;
		if (*p == '\n' && (in_string || (open == 0 && before != ',')))
			break;
		if (in_string)
			continue;
		if (*p == '{' || *p == '}' || (*p == '/' && (p[1] == '/' || p[1] == '*')))
			break;
		if (*p == ';') {
			p++;
			break;
		}
		open += *p == '(' || *p == '[';
		open -= open && (*p == ')' || *p == ']');
		if (!strchr(" \t\r\f\n", *p))
			before = *p;
	}
	lx->cursor = p;
	lx->fresh = true;
}

void lexer_skip_module(struct lexer *lx)
{
	const char *p = lx->cursor;

	for (; p < lx->limit; p++) {
		if (*p == '/' && p[1] == '/') {
			p = memchr(p, '\n', (size_t)(lx->limit - p));
		} else if (*p == '/' && p[1] == '*') {
			p = memmem(p + 2, (size_t)(lx->limit - p - 2), "*/", 2);
		} else if (*p == '"') {
			p = memchr(p + 1, '"', (size_t)(lx->limit - p - 1));
		} else if (*p == '.' && strncmp(p, ".version", 8) == 0 && strchr(" \t\r\n\f", p[8])) {
			break;
		}
		if (!p)
			p = lx->limit - 1;
	}
	lx->cursor = p;
	lx->fresh = true;
}
