/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cp.async may still belong to no group where a cp.async.wait_group runs: such a copy is not
 * waited for, whatever the count (ISA 9.7.9.25.3.3). wait_all is not asked: it waits for them too.
 */
#pragma once

#include "analysis/facts.h"

/* By instruction: the copies that a wait_group leaves out, each as the first fact of its access
 * (copies without facts are left out); no words: none. NULL if no instruction has one. */
struct bits *commits_missing(struct unit *, const struct facts *);
