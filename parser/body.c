/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements of one body -> struct function. In the run over a file only the opcodes are looked at,
 * for what function_info says of the body. Everything that refers forward (labels) is settled when
 * the block closes; hints find their instruction at the end, by place.
 */
#include "parser/build.h"
#include "parser/plain.h"
#include "parser/words.h"

#include <string.h>

static uint32_t name_id(struct build *b, struct slice text)
{
	uint32_t id = names_add(b->names, text.text, text.size);

	if (id == NONE)
		longjmp(*b->arena->on_failure, 1);
	return id;
}

void build_body_begin(struct build *b)
{
	const struct span *body = &b->module->functions[b->fn->index].body;
	uint32_t n = b->module->functions[b->fn->index].ninsns;

	scope_init(&b->scope, b->arena, b->names, b->fn);
	scope_open(&b->scope); /* parameters; the body is the same block (ISA 5.4) */
	b->scope.room = (body->end - body->begin) / 4; /* at most a byte of tables for a byte of text */
	b->fn->module = b->module;
	b->fn->insns = ARENA_UNSET(b->arena, struct insn, n); /* as many as the scan has counted */
	b->insns_cap = n;
	/* a guess that saves copies: of short instructions, or of long lists of registers */
	uint32_t listed = (body->end - body->begin) / 10;

	b->operands_cap = n < UINT32_MAX / 3 ? 3 * n : n;
	if (b->operands_cap < listed)
		b->operands_cap = listed;
	b->fn->operands = ARENA_UNSET(b->arena, struct operand, b->operands_cap);
	b->loc = b->last_label = NONE;
}

static void check_references(struct build *b)
{
	for (uint32_t i = 0; i < b->scope.nreferences; i++) {
		const struct reference *reference = &b->scope.references[i];

		if (reference->settled || !reference->required)
			continue;
		struct span at = reference->operand != NONE ? reference->at
							    : b->fn->tables[reference->table].at;
		struct slice text = names_text(b->names, b->scope.locals[reference->local].name);

		build_error(b, at, "label '%.*s' is not defined in this block or one around it",
			(int)text.size, text.text);
	}
}

static bool is_word(struct slice text, const char *word)
{
	return text.size == strlen(word) && memcmp(text.text, word, text.size) == 0;
}

/* Spec 2.9: a word, then the reason. */
static struct hint read_hint(const struct build *b, const struct hint_comment *comment)
{
	static const char *const words[] = {"ignore", "off", "on", "generic", "async", "neutral"};
	struct slice text = build_text(b, comment->text);
	struct slice word = {text.text, strcspn(text.text, " \t\r\n\f")};
	struct hint hint = {.kind = HINT_INVALID, .at = comment->at};

	if (word.size > text.size)
		word.size = text.size;
	for (int i = 0; i < HINT_INVALID; i++)
		if (is_word(word, words[i]))
			hint.kind = (uint8_t)i;
	size_t skip = word.size;

	while (skip < text.size && (text.text[skip] == ' ' || text.text[skip] == '\t'))
		skip++;
	hint.reason = (struct slice){text.text + skip, text.size - skip};
	return hint;
}

/* Both lists are in order of the text. */
static void place_hints(struct build *b)
{
	struct function *fn = b->fn;
	uint32_t before = 0, cap = 0;

	for (uint32_t i = 0; i < b->lexer.nhints; i++) {
		struct hint hint = read_hint(b, &b->lexer.hints[i]);

		while (before < fn->ninsns && fn->insns[before].at.begin < hint.at.begin)
			before++;
		hint.before = before;
		ARENA_PUSH(b->arena, fn->hints, fn->nhints, cap, hint);
	}
}

/* The end of the comment or `.loc` that begins at `at`, or of the blanks; `at` itself where there
 * is none, or a label stands on the line of the `.loc`. */
