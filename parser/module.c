/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The level of modules and functions: header directives, module symbols, the spans of functions and
 * what the scan saw in them. Invariant: b->current is the module at hand; modules that cannot hold
 * async operations (spec 2.8) are recorded from their header alone and never reach the grammar.
 */
#include "parser/build.h"
#include "parser/words.h"

#include <stdlib.h>
#include <string.h>

static struct module *current(struct build *b)
{
	return &b->modules->v[b->current];
}

static void read_version(struct module *module, struct slice number)
{
	const char *p = number.text, *end = p + number.size;
	uint32_t major = 0, minor = 0;

	for (; p < end && *p >= '0' && *p <= '9'; p++)
		major = major * 10 + (uint32_t)(*p - '0');
	for (p += p < end; p < end && *p >= '0' && *p <= '9'; p++)
		minor = minor * 10 + (uint32_t)(*p - '0');
	module->version_major = major > UINT16_MAX ? UINT16_MAX : (uint16_t)major;
	module->version_minor = minor > UINT16_MAX ? UINT16_MAX : (uint16_t)minor;
}

static bool starts_with(struct slice text, const char *prefix)
{
	size_t size = strlen(prefix);

	return text.size > size && memcmp(text.text, prefix, size) == 0;
}

/* `sm_90a`, `compute_90`: the first one counts. `debug` and texture modes only leave a flag. */
static void read_target(struct module *module, struct slice name, struct span at)
{
	bool real = starts_with(name, "sm_"), any = real || starts_with(name, "compute_");
	size_t i = real ? 3 : 8;

	if (name.size == 5 && memcmp(name.text, "debug", 5) == 0)
		module->debug = true;
	if (!any || module->target.size)
		return;
	module->target = name;
	module->target_at = at;
	for (; i < name.size && name.text[i] >= '0' && name.text[i] <= '9' && module->sm < 100000;
		i++)
		module->sm = module->sm * 10 + (uint32_t)(name.text[i] - '0');
	if (i < name.size)
		module->sm_suffix = name.text[i];
}

/* Spec 2.8. A target that nobody knows may have the async proxy. */
static bool has_proxies(const struct module *module)
{
	return module->version_major >= 8 && (module->sm == 0 || module->sm >= 90);
}

static uint32_t add_module(struct build *b, struct span at)
{
	struct module fresh = {
		.source = b->source, .names = b->names, .at = at, .address_bits = 32};

	ARENA_PUSH(b->arena, b->modules->v, b->modules->n, b->modules_cap, fresh);
	return b->modules->n - 1;
}

bool module_skip_old(struct build *b, struct span word)
{
	struct lexer peek = b->lexer;
	struct module header = {0};
	struct span at, number;

	peek.diags = NULL;
	peek.arena = NULL;
	peek.runs = false;
	if (lexer_next(&peek, &number) != TOK_FLOAT || lexer_next(&peek, &at) != TOK_TARGET)
		return false;
	read_version(&header, build_text(b, number));
	do {
		if (lexer_next(&peek, &at) != TOK_NAME)
			return false;
		read_target(&header, build_text(b, at), at);
	} while (lexer_next(&peek, &at) == ',');
	if (has_proxies(&header))
		return false;
	lexer_skip_module(&b->lexer);
	struct span whole = {word.begin, (uint32_t)(b->lexer.cursor - b->lexer.text)};
	uint32_t number_of = add_module(b, whole); /* may move the array */
	struct module *module = &b->modules->v[number_of];

	module->version_at = number;
	module->version_major = header.version_major;
	module->version_minor = header.version_minor;
	module->sm = header.sm;
	module->sm_suffix = header.sm_suffix;
	module->debug = header.debug;
	module->target = header.target;
	module->target_at = header.target_at;
	return true;
}

void build_version(struct build *b, struct span word, struct span number)
{
	if (b->current != NONE) {
		current(b)->at.end = word.begin;
		build_module_end(b);
	}
	b->current = add_module(b, (struct span){word.begin, b->source->size});
	b->symbols_cap = b->functions_cap = b->files_cap = b->ntaken = 0;
	current(b)->version_at = number;
	read_version(current(b), build_text(b, number));
	names_forget(b->names);
}

void build_target(struct build *b, struct span name)
{
	if (!b->fn) {
		read_target(current(b), build_text(b, name), name);
		current(b)->proxies = has_proxies(current(b));
	}
}

