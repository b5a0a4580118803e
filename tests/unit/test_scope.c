/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of registers: random blocks, declarations and uses, held against a list of declarations that
 * is searched from its end. Two uses must get one register where the list says so, else two.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parser/scope.h"

enum { ROUNDS = 2000, STEPS = 200, DEPTH = 6 };

static const char *const PREFIXES[] = {"%r", "%rd", "p", "%r1", "%rdlong", "a_name_that_is_long", "_", "$", "R2D"};
static const char *const NUMBERS[] = {"0", "1", "5", "05", "00", "12", "012", "99", "4096", "99999", "1000000",
	"999999999", "1000000000", "4294967295", "4294967296", "000000000000000001", "0000000000000000001", ""};

struct declared {
	char text[64];
	bool is_range;
	uint64_t count;
};

struct seen { /* a use: the declaration, counted over the whole round, its number, what was answered */
	uint32_t declaration, number, reg;
};

struct model {
	struct scope scope;
	struct function fn;
	struct arena arena;
	struct names *names;
	jmp_buf failed;
	struct declared list[STEPS];
	uint32_t serial[STEPS], n, next_serial; /* of the open ones; ended ones never come back */
	uint32_t begins[DEPTH + 1], depth;
	struct seen seen[STEPS * 4];
	uint32_t nseen;
	char texts[STEPS * 4][64]; /* names.c views them */
	uint32_t ntexts;
	bool few;
	uint64_t state;
};

static uint32_t below(struct model *m, uint32_t n)
{
	m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((m->state >> 33) % n);
}

#define PICK(m, v) (v)[below((m), sizeof(v) / sizeof(*(v)))]

/* In half of the rounds there are few, each with many registers. */
static const char *prefix(struct model *m)
{
	return m->few ? PREFIXES[below(m, 2)] : PICK(m, PREFIXES);
}

/* Whether the declaration has the name, and as what number. */
static bool has(const struct declared *d, const char *text, uint32_t *number)
{
	size_t prefix = strlen(d->text), size = strlen(text);

	*number = NONE;
	if (!d->is_range)
		return strcmp(d->text, text) == 0;
	if (size <= prefix || size - prefix > 18 || memcmp(d->text, text, prefix) != 0 ||
		strspn(text + prefix, "0123456789") != size - prefix)
		return false;
	uint64_t value = strtoull(text + prefix, NULL, 10);

	*number = (uint32_t)value;
	return value <= UINT32_MAX && value < d->count;
}

static const char *new_text(struct model *m)
{
	char *text = m->texts[m->ntexts++];

	snprintf(text, sizeof(m->texts[0]), "%s%s", prefix(m), PICK(m, NUMBERS));
	return text;
}

static void declare(struct model *m)
{
	static const uint64_t counts[] = {1, 2, 6, 13, 100, 5000, UINT32_MAX, UINT64_C(1) << 33};
	struct declared *d = &m->list[m->n];

	d->is_range = below(m, 2) == 0;
	d->count = PICK(m, counts);
	const char *text = d->is_range ? prefix(m) : new_text(m);

	snprintf(d->text, sizeof(d->text), "%s", text);
	for (uint32_t i = m->begins[m->depth]; i < m->n; i++)
		if (strcmp(m->list[i].text, text) == 0)
			return; /* twice in a block: an error elsewhere */
	m->serial[m->n++] = m->next_serial++;
	if (d->is_range)
		scope_add_range(&m->scope, text, strlen(text), d->count, MOD_b32, 1);
	else
		scope_add_reg(&m->scope, text, strlen(text), MOD_b32, 1);
}

static void use(struct model *m)
{
	const char *text = new_text(m);
	struct resolved got = scope_find(&m->scope, text, strlen(text));
	struct seen s = {NONE, NONE, got.id};

	for (uint32_t i = m->n; i-- && s.declaration == NONE;)
		if (has(&m->list[i], text, &s.number))
			s.declaration = m->serial[i];
	if ((s.declaration != NONE) != (got.kind == RESOLVED_REG))
		fail_msg("%s: found %d", text, got.kind);
	if (s.declaration == NONE)
		return;
	for (uint32_t i = 0; i < m->nseen; i++) {
		bool same = m->seen[i].declaration == s.declaration && m->seen[i].number == s.number;

		if (same != (m->seen[i].reg == s.reg))
			fail_msg("%s: register %u, before %u", text, s.reg, m->seen[i].reg);
	}
	m->seen[m->nseen++] = s;
	assert_int_equal(m->fn.regs[s.reg].number, s.number);
}

