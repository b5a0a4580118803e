/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements are read by a fast run where it knows them and by the grammar elsewhere: both build
 * the same, and refuse the same. Arguments: PTX files.
 */
#include "parse_run.h"
#include "parser/build.h"
#include "parser/dump.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const *files;
static int nfiles;

static char *dump_body(const struct function *fn)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	dump_function(fn, out);
	for (uint32_t i = 0; i < fn->ninsns; i++)
		fprintf(out, "%u-%u %u-%u %u\n", fn->insns[i].at.begin, fn->insns[i].at.end,
			insn_opcode_at(fn, &fn->insns[i]).begin, insn_opcode_at(fn, &fn->insns[i]).end,
			insn_insert_at(fn, i));
	for (uint32_t i = 0; i < fn->noperands; i++)
		fprintf(out, "%u %u\n", fn->operands[i].kind, fn->operands[i].id);
	for (uint32_t i = 0; i < fn->nregs; i++)
		fprintf(out, "%u %u\n", fn->regs[i].type, fn->regs[i].vector);
	fclose(out);
	return text;
}

/* The opcode of each instruction, put together again, is what its text says. */
static void check_opcodes(const struct function *fn)
{
	for (uint32_t i = 0; i < fn->ninsns; i++) {
		const struct insn *insn = &fn->insns[i];
		char text[200];
		size_t n = (size_t)snprintf(text, sizeof(text), "%s", opcode_text((enum opcode)insn->op));
		struct span at = insn_opcode_at(fn, insn);
		const char *said = fn->module->source->text + at.begin;
		size_t size = at.end - at.begin;

		for (uint32_t j = 0; j < insn->nmods; j++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, ".%s",
				modifier_text((enum modifier)insn->mods[j]));
		if (insn->op == OP_UNKNOWN || insn_has(insn, MOD_UNKNOWN) || memchr(said, ' ', size))
			continue;
		assert_int_equal(n, size);
		assert_memory_equal(text, said, size);
	}
}

static void compare_bodies(const struct module *module, uint32_t index)
{
	jmp_buf failed;
	struct arena arena;
	struct function one, other;
	struct diags diags = {0};

	if (setjmp(failed))
		abort();
	arena_init(&arena, &failed);
	assert_true(parse_function(module, index, &arena, &one, &diags));
	assert_int_equal(module->functions[index].ninsns, one.ninsns);
	check_opcodes(&one);
	char *fast = dump_body(&one);

	assert_true(parse_function_by_tokens(module, index, &arena, &other, &diags));
	char *slow = dump_body(&other);

	assert_string_equal(fast, slow);
	assert_int_equal(one.nlocs, other.nlocs);
	if (one.nlocs)
		assert_memory_equal(one.locs, other.locs, one.nlocs * sizeof(*one.locs));
	free(fast);
	free(slow);
	arena_free(&arena);
}

