What --check finds, and what makes it fail.

$ fencepost --check -q --strict fenced.ptx
$ fencepost --check -q --strict missing.ptx
= 1
$ fencepost --check -q --strict --fail-on=none missing.ptx
$ fencepost --check -q --strict --fail-on=warning missing.ptx
= 1
$ fencepost --check -q --strict --fail-on=missing-raw missing.ptx
= 1
$ fencepost --check -q --strict --fail-on=missing-war missing.ptx
$ fencepost --check -q --strict --hazards=waw,war missing.ptx
$ fencepost --check -q --strict --spaces=global missing.ptx
$ fencepost --check -q --strict --rules=-missing-raw missing.ptx
$ fencepost --check -q --strict --rules=missing-waw missing.ptx
$ fencepost --check -q --strict --threads=same missing.ptx; echo $?
1 1
$ fencepost --check -q --strict --kernel='other*' missing.ptx
2 fencepost: error: no kernel of these files matches --kernel
= 2
$ fencepost --check -q --strict --kernel='_Z5store*' missing.ptx
= 1
$ fencepost --check -q --strict --kernel='store(float[*])' missing.ptx
= 1
$ fencepost --check -q --strict hinted.ptx
Folders: *.ptx below, in order; one file's error does not stop the others.
$ fencepost --check --strict --format=json tree | grep -o '"file":"[^"]*"'
1 "file":"tree/a.ptx"
1 "file":"tree/sub/b.ptx"
$ cp broken.ptx tree/aa.ptx; fencepost --check --strict --format=json tree | grep -o '"file":"[^"]*"'; echo ${PIPESTATUS[0]}
1 "file":"tree/a.ptx"
1 "file":"tree/aa.ptx"
1 "file":"tree/sub/b.ptx"
1 2
2 tree/aa.ptx:19:14: error: expected ',' or ';', saw '%r3'
2     19 | 	add.s32 %r2 %r3, %r2;
2        | 	            ^~~
2 tree/aa.ptx:29:1: error: expected ':', ';' or an operand, saw '}'
2     29 | }
2        | ^
$ fencepost --check -q --strict old.ptx
$ fencepost --check old.ptx
1 fencepost: no findings in 1 file; no kernel here is for sm_90 or later and has async accesses
