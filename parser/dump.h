/* SPDX-License-Identifier: Apache-2.0 */
/* Prints tokens and IR, for people and for tests. */
#pragma once

#include "parser/ir.h"

#include <stdio.h>

/* One line per token: line:column kind text. */
void dump_tokens(struct source *, FILE *);
/* The module's own line, then its symbols and functions, without bodies. */
void dump_module(const struct module *, FILE *);
/* The body: registers, symbols, labels, instructions. */
void dump_function(const struct function *, FILE *);
/* One instruction without newline: `@!%p1 ld.shared.u32 %r1, [buf+4]`. */
void dump_insn(const struct function *, const struct insn *, FILE *);
void dump_operand(const struct function *, const struct operand *, FILE *);