static void test_parse_runs_build_what_the_grammar_builds(void **state)
{
	static const char body[] = HEAD
		".func (.param .b32 r) f(.param .b32 a);\n.entry k(.param .u64 p)\n{\n"
		".reg .pred %p<3>, done;\n.reg .b32 %r < 9 >, x;\n.reg .v4 .f32 v;\n.reg .b64 "
		"%rd<4>;\n"
		".shared .align 8 .b8 buf[64];\n.loc 1 2 3\nmov.u32 %r1 , %tid.x;\n"
		".loc 1 4 5, function_name $L_s0, inlined_at 1 2 3\nmov.u32 %r1, 1;\n"
		".loc 2 4 5 ,function_name s, inlined_at 1 2 3 add.s32 %r1, %r1, 1;\n"
		".loc 1 6 7 // a comment\n mov.u32 %r1, 2; .loc 1 8 9, function_name s+4, "
		"inlined_at 1 2 3\n"
		"mov.u32 %r1, 3; .loc 1 10 11 // a comment\n, inlined_at 1 2 3\nmov.u32 %r1, 4;\n"
		"L1 : @!%p1 add.s32 %r2, %r1, -4; // a comment\n"
		"@%p1\tld.shared.v2.u32 { %r1 , _ } , [ buf + -8 ];\nst.shared.f32 [%r1+0x10], "
		"v.x;\n"
		"setp.eq.u32 %p1|%p2, %r1, 0xff; selp.b32 %r1, %r2, 0, !%p1;\n"
		"mov.f64 %rd1, 0d3ff0000000000000; mov.b32 %r1, 0F3f800000; bra.uni L1; bra L1 ;\n"
		"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
		"[%r1], [%rd1, {%r1, %r2}], [buf];\n"
		"{ .reg .b32 %r1; .param .align 4 .b8 q[ 4]; .param .b32 z; mov.u32 %r1, buf; bra "
		"L2; L2: }\n"
		"{\n.param .b32 a; st.param.b32 [a+0], %r1; .param .align 16 .b8 b[16]; .param "
		".b32 r;\n"
		"call.uni (r) , f , ( a ) ; call f, (); call f; ld.param.b32 %r2, [r+0];\n}\n"
		"add.s32 %r1, %r1, %r2; { .reg .b32 %r<2>; add.s32 %r1, %r1, %r2; { .reg .b32 %r2; "
		"sub.s32 %r2, %r2, %r1; } }\nsub.s32 %r2, %r2, {%r1, %r1, x, %r2};\n"
		"WAIT: WA: W: WARP: bra WAIT; bra WA; bra W; bra WARP; mov.u32 %r1, WARP_SZ;\n"
		"sub.s32 %r2, {%r1, %r2, %r3, %r4, %r5,%r6 , %r07, %r8, 7, %r1, %r2, %r3, %r9, %r0, %p1, %rd1, "
		"%r2, %r3, %r10}, {%r5, %r4, %r3, %r2, _, %r1, %r1x, x}, {%r1, %r2, %r3, %r4, %r5}, %r6;\n"
		"sub.s32 %r1, %r2, %r3; sub.u32 %r1, %r2, %r3; sub.s32 %r1, %r2, %r3;\n"
		"ret; @done exit;\n.pragma \"used_bytes_mask 1\"; mov.u32 %r3, %r07;trap;}\n";
	struct run *run = parse(body, sizeof(body) - 1);

	(void)state;
	if (!run->ok)
		fail_msg("%s", run->diags.v[0].message);
	compare_bodies(&run->modules.v[0], 1);
	run_end(run);
	for (int i = 0; i < nfiles; i++) {
		struct source source;
		struct diags diags = {0};

		assert_true(source_read(&source, files[i], &diags));
		run = parse(source.text, source.size);
		for (uint32_t j = 0; j < run->modules.v[0].nfunctions; j++)
			if (run->modules.v[0].functions[j].has_body)
				compare_bodies(&run->modules.v[0], j);
		run_end(run);
		source_free(&source);
	}
}

#define PRODUCT(lists)                                                                             \
	"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " lists ", %rd1, 1, 1, 1, 0;\n"

/* Where the registers of the k-th operand of an instruction are. */
static uint32_t list_at(const struct function *fn, uint32_t insn, uint32_t k)
{
	const struct operand *o = insn_operand(fn, &fn->insns[insn], k);

	assert_int_equal(o->kind, OPERAND_LIST);
	return o->first;
}

