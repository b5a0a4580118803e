/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local memory that is as good as a register: code built for debugging keeps pointers and counters on
 * the stack. Its stores and loads at constant places become moves, so that values are seen through
 * them.
 */
#pragma once

#include "analysis/unit.h"

/* Solves for the values of `unit`, seeing through local memory; `fn` is the function of the unit. */
void locals_solve(struct unit *, struct linked *);
