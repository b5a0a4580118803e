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

enum { ROUNDS = 3000, STEPS = 60, DEPTH = 6 };

static const char *const PREFIXES[] = {"%r", "%rd", "p", "%r1", "%rdlong", "a_name_that_is_long", "_", "$", "R2D"};
static const char *const NUMBERS[] = {"0", "1", "5", "05", "00", "12", "012", "99", "4096", "99999", "1000000",
	"4294967295", "4294967296", "000000000000000001", "0000000000000000001", ""};

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
	uint64_t state;
};

static uint32_t below(struct model *m, uint32_t n)
{
	m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((m->state >> 33) % n);
}

#define PICK(m, v) (v)[below((m), sizeof(v) / sizeof(*(v)))]

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

	snprintf(text, sizeof(m->texts[0]), "%s%s", PICK(m, PREFIXES), PICK(m, NUMBERS));
	return text;
}

static void declare(struct model *m)
{
	static const uint64_t counts[] = {1, 2, 6, 13, 100, 5000, UINT32_MAX, UINT64_C(1) << 33};
	struct declared *d = &m->list[m->n];

	d->is_range = below(m, 2) == 0;
	d->count = PICK(m, counts);
	const char *text = d->is_range ? PICK(m, PREFIXES) : new_text(m);

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
	uint32_t what = below(m, 8);

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
		m->names = names_new();
		if (setjmp(m->failed))
			fail();
		arena_init(&m->arena, &m->failed);
		scope_init(&m->scope, &m->arena, m->names, &m->fn);
		scope_open(&m->scope);
		for (uint32_t i = 0; i < STEPS; i++)
			step(m);
		arena_free(&m->arena);
		names_free(m->names);
		free(m);
	}
}

static void test_short_names_are_split(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 100000; i += i < 2000 ? 1 : 7) {
		char text[16];
		uint32_t n = (uint32_t)snprintf(text, sizeof(text), "%s%u", i % 3 ? "%r" : "x", i);
		struct numbered_name name;

		assert_true(n <= SHORT_NAME_MOST);
		assert_true(short_name_split(short_name(text, n), n, &name));
		assert_int_equal(name.number, i);
		assert_true(name.prefix == (i % 3 ? '%' | 'r' << 8 : 'x'));
	}
	static const char *const none[] = {"%r", "x", "_", "12", "%r01", "%r00", "r1x", "%rd:", "1/"};

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct numbered_name name;

		assert_false(short_name_split(
			short_name(none[i], strlen(none[i])), (uint32_t)strlen(none[i]), &name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_names_are_split),
		cmocka_unit_test(test_registers_are_those_of_the_innermost_declaration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
