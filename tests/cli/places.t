Written files take neither each other's place nor an input's; the PTX alone may go onto its input.

$ mkdir sub; ln -s missing.ptx link.ptx; ln -s sub other; cp missing.ptx before.ptx
$ fencepost missing.ptx -q -o out.ptx --format=json --report=./out.ptx; ls out.ptx
2 fencepost: error: the report would take the place of the PTX
2 Try `fencepost --help' for more information.
2 ls: cannot access 'out.ptx': No such file or directory
= 2
$ fencepost missing.ptx -q -o sub/out.ptx --format=json --report=other/out.ptx; ls sub/out.ptx
2 fencepost: error: the report would take the place of the PTX
2 Try `fencepost --help' for more information.
2 ls: cannot access 'sub/out.ptx': No such file or directory
= 2
$ fencepost missing.ptx -q --format=json --report=-
2 fencepost: error: the report would take the place of the PTX
2 Try `fencepost --help' for more information.
= 2
$ fencepost missing.ptx -q -o out.ptx --report=link.ptx
2 fencepost: error: --report names an input
2 Try `fencepost --help' for more information.
= 2
$ fencepost --check -q --report=missing.ptx missing.ptx
2 fencepost: error: --report names an input
2 Try `fencepost --help' for more information.
= 2
$ fencepost --check -q --write-baseline=link.ptx missing.ptx
2 fencepost: error: --write-baseline names an input
2 Try `fencepost --help' for more information.
= 2
$ fencepost --check -q --write-baseline=b.json --format=json --report=b.json missing.ptx
2 fencepost: error: --report and --write-baseline name one file
2 Try `fencepost --help' for more information.
= 2
$ cmp missing.ptx before.ptx; ls *.json
2 ls: cannot access '*.json': No such file or directory
= 2
$ fencepost missing.ptx -q -o /dev/null --format=json --report=/dev/null
$ fencepost --check -q --fail-on=none --write-baseline=b.json --format=json --report=r.json missing.ptx && ls *.json
1 b.json
1 r.json
$ fencepost link.ptx -q -o missing.ptx; cmp missing.ptx before.ptx
1 missing.ptx before.ptx differ: char 380, line 21
= 1
A size limit is a write error as any other: status 2, nothing left behind.

$ cp before.ptx big.ptx; for i in $(seq 40); do echo "// a line to make the file grow beyond the limit"; done >>big.ptx
$ (ulimit -f 1; exec fencepost -q big.ptx -o grown.ptx 2>/dev/null); echo $?; ls -A | grep -c grown
1 2
1 0
= 1
Nor is PTX written whose report cannot be, and both where it can.

$ fencepost before.ptx -q -o late.ptx --report=/dev/full; ls -A | grep late
2 fencepost: error: /dev/full: cannot write: No space left on device
= 1
$ fencepost before.ptx -q -o late.ptx --format=json >/dev/full; ls -A | grep late
2 fencepost: error: cannot write the report
= 1
$ fencepost before.ptx -o late.ptx 2>/dev/full; echo $?; ls -A | grep late
1 2
= 1
$ mkdir two; cp before.ptx two/a.ptx; cp before.ptx two/b.ptx; fencepost -q -i two/*.ptx --format=json --report=/dev/full; cmp two/a.ptx before.ptx && cmp two/b.ptx before.ptx && ls -A two
1 a.ptx
1 b.ptx
2 fencepost: error: /dev/full: cannot write: No space left on device
$ fencepost -q -i two/*.ptx --format=json --report=two/r.json; cmp -s two/a.ptx before.ptx || cmp -s two/b.ptx before.ptx || ls -A two
1 a.ptx
1 b.ptx
1 r.json
$ fencepost -q before.ptx -o late.ptx --format=json >late.json; ls -A | grep late; fencepost -q before.ptx --format=json --report=late.json | cmp - late.ptx
1 late.json
1 late.ptx
A report is there even where the PTX cannot be written.

$ rm late.*; fencepost -q before.ptx -o /dev/full --format=json --report=late.json; ls -A | grep late
1 late.json
2 fencepost: error: /dev/full: cannot write: No space left on device
Where no kernel matches nothing is written, either.

$ fencepost -q --kernel='nothing*' before.ptx -o none.ptx; ls none.ptx
2 fencepost: error: no kernel of these files matches --kernel
2 ls: cannot access 'none.ptx': No such file or directory
= 2
$ fencepost -q --kernel='nothing*' before.ptx
2 fencepost: error: no kernel of these files matches --kernel
= 2
$ fencepost -q --kernel='store*' before.ptx -o one.ptx && ls one.ptx
1 one.ptx
