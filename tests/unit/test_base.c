/* SPDX-License-Identifier: Apache-2.0 */
/* Sources, names, bit sets, worklists, diagnostics, rules. */
#include "base/agenda.h"
#include "base/bits.h"
#include "base/budget.h"
#include "base/diag.h"
#include "base/names.h"
#include "base/rules.h"
#include "base/source.h"
#include "lexer/plain_numbers.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void test_source_places(void **state)
{
	static const struct {
		uint32_t offset, line, column;
	} rows[] = {{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1}, {7, 3, 4}, {8, 4, 1}, {9, 4, 2}};
	struct source source;
	struct diags diags = {0};

	(void)state;
	assert_true(source_copy(&source, "x", "ab\n\nde\r\nf", 9, &diags));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(source_line(&source, rows[i].offset), rows[i].line);
		assert_int_equal(source_column(&source, rows[i].offset), rows[i].column);
	}
	struct slice line = source_line_text(&source, 3);

	assert_int_equal(line.size, 2);
	assert_memory_equal(line.text, "de", 2);
	assert_int_equal(source_line_text(&source, 4).size, 1);
	assert_int_equal(source_line_text(&source, 5).size, 0);
	assert_int_equal(source.text[9], 0);
	source_free(&source);
}

static void expect_unreadable(const char *path, const char *message)
{
	struct source source;
	struct diags diags = {0};

	assert_false(source_read(&source, path, &diags));
	assert_int_equal(diags.errors, 1);
	assert_string_equal(diags.v[0].message, message);
	assert_int_equal(diags.v[0].at.begin, NONE);
	diags_free(&diags);
	source_free(&source);
}

static void test_source_refuses(void **state)
{
	char path[] = "/tmp/sourceXXXXXX";
	int fd = mkstemp(path);

	(void)state;
	expect_unreadable("/nonexistent/file", "No such file or directory");
	expect_unreadable("/", "Is a directory");
	assert_int_equal(ftruncate(fd, 4294967296), 0); /* sparse: nothing is read */
	expect_unreadable(path, "file is 4 GiB or larger");
	close(fd);
	unlink(path);
}

static void test_source_finds_lines_that_are_short(void **state)
{
	enum { LINES = 5000 };
	struct source source;
	struct diags diags = {0};
	char text[2 * LINES];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < LINES; i++)
		text[2 * i + i % 2] = '\n';
	assert_true(source_copy(&source, "text", text, sizeof(text), &diags));
	for (uint32_t at = 0, line = 1; at < sizeof(text); line += text[at++] == '\n')
		assert_int_equal(source_line(&source, at), line);
	source_free(&source);
}

static void test_source_reads_pipes_and_empty_files(void **state)
{
	struct source source;
	struct diags diags = {0};

	(void)state;
	assert_true(source_read(&source, "/dev/null", &diags));
	assert_int_equal(source.size, 0);
	assert_int_equal(source.text[0], 0);
	assert_int_equal(source_line(&source, 0), 1);
	source_free(&source);
}

static void test_names_are_equal_iff_texts_are(void **state)
{
	struct names *names = names_new();
	static char texts[5000][8];
	uint32_t ids[5000];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		int size = snprintf(texts[i], sizeof(texts[i]), "%%r%d", i);

		assert_int_equal(names_find(names, texts[i], (size_t)size), NONE);
		ids[i] = names_add(names, texts[i], (size_t)size);
		assert_int_equal(ids[i], i);
	}
	for (int i = 0; i < 5000; i++) {
		struct slice text = names_text(names, ids[i]);

		assert_int_equal(names_add(names, texts[i], text.size), ids[i]);
		assert_int_equal(names_find(names, texts[i], text.size), ids[i]);
	}
	assert_int_equal(names_add_numbered(names, "%r", 2, 77), ids[77]);
	assert_int_equal(names_add_numbered(names, "%s", 2, 77), 5000);
	assert_memory_equal(names_text(names, 5000).text, "%s77", 4);
	names_free(names);
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*seed >> 33);
}

/* Dense numbers and sparse ones, zeros in front, ten digits, and no number at all. */
static void random_label(uint64_t *seed, char *text)
{
	static const char *const prefixes[] = {"L", "$L__BB0_", "a9_", "L0", "", "a_prefix_that_is_far_too_long_"};
	static const char *const numbers[] = {"0", "00", "07", "4294967296", "999999999", ""};
	const char *prefix = prefixes[next_random(seed) % 6];
	uint32_t which = next_random(seed) % 8;

	if (which < 6)
		sprintf(text, "%s%u", prefix[0] || which ? prefix : "x",
			next_random(seed) % (which < 4 ? 200 : 100000));
	else
		sprintf(text, "%sx%s", prefix, numbers[next_random(seed) % 6]);
}

