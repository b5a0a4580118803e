/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What language cases cannot say in few lines: limits, large inputs, cut files, several errors,
 * modules that are passed over, hints, running out of memory.
 */
#include "parse_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct text { /* grows; what a test builds */
	char *v;
	size_t n;
	FILE *out;
};

static struct text *text_new(void)
{
	struct text *text = calloc(1, sizeof(*text));

	text->out = open_memstream(&text->v, &text->n);
	return text;
}

static void repeat(struct text *text, const char *part, uint32_t times)
{
	while (times--)
		fputs(part, text->out);
}

static void text_free(struct text *text)
{
	free(text->v);
	free(text);
}

static void expect_ok(struct text *text)
{
	fclose(text->out);
	struct run *run = parse(text->v, text->n);

	if (!run->ok)
		fail_msg("%s", run->diags.v[0].message);
	run_end(run);
	text_free(text);
}

static void expect_error(struct text *text, uint32_t line, uint32_t column, const char *message)
{
	fclose(text->out);
	struct run *run = parse(text->v, text->n);

	assert_false(run->ok);
	assert_string_equal(run->diags.v[0].message, message);
	assert_int_equal(source_line(&run->source, run->diags.v[0].at.begin), line);
	assert_int_equal(source_column(&run->source, run->diags.v[0].at.begin), column);
	run_end(run);
	text_free(text);
}

static struct text *nested(const char *before, const char *open, const char *inside,
	const char *close, const char *after, uint32_t depth)
{
	struct text *text = text_new();

	fputs(before, text->out);
	repeat(text, open, depth);
	fputs(inside, text->out);
	repeat(text, close, depth);
	fputs(after, text->out);
	return text;
}

