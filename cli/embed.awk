# SPDX-License-Identifier: Apache-2.0
# A text file -> a C array of its lines, named by -v name=NAME.
BEGIN { print "extern const char *const " name "[];\nconst char *const " name "[] = {" }
{ gsub(/\\/, "&&"); gsub(/"/, "\\\""); printf "\t\"%s\",\n", $0 }
END { print "\t(const char *)0\n};" }