/* Those that a product adds to, where they are the same registers as before; not those that it reads. */
static void test_parse_runs_share_accumulators(void **state)
{
	static const char body[] = HEAD
		".entry k()\n{\n.reg .f32 %f<8>;\n.reg .b32 %a<4>;\n.reg .b64 %rd<2>;\n.reg .f32 x;\n"
		PRODUCT("{%f0, %f1}, {%a0, %a1}") PRODUCT("{%f0,%f1}, {%a0, %a1}")
		"add.f32 %f1, %f1, %f2;\n" PRODUCT("{%f0, %f1}, {%a1, %a0}")
		PRODUCT("{%f0, %f2}, {%a0, %a1}") PRODUCT("{%f0}, {%a0, %a1}")
		"{\n.reg .f32 %f<8>;\n" PRODUCT("{%f0}, {%a0, %a1}") PRODUCT("{%f0}, {%a0, %a1}") "}\n"
		PRODUCT("{%f0}, {%a0, %a1}") "{\n.reg .pred p;\n" PRODUCT("{%f0}, {%a0, %a1}") "}\n"
		"{\n.reg .f32 %f0;\n" PRODUCT("{%f0}, {%a0, %a1}") "}\n"
		PRODUCT("{x}, {%a0, %a1}") "{\n.reg .f32 x;\n" PRODUCT("{x}, {%a0, %a1}") "}\n"
		PRODUCT("{_, L}, %rd1") PRODUCT("{_, L}, %rd1") "L: ret;\n}\n";
	struct run *run = parse(body, sizeof(body) - 1);
	jmp_buf failed;
	struct arena arena;
	struct function fn;

	(void)state;
	if (!run->ok)
		fail_msg("%s", run->diags.v[0].message);
	compare_bodies(&run->modules.v[0], 0);
	if (setjmp(failed))
		abort();
	arena_init(&arena, &failed);
	assert_true(parse_function(&run->modules.v[0], 0, &arena, &fn, &run->diags));
	assert_int_equal(list_at(&fn, 0, 0), list_at(&fn, 1, 0));
	assert_int_equal(list_at(&fn, 0, 0), list_at(&fn, 3, 0));
	assert_int_not_equal(list_at(&fn, 0, 1), list_at(&fn, 1, 1));
	assert_int_not_equal(list_at(&fn, 3, 0), list_at(&fn, 4, 0));
	assert_int_not_equal(list_at(&fn, 4, 0), list_at(&fn, 5, 0));
	assert_int_not_equal(list_at(&fn, 5, 0), list_at(&fn, 6, 0));
	assert_int_equal(list_at(&fn, 6, 0), list_at(&fn, 7, 0));
	assert_int_not_equal(list_at(&fn, 7, 0), list_at(&fn, 8, 0));
	assert_int_equal(list_at(&fn, 8, 0), list_at(&fn, 9, 0));
	assert_int_not_equal(list_at(&fn, 9, 0), list_at(&fn, 10, 0));
	assert_int_not_equal(list_at(&fn, 11, 0), list_at(&fn, 12, 0));
	assert_int_not_equal(list_at(&fn, 13, 0), list_at(&fn, 14, 0)); /* a label is settled operand by operand */
	assert_int_equal(fn.nshared, 2 + 2 + 1 + 1);
	arena_free(&arena);
	run_end(run);
}

static bool accepts_fast(
	struct source *source, struct arena *arena, struct names *names, struct modules *modules)
{
	struct diags diags = {0};
	bool ok = parse_modules(source, arena, names, modules, &diags);

	diags_free(&diags);
	return ok;
}

static bool accepts(struct source *source,
	bool (*read)(struct source *, struct arena *, struct names *, struct modules *))
{
	jmp_buf failed;
	struct arena arena;
	struct modules modules;
	struct names *names = names_new();

	if (setjmp(failed))
		abort();
	arena_init(&arena, &failed);
	bool ok = read(source, &arena, names, &modules);

	names_free(names);
	arena_free(&arena);
	return ok;
}

