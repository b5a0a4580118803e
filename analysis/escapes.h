/* SPDX-License-Identifier: Apache-2.0 */
/* Whether generic addresses of shared memory get out of a function's registers. */
#pragma once

#include "analysis/cfg.h"

/* Some register into which a generic address of shared memory may have come (cvta.shared, mapa; ISA 9.7.9.20,
 * 9.7.9.23) is stored, or handed to a callee that is not seen. If not, no pointer that is loaded from
 * memory was put there by this function's threads. */
bool shared_escapes(const struct function *, const struct cfg *, struct arena *);