void build_address_size(struct build *b, struct span number)
{
	uint64_t bits = build_number(b, number);

	if (bits != 32 && bits != 64)
		build_error(b, number, "expected 32 or 64, saw '%.*s'",
			(int)(number.end - number.begin), b->source->text + number.begin);
	current(b)->address_bits = (uint32_t)bits;
}

void build_file(struct build *b, struct span number, struct span name)
{
	struct module *module = current(b);
	struct file_entry entry = {(uint32_t)build_number(b, number),
		{b->source->text + name.begin + 1, name.end - name.begin - 2}};

	ARENA_PUSH(b->arena, module->files, module->nfiles, b->files_cap, entry);
}

uint32_t module_add_symbol(struct build *b, struct symbol symbol)
{
	struct module *module = current(b);

	uint32_t id = names_mark(b->names, symbol.name, NAMES_LOCAL);

	if (id != NONE) {
		struct symbol *known = &module->symbols[id];
		uint32_t target = symbol.target != NONE ? symbol.target : known->target;

		/* a definition says more than the declaration before it */
		symbol.is_visible |= known->is_visible;
		symbol.is_weak |= known->is_weak;
		symbol.is_noreturn |= known->is_noreturn;
		*known = known->kind == SYMBOL_ALIAS ? *known : symbol;
		known->target = target;
		return id;
	}
	id = module->nsymbols;
	ARENA_PUSH(b->arena, module->symbols, module->nsymbols, b->symbols_cap, symbol);
	names_set_mark(b->names, symbol.name, NAMES_LOCAL, id);
	return id;
}

void build_alias(struct build *b, struct span name, struct span target)
{
	struct symbol to = {.kind = SYMBOL_FUNC,
		.is_extern = true,
		.name = build_name_id(b, target),
		.target = NONE,
		.at = target};
	uint32_t known = names_mark(b->names, to.name, NAMES_LOCAL);
	uint32_t id = known != NONE ? known : module_add_symbol(b, to);
	struct symbol alias = {.kind = SYMBOL_ALIAS,
		.is_visible = true,
		.name = build_name_id(b, name),
		.target = id,
		.at = name};
	uint32_t own = module_add_symbol(b, alias);

	current(b)->symbols[own].kind = SYMBOL_ALIAS;
	current(b)->symbols[own].target = id;
}

/* A word that only modifiers have stands where a statement should begin: that is no directive. */
bool build_unknown_directive(struct build *b, struct span at)
{
	struct slice text = build_text(b, at);

	if (modifier_find(text.text + 1, text.size - 1) != MOD_UNKNOWN) {
		build_error(b, at, "expected a %s, saw '%.*s'",
			b->function == NONE ? "directive" : "statement", (int)text.size, text.text);
		return false;
	}
	lexer_skip_directive(&b->lexer);
	return true;
}

void build_item_end(struct build *b)
{
	b->declaration = (struct declaration){0};
	b->nstack = 0;
}

void build_module_item_end(struct build *b)
{
	build_item_end(b);
	b->function = NONE;
	b->header.part = PART_NONE;
	b->muted = false;
}

/* A function keeps its spans; in the run over one function there is nothing to record. */
void build_function(struct build *b, int kind, struct span at)
{
	b->header = (struct header){.signature = 2166136261u, .linkage = b->declaration.linkage};
	b->declaration.linkage = 0;
	b->nesting = 0;
	b->function_at = at;
	if (b->fn) {
		build_body_begin(b);
		b->function = b->fn->index;
		return;
	}
	struct module *module = current(b);
	struct function_info info = {.symbol = NONE, .is_entry = kind == TOK_ENTRY, .at = at};

	for (int i = 0; i < DIRECTIVE_COUNT; i++)
		info.dim[i][0] = info.dim[i][1] = info.dim[i][2] = 1;
	b->function = module->nfunctions;
	ARENA_PUSH(b->arena, module->functions, module->nfunctions, b->functions_cap, info);
}

static struct function_info *info(struct build *b)
{
	return &current(b)->functions[b->function];
}