/* Lists of wgmma are passed over by their texts: as elsewhere, and refused as elsewhere. */
static void test_parse_runs_read_lists_of_wgmma(void **state)
{
	static const char *const lists[] = {"{%f17, %f16, %f15}", "{%f17,%f16,  %f15 }", "{ %f17, %f1 , %f2, %f3}",
		"{%f1,\t%f2,\n%f3}", "{%f1, %f2, %f3, 5, %f4}", "{%f1, %f2, a, %f4}", "{%f1, %f2, %f3.x}", "{%f01, %f02}",
		"{%f10, %f11, %r1}", "{%f1, %f1, %f1}", "{%f1}", "{%f123456789, %f123456788}", "{%f1, %f2, %f3 /* */}",
		"{}", "{%f1, }", "{%f1, %f2 %f3}", "{%f1, %f2, %f3, {%f4}}", "{%f1, %f2, %f3", "%f1, %f2}", "{%f1,, %f2}",
		"{%f1, %f2, %f3$}", "{%f1, %f2, %f3;}", "{%f1, %f2, f3}", "{%f1, %f2, %f3|%f4}"};
	static const char *const rests[] = {", %rd1, %rd2, 1, 1, 1;", ";", " ,  {%r1, %r2}, %rd2 ;", ", [%rd1];", "",
		", ;", "; }", " x;", ", %rd1, %rd2, 1, 1, 1"};
	static const char *const opcodes[] = {"wgmma.mma_async.sync.aligned", "wgmma.x::y.z", "wgmma", "wgmmx.a",
		"@%p1 wgmma.mma_async", "wgmma.mma_async .x", "w.x", "wgmma..x", "wgmma.x:y"};
	enum { LISTS = sizeof(lists) / sizeof(*lists), RESTS = sizeof(rests) / sizeof(*rests),
		OPCODES = sizeof(opcodes) / sizeof(*opcodes) };
	uint32_t accepted = 0;

	(void)state;
	for (uint32_t i = 0; i < LISTS * RESTS * OPCODES; i++) {
		char text[600];
		int n = snprintf(text, sizeof(text), HEAD ".entry k()\n{.reg .f32 %%f<18>, %%f123456789, %%f123456788, a, f3;"
			".reg .b32 %%r<3>; .reg .b64 %%rd<3>; .reg .pred %%p<2>;\n%s %s%s\nret;\n}\n",
			opcodes[i % OPCODES], lists[i / OPCODES % LISTS], rests[i / OPCODES / LISTS]);
		struct diags diags = {0};
		struct source source;

		assert_true(source_copy(&source, "text", text, (size_t)n, &diags));
		bool ok = accepts(&source, accepts_fast);

		if (ok != accepts(&source, parse_modules_by_tokens))
			fail_msg("%s", text);
		source_free(&source);
		if (!ok)
			continue;
		struct run *run = parse(text, (size_t)n);

		compare_bodies(&run->modules.v[0], 0);
		run_end(run);
		accepted++;
	}
	assert_true(accepted > 100);
}

/* Takes each file as it is and with one byte changed at many places: both ways of reading agree. */
static void test_parse_runs_agree_with_the_grammar(void **state)
{
	static const char changes[] = ";,{}[]:@%.x0 \n/\"";

	(void)state;
	for (int i = 0; i < nfiles; i++) {
		struct source source;
		struct diags diags = {0};

		assert_true(source_read(&source, files[i], &diags));
		uint32_t step = source.size / 150 + 1;

		assert_true(accepts(&source, accepts_fast));
		for (uint32_t at = 0, n = 0; at < source.size; at += step, n++) {
			char kept = source.text[at];

			source.text[at] = changes[n % (sizeof(changes) - 1)];
			if (accepts(&source, accepts_fast) !=
				accepts(&source, parse_modules_by_tokens))
				fail_msg("%s: byte %u as '%c'", files[i], at, source.text[at]);
			source.text[at] = kept;
		}
		source_free(&source);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_runs_build_what_the_grammar_builds),
		cmocka_unit_test(test_parse_runs_read_lists_of_wgmma),
		cmocka_unit_test(test_parse_runs_agree_with_the_grammar),
		cmocka_unit_test(test_parse_runs_share_accumulators),
	};

	files = (const char *const *)(argv + 1);
	nfiles = argc - 1;
	return cmocka_run_group_tests(tests, NULL, NULL) ? 99 : 0;
}
