/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a place as an offset and a .loc. Goes out: line, column, opcode, and the chain of
 * source places with the names of inlined functions, which PTX keeps as bytes in the section
 * .debug_str.
 */
#include "lib/place.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *function_text(struct job *job, const struct module *module, uint32_t function)
{
	uint32_t symbol = module->functions[function].symbol;

	if (job->name_text && job->named_in == module && job->named == function)
		return job->name_text;
	job->named_in = module;
	job->named = function;
	return job->name_text = text_copy(
		       &job->keep, names_text(module->names, module->symbols[symbol].name));
}

const char *change_text(struct job *job, const struct text_change *change)
{
	struct span at = change->fence.fence;

	if (change->fence.change == CHANGE_REMOVE)
		return text_format(
			&job->keep, "%.*s", (int)(at.end - at.begin), job->source.text + at.begin);
	return text_format(&job->keep, "%s", fence_text(change->fence.kind));
}

static const char *file_text(struct job *job, const struct module *module, uint32_t number)
{
	for (uint32_t i = 0; i < module->nfiles; i++)
		if (module->files[i].number == number)
			return text_format(&job->keep, "%.*s", (int)module->files[i].name.size,
				module->files[i].name.text);
	return text_format(&job->keep, "<file %u>", number);
}

/* `.b8 95` lines, several numbers each perhaps, up to a zero. */
static const char *read_bytes(struct job *job, const char *at, const char *end)
{
	char name[4096];
	size_t n = 0;

	while (at < end && n + 1 < sizeof(name)) {
		while (at < end && (isspace((unsigned char)*at) || *at == ','))
			at++;
		if (strncmp(at, ".b8", 3) == 0) {
			at += 3;
			continue;
		}
		if (!isdigit((unsigned char)*at))
			break;
		char *next;
		long byte = strtol(at, &next, 0);

		if (byte <= 0 || byte > 126)
			break;
		name[n++] = (char)byte;
		at = next;
	}
	name[n] = 0;
	return n ? text_format(&job->keep, "%s", name) : NULL;
}

/* Numbers each name that stands as `NAME:` in the section of strings, once for all places of a
 * module. The first of one name counts. */
static void number_labels(struct job *job, const struct module *module)
{
	const char *text = module->source->text, *end = text + module->at.end;
	const char *begin = text + module->at.begin;
	const char *section = memmem(begin, (size_t)(end - begin), ".debug_str", 10);
	uint32_t cap = 0;

	job->labelled = module;
	job->labels = NULL;
	job->nlabels = 0;
	names_forget(job->names);
	while (section) {
		const char *colon = memchr(section, ':', (size_t)(end - section)), *label = colon;

		if (!colon)
			return;
		while (label > section && !isspace((unsigned char)label[-1]) && label[-1] != '{')
			label--;
		uint32_t name = names_find(job->names, label, (size_t)(colon - label));

		section = colon + 1;
		struct inlined one = {colon + 1, NULL, false};

		if (name == NONE || names_mark(job->names, name, NAMES_LOCAL) != NONE)
			continue;
		names_set_mark(job->names, name, NAMES_LOCAL, job->nlabels);
		ARENA_PUSH(&job->keep, job->labels, job->nlabels, cap, one);
	}
}

static const char *inlined_name(struct job *job, const struct module *module, const struct loc *loc)
{
	if (loc->function_name == NONE || !loc->inlined_file)
		return NULL;
	if (job->labelled != module)
		number_labels(job, module);
	uint32_t number = names_mark(job->names, loc->function_name, NAMES_LOCAL);

	if (number == NONE)
		return NULL;
	struct inlined *label = &job->labels[number];

	if (!label->is_read)
		label->name = read_bytes(job, label->at, module->source->text + module->at.end);
	label->is_read = true;
	return label->name;
}

static void publish_source(struct job *job, const struct module *module, const struct place *place,
	struct fencepost_place *out)
{
	uint32_t n = place->nsources;
	struct fencepost_source *source = ARENA_NEW(&job->keep, struct fencepost_source, n);

	for (uint32_t i = 0; i < n; i++) {
		const struct loc *loc = &place->sources[i];

		source[i] = (struct fencepost_source){.file = file_text(job, module, loc->file),
			.line = loc->line,
			.column = loc->column,
			.function = inlined_name(job, module, loc)};
	}
	out->source = source;
	out->nsource = n;
}

void place_publish(struct job *job, const struct module *module, const struct place *place,
	struct fencepost_place *out)
{
	*out = (struct fencepost_place){.line = source_line(&job->source, place->at.begin),
		.column = source_column(&job->source, place->at.begin),
		.begin = place->at.begin,
		.end = place->at.end,
		.opcode_begin = place->opcode.begin,
		.opcode_end = place->opcode.end,
		.opcode =
			text_copy(&job->keep, (struct slice){job->source.text + place->opcode.begin,
						      place->opcode.end - place->opcode.begin}),
		.function = function_text(job, module, place->kernel_function)};
	if (place->nsources && place->sources[0].file)
		publish_source(job, module, place, out);
}
