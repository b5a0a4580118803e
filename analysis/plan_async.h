/* SPDX-License-Identifier: Apache-2.0 */
/* --placement=async: right before the async access, as compiler passes do it; and the last resort
 * of the cut. */
#pragma once

#include "analysis/scene.h"

/* The point for a fence before the async access at `insn`: in front of branches and loops in which
 * nothing generic and no hand-off happens (`hoist`), out of wgmma batches and call sequences. NONE:
 * there is none. */
uint32_t async_point(const struct scene *, uint32_t insn, bool hoist);
