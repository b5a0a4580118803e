Wrong command lines end with status 2 and say why.

$ fencepost
2 fencepost: error: no file given
2 Try `fencepost --help' for more information.
= 2
$ fencepost --nonsense x.ptx
2 fencepost: unrecognized option '--nonsense'
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --check
2 fencepost: error: no file given
2 Try `fencepost --help' for more information.
= 2
$ fencepost --rules=missing-ram --check fenced.ptx
2 fencepost: --rules: unknown `missing-ram', expected missing-raw, missing-waw, missing-war, missing-global, missing-cp-async, fence-misplaced, fence-issuer-side, fence-redundant, fence-too-wide, bulk-store-unwaited, mbarrier-init-unfenced, tensormap-unfenced, unknown-instruction, hint-invalid or hint-unused, or none
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --rules= --check fenced.ptx
2 fencepost: --rules needs a value
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --hazards=rar --check fenced.ptx
2 fencepost: --hazards: unknown `rar', expected raw, waw or war
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --spaces=local --check fenced.ptx
2 fencepost: --spaces: unknown `local', expected shared or global
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --threads=both --check fenced.ptx
2 fencepost: --threads: unknown `both', expected cross or same
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --placement=here fenced.ptx
2 fencepost: --placement: unknown `here', expected writer or async
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --fix=all fenced.ptx
2 fencepost: --fix: unknown `all', expected missing, misplaced, wide or redundant, or none
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --assume=luck --check fenced.ptx
2 fencepost: --assume: unknown `luck', expected named-ids, converged-warp, stage-stride, map-gap, aligned-tma, no-wrap, consumed-loads, flat-block, param-global, distinct-params, race-free, one-arrival, multicast-self, loaded-global or own-stage, or none
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --cp-async=maybe --check fenced.ptx
2 fencepost: --cp-async: unknown `maybe', expected fence or trust
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --strict=yes --check fenced.ptx
2 fencepost: option '--strict' doesn't allow an argument
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --calls=some --check fenced.ptx
2 fencepost: --calls: unknown `some', expected auto, none, write, async or worst
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --budget=soon --check fenced.ptx
2 fencepost: --budget: `soon' is no number of seconds
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --fail-on=everything --check fenced.ptx
2 fencepost: --fail-on: unknown `everything', expected error, warning, note, a rule, incomplete, possible, or none
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --format=xml --check fenced.ptx
2 fencepost: --format: unknown `xml', expected one of text, json, sarif, html
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --dump=soup fenced.ptx
2 fencepost: --dump: unknown `soup', expected one of tokens, ir, cfg, addresses, flow, plan, dot
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --why=12 fenced.ptx
2 fencepost: --why: `12' is not LINE:LINE
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --why=12:x fenced.ptx
2 fencepost: --why: `x' is no number from 1 on
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost --explain=missing-ram
2 fencepost: error: no rule `missing-ram'; there are: missing-raw, missing-waw, missing-war, missing-global, missing-cp-async, fence-misplaced, fence-issuer-side, fence-redundant, fence-too-wide, bulk-store-unwaited, mbarrier-init-unfenced, tensormap-unfenced, unknown-instruction, hint-invalid, hint-unused
= 2
$ fencepost --color=blue --check fenced.ptx
2 fencepost: --color: unknown `blue', expected one of auto, always, never
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost -j0 --check fenced.ptx
2 fencepost: -j: `0' is no number from 1 on
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost -i -o x.ptx fenced.ptx
2 fencepost: error: -i and -o exclude each other
2 Try `fencepost --help' for more information.
= 2
$ fencepost -i -
2 fencepost: error: -i cannot rewrite standard input
2 Try `fencepost --help' for more information.
= 2
$ fencepost --check -o x.ptx fenced.ptx
2 fencepost: error: -i and -o go with rewriting only
2 Try `fencepost --help' for more information.
= 2
$ fencepost --check --merge fenced.ptx
2 fencepost: --check, --dump, --why, --explain and --merge exclude each other
2 Try `fencepost --help' or `fencepost --usage' for more information.
= 2
$ fencepost fenced.ptx missing.ptx
2 fencepost: error: several files need -i, or --check
2 Try `fencepost --help' for more information.
= 2
$ fencepost --format=json fenced.ptx
2 fencepost: error: standard output takes the PTX: this --format needs --report=FILE, -o or -i
2 Try `fencepost --help' for more information.
= 2
$ fencepost --baseline=b.json fenced.ptx
2 fencepost: error: --fail-on, --baseline and --write-baseline go with --check
2 Try `fencepost --help' for more information.
= 2
$ ls x.ptx
2 ls: cannot access 'x.ptx': No such file or directory
= 2

Nothing that could not be written ends with status 0.
$ fencepost --help > /dev/full
2 fencepost: error: -: cannot write: No space left on device
= 2
$ fencepost --version > /dev/full
2 fencepost: error: -: cannot write: No space left on device
= 2
$ fencepost --version
1 fencepost FENCEPOST_VERSION
