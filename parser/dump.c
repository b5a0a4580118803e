/* SPDX-License-Identifier: Apache-2.0 */
/* Text made from the IR again (not from the source), so that a test sees what was understood. */
#include "parser/dump.h"
#include "lexer/lexer.h"
#include "parser/ptx.tab.h"

#include <inttypes.h>
#include <string.h>

static void print_slice(struct slice text, FILE *out)
{
	if (text.size)
		fwrite(text.text, 1, text.size, out);
}

static void print_name(const struct module *module, uint32_t name, FILE *out)
{
	if (name == NONE)
		fputs("?", out);
	else
		print_slice(names_text(module->names, name), out);
}

static void print_reg(const struct function *fn, uint32_t id, FILE *out)
{
	print_name(fn->module, fn->regs[id].name, out);
	if (fn->regs[id].number != NONE)
		fprintf(out, "%" PRIu32, fn->regs[id].number);
}

static const char *kind_text(int kind)
{
	switch (kind) {
	case TOK_NAME:
		return "name";
	case TOK_DOTTED:
		return "dotted";
	case TOK_DOTWORD:
		return "dotword";
	case TOK_INT:
		return "int";
	case TOK_FLOAT:
		return "float";
	case TOK_STRING:
		return "string";
	case TOK_PTXerror:
		return "error";
	default:
		return kind < 256 ? "punctuation" : "keyword";
	}
}

void dump_tokens(struct source *source, FILE *out)
{
	struct lexer lexer;
	struct span at;
	int kind;

	lexer_init(&lexer, source->text, source->size, (struct span){0, source->size}, NULL, NULL);
	while ((kind = lexer_next(&lexer, &at)) != TOK_YYEOF) {
		fprintf(out, "%" PRIu32 ":%" PRIu32 " %s ", source_line(source, at.begin),
			source_column(source, at.begin), kind_text(kind));
		print_slice((struct slice){source->text + at.begin, at.end - at.begin}, out);
		fputc('\n', out);
	}
}

static const char *space_text(uint32_t space)
{
	switch (space) {
	case SPACE_SHARED:
		return ".shared";
	case SPACE_CLUSTER:
		return ".shared::cluster";
	case SPACE_GLOBAL:
		return ".global";
	case SPACE_LOCAL:
		return ".local";
	case SPACE_CONST:
		return ".const";
	case SPACE_PARAM:
		return ".param";
	case SPACE_REG:
		return ".reg";
	default:
		return "";
	}
}

static void dump_symbol(const struct module *module, uint32_t id, const struct symbol *s, FILE *out)
{
	static const char *const kinds[] = {"var", "func", "param", "return", "alias"};

	fprintf(out, "symbol %" PRIu32 " %s %s", id, kinds[s->kind], space_text(s->space));
	if (s->kind != SYMBOL_FUNC && s->kind != SYMBOL_ALIAS)
		fprintf(out, " .align %" PRIu32 " .%s size %" PRIu64, s->align,
			modifier_text(s->type), s->size);
	fprintf(out, "%s%s%s%s ", s->is_extern ? " extern" : "", s->is_visible ? " visible" : "",
		s->is_weak ? " weak" : "", s->unsized ? " unsized" : "");
	print_name(module, s->name, out);
	if (s->ptr_space)
		fprintf(out, " ptr %s", space_text(s->ptr_space));
	if (s->target != NONE)
		fprintf(out, " -> %" PRIu32, s->target);
	fputc('\n', out);
}

static void dump_function_info(const struct module *module, uint32_t i, FILE *out)
{
	static const char *const directives[] = {"maxntid", "reqntid", "reqnctapercluster",
		"maxclusterrank", "explicitcluster", "noreturn"};
	const struct function_info *fn = &module->functions[i];

	fprintf(out, "function %" PRIu32 " %s ", i, fn->is_entry ? "entry" : "func");
	print_name(module, fn->symbol == NONE ? NONE : module->symbols[fn->symbol].name, out);
	if (!fn->has_body)
		fputs(" prototype", out);
	for (int d = 0; d < DIRECTIVE_COUNT; d++)
		if (fn->ndim[d])
			fprintf(out, " %s %" PRIu32 ",%" PRIu32 ",%" PRIu32, directives[d],
				fn->dim[d][0], fn->dim[d][1], fn->dim[d][2]);
	fprintf(out, "%s%s%s%s%s%s\n", fn->may_async ? " async" : "", fn->may_fence ? " fence" : "",
		fn->may_call ? " call" : "", fn->may_shared ? " shared" : "",
		fn->may_hint ? " hint" : "", fn->may_unknown ? " unknown" : "");
}

