# SPDX-License-Identifier: Apache-2.0
# Read by the tests of this folder: a work folder, `is NAME EXPECTED SEEN`, `need PROGRAM`, `finish`.
# FENCEPOST and SHIM are the programs under test, SOURCE is the tree.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0
unset FENCEPOST_OPTIONS FENCEPOST_PTXAS FENCEPOST_ON_ERROR FENCEPOST_ON_EDGE FENCEPOST_INPLACE FENCEPOST_CHAIN
unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS
PATH=$PATH:/usr/local/cuda/bin

is() {
	[ "$2" = "$3" ] && return
	printf 'FAILED %s\n  expected: %s\n  seen:     %s\n' "$1" "$2" "$3"
	failed=1
}

need() {
	for program; do
		command -v "$program" >/dev/null || { echo "no $program: skipped"; exit 77; }
	done
}

code_of() { # a hash of each .text.* of an ELF file for a machine that binutils do not know
	python3 - "$1" <<'P'
import hashlib, struct, sys
data = open(sys.argv[1], "rb").read()
data = data[data.index(b"\x7fELF\x02\x01\x01"):] if not data.startswith(b"\x7fELF") else data
offset, = struct.unpack_from("<Q", data, 40)
size, count, names = struct.unpack_from("<HHH", data, 58)
rows = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
for row in rows:
    name = data[rows[names][4] + row[0]:].split(b"\0")[0]
    if name.startswith(b".text."):
        print(hashlib.sha256(data[row[4]:row[4] + row[5]]).hexdigest())
P
}

finish() {
	[ $failed = 0 ] && echo ok
	exit $failed
}