void build_function_name(struct build *b, struct span name)
{
	if (b->fn)
		return;
	uint32_t linkage = b->header.linkage;
	struct symbol symbol = {.kind = SYMBOL_FUNC,
		.is_extern = linkage & 1,
		.is_visible = linkage >> (TOK_VISIBLE - TOK_EXTERN) & 1,
		.is_weak = linkage >> (TOK_WEAK - TOK_EXTERN) & 1,
		.name = build_name_id(b, name),
		.target = NONE,
		.at = name};
	uint32_t id = module_add_symbol(b, symbol);

	info(b)->symbol = id;
}

void build_returns_begin(struct build *b)
{
	b->header.part = PART_RETURNS;
	if (b->fn && !b->header.is_prototype)
		b->fn->first_return = b->module->nsymbols + b->fn->nsymbols;
}

void build_returns_end(struct build *b)
{
	b->header.part = PART_NONE;
	if (b->fn && !b->header.is_prototype)
		b->fn->nreturns = b->header.nreturns;
	build_item_end(b);
}

void build_parameters_begin(struct build *b)
{
	b->header.part = PART_PARAMETERS;
	if (b->fn && !b->header.is_prototype)
		b->fn->first_param = b->module->nsymbols + b->fn->nsymbols;
}

void build_parameters_end(struct build *b)
{
	b->header.part = PART_NONE;
	if (b->fn && !b->header.is_prototype)
		b->fn->nparams = b->header.nparameters;
	build_item_end(b);
}

void build_directive(struct build *b, struct span at)
{
	struct slice text = build_text(b, at);
	enum directive_kind kind = header_directive_find(text.text + 1, text.size - 1);

	b->header.noreturn |= kind == DIRECTIVE_NORETURN;
	if (!b->fn && !b->header.is_prototype && kind != DIRECTIVE_COUNT) {
		struct function_info *fn = info(b);

		fn->ndim[kind] = b->header.nnumbers ? b->header.nnumbers : 1;
		memcpy(fn->dim[kind], b->header.numbers, sizeof(fn->dim[kind]));
	}
	b->header.nnumbers = 0;
}