void dump_module(const struct module *module, FILE *out)
{
	fprintf(out, "module version %d.%d target ", module->version_major, module->version_minor);
	print_slice(module->target, out);
	fprintf(out, " address_size %" PRIu32 "%s%s\n", module->address_bits,
		module->debug ? " debug" : "", module->proxies ? " proxies" : "");
	for (uint32_t i = 0; i < module->nfiles; i++) {
		fprintf(out, "file %" PRIu32 " ", module->files[i].number);
		print_slice(module->files[i].name, out);
		fputc('\n', out);
	}
	for (uint32_t i = 0; i < module->nsymbols; i++)
		dump_symbol(module, i, &module->symbols[i], out);
	for (uint32_t i = 0; i < module->nfunctions; i++)
		dump_function_info(module, i, out);
	for (uint32_t i = 0; i < module->naddress_taken; i++)
		fprintf(out, "address taken: function %" PRIu32 "\n", module->address_taken[i]);
}

static void print_offset(int64_t offset, FILE *out)
{
	if (offset)
		fprintf(out, "%+" PRId64, offset);
}

/* The parts of a composite, depth first with a stack of its own: lists nest as deep as the text. */
struct frame {
	const struct operand *operand;
	uint32_t next;
};

static const char *opening(const struct operand *o)
{
	return o->kind == OPERAND_MEM	  ? "["
	       : o->kind == OPERAND_LIST  ? "{"
	       : o->kind == OPERAND_TUPLE ? "("
					  : "";
}

static const char *closing(const struct operand *o)
{
	return o->kind == OPERAND_MEM	  ? "]"
	       : o->kind == OPERAND_LIST  ? "}"
	       : o->kind == OPERAND_TUPLE ? ")"
					  : "";
}

static const char *separator(const struct operand *parent, uint32_t next)
{
	if (next == 0)
		return "";
	if (parent->kind == OPERAND_PAIR)
		return "|";
	return parent->kind == OPERAND_MEM && parent->indexed && next == 1 ? " + " : ", ";
}

static void print_leaf(const struct function *fn, const struct operand *o, FILE *out)
{
	const struct module *module = fn->module;

	if (o->negated)
		fputc('!', out);
	switch ((enum operand_kind)o->kind) {
	case OPERAND_SINK:
		fputc('_', out);
		break;
	case OPERAND_REG:
		print_reg(fn, o->id, out);
		if (o->component)
			fprintf(out, ".%c", o->component);
		print_offset(operand_offset(fn, o), out);
		break;
	case OPERAND_IMM:
		fprintf(out, "%" PRId64, o->imm);
		break;
	case OPERAND_FLOAT:
		fprintf(out, "float:%" PRIx64, (uint64_t)o->imm);
		break;
	case OPERAND_SYMBOL:
		fputc('&', out);
		print_name(module, function_symbol(fn, o->id)->name, out);
		print_offset(operand_offset(fn, o), out);
		break;
	case OPERAND_LABEL:
		fprintf(out, "label:%" PRIu32 ":", o->id);
		print_name(module, fn->labels[o->id].name, out);
		break;
	case OPERAND_SPECIAL:
		print_name(module, o->id, out);
		break;
	case OPERAND_NAME:
		fputc('?', out);
		print_name(module, o->id, out);
		break;
	case OPERAND_MEM:
	case OPERAND_LIST:
	case OPERAND_PAIR:
	case OPERAND_TUPLE:
		break;
	}
}

void dump_operand(const struct function *fn, const struct operand *operand, FILE *out)
{
	struct frame stack[4100];
	uint32_t depth = 0;

	if (!operand_has_children(operand)) {
		print_leaf(fn, operand, out);
		return;
	}
	stack[depth++] = (struct frame){operand, 0};
	fputs(opening(operand), out);
	while (depth) {
		struct frame *frame = &stack[depth - 1];

		if (frame->next == operand_count(frame->operand)) {
			fputs(closing(frame->operand), out);
			depth--;
			continue;
		}
		fputs(separator(frame->operand, frame->next), out);
		const struct operand *child = operand_child(fn, frame->operand, frame->next++);

		if (!operand_has_children(child)) {
			print_leaf(fn, child, out);
			continue;
		}
		fputs(opening(child), out);
		stack[depth++] = (struct frame){child, 0};
	}
}

