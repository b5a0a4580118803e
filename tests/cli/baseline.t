A baseline keeps what is known out of the way and shows what is new and what is gone.

$ fencepost --check -q --strict --write-baseline=b.json --fail-on=none missing.ptx
$ fencepost --check -q --strict --baseline=b.json missing.ptx
$ fencepost --check --strict --baseline=b.json missing.ptx | tail -n 1
1 fencepost: no new findings in 1 kernel of 1 file (verdicts: 1 findings); 1 known from the baseline
$ sed -n 's/^ .*"rule": "\([a-z-]*\)".*/\1/p' b.json
1 missing-raw
Moved lines, other registers, another constant, another folder: still known.
$ mkdir other; sed '1i // a comment' missing.ptx | sed 's/%r2/%r17/g; s/%r<4>/%r<20>/; s/512/1024/; s/%rd1/%rd0/g' > other/missing.ptx
$ fencepost --check -q --strict --baseline=b.json other
Another instruction is another finding.
$ sed 's/st.shared.u32/st.shared.b32/' missing.ptx > other/missing.ptx; fencepost --check -q --strict --baseline=b.json other
= 1
What was fixed is listed.
$ cp fenced.ptx other/missing.ptx; fencepost --check --strict --baseline=b.json other | grep fixed
1 missing.ptx: fixed since the baseline: missing-raw in _Z5storePf (5f95247bd6a056a0)
In an anonymous namespace nvcc puts a hash of the file into the name: still known; another kernel of it is not.
$ name() { sed "s/_Z5storePf/$1/g" missing.ptx > other/missing.ptx; }; try() { fencepost --check -q --strict --baseline=n.json other; echo $?; }; name _ZN35_GLOBAL__N__c34f0a32_5_st_cu__Z2gov5storeEPf; fencepost --check -q --strict --write-baseline=n.json --fail-on=none other; name _ZN36_GLOBAL__N__184ba854_5_st_cu__Z3went5storeEPf; try; name _ZN36_GLOBAL__N__184ba854_5_st_cu__Z3went5spareEPf; try
1 0
1 1
A second finding of the same kind is new.
$ awk '{ print } /st.shared.u32/ { print "\tst.shared.u32 [%r3], %r1;" }' missing.ptx > other/missing.ptx; fencepost --check -q --strict --baseline=b.json other
= 1
Files of one name do not hide each other's findings: a's is mended, b has a new one like it.
$ mkdir -p t/a t/b; cp missing.ptx t/a; cp fenced.ptx t/b/missing.ptx; fencepost --check -q --strict --write-baseline=t.json --fail-on=none t; grep -o '"file": "[^"]*"' t.json
1 "file": "a/missing.ptx"
$ fencepost --check -q --strict --baseline=t.json t; mv t/a/missing.ptx t/x; mv t/b/missing.ptx t/a; mv t/x t/b/missing.ptx; fencepost --check --strict --baseline=t.json t | grep -e error: -e fixed
1 t/b/missing.ptx:20:2: error: `st.shared.u32' writes shared memory that `cp.async.bulk.global.shared::cta.bulk_group' in line 24 reads through the async proxy, with no proxy fence on the way [missing-raw]
1 a/missing.ptx: fixed since the baseline: missing-raw in _Z5storePf (5f95247bd6a056a0)
Nor where a is not looked at.
$ fencepost --check -q --strict --baseline=t.json t/b
= 1
The folder of both may move, and be looked at in part and from anywhere.
$ fencepost --check -q --strict --format=json --report=r.json t; fencepost --check -q --strict --write-baseline=t.json --fail-on=none t; mkdir u; mv t u/v; cd u/v/a; for b in t r; do fencepost --check -q --strict --baseline=../../../$b.json ../b .././/../v/./a/missing.ptx; echo $?; fencepost --check -q --strict --baseline=../../../$b.json ../../v; echo $?; done
1 0
1 0
1 0
1 0
One of two, and which cannot be known: new, with a warning.
$ cp u/v/b/missing.ptx u/v/a; fencepost --check -q --strict --write-baseline=t.json --fail-on=none u/v/a; fencepost --check --strict --baseline=t.json u/v | grep -c error:
1 2
2 fencepost: warning: t.json: `missing.ptx' may be any of several files: what is known of it counts as new; write the baseline again
A report does as a baseline.
$ fencepost --check -q --strict --format=json --report=r.json missing.ptx; fencepost --check -q --strict --baseline=r.json missing.ptx
Refreshing on purpose; not after an input error.
$ fencepost --check -q --strict --baseline=b.json --write-baseline=b.json --fail-on=none other && fencepost --check -q --strict --baseline=b.json other
$ cp b.json before.json; fencepost --check -q --write-baseline=b.json broken.ptx missing.ptx; cmp b.json before.json
2 broken.ptx:19:14: error: expected ',' or ';', saw '%r3'
2     19 | 	add.s32 %r2 %r3, %r2;
2        | 	            ^~~
2 broken.ptx:29:1: error: expected ':', ';' or an operand, saw '}'
2     29 | }
2        | ^
2 fencepost: error: the baseline is not written because of the errors above
Broken ones.
$ fencepost --check -q --baseline=nowhere.json missing.ptx
2 nowhere.json: error: cannot read the baseline: unable to open nowhere.json: No such file or directory
= 2
$ echo '{' > bad.json; fencepost --check -q --baseline=bad.json missing.ptx
2 bad.json:2:0: error: no baseline: string or '}' expected near end of file
= 2
$ echo '{"schema": "other/1"}' > bad.json; fencepost --check -q --baseline=bad.json missing.ptx
2 bad.json: error: no baseline: expected "schema": "fencepost-baseline/1" or a report, with file, kernel, rule and fingerprint of each finding
= 2
$ fencepost --check -q --write-baseline=nowhere/b.json missing.ptx
2 fencepost: error: nowhere/b.json: cannot write: No such file or directory
= 2