static const char *skip_one(const char *at, const char *end)
{
	size_t size = (size_t)(end - at);

	if (size >= 2 && memcmp(at, "/*", 2) == 0) {
		const char *close = memmem(at + 2, size - 2, "*/", 2);

		return close ? close + 2 : at;
	}
	const char *line = memchr(at, '\n', size);

	line = line ? line : end;
	if (size >= 2 && memcmp(at, "//", 2) == 0)
		return line;
	if (size >= 5 && memcmp(at, ".loc", 4) == 0 && (at[4] == ' ' || at[4] == '\t'))
		return memchr(at, ':', (size_t)(line - at)) ? at : line;
	while (at < end && memchr(" \t\r\n\f", *at, 5))
		at++;
	return at;
}

/* Blanks, comments and .loc directives: no label, no declaration, no rest of a statement. */
static bool says_nothing(struct slice text)
{
	const char *at = text.text, *end = text.text + text.size;

	while (at < end) {
		const char *next = skip_one(at, end);

		if (next == at)
			return false;
		at = next;
	}
	return true;
}

/* Few functions have a place that is not where its instruction begins. */
static uint32_t *insert_places(struct build *b)
{
	struct function *fn = b->fn;

	if (fn->insert_at)
		return fn->insert_at;
	fn->insert_at = ARENA_UNSET(b->arena, uint32_t, fn->ninsns);
	for (uint32_t k = 0; k < fn->ninsns; k++)
		fn->insert_at[k] = fn->insns[k].at.begin;
	return fn->insert_at;
}

/* ISA 12: "used_bytes_mask" binds to the instruction after it, so nothing may come between. */
static void insert_before_pragmas(struct build *b)
{
	static const char mask[] = "used_bytes_mask";

	for (uint32_t i = 0; i < b->fn->npragmas; i++) {
		const struct pragma *pragma = &b->fn->pragmas[i];

		if (pragma->before < b->fn->ninsns && pragma->text.size >= sizeof(mask) - 1 &&
			memcmp(pragma->text.text, mask, sizeof(mask) - 1) == 0)
			insert_places(b)[pragma->before] = pragma->at.begin;
	}
}

/* What is put before an instruction goes before its `ignore` too, which would speak of the new text
 * else, and before an `off`, which begins a range that takes no text, but not into the range that
 * an `on` between them ends. */
static void insert_before_hints(struct build *b)
{
	struct function *fn = b->fn;
	uint32_t closed = NONE; /* the instruction whose text does not go before earlier hints */

	for (uint32_t i = fn->nhints; i-- > 0;) {
		const struct hint *hint = &fn->hints[i];

		if (hint->kind == HINT_ON)
			closed = hint->before;
		if ((hint->kind != HINT_IGNORE && hint->kind != HINT_OFF) ||
			hint->before >= fn->ninsns || hint->before == closed)
			continue;
		struct span between = {hint->at.end, insn_insert_at(fn, hint->before)};

		if (between.begin > between.end)
			continue;
		if (says_nothing(build_text(b, between)))
			insert_places(b)[hint->before] = hint->at.begin;
		else
			closed = hint->before;
	}
}

void build_body_finish(struct build *b, struct span body)
{
	scope_close(&b->scope, b->table_entries);
	check_references(b);
	plain_branches(b->fn);
	place_hints(b);
	insert_before_pragmas(b);
	insert_before_hints(b);
	b->fn->end_at = (struct span){body.end - 1, body.end};
	ARENA_TRIM(b->arena, b->fn->operands, b->fn->noperands, b->operands_cap);
	ARENA_TRIM(b->arena, b->fn->regs, b->fn->nregs, b->scope.regs_cap);
	ARENA_TRIM(b->arena, b->fn->labels, b->fn->nlabels, b->scope.labels_cap);
	scope_end(&b->scope);
}

void build_block(struct build *b)
{
	if (b->fn)
		scope_open(&b->scope);
	b->last_label = NONE;
}

void build_block_end(struct build *b)
{
	if (b->fn)
		scope_close(&b->scope, b->table_entries);
	b->last_label = NONE;
	build_item_end(b);
}

