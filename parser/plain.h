/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "parser/ir.h"

/* Is there anything to do for an opcode? */
bool plain_may_change(uint16_t op);

/* `operands` are those of the instruction, in order of the text. */
void plain_form(struct insn *, struct operand *operands);

/* At the end of a body, when labels are known: branches by index. */
void plain_branches(struct function *);
