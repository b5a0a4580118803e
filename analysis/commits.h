/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cp.async may still belong to no group where a cp.async.wait_group runs: such a copy is not
 * waited for, whatever the count (ISA 9.7.9.25.3.3). wait_all is not asked: it waits for them too.
 */
#pragma once

#include "analysis/unit.h"
#include "base/bits.h"

/* By instruction: sets of access numbers at the wait_groups that leave some out; no words: none. NULL if
 * no instruction has one. */
struct bits *commits_missing(struct unit *);
