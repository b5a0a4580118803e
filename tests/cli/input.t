What cannot be read or is not PTX: status 2, a place, nothing written.

$ fencepost nowhere.ptx
2 nowhere.ptx: error: No such file or directory
2 fencepost: nothing looked at in 1 file; 1 file with input errors
= 2
$ fencepost tree
2 tree: error: Is a directory
2 fencepost: nothing looked at in 1 file; 1 file with input errors
= 2
$ fencepost broken.ptx -o out.ptx
2 broken.ptx:19:14: error: expected ',' or ';', saw '%r3'
2     19 | 	add.s32 %r2 %r3, %r2;
2        | 	            ^~~
2 broken.ptx:29:1: error: expected ':', ';' or an operand, saw '}'
2     29 | }
2        | ^
2 fencepost: nothing looked at in 1 file; 1 file with input errors
= 2
$ ls out.ptx
2 ls: cannot access 'out.ptx': No such file or directory
= 2
$ fencepost -i broken.ptx
2 broken.ptx:19:14: error: expected ',' or ';', saw '%r3'
2     19 | 	add.s32 %r2 %r3, %r2;
2        | 	            ^~~
2 broken.ptx:29:1: error: expected ':', ';' or an operand, saw '}'
2     29 | }
2        | ^
2 fencepost: nothing looked at in 1 file; 1 file with input errors
= 2
$ cmp broken.ptx broken.ptx
$ printf '.version 8.3\n.target sm_90a\n.address_size 64\n.entry k() { ret; ' | fencepost -
2 <stdin>:4:19: error: expected '}' or a statement, saw end of file
2      4 | .entry k() { ret; 
2        |                   ^
2 fencepost: nothing looked at in 1 file; 1 file with input errors
= 2
$ printf '' | fencepost -
2 <stdin>:1:1: error: not PTX: expected '.version', saw end of file
2      1 | 
2        | ^
2 fencepost: nothing looked at in 1 file; 1 file with input errors
= 2
$ printf '.version 8.3\n.target sm_90a\n.entry k()\n{\n\tadd.u32 \0;\n}\n' | fencepost -
2 <stdin>:5:10: error: NUL byte in the text
2      5 | 	add.u32 ?;
2        | 	        ^
2 fencepost: nothing looked at in 1 file; 1 file with input errors
= 2
$ printf '\177ELF\033[31m\n' | fencepost -
2 <stdin>:1:1: error: not PTX: expected '.version'
2      1 | ?ELF?[31m
2        | ^
2 fencepost: nothing looked at in 1 file; 1 file with input errors
= 2
$ fencepost -o nowhere/out.ptx fenced.ptx
2 fencepost: error: nowhere/out.ptx: cannot write: No such file or directory
2 fenced.ptx:5: clean: store(float*) (14 instructions, 1 generic, 1 async, 1 fences)
2 fencepost: no findings in 1 kernel of 1 file (verdicts: 1 clean); 1 file not written
= 2
$ fencepost --check --report=nowhere/r.json fenced.ptx
2 fencepost: error: nowhere/r.json: cannot write: No such file or directory
= 2
$ fencepost --check nowhere.ptx fenced.ptx -q
2 nowhere.ptx: error: No such file or directory
= 2
$ mkdir empty && fencepost --check empty
1 fencepost: nothing looked at in 1 file; 1 file with input errors
2 empty: error: no *.ptx file in this folder
= 2