static void step(struct model *m)
{
	uint32_t what = below(m, m->few ? 32 : 8);

	if (what == 0 && m->depth < DEPTH) {
		scope_open(&m->scope);
		m->begins[++m->depth] = m->n;
	} else if (what == 1 && m->depth > 0) {
		scope_close(&m->scope, NULL);
		m->n = m->begins[m->depth--];
	} else if (what < 4) {
		declare(m);
	} else {
		use(m);
	}
}

static void test_registers_are_those_of_the_innermost_declaration(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct model *m = calloc(1, sizeof(*m));

		assert_non_null(m);
		m->state = round + 1;
		m->few = round % 2;
		m->names = names_new();
		if (setjmp(m->failed))
			fail();
		arena_init(&m->arena, &m->failed);
		scope_init(&m->scope, &m->arena, m->names, &m->fn);
		scope_open(&m->scope);
		m->scope.room = below(m, 3) * 4000;
		for (uint32_t i = 0; i < STEPS; i++)
			step(m);
		arena_free(&m->arena);
		names_free(m->names);
		free(m);
	}
}

static void test_numbered_names_are_split(void **state)
{
	static const struct {
		const char *text;
		size_t n; /* 0: none */
		uint64_t prefix;
		uint32_t number;
	} rows[] = {
		{"%r0", 3, '%' | 'r' << 8, 0},
		{"%r10,", 4, '%' | 'r' << 8, 10},
		{"x999999999", 10, 'x', 999999999},
		{"_7_", 2, '_', 7},
		{"$Rz12.x", 5, '$' | 'R' << 8 | 'z' << 16, 12},
		{"%abcdef1", 8, UINT64_C(0x66656463626125), 1},
		{.text = "%abcdefg1"},
		{.text = "x1000000000"},
		{.text = "%r"},
		{.text = "%r01"},
		{.text = "%r00"},
		{.text = "%r_1"},
		{.text = "_"},
		{.text = "%@1"},
		{.text = "%{1"},
		{.text = "%`1"},
		{.text = "%[1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct numbered_name name = {0, 0};

		assert_int_equal(numbered_name_read(rows[i].text, &name), rows[i].n);
		assert_true(name.prefix == rows[i].prefix);
		assert_int_equal(name.number, rows[i].number);
	}
}

/* What is read as a sibling is read as a name too, with the same number; ends of names and of the text differ. */
static void test_siblings_are_names_of_the_same_prefix(void **state)
{
	static const char *const texts[] = {"%f4737", "%f4736", "%f473", "%f47370", "%f0473", "%r4730", "%f9", "%f0",
		"%f05", "%abcde9", "%abcde12", "%f47x6", "%f473a", "%f"};
	static const char *const behind[] = {", %f1, %f2", "}; add.s32", ",", "}", "", "_, %f1, %f2", ".x, %f1, %f2",
		"7, %f1, %f2"};
	enum { N = sizeof(texts) / sizeof(*texts), ENDS = sizeof(behind) / sizeof(*behind) };
	uint32_t siblings = 0;

	(void)state;
	for (uint32_t i = 0; i < N * N * ENDS; i++) {
		const char *front = texts[i % N];
		char text[64];
		struct numbered_name name, other;
		uint32_t number = NONE;
		int second = snprintf(text, sizeof(text), "%s,", front);

		snprintf(text + second, sizeof(text) - (size_t)second, "%s%s", texts[i / N % N], behind[i / N / N]);
		size_t n = numbered_name_read(text, &name);

		if (n == 0 || text[n] != ',')
			continue;
		const char *p = text + second, *end = text + strlen(text);
		struct sibling s = sibling_of(text, n, name.number, end);

		if (!sibling_read(&s, p, end, &number))
			continue;
		siblings++;
		assert_int_equal(numbered_name_read(p, &other), n);
		assert_true(other.prefix == name.prefix);
		assert_int_equal(other.number, number);
		assert_non_null(strchr(",}", p[n]));
	}
	assert_true(siblings > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_siblings_are_names_of_the_same_prefix),
		cmocka_unit_test(test_numbered_names_are_split),
		cmocka_unit_test(test_registers_are_those_of_the_innermost_declaration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