static void test_parse_nesting_limit(void **state)
{
	static const struct {
		const char *before, *open, *inside, *close, *after;
		uint32_t taken; /* levels that `before` opens */
	} rows[] = {
		{HEAD ".entry k()", "{", "ret;", "}", "\n", 0},
		{HEAD ".entry k(){.reg .b32 r; mov.b32 r, ", "(", "1", ")", ";}\n", 1},
		{HEAD ".entry k(){.reg .b32 r; foo r, ", "{", "r", "}", ";}\n", 1},
		{HEAD ".entry k(){.reg .b32 r; foo r, ", "[r, ", "r", "]", ";}\n", 1},
		{HEAD ".global .b32 x[] = ", "{", "1", "}", ";\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t depth = 4096 - rows[i].taken;
		uint32_t column = (uint32_t)(strlen(rows[i].before) - strlen(HEAD) +
					     strlen(rows[i].open) * depth + 1);

		expect_ok(nested(rows[i].before, rows[i].open, rows[i].inside, rows[i].close,
			rows[i].after, depth));
		expect_error(nested(rows[i].before, rows[i].open, rows[i].inside, rows[i].close,
				     rows[i].after, depth + 1),
			2, column, "nesting deeper than 4096 levels");
	}
}

static void test_parse_deep_expressions(void **state)
{
	static const char before[] = HEAD ".entry k(){.reg .b32 r; mov.b32 r, ";
	struct text *text;

	(void)state;
	expect_ok(nested(before, "- ", "1", "", ";}", 4000));
	expect_ok(nested(before, "1+", "1", "", ";}", 200000));
	expect_ok(nested(before, "1?2:", "1", "", ";}", 1000));
	text = nested(before, "- ", "1", "", ";}", 300000);
	fclose(text->out);
	struct run *run = parse(text->v, text->n);

	assert_false(run->ok);
	assert_string_equal(run->diags.v[0].message, "nesting deeper than 4096 levels");
	run_end(run);
	text_free(text);
}

static void test_parse_large_pieces(void **state)
{
	struct text *text = text_new();

	(void)state;
	fputs(HEAD ".global .align 4 .b8 big[500000] = {1", text->out);
	repeat(text, ", 255", 100000);
	fputs("};\n.entry ", text->out);
	repeat(text, "identifier", 160);
	fputs("(){\n.reg .b32 ", text->out);
	repeat(text, "long", 400);
	fputs(";\nadd.u32 ", text->out);
	repeat(text, "long", 400);
	fputs(",\n", text->out);
	repeat(text, "long", 400);
	repeat(text, "\n// a statement of many lines\n", 60);
	fputs(", 1\n;\n", text->out);
	repeat(text, "ret;", 1000);
	fputs("}\n", text->out);
	expect_ok(text);
}

/* Every prefix of a file is read without harm; the whole is taken. */
static void test_parse_cut_files(void **state)
{
	static const char text[] = HEAD
		".global .b32 x[2] = {1, 2};\n// fencepost: ignore why\n"
		".func (.param .b32 r) f(.param .b32 a) { ret; }\n"
		".entry k(.param .u64 p) .maxntid 32, 1, 1\n{\n.reg .pred %p; .reg .b32 %r<5>;\n"
		".loc 1 2 3, function_name x, inlined_at 1 2 3\n"
		"{ .param .b32 a; st.param.b32 [a+0], %r1; call (a), f, (a); }\n"
		"t: .branchtargets L, M; @%p brx.idx %r1, t; L: M: /* c */ .pragma \"nounroll\";\n"
		"@!%p bra L; add.s32 %r1, %r2, (1+2)*3 ? 4 : 5; tex.2d.v4.f32.s32 {%r1, _}, [x, "
		"{%r1}];\n}\n";

	(void)state;
	for (size_t size = 0; size < sizeof(text); size++) {
		struct run *run = parse(text, size);

		if (size == sizeof(text) - 1)
			assert_true(run->ok);
		assert_true(run->ok || run->diags.errors);
		run_end(run);
	}
}

static void test_parse_out_of_memory(void **state)
{
	static const char text[] =
		HEAD ".entry k(.param .u64 p)\n{\n.reg .b32 %r<5>;\n// fencepost: on\n"
		     "L: add.s32 %r1, %r2, 3; bra L; t: .branchtargets L;\n}\n";

	(void)state;
	for (size_t limit = 16; limit < 8192; limit += 16) {
		struct run *run = parse_limited(text, sizeof(text) - 1, limit);

		if (run) {
			assert_true(run->ok);
			run_end(run);
			return;
		}
	}
	fail_msg("never enough memory");
}

static void test_parse_several_errors(void **state)
{
	static const char text[] = HEAD ".entry k()\n{\nadd.s32 a b;\nret;\nmov.b32 [a;\n}\n"
					".global .b32 = 1;\n.entry l()\n{\n  foo bar baz;\n}\n";
	static const char *const expected[] = {
		"4:11: expected ',' or ';', saw 'b'",
		"6:11: expected ',' or ']', saw ';'",
		"8:14: expected a type or name, saw '='",
		"11:11: expected ',' or ';', saw 'baz'",
	};

	(void)state;
	struct run *run = parse(text, sizeof(text) - 1);

	assert_int_equal(run->diags.n, 4);
	for (uint32_t i = 0; i < run->diags.n; i++) {
		char line[200];

		snprintf(line, sizeof(line), "%u:%u: %s",
			source_line(&run->source, run->diags.v[i].at.begin),
			source_column(&run->source, run->diags.v[i].at.begin),
			run->diags.v[i].message);
		assert_string_equal(line, expected[i]);
	}
	run_end(run);
}

/* Spec 2.8: of a module without the async proxy only the header is read. */
static void test_parse_passes_over_old_modules(void **state)
{
	static const struct {
		const char *text;
		uint32_t modules, functions;
		bool first_has_proxies;
	} rows[] = {
		{".version 7.8\n.target sm_90\nany }{ thing \x01", 1, 0, false},
		{".version 8.0\n.target sm_89\nany thing", 1, 0, false},
		{".version 8.0\n.target sm_90\n.entry k(){}", 1, 1, true},
		{".version 8.0\n.target compute_90a\n.entry k(){}", 1, 1, true},
		{".version 10.1\n.target sm_120f, debug\n.entry k(){}", 1, 1, true},
		{".version 8.0\n.target sm_next\n.entry k(){}", 1, 1, true},
		{".version 7.0 .target sm_70 \".version 8.0\" // .version 8.0\n/* .version 8.0 */\n"
		 ".version 8.0 .target sm_90 .entry k(){} .entry l(){}",
			2, 2, false},
		{".version 8.0 .target sm_90 .entry k(){}\n.version 6.0 .target sm_60 ???", 2, 1,
			true},
		{"// hello\n.version 8.0 /*x*/ .target sm_52, texmode_independent\n???", 1, 0,
			false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run *run = parse(rows[i].text, strlen(rows[i].text));
		uint32_t functions = 0;

		assert_true(run->ok);
		assert_int_equal(run->modules.n, rows[i].modules);
		for (uint32_t j = 0; j < run->modules.n; j++)
			functions += run->modules.v[j].nfunctions;
		assert_int_equal(functions, rows[i].functions);
		assert_int_equal(run->modules.v[0].proxies, rows[i].first_has_proxies);
		run_end(run);
	}
}

static void test_parse_notes_newer_versions(void **state)
{
	static const struct {
		const char *text;
		uint32_t notes;
	} rows[] = {
		{".version 9.5 .target sm_90", 0},
		{".version 9.6 .target sm_90", 1},
		{".version 10.0 .target sm_90", 1},
		{".version 8.9 .target sm_90", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run *run = parse(rows[i].text, strlen(rows[i].text));

		assert_true(run->ok);
		assert_int_equal(run->diags.errors, 0);
		assert_int_equal(run->diags.n, rows[i].notes);
		run_end(run);
	}
}

static void test_parse_scan_flags(void **state)
{
	static const struct {
		const char *body;
		const char *flags; /* a: async f: fence c: call s: shared h: hint u: unknown */
	} rows[] = {
		{"add.u32 %r1, %r1, 1;", ""},
		{"@%p1 ret; bra L; L: // comment\n", ""},
		{"ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r1;", ""},
		{"ld.shared.u32 %r1, [%r1];", "s"},
		{"st.volatile.shared.u32 [%r1], %r1;", "s"},
		{"st.u32 [%rd1], %r1;", "s"},
		{"cp.async.bulk.commit_group;", "a"},
		{"cp.async.cg.shared.global [%r1], [%rd1], 16;", "s"},
		{"cp .async.bulk.commit_group;", "as"},
		{"cp.async.commit_group;", ""},
		{"mbarrier.init.shared.b64 [%r1], 1;", "as"},
		{"mbarrier.arrive.shared.b64 _, [%r1];", "s"},
		{"tensormap.replace.x [%rd1], 0;", "afs"},
		{"st.global.async.bulk.b32 [%rd1], %r1;", "as"},
		{"st.shared.moon.async.bulk.b32 [%r1], %r1;", "as"},
		{"bar.async.bulk 0;", "as"},
		{"st.async.release.global.gpu.b32 [%rd1], %r1;", ""},
		{"wgmma.fence.sync.aligned;", "as"},
		{"tcgen05.wait::ld.sync.aligned;", "as"},
		{"clusterlaunchcontrol.try_cancel.async.shared::cta.b128 [%r1], [%r2];", "as"},
		{"multimem.cp.async.bulk.x [%r1], [%r2], 16;", "as"},
		{"@%p1 fence.proxy.async;", "f"},
		{"fence.acq_rel.gpu;", ""},
		{"fence\n.proxy.async;", "f"},
		{"call f, (%r1);", "c"},
		{"call.uni f;", "c"},
		{"@%p1 call f;", "c"},
		{"frobnicate.b32 %r1, %r2;", "asu"},
		{"frobnicate {%r1}, (1+2);", "asu"},
		{"// fencepost: ignore x\n", "h"},
		{"add.u32 %r1, %r1, 1; //fencepost:off\n", "h"},
		{"/* fencepost: ignore */", ""},
		{"// hello fencepost: ignore\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[512], flags[8] = "";

		snprintf(text, sizeof(text), HEAD ".entry k(){\nret;%s\n}", rows[i].body);
		struct run *run = parse(text, strlen(text));
		const struct function_info *fn = &run->modules.v[0].functions[0];

		snprintf(flags, sizeof(flags), "%s%s%s%s%s%s", fn->may_async ? "a" : "",
			fn->may_fence ? "f" : "", fn->may_call ? "c" : "",
			fn->may_shared ? "s" : "", fn->may_hint ? "h" : "",
			fn->may_unknown ? "u" : "");
		assert_string_equal(flags, rows[i].flags);
		run_end(run);
	}
}

static void test_parse_hints(void **state)
{
	static const char text[] = HEAD
		"// fencepost: off outside of any body\n.entry k(){\n"
		"// fencepost: ignore reads its own bytes  \r\nret; // fencepost: off\n"
		"//fencepost:on\nadd.u32 %r1, // fencepost: generic\n 1, 2;\n"
		"{ // fencepost:   async because\n}\n// fencepost: neutral\n// fencepost: what\n"
		"trap;\n// fencepost:\n}\n// fencepost: on\n";
	static const struct {
		enum hint_kind kind;
		uint32_t before;
		const char *reason;
	} rows[] = {
		{HINT_IGNORE, 0, "reads its own bytes"},
		{HINT_OFF, 1, ""},
		{HINT_ON, 1, ""},
		{HINT_GENERIC, 2, ""},
		{HINT_ASYNC, 2, "because"},
		{HINT_NEUTRAL, 2, ""},
		{HINT_INVALID, 2, ""},
		{HINT_INVALID, 3, ""},
	};
	struct run *run = parse(text, sizeof(text) - 1);
	struct function fn;

	(void)state;
	assert_true(parse_function(&run->modules.v[0], 0, &run->body, &fn, &run->diags));
	assert_int_equal(fn.nhints, sizeof(rows) / sizeof(*rows));
	for (uint32_t i = 0; i < fn.nhints; i++) {
		assert_int_equal(fn.hints[i].kind, rows[i].kind);
		assert_int_equal(fn.hints[i].before, rows[i].before);
		assert_int_equal(fn.hints[i].reason.size, strlen(rows[i].reason));
		assert_memory_equal(
			fn.hints[i].reason.text, rows[i].reason, fn.hints[i].reason.size);
	}
	run_end(run);
}

/* `.pragma "used_bytes_mask"` binds to the load behind it. */
static void test_parse_places_to_insert(void **state)
{
	static const char text[] =
		HEAD ".entry k(){\n.pragma \"used_bytes_mask 3\";\nret;\n"
		     ".pragma \"nounroll\";\n@%p1 ret;\nL: trap;\n"
		     "// fencepost: ignore the next\n// fencepost: ignore it\n ret;\n"
		     "// fencepost: ignore the next\nM: ret;\n"
		     "// fencepost: off for now\nret;\n// fencepost: on\n}";
	struct run *run = parse(text, sizeof(text) - 1);
	struct function fn;

	(void)state;
	assert_true(parse_function(&run->modules.v[0], 0, &run->body, &fn, &run->diags));
	assert_int_equal(source_line(&run->source, insn_insert_at(&fn, 0)), 3);
	assert_int_equal(insn_insert_at(&fn, 1), fn.insns[1].at.begin);
	assert_int_equal(run->source.text[fn.insns[1].at.begin], '@');
	assert_memory_equal(run->source.text + fn.insns[2].at.begin, "trap;", 5);
	assert_int_equal(fn.insns[2].at.end - fn.insns[2].at.begin, 5);
	/* an `ignore` stays with its instruction, an `off` before its range; a label does not move
	 */
	assert_int_equal(source_line(&run->source, insn_insert_at(&fn, 3)), 8);
	assert_int_equal(insn_insert_at(&fn, 4), fn.insns[4].at.begin);
	assert_memory_equal(run->source.text + insn_insert_at(&fn, 5), "// fencepost: off", 17);
	assert_int_equal(run->source.text[fn.end_at.begin], '}');
	run_end(run);
}

/* What stands between an `ignore` and its instruction, and whether text put before the instruction
 * goes before the `ignore`. */
static void test_parse_places_past_hints(void **state)
{
	static const struct {
		const char *between;
		bool past;
	} rows[] = {{"\n", true}, {"\n\t// end inline asm\n", true}, {" /* a: */ /* b */\n", true},
		{"\n.loc 1 2 3\n", true},
		{"\n.loc\t1 2 3, function_name $L, inlined_at 1 4 5\n", true},
		{"\n// fencepost: neutral\n", true}, {"\n{\n", false}, {"\n.reg .b32 %q;\n", false},
		{"\nL:\n", false}, {"\n.loc 1 2 3 L:\n", false}, {"\n.loc 1 2 3\nL:\n", false},
		{"\n// fencepost: on\n", false}};
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int n = snprintf(text, sizeof(text),
			HEAD ".file 1 \"a.cu\"\n.entry k(){\n// fencepost: off it\ntrap;\n"
			     "// fencepost: ignore it%sret;\n%s}",
			rows[i].between, strchr(rows[i].between, '{') ? "}" : "");
		struct run *run = parse(text, (size_t)n);
		struct function fn;

		assert_true(parse_function(&run->modules.v[0], 0, &run->body, &fn, &run->diags));
		assert_int_equal(insn_insert_at(&fn, 1),
			rows[i].past ? fn.hints[1].at.begin : fn.insns[1].at.begin);
		run_end(run);
	}
}

/* What an operand is must not change when a fence with an undeclared guard comes or goes; a guard
 * that is declared is the register that its operands are. */
static void test_parse_undeclared_guards(void **state)
{
	static const struct {
		const char *body;
		bool same;
	} rows[] = {{"@%p1 fence.proxy.async; setp.eq.u32 %p1, 1, 1; @%p1 trap;", false},
		{"@%p1 trap; setp.eq.u32 %p1, 1, 1; @%p1 fence.proxy.async;", false},
		{".reg .pred %p1; @%p1 trap; setp.eq.u32 %p1, 1, 1; @!%p1 trap;", true}};
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int n = snprintf(text, sizeof(text), HEAD ".entry k(){\n%s ret;\n}", rows[i].body);
		struct run *run = parse(text, (size_t)n);
		struct function fn;

		assert_true(parse_function(&run->modules.v[0], 0, &run->body, &fn, &run->diags));
		const struct operand *set = insn_operand(&fn, &fn.insns[1], 0);

		assert_int_not_equal(fn.insns[0].guard, NONE);
		assert_int_equal(fn.insns[0].guard == fn.insns[2].guard, rows[i].same);
		assert_int_equal(
			set->kind == OPERAND_REG && set->id == fn.insns[0].guard, rows[i].same);
		run_end(run);
	}
}

/* What no instruction holds is found in its text, whatever stands between the words. */
static void test_parse_opcode_found(void **state)
{
	static const struct {
		const char *statement, *opcode;
	} rows[] = {{"add.u32 %r1,%r1,1;", "add.u32"}, {"@%p1 add.u32 %r1,%r1,1;", "add.u32"},
		{"@!%p1\tadd.u32\n%r1,%r1,1;", "add.u32"}, {"@ ! %p1 add.u32 %r1,%r1,1;", "add.u32"},
		{"@%p1 // a.comment\n add.u32 %r1,%r1,1;", "add.u32"}, {"mov.u32%r1,1;", "mov.u32"},
		{"add .u32 %r1,%r1,1;", "add .u32"}, {"add /* a.comment */ .u32 %r1,%r1,1;", "add /* a.comment */ .u32"},
		{"add.u32 // .s32\n%r1,%r1,1;", "add.u32"}, {"@/**/%p1 add\n#line 1\n.u32 %r1,%r1,1;", "add\n#line 1\n.u32"},
		{"bar.sync 0;", "bar.sync"}, {"ld.shared::cta.u32 %r1,[%r1];", "ld.shared::cta.u32"}, {"ret;", "ret"}};
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int n = snprintf(text, sizeof(text),
			HEAD ".entry k(){\n.reg .pred %%p<2>;\n.reg .b32 %%r<2>;\n%s\nret;\n}", rows[i].statement);
		struct run *run = parse(text, (size_t)n);
		struct function fn;

		assert_true(parse_function(&run->modules.v[0], 0, &run->body, &fn, &run->diags));
		struct span at = insn_opcode_at(&fn, &fn.insns[0]);

		assert_int_equal(at.end - at.begin, strlen(rows[i].opcode));
		assert_memory_equal(text + at.begin, rows[i].opcode, at.end - at.begin);
		run_end(run);
	}
}

static void test_parse_loc_found(void **state)
{
	static const char text[] = HEAD ".file 1 \"a.cu\"\n.entry k(){\nbar.sync 0; .loc 1 2 3\nbar.sync 0; bar.sync 0;\n"
					".loc 1 4 5\n.loc 1 6 7\nret;\n}";
	static const uint32_t lines[] = {NONE, 2, 2, 6};
	struct run *run = parse(text, sizeof(text) - 1);
	struct function fn;

	(void)state;
	assert_true(parse_function(&run->modules.v[0], 0, &run->body, &fn, &run->diags));
	for (uint32_t i = 0; i < fn.ninsns; i++) {
		uint32_t loc = insn_loc(&fn, &fn.insns[i]);

		assert_int_equal(loc == NONE ? NONE : fn.locs[loc].line, lines[i]);
	}
	run_end(run);
}

/* As many modifiers as no instruction has are an error. */
static void test_parse_too_many_modifiers(void **state)
{
	char text[2000] = HEAD ".entry k(){\nadd";
	struct run *run;
	struct function fn;

	(void)state;
	for (int i = 0; i <= INSN_PARTS_MOST; i++)
		strcat(text, ".u32");
	strcat(text, " a,a,a;\nret;\n}");
	run = parse(text, strlen(text));
	assert_false(parse_function(&run->modules.v[0], 0, &run->body, &fn, &run->diags));
	run_end(run);
}

/* A comment in the midst of a directive is no place to put an instruction. */
static void test_parse_no_place_in_directives(void **state)
{
	static const char *const rows[] = {".reg .b32 // fencepost: ignore it\n%r<4>;\nret;",
		".loc 1 2 // fencepost: ignore it\n3\nret;", "L // fencepost: ignore it\n:\nret;"};
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int n = snprintf(
			text, sizeof(text), HEAD ".file 1 \"a.cu\"\n.entry k(){\n%s\n}", rows[i]);
		struct run *run = parse(text, (size_t)n);
		struct function fn;

		assert_true(parse_function(&run->modules.v[0], 0, &run->body, &fn, &run->diags));
		assert_int_equal(fn.nhints, 1);
		assert_int_equal(insn_insert_at(&fn, 0), fn.insns[0].at.begin);
		run_end(run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_nesting_limit),
		cmocka_unit_test(test_parse_deep_expressions),
		cmocka_unit_test(test_parse_large_pieces),
		cmocka_unit_test(test_parse_cut_files),
		cmocka_unit_test(test_parse_out_of_memory),
		cmocka_unit_test(test_parse_several_errors),
		cmocka_unit_test(test_parse_passes_over_old_modules),
		cmocka_unit_test(test_parse_notes_newer_versions),
		cmocka_unit_test(test_parse_scan_flags),
		cmocka_unit_test(test_parse_hints),
		cmocka_unit_test(test_parse_places_to_insert),
		cmocka_unit_test(test_parse_places_past_hints),
		cmocka_unit_test(test_parse_undeclared_guards),
		cmocka_unit_test(test_parse_opcode_found),
		cmocka_unit_test(test_parse_loc_found),
		cmocka_unit_test(test_parse_too_many_modifiers),
		cmocka_unit_test(test_parse_no_place_in_directives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 99 : 0;
}
