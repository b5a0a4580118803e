/* SPDX-License-Identifier: Apache-2.0 */
/* Does nvcc keep the PTX that it hands to ptxas? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* True when nvcc calls us and may embed the same PTX beside the cubin. */
bool shim_nvcc_embeds(void);

/* The same of given words of an nvcc command line. */
bool shim_nvcc_words_embed(uint32_t n, char *const *words);
