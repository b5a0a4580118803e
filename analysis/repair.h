/* SPDX-License-Identifier: Apache-2.0 */
/* What the audit and the planner ask each other. */
#pragma once

#include "analysis/audit.h"
#include "analysis/scene.h"

/* Judges the fences of the text in a scene (planned fences included) of which `flow` was just
 * solved. */
void audit_scene(struct scene *, const struct flow *, struct audit *);