void build_label(struct build *b, struct span name)
{
	struct slice text = build_text(b, name);

	if (!b->fn)
		return;
	if (!scope_add_label(&b->scope, text.text, text.size, name, &b->last_label))
		build_error(b, name, "label '%.*s' is defined twice in its block", (int)text.size,
			text.text);
}

void build_guard(struct build *b, struct span name)
{
	b->guarded = true;
	b->guard_negated = false;
	b->guard_at = name;
}

void build_guard_not(struct build *b, struct span name)
{
	build_guard(b, name);
	b->guard_negated = true;
}

/* Splits `word.mod.mod`; `add` apart from its entry, so that mods may follow after blanks. */
static struct opcode_entry split(struct build *b, struct slice text)
{
	const char *end = text.text + text.size;
	const char *dot = memchr(text.text, '.', text.size);
	size_t size = dot ? (size_t)(dot - text.text) : text.size;
	struct opcode_entry entry = {
		.op = (uint16_t)opcode_find(text.text, size),
	};
	uint16_t n = 0;

	for (const char *p = dot; p; p = memchr(p + 1, '.', (size_t)(end - p - 1)))
		n = (uint16_t)(n + (n < UINT16_MAX));
	uint16_t *mods = ARENA_NEW(b->arena, uint16_t, n);

	for (const char *p = dot; p && entry.nmods < n;) {
		const char *next = memchr(p + 1, '.', (size_t)(end - p - 1));
		size_t part = (size_t)((next ? next : end) - p - 1);

		mods[entry.nmods++] = (uint16_t)modifier_find(p + 1, part);
		p = next;
	}
	entry.mods = mods;
	entry.has_forms = plain_may_change(entry.op);
	return entry;
}

static uint32_t opcode_by_name(struct build *b, struct slice text)
{
	uint32_t name = name_id(b, text);
	uint32_t known = names_mark(b->names, name, NAMES_OPCODE);

	if (known != NONE)
		return known;
	struct opcode_entry entry = split(b, text);
	uint32_t index = b->nopcodes;

	ARENA_PUSH(b->arena, b->opcodes, b->nopcodes, b->opcodes_cap, entry);
	names_set_mark(b->names, name, NAMES_OPCODE, index);
	return index;
}

/* A few dozen spellings make up a body. */
static uint32_t opcode_entry(struct build *b, struct slice text)
{
	const unsigned char *bytes = (const unsigned char *)text.text;
	size_t hash = text.size + 5u * bytes[0] + 11u * bytes[text.size / 2] + 23u * bytes[text.size / 4] +
		      47u * bytes[text.size - 1];
	struct opcode_memo *memo = &b->memo[hash % OPCODE_MEMOS];

	if (memo->size != text.size || memcmp(memo->text, text.text, text.size) != 0)
		*memo = (struct opcode_memo){
			text.text, (uint32_t)text.size, opcode_by_name(b, text)};
	return memo->entry;
}

static void see(struct build *b, uint32_t seen)
{
	b->lexer.seen |= seen;
	b->counted = (seen & SEEN_MEMORY) != 0;
	b->lexer.counts.memory += b->counted;
}

enum opcode build_opcode(struct build *b, struct span at)
{
	struct slice text = build_text(b, at);

	b->nextra = 0;
	b->opcode_at = at;
	if (b->fn) {
		b->opcode = opcode_entry(b, text);
		return build_op(b);
	}
	b->lexer.counts.instructions++;
	see(b, lexer_classify(text.text, text.size));
	b->jumps = (text.size >= 3 && memcmp(text.text, "bra", 3) == 0) ||
		   (text.size >= 3 && memcmp(text.text, "brx", 3) == 0) ||
		   (text.size >= 4 && memcmp(text.text, "call", 4) == 0);
	return OP_UNKNOWN;
}

