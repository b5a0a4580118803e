/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks JSON documents against a JSON Schema: the part of draft 2020-12 that
 * docs/report.schema.json uses. A keyword that is not known here is an error, so that nothing goes
 * unchecked silently.
 *
 * Usage: check_schema SCHEMA DOCUMENT... ("-": standard input)
 */
#include <jansson.h>
#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct check {
	json_t *root; /* the schema */
	char path[4096];
	bool quiet; /* inside anyOf: a branch that fails is no error yet */
};

static bool check_value(struct check *, json_t *schema, json_t *value);

static bool fail(struct check *check, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct check *check, const char *fmt, ...)
{
	va_list args;

	if (check->quiet)
		return false;
	fprintf(stderr, "at %s: ", *check->path ? check->path : "/");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return false;
}

static bool is_type(const char *type, json_t *value)
{
	if (strcmp(type, "number") == 0)
		return json_is_number(value);
	if (strcmp(type, "integer") == 0)
		return json_is_integer(value);
	if (strcmp(type, "boolean") == 0)
		return json_is_boolean(value);
	return (strcmp(type, "string") == 0 && json_is_string(value)) ||
	       (strcmp(type, "object") == 0 && json_is_object(value)) ||
	       (strcmp(type, "array") == 0 && json_is_array(value)) ||
	       (strcmp(type, "null") == 0 && json_is_null(value));
}

static bool check_type(struct check *check, json_t *types, json_t *value)
{
	json_t *type;
	size_t i;

	if (json_is_string(types))
		return is_type(json_string_value(types), value) ||
		       fail(check, "is no %s", json_string_value(types));
	json_array_foreach(types, i, type)
	{
		if (is_type(json_string_value(type), value))
			return true;
	}
	return fail(check, "is of the wrong type");
}

static bool check_enum(struct check *check, json_t *list, json_t *value)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (json_equal(one, value))
			return true;
	}
	return fail(check, "`%s' is not in the list",
		json_is_string(value) ? json_string_value(value) : "?");
}

static bool check_pattern(struct check *check, const char *pattern, json_t *value)
{
	regex_t regex;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
		return fail(check, "bad pattern in the schema");
	bool good = regexec(&regex, json_string_value(value), 0, NULL, 0) == 0;

	regfree(&regex);
	return good || fail(check, "`%s' does not match %s", json_string_value(value), pattern);
}

static size_t enter(struct check *check, const char *name)
{
	size_t before = strlen(check->path);

	snprintf(check->path + before, sizeof(check->path) - before, "/%s", name);
	return before;
}

static bool check_object(struct check *check, json_t *schema, json_t *value)
{
	json_t *properties = json_object_get(schema, "properties"), *required, *child;
	json_t *extra = json_object_get(schema, "additionalProperties");
	json_t *names = json_object_get(schema, "propertyNames");
	const char *name;
	bool good = true;
	size_t i;

	json_array_foreach(json_object_get(schema, "required"), i, required)
	{
		if (!json_object_get(value, json_string_value(required)))
			good = fail(check, "lacks \"%s\"", json_string_value(required));
	}
	json_object_foreach(value, name, child)
	{
		json_t *sub = json_object_get(properties, name);
		size_t before = enter(check, name);
		json_t *text = json_string(name);

		if (names)
			good &= check_value(check, names, text);
		if (!sub && json_is_false(extra))
			good = fail(check, "is not known");
		else if (!sub && json_is_object(extra))
			sub = extra;
		if (sub)
			good &= check_value(check, sub, child);
		json_decref(text);
		check->path[before] = 0;
	}
	return good;
}

static bool check_array(struct check *check, json_t *schema, json_t *value)
{
	json_t *items = json_object_get(schema, "items"),
	       *least = json_object_get(schema, "minItems");
	json_t *most = json_object_get(schema, "maxItems"), *child;
	bool good = true;
	size_t i;

	if (least && (json_int_t)json_array_size(value) < json_integer_value(least))
		good = fail(check, "is too short");
	if (most && (json_int_t)json_array_size(value) > json_integer_value(most))
		good = fail(check, "is too long");
	json_array_foreach(value, i, child)
	{
		char number[24];

		snprintf(number, sizeof(number), "%zu", i);
		size_t before = enter(check, number);

		good &= !items || check_value(check, items, child);
		check->path[before] = 0;
	}
	return good;
}

static bool check_any(struct check *check, json_t *branches, json_t *value)
{
	bool quiet = check->quiet, good = false;
	json_t *branch;
	size_t i;

	check->quiet = true;
	json_array_foreach(branches, i, branch)
	{
		good |= check_value(check, branch, value);
	}
	check->quiet = quiet;
	return good || fail(check, "fits none of the forms");
}

static bool knows(const char *keyword)
{
	static const char *const known[] = {"$schema", "$defs", "$ref", "title", "description",
		"type", "enum", "const", "pattern", "minimum", "properties", "required",
		"additionalProperties", "propertyNames", "items", "minItems", "maxItems", "anyOf"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i], keyword) == 0)
			return true;
	return false;
}

static json_t *follow(struct check *check, json_t *ref)
{
	const char *text = json_string_value(ref);

	if (strncmp(text, "#/$defs/", 8) != 0)
		return NULL;
	return json_object_get(json_object_get(check->root, "$defs"), text + 8);
}

static bool check_value(struct check *check, json_t *schema, json_t *value)
{
	json_t *part;
	const char *keyword;

	json_object_foreach(schema, keyword, part)
	{
		if (!knows(keyword))
			return fail(
				check, "the schema says \"%s\", which this checker lacks", keyword);
	}
	if ((part = json_object_get(schema, "$ref"))) {
		json_t *to = follow(check, part);

		return to ? check_value(check, to, value) : fail(check, "a $ref leads nowhere");
	}
	if ((part = json_object_get(schema, "anyOf")) && !check_any(check, part, value))
		return false;
	if ((part = json_object_get(schema, "type")) && !check_type(check, part, value))
		return false;
	if ((part = json_object_get(schema, "enum")) && !check_enum(check, part, value))
		return false;
	if ((part = json_object_get(schema, "const")) && !json_equal(part, value))
		return fail(check, "is not what it must be");
	if ((part = json_object_get(schema, "minimum")) && json_is_number(value) &&
		json_number_value(value) < json_number_value(part))
		return fail(check, "is too small");
	if ((part = json_object_get(schema, "pattern")) && json_is_string(value) &&
		!check_pattern(check, json_string_value(part), value))
		return false;
	if (json_is_object(value))
		return check_object(check, schema, value);
	return json_is_array(value) ? check_array(check, schema, value) : true;
}

int main(int argc, char **argv)
{
	json_error_t error;
	int status = 0;

	if (argc < 3)
		return 2;
	json_t *schema = json_load_file(argv[1], 0, &error);

	if (!schema) {
		fprintf(stderr, "%s:%d: %s\n", argv[1], error.line, error.text);
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		bool standard = strcmp(argv[i], "-") == 0;
		json_t *document = standard ? json_loadf(stdin, 0, &error)
					    : json_load_file(argv[i], 0, &error);
		struct check check = {.root = schema};

		if (!document)
			fprintf(stderr, "%s:%d: %s\n", argv[i], error.line, error.text);
		if (!document || !check_value(&check, schema, document)) {
			fprintf(stderr, "%s: does not fit %s\n", argv[i], argv[1]);
			status = 1;
		}
		json_decref(document);
	}
	json_decref(schema);
	return status;
}