void build_directive_number(struct build *b, struct span at)
{
	uint64_t value = build_number(b, at);

	if (b->header.nnumbers == 0)
		b->header.numbers[0] = b->header.numbers[1] = b->header.numbers[2] = 1;
	if (b->header.nnumbers < 3)
		b->header.numbers[b->header.nnumbers++] =
			value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static void close_header(struct build *b, uint32_t end)
{
	info(b)->at.end = end;
	info(b)->signature = b->header.signature;
	if (info(b)->symbol != NONE)
		current(b)->symbols[info(b)->symbol].is_noreturn |= b->header.noreturn;
}

void build_prototype(struct build *b, struct span semicolon)
{
	if (!b->fn) {
		info(b)->header = (struct span){b->function_at.begin, semicolon.begin};
		close_header(b, semicolon.end);
	}
	b->function = NONE;
}

void build_body(struct build *b, struct span brace)
{
	build_item_end(b);
	if (b->fn)
		return;
	info(b)->has_body = true;
	info(b)->header = (struct span){b->function_at.begin, brace.begin};
	close_header(b, brace.end);
	b->muted = true;
	b->lexer.seen = 0;
	b->lexer.counts = (struct lexer_counts){0};
	b->nruns = 0;
}

/* For the reading that builds the body; most bodies with nothing of this are never read again. */
static void keep_runs(struct build *b, struct function_info *fn)
{
	const uint32_t wanted = SEEN_ASYNC | SEEN_FENCE | SEEN_HINT | SEEN_CALL | SEEN_UNKNOWN;

	if (!b->lexer.runs || !b->nruns || !(b->lexer.seen & wanted))
		return;
	struct span *runs = ARENA_NEW(b->arena, struct span, b->nruns);

	memcpy(runs, b->runs, b->nruns * sizeof(*runs));
	fn->runs = runs;
	fn->nruns = b->nruns;
}

void build_body_end(struct build *b, struct span body)
{
	if (b->fn) {
		build_body_finish(b, body);
		return;
	}
	struct function_info *fn = info(b);
	uint32_t seen = b->lexer.seen;

	fn->body = body;
	fn->at.end = body.end;
	fn->may_async = seen & SEEN_ASYNC;
	fn->may_fence = seen & SEEN_FENCE;
	fn->may_call = seen & SEEN_CALL;
	fn->may_shared = seen & SEEN_SHARED;
	fn->may_hint = seen & SEEN_HINT;
	fn->may_unknown = seen & SEEN_UNKNOWN;
	fn->ninsns = b->lexer.counts.instructions;
	fn->nmemory = b->lexer.counts.memory;
	keep_runs(b, fn);
	if (fn->symbol != NONE)
		current(b)->symbols[fn->symbol].target = b->function;
	b->function = NONE;
	b->muted = false;
	build_item_end(b);
}

/* A name used as a value; whether it is a function shows at the module's end. */
void build_taken(struct build *b, struct span name)
{
	struct slice text = build_text(b, name);

	if (text.text[0] == '%' || b->jumps || memchr(text.text, '.', text.size))
		return;
	uint32_t id = build_name_id(b, name);

	if (names_mark(b->names, id, NAMES_OPCODE) != NONE)
		return;
	names_set_mark(b->names, id, NAMES_OPCODE, 1);
	ARENA_PUSH(b->arena, b->taken, b->ntaken, b->taken_cap, id);
}

void build_value_name(struct build *b, struct span name)
{
	b->jumps = false;
	if (!b->fn)
		build_taken(b, name);
}

/* The function that a symbol names, or NONE. A chain of aliases is followed once: then each of its
 * links points at the end. A ring has no end, and a chain longer than the table is one. */
static uint32_t function_of(const struct module *module, uint32_t id)
{
	uint32_t end = id, steps = 0;

	while (end < module->nsymbols && module->symbols[end].kind == SYMBOL_ALIAS)
		end = steps++ > module->nsymbols ? NONE : module->symbols[end].target;
	if (end >= module->nsymbols || module->symbols[end].kind != SYMBOL_FUNC)
		end = NONE;
	while (id < module->nsymbols && id != end && module->symbols[id].kind == SYMBOL_ALIAS) {
		uint32_t next = module->symbols[id].target;

		module->symbols[id].target = end;
		id = next;
	}
	return end;
}

static void collect_taken(struct build *b)
{
	struct module *module = current(b);
	uint32_t *first = ARENA_NEW(b->arena, uint32_t, module->nsymbols + 1);
	uint32_t cap = 0;

	for (uint32_t i = module->nfunctions; i-- > 0;)
		if (module->functions[i].symbol != NONE)
			first[module->functions[i].symbol] = i;
	for (uint32_t i = 0; i < b->ntaken; i++) {
		uint32_t id = names_mark(b->names, b->taken[i], NAMES_LOCAL);

		id = id == NONE ? NONE : function_of(module, id);
		if (id == NONE)
			continue;
		uint32_t target = module->symbols[id].target;
		uint32_t index = target != NONE ? target : first[id];

		module->address_taken_any = true;
		ARENA_PUSH(b->arena, module->address_taken, module->naddress_taken, cap, index);
	}
}

static int compare_names(const void *x, const void *y, void *symbols)
{
	const struct symbol *v = symbols;
	uint32_t a = v[*(const uint32_t *)x].name, c = v[*(const uint32_t *)y].name;

	return a < c ? -1 : a > c;
}

static void list_dynamic_shared(struct build *b, struct module *module)
{
	uint32_t cap = 0;

	for (uint32_t i = 0; i < module->nsymbols; i++)
		if (symbol_is_dynamic_shared(&module->symbols[i]))
			ARENA_PUSH(b->arena, module->dynamic_shared, module->ndynamic_shared, cap, i);
}

void build_module_end(struct build *b)
{
	struct module *module = current(b);

	collect_taken(b);
	list_dynamic_shared(b, module);
	module->by_name = ARENA_NEW(b->arena, uint32_t, module->nsymbols);
	for (uint32_t i = 0; i < module->nsymbols; i++)
		module->by_name[i] = i;
	qsort_r(module->by_name, module->nsymbols, sizeof(uint32_t), compare_names,
		module->symbols);
}

uint32_t module_find_symbol(const struct module *module, const char *text, size_t size)
{
	uint32_t name = names_find(module->names, text, size);
	uint32_t low = 0, high = module->nsymbols;

	while (name != NONE && low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t id = module->by_name[middle];

		if (module->symbols[id].name == name)
			return id;
		if (module->symbols[id].name < name)
			low = middle + 1;
		else
			high = middle;
	}
	return NONE;
}
