Reports of parts are joined to one.

$ fencepost --check -q --format=json --report=a.json missing.ptx; fencepost --check -q --format=json --report=b.json fenced.ptx old.ptx; true
$ fencepost --merge a.json b.json > all.json; grep -o '"file":"[^"]*"' all.json; grep -o '"files":[0-9]*,"kernels":[0-9]*' all.json
1 "file":"missing.ptx"
1 "file":"fenced.ptx"
1 "file":"old.ptx"
1 "files":3,"kernels":2
$ fencepost --merge a.json b.json -o all2.json && cmp all.json all2.json
$ fencepost --merge all.json nowhere.json
2 nowhere.json: error: cannot read: unable to open nowhere.json: No such file or directory
= 2
$ echo '[]' > bad.json; fencepost --merge a.json bad.json -o never.json
2 bad.json: error: no report: expected "schema": "fencepost-report/1" with files and summary
= 2
$ ls never.json
2 ls: cannot access 'never.json': No such file or directory
= 2
$ echo '{"schema": "fencepost-report/2"}' > bad.json; fencepost --merge bad.json
2 bad.json: error: no report: expected "schema": "fencepost-report/1" with files and summary
= 2
Other forms are not made of what a report holds; nor is another place ignored.
$ fencepost --merge a.json --format=sarif
2 fencepost: error: --merge writes JSON only
2 Try `fencepost --help' for more information.
= 2
$ fencepost --merge a.json --format=html -o never.html
2 fencepost: error: --merge writes JSON only
2 Try `fencepost --help' for more information.
= 2
$ fencepost --merge a.json --report=never.json
2 fencepost: error: --merge writes to standard output, or to -o FILE
2 Try `fencepost --help' for more information.
= 2
$ fencepost --merge a.json b.json --format=json | cmp - <(fencepost --merge a.json b.json)