void dump_insn(const struct function *fn, const struct insn *insn, FILE *out)
{
	if (insn->guard != NONE) {
		fprintf(out, "@%s", insn->guard_negated ? "!" : "");
		print_reg(fn, insn->guard, out);
		fputc(' ', out);
	}
	if (insn->op == OP_UNKNOWN) {
		const char *word = fn->module->source->text + insn_opcode_at(fn, insn).begin;

		fprintf(out, "unknown:%.*s", (int)strcspn(word, ". \t\r\n\f/"), word);
	} else {
		fputs(opcode_text(insn->op), out);
	}
	for (uint32_t i = 0; i < insn->nmods; i++)
		fprintf(out, ".%s",
			insn->mods[i] == MOD_UNKNOWN ? "?" : modifier_text(insn->mods[i]));
	for (uint32_t i = 0; i < insn->count; i++) {
		fputs(i ? ", " : " ", out);
		dump_operand(fn, insn_operand(fn, insn, i), out);
	}
}

static void dump_table(const struct function *fn, uint32_t i, FILE *out)
{
	static const char *const kinds[] = {"branchtargets", "calltargets", "callprototype"};
	const struct table *table = &fn->tables[i];

	fprintf(out, "table %" PRIu32 " %s%s", i, kinds[table->kind],
		table->noreturn ? " noreturn" : "");
	for (uint32_t j = 0; j < table->n; j++)
		fprintf(out, " %" PRIu32, table->v[j]);
	fputc('\n', out);
}

/* Labels and marks before instruction i (or at the end). */
static void dump_before(const struct function *fn, uint32_t i, uint32_t *label, FILE *out)
{
	for (; *label < fn->nlabels && fn->labels[*label].insn <= i; ++*label) {
		fputs("  ", out);
		print_name(fn->module, fn->labels[*label].name, out);
		fprintf(out, ": # label %" PRIu32, *label);
		if (fn->labels[*label].table != NONE)
			fprintf(out, ", table %" PRIu32, fn->labels[*label].table);
		fputc('\n', out);
	}
}

void dump_function(const struct function *fn, FILE *out)
{
	static const char *const hints[] = {
		"ignore", "off", "on", "generic", "async", "neutral", "invalid"};
	const struct function_info *info = &fn->module->functions[fn->index];
	uint32_t label = 0;

	fputs("body ", out);
	print_name(fn->module, info->symbol == NONE ? NONE : fn->module->symbols[info->symbol].name,
		out);
	fputc('\n', out);
	for (uint32_t i = 0; i < fn->nsymbols; i++)
		dump_symbol(fn->module, fn->module->nsymbols + i, &fn->symbols[i], out);
	for (uint32_t i = 0; i < fn->ntables; i++)
		dump_table(fn, i, out);
	for (uint32_t i = 0; i < fn->nhints; i++) {
		fprintf(out, "hint %s before %" PRIu32 " ", hints[fn->hints[i].kind],
			fn->hints[i].before);
		print_slice(fn->hints[i].reason, out);
		fputc('\n', out);
	}
	for (uint32_t i = 0; i < fn->npragmas; i++) {
		fprintf(out, "pragma before %" PRIu32 " ", fn->pragmas[i].before);
		print_slice(fn->pragmas[i].text, out);
		fputc('\n', out);
	}
	for (uint32_t i = 0; i < fn->ninsns; i++) {
		dump_before(fn, i, &label, out);
		fprintf(out, "%4" PRIu32 " ", i);
		dump_insn(fn, &fn->insns[i], out);
		uint32_t loc = insn_loc(fn, &fn->insns[i]);

		if (loc != NONE)
			fprintf(out, " # %" PRIu32 ":%" PRIu32, fn->locs[loc].file, fn->locs[loc].line);
		fputc('\n', out);
	}
	dump_before(fn, fn->ninsns, &label, out);
}
