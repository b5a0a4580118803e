/* SPDX-License-Identifier: Apache-2.0 */
/* The word tables: sorted, complete against a census (the file argued), types with their widths. */
#include "parser/words.h"
#include "parser/ptx.tab.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *census;

static void test_words_are_sorted_and_found(void **state)
{
	(void)state;
	for (int i = 1; i < OP_COUNT; i++) {
		const char *text = opcode_text((enum opcode)i);

		assert_int_equal(opcode_find(text, strlen(text)), i);
		assert_true(strcmp(opcode_text((enum opcode)(i - 1)), text) < 0);
	}
	for (int i = 1; i < MOD_COUNT; i++) {
		const char *text = modifier_text((enum modifier)i);

		assert_int_equal(modifier_find(text, strlen(text)), i);
		assert_true(strcmp(modifier_text((enum modifier)(i - 1)), text) < 0);
	}
	assert_int_equal(opcode_find("ad", 2), OP_UNKNOWN);
	assert_int_equal(opcode_find("addx", 4), OP_UNKNOWN);
	assert_int_equal(modifier_find("shared::ct", 10), MOD_UNKNOWN);
	assert_string_equal(
		modifier_text(MOD_mbarrier__complete_tx__bytes), "mbarrier::complete_tx::bytes");
}

static void test_words_of_the_census_are_known(void **state)
{
	FILE *file = fopen(census, "r");
	char line[128];

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		size_t size = strcspn(line, "\n");

		line[size] = '\0';
		if (line[0] == '#')
			continue;
		if (line[0] == '.' ? modifier_find(line + 1, size - 1) == MOD_UNKNOWN
				   : opcode_find(line, size) == OP_UNKNOWN)
			fail_msg("%s is not known", line);
	}
	fclose(file);
}

static void test_words_types(void **state)
{
	static const struct {
		enum modifier mod;
		uint32_t bits;
	} rows[] = {{MOD_pred, 1}, {MOD_b8, 8}, {MOD_s16, 16}, {MOD_f32, 32}, {MOD_u64, 64},
		{MOD_b128, 128}, {MOD_f16x2, 32}, {MOD_bf16, 16}, {MOD_bf16x2, 32},
		{MOD_texref, 64}, {MOD_sp, 0}, {MOD_up, 0}, {MOD_shared, 0}, {MOD_v4, 0},
		{MOD_block16, 0}, {MOD_e4m3x2, 0}, {MOD_UNKNOWN, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(modifier_type_bits(rows[i].mod), rows[i].bits);
}

static void test_words_specials_and_directives(void **state)
{
	(void)state;
	assert_int_equal(special_find("%tid.x", 6), SPECIAL_TID_X);
	assert_int_equal(special_find("%cluster_ctarank", 16), SPECIAL_CLUSTER_CTARANK);
	assert_int_equal(special_find("%lanemask_lt", 12), SPECIAL_LANEMASK);
	assert_int_equal(special_find("%clock_hi", 9), SPECIAL_CLOCK);
	assert_int_equal(special_find("%tid", 4), SPECIAL_TID);
	assert_int_equal(special_find("%ctaid", 6), SPECIAL_OTHER);
	assert_int_equal(directive_find("version", 7), TOK_VERSION);
	assert_int_equal(directive_find("weak", 4), TOK_WEAK);
	assert_int_equal(directive_find("address_size", 12), TOK_ADDRESS_SIZE);
	assert_int_equal(directive_find("language", 8), 0);
	assert_int_equal(header_directive_find("reqntid", 7), DIRECTIVE_REQNTID);
	assert_int_equal(header_directive_find("maxnreg", 7), DIRECTIVE_COUNT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_are_sorted_and_found),
		cmocka_unit_test(test_words_of_the_census_are_known),
		cmocka_unit_test(test_words_types),
		cmocka_unit_test(test_words_specials_and_directives),
	};

	census = argc > 1 ? argv[1] : "tests/data/census.txt";
	return cmocka_run_group_tests(tests, NULL, NULL) ? 99 : 0;
}
