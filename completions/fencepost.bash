# SPDX-License-Identifier: Apache-2.0
# Completion of fencepost for bash. fencepost-ptxas has the options of ptxas.

# The part behind the last comma of a list, with what stands before it kept.
_fencepost_list()
{
	local before= last=$1
	[[ $1 == *,* ]] && before=${1%,*}, last=${1##*,}
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$2" -- "$last")
	compopt -o nospace
}

_fencepost_files()
{
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_fencepost()
{
	local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}
	local rules="missing-raw missing-waw missing-war missing-global missing-cp-async fence-misplaced
		fence-issuer-side fence-redundant fence-too-wide bulk-store-unwaited mbarrier-init-unfenced
		tensormap-unfenced unknown-instruction hint-invalid hint-unused"
	# `=` is a word of its own for bash: --option = value
	if [[ $word == = ]]; then
		word=
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD-2]}
	fi
	COMPREPLY=()
	case $option in
	--format) _fencepost_list "$word" "text json sarif html"; return ;;
	--fix) _fencepost_list "$word" "missing misplaced wide redundant none"; return ;;
	--hazards) _fencepost_list "$word" "raw waw war"; return ;;
	--spaces) _fencepost_list "$word" "shared global"; return ;;
	--threads) _fencepost_list "$word" "cross same"; return ;;
	--placement) _fencepost_list "$word" "writer async"; return ;;
	--cp-async) _fencepost_list "$word" "fence trust"; return ;;
	--calls) _fencepost_list "$word" "auto none write async worst"; return ;;
	--color) _fencepost_list "$word" "auto always never"; return ;;
	--dump) _fencepost_list "$word" "tokens ir cfg addresses flow plan dot"; return ;;
	--assume) _fencepost_list "$word" "named-ids converged-warp stage-stride map-gap aligned-tma no-wrap
		consumed-loads flat-block param-global distinct-params race-free one-arrival multicast-self loaded-global own-stage none"; return ;;
	--rules | --explain) _fencepost_list "$word" "$rules"; return ;;
	--fail-on) _fencepost_list "$word" "error warning note incomplete possible $rules"; return ;;
	--report | --baseline | --write-baseline | -o) _fencepost_files "$word"; return ;;
	--kernel | --budget | --why | -j) return ;;
	esac
	if [[ $word != -* ]]; then
		_fencepost_files "$word"
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "--check --dump= --explain= -i --merge -o --why= --assume= --budget=
		--calls= --cp-async= --hazards= --kernel= --mutate --rules= --spaces= --strict --threads= --fix=
		--placement= --baseline= --color= --fail-on= --format= -j --progress -q --report= -v
		--write-baseline= --help --usage --version" -- "$word")
	[[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace
}

complete -F _fencepost fencepost
