/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads back what a rewrite made of a program. The text must be the program's own lines with
 * fences on lines of their own in between; anything else is refused. Branch targets move along.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

static bool guard_read(const char **text, struct cond *c)
{
	static const char *const names[NPREDS] = {
		"%first", "%lane0", "%elect", "%warp0", "%warp1", "%others", "%flag0", "%flag1"};
	*c = (struct cond){COND_ALWAYS, 0, 0, false};
	if (**text != '@')
		return true;
	(*text)++;
	c->kind = COND_PRED;
	if (**text == '!') {
		c->negated = true;
		(*text)++;
	}
	size_t n = strcspn(*text, " \t");
	for (int i = 0; i < NPREDS; i++)
		if (strlen(names[i]) == n && memcmp(*text, names[i], n) == 0) {
			c->a = i;
			*text += n;
			*text += strspn(*text, " \t");
			return true;
		}
	return false;
}

static bool fence_read(const char *text, struct step *s)
{
	static const struct {
		const char *text;
		int spaces;
	} kinds[] = {
		{"fence.proxy.async.shared::cta;", SPACE_SHARED},
		{"fence.proxy.async;", SPACE_SHARED | SPACE_GLOBAL},
		{"fence.proxy.async.shared::cluster;", SPACE_SHARED},
		{"fence.proxy.async.global;", SPACE_GLOBAL},
	};
	memset(s, 0, sizeof(*s));
	text += strspn(text, " \t");
	if (!guard_read(&text, &s->guard))
		return false;
	s->op = OP_FENCE;
	for (int i = 0; i < 4; i++)
		if (strcmp(text, kinds[i].text) == 0) {
			s->value = kinds[i].spaces;
			return true;
		}
	return false;
}

bool program_reread(const struct program *p, char *const *lines, int n, struct program *out)
{
	int *now_at = calloc(MAX_LINES, sizeof(*now_at));
	int taken = 0;
	*out = *p;
	out->n = 0;
	bool fine = n < MAX_LINES;
	for (int i = 0; i < n && fine; i++) {
		struct line *l = &out->lines[out->n];
		memset(l, 0, sizeof(*l));
		if (taken < p->n && strcmp(lines[i], p->lines[taken].text) == 0) {
			l->step = p->lines[taken].step;
			now_at[taken++] = i;
		} else {
			fine = fence_read(lines[i], &l->step);
		}
		l->text = strdup(lines[i]);
		out->n++;
	}
	for (int i = 0; i < out->n; i++)
		if (out->lines[i].step.op == OP_JUMP)
			out->lines[i].step.value = now_at[out->lines[i].step.value];
	free(now_at);
	return fine && taken == p->n;
}
