/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a finding with its places. Goes out: one line that names what is wrong and one that
 * says what to do, in PTX and, where .loc is known, in the source. All reports print these same
 * lines.
 */
#include "lib/internal.h"

#include <stdio.h>
#include <string.h>

struct words {
	struct job *job;
	const struct finding *from;
	const struct fencepost_finding *to;
	const struct fencepost_fence *settled_by; /* a planned fence, or NULL */
};

static const char *generic_doing(const struct finding *from)
{
	return from->hazards == HAZARD_WAR  ? "reads"
	       : from->hazards & HAZARD_WAR ? "touches"
					    : "writes";
}

static const char *async_doing(const struct finding *from)
{
	return from->hazards == HAZARD_RAW  ? "reads"
	       : from->hazards & HAZARD_RAW ? "touches"
					    : "writes";
}

static const char *memory_word(const struct finding *from)
{
	if (from->spaces == SPACE_GLOBAL)
		return "global memory";
	if (from->cross_cta || from->spaces & SPACE_CLUSTER)
		return "shared memory of the cluster";
	return "shared memory";
}

static const char *edge_message(const struct words *w)
{
	const struct fencepost_finding *to = w->to;
	const char *more = to->npairs > 1 ? text_format(&w->job->keep,
						    " (%u pairs of such instructions)", to->npairs)
					  : "";
	bool possible = to->confidence == FENCEPOST_POSSIBLE;

	return text_format(&w->job->keep,
		"`%s' %s %s that `%s' in line %u %s%s through the async proxy, with no proxy fence "
		"on the "
		"way%s",
		to->generic->opcode, generic_doing(w->from), memory_word(w->from),
		to->async->opcode, to->async->line, possible ? "possibly " : "",
		async_doing(w->from), more);
}

static const char *source_help(const struct words *w)
{
	const struct fencepost_place *place = w->from->waiting_side ? w->to->async : w->to->generic;

	if (!place || !place->nsource)
		return "";
	return text_format(&w->job->keep, "; in the source: %s %s:%u",
		w->from->waiting_side ? "before" : "after", place->source[0].file,
		place->source[0].line);
}

static const char *who(const struct words *w)
{
	if (w->from->waiting_side)
		return "in the waiting thread, after its wait";
	return w->from->hazards == HAZARD_WAR ? "in every thread that reads"
					      : "in every thread that writes";
}

static const char *edge_help(const struct words *w)
{
	const struct fencepost_fence *fence = w->settled_by;

	if (w->to->unfixable)
		return text_format(&w->job->keep, "no fence is put: %s", w->to->unfixable);
	if (fence && fence->change == FENCEPOST_INSERT)
		return text_format(&w->job->keep, "put `%s' before line %u, %s%s", fence->text,
			fence->line, who(w), source_help(w));
	if (w->from->rule == RULE_MISSING_CP_ASYNC)
		return text_format(&w->job->keep,
			"put `fence.proxy.async.shared::cta;' after the wait that completes the "
			"copy%s",
			source_help(w));
	return text_format(&w->job->keep,
		"put `fence.proxy.async%s;' %s, before the data is handed on%s",
		w->from->spaces == SPACE_GLOBAL ? ".global"
		: w->from->cross_cta		? ".shared::cluster"
						: ".shared::cta",
		who(w), source_help(w));
}

static void describe_fence(const struct words *w, const char **message, const char **help)
{
	struct arena *arena = &w->job->keep;
	const char *opcode = w->to->fence->opcode, *detail = w->from->detail;

	switch (w->from->rule) {
	case RULE_FENCE_MISPLACED:
		*message = text_format(arena, "`%s' does not do its job here%s%s", opcode,
			detail ? ": " : "", detail ? detail : "");
		*help = "run the right fence in every thread that makes the access, after the "
			"access and "
			"before it hands the data on";
		break;
	case RULE_FENCE_ISSUER_SIDE:
		*message = text_format(arena,
			"`%s' stands in the issuing thread after the hand-off; nothing else covers "
			"the access",
			opcode);
		*help = "the documented place is in the thread that makes the access, before its "
			"release";
		break;
	case RULE_FENCE_REDUNDANT:
		*message =
			text_format(arena, "`%s' is redundant: without it no edge appears", opcode);
		*help = "take it away, or run with --fix=redundant";
		break;
	default:
		*message = text_format(arena, "`%s' is wider than needed%s%s", opcode,
			detail ? ": " : "", detail ? detail : "");
		*help = "narrow it, or run with --fix=wide";
		break;
	}
}

static void describe_check(const struct words *w, const char **message, const char **help)
{
	struct arena *arena = &w->job->keep;
	const struct fencepost_place *place = w->to->primary;
	const char *detail = w->from->detail;

	switch (w->from->rule) {
	case RULE_BULK_STORE_UNWAITED:
		*message = text_format(arena, "`%s': %s", place->opcode,
			detail ? detail
			       : "its shared source is used again, or the kernel exits, before it "
				 "was waited for");
		*help = "run cp.async.bulk.commit_group and cp.async.bulk.wait_group.read 0 in the "
			"thread "
			"that issued it, then hand over to the next writers";
		break;
	case RULE_MBARRIER_INIT_UNFENCED:
		*message = text_format(arena, "`%s': %s", place->opcode,
			detail ? detail
			       : "published to the cluster by a relaxed arrive with no fence "
				 "before it");
		*help = "put `fence.mbarrier_init.release.cluster;' before the arrive";
		break;
	case RULE_TENSORMAP_UNFENCED:
		*message = text_format(arena, "`%s': %s", place->opcode,
			detail ? detail
			       : "the tensor map is used with no fence.proxy.tensormap on the way");
		*help = "release with `fence.proxy.tensormap::generic.release.gpu;' after the "
			"write and acquire "
			"with `fence.proxy.tensormap::generic.acquire.gpu [map], 128;' before the "
			"use";
		break;
	case RULE_UNKNOWN_INSTRUCTION:
		*message = text_format(
			arena, "`%s' is not in the tables and is treated with care", place->opcode);
		*help = "say `// fencepost: generic', `async' or `neutral' before it";
		break;
	case RULE_HINT_INVALID:
		*message = text_format(
			arena, "hint not obeyed: %s", detail ? detail : "not understood");
		*help = "write `// fencepost: ignore REASON' or `// fencepost: off REASON' ... "
			"`on'";
		break;
	default:
		*message = "hint suppresses nothing: no finding names the fence directly behind it "
			   "or, where there is none, an access or call behind it in its block";
		*help = "put it directly before what a finding names, or take it away";
		break;
	}
}

void describe(struct job *job, const struct finding *from, struct fencepost_finding *to,
	const struct fencepost_fence *settled_by)
{
	struct words w = {job, from, to, settled_by};

	if (to->fence)
		describe_fence(&w, &to->message, &to->help);
	else if (from->rule <= RULE_MISSING_CP_ASYNC && to->generic && to->async) {
		to->message = edge_message(&w);
		to->help = edge_help(&w);
	} else
		describe_check(&w, &to->message, &to->help);
}