static void test_names_of_labels_are_equal_iff_texts_are(void **state)
{
	enum { MOST = 4000 };
	static char texts[MOST][48];
	static uint32_t ids[MOST];
	struct names *names = names_new();
	uint64_t seed = 1;

	(void)state;
	for (uint32_t n = 0; n < MOST; n++) {
		uint32_t i = 0;

		random_label(&seed, texts[n]);
		if (next_random(&seed) % 8 == 0) /* something else has the name */
			names_add(names, texts[n], strlen(texts[n]));
		ids[n] = names_add_label(names, texts[n], strlen(texts[n]));
		while (strcmp(texts[i], texts[n]) != 0)
			i++;
		assert_int_equal(ids[i], ids[n]);
		for (uint32_t k = 0; k < i; k++)
			assert_true(strcmp(texts[k], texts[n]) == 0 || ids[k] != ids[n]);
		struct slice text = names_text(names, ids[n]);

		assert_int_equal(text.size, strlen(texts[n]));
		assert_memory_equal(text.text, texts[n], text.size);
	}
	for (uint32_t number = 0; number < 300; number++) {
		char text[16];
		uint32_t id = names_add_label_numbered(names, "L", 1, number);

		sprintf(text, "L%u", number);
		assert_int_equal(names_add_label(names, text, strlen(text)), id);
		assert_int_equal(names_add_label_numbered(names, "L", 1, number), id);
	}
	names_free(names);
}

/* How many numbers stand in `, 12,0, 7` from p up to the comma q; NONE: it is something else. */
static uint32_t plain_numbers_between(const char *p, const char *q)
{
	uint32_t n = 0;

	for (; p < q; n++) {
		const char *number = p + 1 + (p[1] == ' ');
		size_t size = strspn(number, "0123456789");

		if (*p != ',' || size == 0 || (*number == '0' && size > 1))
			return NONE;
		p = number + size;
	}
	return p == q && *p == ',' ? n : NONE;
}

static void test_plain_numbers(void **state)
{
	enum { SIZE = 1200 };
	char text[SIZE + 32];
	uint64_t seed = 3;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t n = (uint32_t)sprintf(text, "12"), wrong = SIZE, numbers = 5;

		while (n < SIZE)
			n += (uint32_t)sprintf(text + n, next_random(&seed) % 4 ? ", %u" : ",%u",
				next_random(&seed) % (next_random(&seed) % 2 ? 3000000000u : 12));
		if (i % 4) {
			wrong = 2 + next_random(&seed) % (SIZE - 2);
			text[wrong] = "0019, ,\n-}x\x01/:\xff\xb0"[next_random(&seed) % 16];
		}
		const char *begin = text + 2, *end = text + next_random(&seed) % (n - 2) + 2;

		if (*begin != ',')
			continue;
		const char *q = plain_numbers_pass(begin, end, &numbers);

		assert_true(q == begin || q < end);
		assert_int_equal(numbers - 5, plain_numbers_between(begin, q));
		if (end - begin >= 1024 && wrong > 300)
			assert_true(q > begin);
		if (i % 4 == 0 && end - q > 300)
			fail_msg("%d bytes left of a plain table", (int)(end - q));
	}
}

static void test_names_marks_are_forgotten(void **state)
{
	struct names *names = names_new();
	uint32_t id = names_add(names, "a", 1);

	(void)state;
	assert_int_equal(names_mark(names, id, NAMES_LOCAL), NONE);
	names_set_mark(names, id, NAMES_LOCAL, 7);
	assert_int_equal(names_mark(names, id, NAMES_LOCAL), 7);
	assert_int_equal(names_mark(names, id, NAMES_OPCODE), NONE);
	names_forget(names);
	assert_int_equal(names_mark(names, id, NAMES_LOCAL), NONE);
	names_free(names);
}

static void test_bits(void **state)
{
	jmp_buf failed;
	struct arena arena;

	(void)state;
	if (setjmp(failed))
		fail();
	arena_init(&arena, &failed);
	struct bits a = bits_new(&arena, 130), b = bits_new(&arena, 130);

	bits_set(a, 0);
	bits_set(a, 129);
	assert_true(bits_has(a, 129));
	assert_false(bits_has(a, 128));
	assert_int_equal(bits_next(a, 0), 0);
	assert_int_equal(bits_next(a, 1), 129);
	assert_int_equal(bits_next(a, 130), NONE);
	assert_true(bits_or(b, a));
	assert_false(bits_or(b, a));
	assert_true(bits_equal(a, b));
	bits_clear(b, 0);
	assert_true(bits_meet(a, b));
	bits_and_not(a, b);
	assert_false(bits_meet(a, b));
	assert_true(bits_any(a));
	bits_zero(a);
	assert_false(bits_any(a));
	arena_free(&arena);
}

