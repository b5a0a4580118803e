Where the output goes, and what stays as it was.

$ fencepost -q missing.ptx | diff missing.ptx -
1 20a21
1 > 	fence.proxy.async.shared::cta;
= 1
$ fencepost -q missing.ptx -o out.ptx && diff missing.ptx out.ptx
1 20a21
1 > 	fence.proxy.async.shared::cta;
= 1
$ fencepost -q out.ptx | cmp - out.ptx
$ cp missing.ptx a.ptx; cp missing.ptx b.ptx; chmod 640 a.ptx; ln -s b.ptx link.ptx
$ fencepost -q -i a.ptx link.ptx fenced.ptx && cmp a.ptx out.ptx && cmp b.ptx out.ptx && cmp link.ptx out.ptx
$ stat -c '%a %F' a.ptx link.ptx
1 640 regular file
1 777 symbolic link
$ ls -A | grep "[.]ptx[.]"
= 1
A file that is the output, too.
$ cp missing.ptx c.ptx; fencepost -q c.ptx -o c.ptx && cmp c.ptx out.ptx
A link that leads to no file yet; a device; a FIFO.
$ ln -s new.ptx dangling.ptx; fencepost -q missing.ptx -o dangling.ptx && cmp new.ptx out.ptx && stat -c %F dangling.ptx
1 symbolic link
$ fencepost -q missing.ptx -o /dev/null && stat -c %F /dev/null
1 character special file
$ mkfifo pipe; cat pipe > piped.ptx & fencepost -q missing.ptx -o pipe; wait; cmp piped.ptx out.ptx
A full device is an error, and nothing is lost.
$ fencepost -q missing.ptx -o /dev/full
2 fencepost: error: /dev/full: cannot write: No space left on device
= 2
$ fencepost -q missing.ptx > /dev/full
2 fencepost: error: -: cannot write: No space left on device
= 2
$ fencepost -q --check --format=json missing.ptx > /dev/full
2 fencepost: error: cannot write the report
= 2
One bad file of several.
$ cp missing.ptx d.ptx; fencepost -q -i d.ptx broken.ptx nowhere.ptx; cmp d.ptx out.ptx
2 broken.ptx:19:14: error: expected ',' or ';', saw '%r3'
2     19 | 	add.s32 %r2 %r3, %r2;
2        | 	            ^~~
2 broken.ptx:29:1: error: expected ':', ';' or an operand, saw '}'
2     29 | }
2        | ^
2 nowhere.ptx: error: No such file or directory
CRLF and a missing last newline stay.
$ sed 's/$/\r/' missing.ptx > crlf.ptx; fencepost -q crlf.ptx | sed 's/\r$//' | cmp - out.ptx; fencepost -q crlf.ptx | grep -c 'async.shared::cta;.$'
1 1
$ printf %s "$(cat missing.ptx)" > short.ptx; printf %s "$(cat out.ptx)" > want.ptx; fencepost -q short.ptx | cmp - want.ptx
--fix=none leaves the edge and says so by its status.
$ fencepost -q --fix=none missing.ptx -o none.ptx; echo $?; cmp none.ptx missing.ptx
1 1

A new fence that another kernel's makes spare goes again, and that one settles its finding too.
$ fencepost -q --fix=missing,misplaced,wide,redundant -o out.ptx --format=json --report=r.json new_fence.ptx; tr -d ' \n' <r.json | grep -o '"fixes":[^]]*]'
1 "fixes":[4,2,3]
