# SPDX-License-Identifier: Apache-2.0
# Read by scripts: `toolkit FOLDER` makes a CUDA toolkit out of links, in which count_ptxas stands in for ptxas, and
# sets REAL_PTXAS: PTXAS, the one of NVIDIA's Python package that JAX takes, or the one on PATH.
# `here` is this folder, `python` a Python with JAX.
toolkit() {
	REAL_PTXAS=${PTXAS:-$("$python" -c 'import nvidia.cu13
print(list(nvidia.cu13.__path__)[0] + "/bin/ptxas")' 2> /dev/null)}
	[ -x "$REAL_PTXAS" ] || REAL_PTXAS=$(PATH=$PATH:/usr/local/cuda/bin command -v ptxas) || {
		echo "no ptxas" >&2
		return 1
	}
	root=$(dirname "$(dirname "$(realpath "$REAL_PTXAS")")")
	mkdir -p "$1/bin"
	for part in "$root"/* "$root"/bin/*; do
		[ "$part" = "$root/bin" ] || ln -s "$part" "$1/${part#"$root"/}"
	done
	ln -sf "$here/count_ptxas" "$1/bin/ptxas"
	ln -sf "$here/count_ptxas" "$1/bin/last_ptxas"
}
