#!/usr/bin/env bash
# Writes the licences of everything that is in the program, by the modules that it is built from.
#
#   GOOS=windows build/licences.sh TAGS
#
# Fails when a module has none.
set -euo pipefail
cd "$(dirname "$0")/.."

part() {
	printf '\n%s\n%s\n\n' "$1" "${1//?/=}"
	shift
	cat "$@"
}

echo "Parley contains what follows, each under its own licence."
part "Go" "$(go env GOROOT)/LICENSE"
part "Inter" frontend/src/fonts/inter.LICENSE
part "JetBrains Mono" frontend/src/fonts/jetbrains-mono.LICENSE
part "Mermaid" frontend/vendor/mermaid/LICENSE
part "GloVe word vectors" orchestrator/planner/senses.LICENSE
go list -deps -tags "$1" -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' . | sort -u |
	while read -r path version dir; do
		mapfile -t files < <(find "$dir" -maxdepth 1 -type f \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
		((${#files[@]})) || { echo "$path $version comes without a licence" >&2 && exit 1; }
		part "$path $version" "${files[@]}"
	done