/* Held against a plain array, for sizes around the words of each level. */
static void test_agenda_goes_up_and_round(void **state)
{
	static const uint32_t sizes[] = {0, 1, 2, 63, 64, 65, 4095, 4096, 4097, 9000};
	struct arena arena;
	jmp_buf failure;
	uint64_t seed = 7;

	(void)state;
	arena_init(&arena, &failure);
	if (setjmp(failure))
		abort();
	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		uint32_t n = sizes[k], at = 0;
		struct agenda agenda = agenda_new(&arena, n);
		uint8_t *there = ARENA_NEW(&arena, uint8_t, n + 1);

		for (uint32_t round = 0; n && round < 3000; round++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			if (seed >> 60 < (round < 1500 ? 11 : 6)) {
				agenda_add(&agenda, (uint32_t)(seed >> 20) % n);
				there[(uint32_t)(seed >> 20) % n] = 1;
				continue;
			}
			uint32_t i = bytes_next(there, n, at);

			if (i == n)
				i = bytes_next(there, n, 0);
			if (i == n) {
				assert_int_equal(agenda_next(&agenda), UINT32_MAX);
				continue;
			}
			assert_int_equal(agenda_next(&agenda), i);
			there[i] = 0;
			at = i + 1;
		}
		while (agenda_next(&agenda) != UINT32_MAX)
			;
		assert_int_equal(agenda_next(&agenda), UINT32_MAX);
	}
	arena_free(&arena);
}

static void test_bytes_next(void **state)
{
	uint8_t v[40] = {0};

	(void)state;
	assert_int_equal(bytes_next(v, 0, 0), 0);
	assert_int_equal(bytes_next(v, 40, 3), 40);
	for (uint32_t i = 0; i < 40; i++) {
		v[i] = 1;
		for (uint32_t from = 0; from <= i; from++)
			assert_int_equal(bytes_next(v, 40, from), i);
		assert_int_equal(bytes_next(v, 40, i + 1), 40);
		assert_int_equal(bytes_next(v, i, 0), i);
		v[i] = 0;
	}
}

static void test_diags_stop_at_their_limit(void **state)
{
	struct diags diags = {0};

	(void)state;
	for (int i = 0; i < 250; i++)
		diag_add(&diags, DIAG_ERROR, (struct span){1, 2}, "error %d", i);
	assert_int_equal(diags.errors, 250);
	assert_int_equal(diags.n, 100);
	assert_int_equal(diags.dropped, 150);
	assert_string_equal(diags.v[99].message, "error 99");
	diags_free(&diags);
}

static void test_rules_find_themselves(void **state)
{
	(void)state;
	for (int i = 0; i < RULE_COUNT; i++)
		assert_int_equal(rule_find(rule_text((enum rule)i)), i);
	assert_int_equal(rule_find("missing"), RULE_COUNT);
	assert_string_equal(level_text(rule_level(RULE_MISSING_RAW)), "error");
}

static void test_budget_is_sticky(void **state)
{
	struct budget budget;

	(void)state;
	budget_start(&budget, 0);
	for (int i = 0; i < 10000; i++)
		assert_false(budget_spent(&budget));
	budget_start(&budget, 1e-9);
	for (int i = 0; i < 256; i++)
		budget_spent(&budget);
	assert_true(budget_spent(&budget));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source_places),
		cmocka_unit_test(test_source_refuses),
		cmocka_unit_test(test_source_finds_lines_that_are_short),
		cmocka_unit_test(test_source_reads_pipes_and_empty_files),
		cmocka_unit_test(test_names_are_equal_iff_texts_are),
		cmocka_unit_test(test_names_of_labels_are_equal_iff_texts_are),
		cmocka_unit_test(test_plain_numbers),
		cmocka_unit_test(test_names_marks_are_forgotten),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_agenda_goes_up_and_round),
		cmocka_unit_test(test_bytes_next),
		cmocka_unit_test(test_diags_stop_at_their_limit),
		cmocka_unit_test(test_rules_find_themselves),
		cmocka_unit_test(test_budget_is_sticky),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 99 : 0;
}
