/* SPDX-License-Identifier: Apache-2.0 */
/* The second parser (parse.c says why): the same grammar, with LAC, under another name. */
#define ptxparse ptx_explain_parse
#include "parser/ptx_explain.h"
