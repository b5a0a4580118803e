/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads back what a rewrite made of a program. The text must be the program's own lines with
 * fences on lines of their own in between, or gone; anything else is refused. Branch targets move
 * along.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

static bool is_fence(const struct line *l)
{
	return l->step.op == OP_FENCE;
}

static bool guard_read(const char **text, struct cond *c)
{
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
		if (strlen(pred_names[i]) == n && memcmp(*text, pred_names[i], n) == 0) {
			c->a = i;
			*text += n;
			*text += strspn(*text, " \t");
			return true;
		}
	return false;
}

/* like: a fence whose guard may stand here again, or NULL. */
static bool fence_read(const char *text, const struct line *like, struct step *s)
{
	static const struct {
		const char *text;
		int spaces;
	} kinds[] = {
		{"fence.proxy.async.shared::cta;", SPACE_SHARED},
		{"fence.proxy.async;", SPACE_CLUSTER | SPACE_GLOBAL},
		{"fence.proxy.async.shared::cluster;", SPACE_CLUSTER},
		{"fence.proxy.async.global;", SPACE_GLOBAL},
	};
	memset(s, 0, sizeof(*s));
	text += strspn(text, " \t");
	const char *guard = like ? like->text + strspn(like->text, " \t") : "";
	size_t n = like ? (size_t)(strstr(guard, "fence") - guard) : 0;
	if (*text == '@' && n > 0 && strncmp(text, guard, n) == 0) {
		s->guard = like->step.guard;
		text += n;
	} else if (!guard_read(&text, &s->guard)) {
		return false;
	}
	s->op = OP_FENCE;
	for (int i = 0; i < 4; i++)
		if (strcmp(text, kinds[i].text) == 0) {
			s->value = kinds[i].spaces;
			return true;
		}
	return false;
}

static void line_copy(struct program *out, const char *text, const struct step *step, int origin)
{
	struct line *l = &out->lines[out->n++];
	l->text = strdup(text);
	l->step = *step;
	l->origin = origin;
}

/* now_at: by line of the original, where it has gone, or for a lost fence what stands there. */
static void retarget(const struct program *p, struct program *out, const int *now_at)
{
	for (int i = 0; i < out->n; i++) {
		struct step *s = &out->lines[i].step;
		if (s->op == OP_JUMP || s->op == OP_CALL)
			s->value = now_at[s->value];
	}
	out->start = now_at[p->start];
}

bool program_reread(const struct program *p, char *const *lines, int n, struct program *out)
{
	static int now_at[MAX_LINES];
	int taken = 0;
	*out = *p;
	out->n = 0;
	for (int i = 0; i < n && out->n < MAX_LINES; i++) {
		struct step step;
		int next = taken;
		while (next < p->n && strcmp(lines[i], p->lines[next].text) != 0 &&
			is_fence(&p->lines[next]))
			next++;
		if (next < p->n && strcmp(lines[i], p->lines[next].text) == 0) {
			for (; taken < next; taken++)
				now_at[taken] = out->n;
			now_at[taken++] = out->n;
			line_copy(out, lines[i], &p->lines[next].step, next);
		} else if (fence_read(lines[i],
				   taken < p->n && is_fence(&p->lines[taken]) ? &p->lines[taken]
									      : NULL,
				   &step)) {
			line_copy(out, lines[i], &step, NONE);
		} else if (lines[i][strspn(lines[i], " \t")] != '\0') {
			return false;
		}
	}
	for (; taken < p->n && is_fence(&p->lines[taken]); taken++)
		now_at[taken] = out->n;
	retarget(p, out, now_at);
	return taken == p->n;
}

void program_without(const struct program *p, int line, struct program *out)
{
	static int now_at[MAX_LINES];
	*out = *p;
	out->n = 0;
	for (int i = 0; i < p->n; i++) {
		now_at[i] = out->n;
		if (i != line)
			line_copy(out, p->lines[i].text, &p->lines[i].step, p->lines[i].origin);
	}
	retarget(p, out, now_at);
}
