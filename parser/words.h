/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the language: text -> number, by binary search in tables made from the .def files. */
#pragma once

#include "parser/ir.h"

enum opcode opcode_find(const char *text, size_t size);     /* OP_UNKNOWN when the table lacks it */
enum modifier modifier_find(const char *text, size_t size); /* MOD_UNKNOWN ... */
enum special_register special_find(const char *text, size_t size); /* SPECIAL_OTHER ... */
/* The token kind of a directive (`text` without its dot), or 0. */
int directive_find(const char *text, size_t size);
/* DIRECTIVE_COUNT when it is none of those that the analysis reads. */
enum directive_kind header_directive_find(const char *text, size_t size);
/* Width of a fundamental type in bits (1 for .pred), or 0 when the modifier is no type. */
uint32_t modifier_type_bits(enum modifier);
