/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor: the lexer's token rules in one bare loop that counts tokens and builds nothing. Files are
 * read as the tool reads them. Prints the number of tokens and bytes.
 */
#include "base/diag.h"
#include "base/source.h"

#include <inttypes.h>
#include <stdio.h>

/*!re2c
	re2c:define:YYCTYPE = "unsigned char";
	re2c:define:YYCURSOR = p;
	re2c:define:YYMARKER = marker;
	re2c:yyfill:enable = 0;
	re2c:eof = -1;
*/

static uint64_t count_tokens(const char *p, const char *end)
{
	const char *marker;
	uint64_t n = 0;

	for (;;) {
		/*!re2c
			follow  = [A-Za-z0-9_$];
			name    = [A-Za-z] follow* | [_$%] follow+;
			part    = [A-Za-z0-9_]+;
			dotword = "." part ("::" part)*;
			integer = ("0" [0-7]* | [1-9][0-9]* | "0" [xX] [0-9A-Fa-f]+ | "0" [bB] [01]+) "U"?;
			exponent = [eE][+-]?[0-9]+;
			floating = [0-9]+ "." [0-9]* exponent? | "." [0-9]+ exponent? | [0-9]+ exponent
				| "0" [fF] [0-9A-Fa-f]{8} | "0" [dD] [0-9A-Fa-f]{16};

			[ \t\r\n\f]+		{ continue; }
			"//" [\x01-\x09\x0b-\x7f]* { continue; }
			"/" "*" ([^*\x00] | "*" [^/\x00])* "*" "/" { continue; }
			name | name dotword+ | "_" | integer | floating | dotword { n++; continue; }
			["] [\x01-\x21\x23-\x7f]* ["] { n++; continue; }
			"<<" | ">>" | "<=" | ">=" | "==" | "!=" | "&&" | "||" { n++; continue; }
			[-+*/%<>=!~&|^?:;,@(){}[\]] { n++; continue; }
			*			{
							if (p > end)
								return n;
							n++;
							continue;
						}
		*/
	}
}

int main(int argc, char **argv)
{
	uint64_t tokens = 0, bytes = 0;

	for (int i = 1; i < argc; i++) {
		struct source source;
		struct diags diags = {0};

		if (!source_read(&source, argv[i], &diags))
			return 2;
		tokens += count_tokens(source.text, source.text + source.size);
		bytes += source.size;
		source_free(&source);
		diags_free(&diags);
	}
	printf("%" PRIu64 " tokens, %" PRIu64 " bytes\n", tokens, bytes);
	return 0;
}
