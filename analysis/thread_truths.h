/* SPDX-License-Identifier: Apache-2.0 */
/* What threads.c computes for one thread, and thread_ways.c keeps for all. */
#pragma once

#include "analysis/threads.h"

/* The predicate in one thread, or in the lanes of its warp if they agree: any of them may be the elected
 * one. *alike: it is the same for so many threads: THREADS_MAX, 32 (those of the warp), or 1. */
enum truth thread_compute(const struct values *, struct thread, uint32_t node, uint32_t *alike);
/* It compares the thread's number with a constant: behind the last thread from this one on in which the outcome
 * is the same; else behind the thread itself. */
uint32_t thread_compare_end(const struct values *, uint32_t tid, uint32_t node);
