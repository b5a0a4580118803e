/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes a tensor copy moves whose map the kernel builds itself (ISA 9.7.9.28, tensormap.replace). */
#pragma once

#include "analysis/unit.h"

/* Lowers `bytes` of the tensor copies among unit->accesses where the box of the map is known. */
void map_boxes_find(struct unit *);
