With nothing missing, and for older targets, the bytes come back.

$ fencepost -q fenced.ptx | cmp - fenced.ptx
$ fencepost -q old.ptx | cmp - old.ptx
$ fencepost -q - < fenced.ptx | cmp - fenced.ptx
$ fencepost -q --fix=none missing.ptx | cmp - missing.ptx
$ sed 's/$/\r/' fenced.ptx > crlf.ptx; fencepost -q crlf.ptx | cmp - crlf.ptx
$ printf %s "$(cat fenced.ptx)" > short.ptx; fencepost -q short.ptx | cmp - short.ptx
$ fencepost -q /dev/stdin < fenced.ptx | cmp - fenced.ptx