/* A modifier after blanks. Without its company the word alone must be taken at its worst. */
void build_modifier(struct build *b, struct span at)
{
	struct slice text = build_text(b, at);

	b->opcode_at.end = at.end;
	if (!b->fn) {
		struct slice word = build_text(b, b->opcode_at);

		b->lexer.counts.memory -= b->counted;
		see(b, lexer_classify(word.text, strcspn(word.text, ". \t\r\n\f/")));
		return;
	}
	uint16_t mod = (uint16_t)modifier_find(text.text + 1, text.size - 1);

	ARENA_PUSH(b->arena, b->extra, b->nextra, b->extra_cap, mod);
}

enum opcode build_op(const struct build *b)
{
	return b->fn ? (enum opcode)b->opcodes[b->opcode].op : OP_UNKNOWN;
}

static const uint16_t *all_mods(struct build *b, const struct opcode_entry *entry, uint32_t *n)
{
	*n = entry->nmods;
	if (!b->nextra)
		return entry->mods;
	uint16_t *mods = ARENA_NEW(b->arena, uint16_t, entry->nmods + b->nextra);

	if (entry->nmods)
		memcpy(mods, entry->mods, entry->nmods * sizeof(*mods));
	memcpy(mods + entry->nmods, b->extra, b->nextra * sizeof(*mods));
	*n = entry->nmods + b->nextra;
	return mods;
}

static uint32_t guard_reg(struct build *b)
{
	struct slice text = build_text(b, b->guard_at);
	struct resolved found = scope_find(&b->scope, text.text, text.size);

	if (found.kind == RESOLVED_REG)
		return found.id;
	/* undeclared: ptxas will say so; a register of its own keeps the guard a guard. Nothing
	 * else finds it by its name: what an instruction means must not depend on the guard of
	 * another, which may be a fence that comes or goes */
	return scope_new_reg(&b->scope, text.text, text.size, MOD_pred);
}

void build_instruction_of(struct build *b, struct span at, uint32_t noperands)
{
	const struct opcode_entry *entry = &b->opcodes[b->opcode];
	struct insn insn = {.at = at,
		.op = entry->op,
		.guard = b->guarded ? guard_reg(b) : NONE,
		.guard_negated = b->guarded && b->guard_negated};
	uint32_t nmods;

	insn.mods = all_mods(b, entry, &nmods);
	if (nmods > INSN_PARTS_MOST || noperands > INSN_PARTS_MOST)
		build_error(b, at, "more than %d modifiers or operands", INSN_PARTS_MOST);
	insn.nmods = (uint8_t)nmods;
	insn.count = (uint8_t)noperands;
	insn.first = b->fn->noperands - noperands;
	if (entry->has_forms)
		plain_form(&insn, &b->fn->operands[insn.first]);
	ARENA_PUSH(b->arena, b->fn->insns, b->fn->ninsns, b->insns_cap, insn);
	b->guarded = false;
	b->last_label = NONE;
}

void build_instruction(struct build *b, struct span at)
{
	uint32_t n = b->nstack;

	if (!b->fn) {
		b->guarded = false;
		b->nstack = 0;
		return;
	}
	build_settle(b, n);
	build_instruction_of(b, at, n);
}

void build_pragma(struct build *b, struct span at, struct span strings)
{
	if (!b->fn)
		return;
	struct slice text = {b->source->text + strings.begin + 1, strings.end - strings.begin - 2};
	struct pragma pragma = {b->fn->ninsns, at, text};

	ARENA_PUSH(b->arena, b->fn->pragmas, b->fn->npragmas, b->pragmas_cap, pragma);}

