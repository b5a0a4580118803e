# SPDX-License-Identifier: Apache-2.0
# Turns the language cases into files, one a case; bodies get a kernel around them.
/^=== / { n++; file = dir "/language" n ".ptx"; getline kind; body = kind ~ /^body/; text = 1
	if (body)
		print ".version 9.0 .target sm_90a .address_size 64 .global .b32 gv[16]; .entry k(.param .u64 kp) {" \
			" .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<5>; .reg .f32 %f<8>;" \
			" .shared .align 16 .b8 sm[1024];" > file
	next }
/^---$/ { if (body) print "ret; }" > file; close(file); text = 0; next }
text { print > file }
