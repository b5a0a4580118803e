# SPDX-License-Identifier: Apache-2.0
# docs/rules.md -> a C array of its lines.
BEGIN { print "extern const char *const rule_pages[];\nconst char *const rule_pages[] = {" }
{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); printf "\t\"%s\",\n", $0 }
END { print "\t(const char *)0\n};" }