static uint32_t small(const struct build *b, struct span number)
{
	struct slice text = build_text(b, number);
	uint64_t value = 0;
	size_t n = 0;

	if (text.size <= 9 && text.text[0] != '0') /* mostly decimal, and there are many */
		while (n < text.size && text.text[n] >= '0' && text.text[n] <= '9')
			value = 10 * value + (uint64_t)(text.text[n++] - '0');
	if (n < text.size)
		value = build_number(b, number);
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

void build_location(
	struct build *b, struct span at, struct span file, struct span line, struct span column)
{
	if (!b->fn)
		return;
	struct loc loc = {.file = small(b, file),
		.line = small(b, line),
		.column = small(b, column),
		.function_name = NONE,
		.at = at};

	b->loc = b->fn->nlocs;
	ARENA_PUSH(b->arena, b->fn->locs, b->fn->nlocs, b->locs_cap, loc);
}

static void expect_word(struct build *b, struct span at, const char *word)
{
	struct slice text = build_text(b, at);

	if (text.size != strlen(word) || memcmp(text.text, word, text.size) != 0)
		build_error(b, at, "expected '%s', saw '%.*s'", word, (int)text.size, text.text);
}

void build_inlined(
	struct build *b, struct span word, struct span file, struct span line, struct span column)
{
	expect_word(b, word, "inlined_at");
	if (!b->fn)
		return;
	struct loc *loc = &b->fn->locs[b->loc];

	loc->inlined_file = small(b, file);
	loc->inlined_line = small(b, line);
	loc->inlined_column = small(b, column);
}

void build_location_function(struct build *b, struct span word, struct span name)
{
	expect_word(b, word, "function_name");
	if (b->fn)
		b->fn->locs[b->loc].function_name = name_id(b, build_text(b, name));
}

static void add_target(struct build *b, uint32_t id)
{
	ARENA_PUSH(b->arena, b->targets, b->ntargets, b->targets_cap, id);
}

static void refer_to_label(struct build *b, uint32_t name)
{
	if (name == NONE)
		longjmp(*b->arena->on_failure, 1);
	scope_refer(&b->scope, name,
		(struct reference){.operand = NONE,
			.table = b->fn->ntables,
			.entry = b->ntargets,
			.required = true});
	add_target(b, NONE);
}

void build_branch_target(struct build *b, struct span name)
{
	struct slice text = build_text(b, name);

	if (b->fn)
		refer_to_label(b, names_add_label(b->names, text.text, text.size));
}

/* `.branchtargets N<3>;` stands for N0, N1, N2 (ISA 11.3). */
void build_branch_range(struct build *b, struct span name, struct span count)
{
	struct slice text = build_text(b, name);
	uint64_t n = build_number(b, count);

	if (n > MAX_BRANCH_RANGE)
		build_error(b, count, "more than %d branch targets", MAX_BRANCH_RANGE);
	else if (b->fn)
		for (uint32_t i = 0; i < n; i++)
			refer_to_label(b, names_add_label_numbered(b->names, text.text, text.size, i));
}

void build_call_target(struct build *b, struct span name)
{
	struct slice text = build_text(b, name);

	if (!b->fn)
		return;
	uint32_t symbol = module_find_symbol(b->module, text.text, text.size);

	if (symbol == NONE)
		build_error(b, name, "'%.*s' is not a function", (int)text.size, text.text);
	add_target(b, symbol);
}

void build_prototype_begin(struct build *b)
{
	b->header = (struct header){.signature = 2166136261u, .is_prototype = true};
}

void build_table_end(struct build *b, enum table_kind kind, struct span at)
{
	struct function *fn = b->fn;

	build_item_end(b);
	if (!fn) {
		b->header.is_prototype = false;
		return;
	}
	struct table table = {.kind = (uint8_t)kind, .n = b->ntargets, .at = at};
	uint32_t *v = ARENA_NEW(b->arena, uint32_t, b->ntargets);

	if (b->ntargets)
		memcpy(v, b->targets, b->ntargets * sizeof(*v));
	table.v = v;
	if (kind == TABLE_PROTOTYPE) {
		table.noreturn = b->header.noreturn;
		table.signature = b->header.signature;
		b->header.is_prototype = false;
	}
	if (b->last_label != NONE)
		fn->labels[b->last_label].table = fn->ntables;
	ARENA_PUSH(b->arena, b->table_entries, b->ntable_entries, b->table_entries_cap, v);
	ARENA_PUSH(b->arena, fn->tables, fn->ntables, b->tables_cap, table);
	b->ntargets = 0;
	b->last_label = NONE;
}
