#!/usr/bin/env bash
# Fails when a generated file, go.mod or go.sum is not what its sources say. It writes the generated files anew.
set -euo pipefail
cd "$(dirname "$0")/.."

generated() {
	git ls-files -co --exclude-standard -- '*_templ.go' 'frontend/static' | sort | while read -r f; do
		[ -f "$f" ] && sha256sum "$f"
	done
}
before=$(generated)
make -s gen
if ! changed=$(diff <(echo "$before") <(generated)); then
	echo "Generated files were not up to date; make gen has written them:" >&2
	echo "$changed" | awk 'NF == 3 { print "  " $3 }' | sort -u >&2
	exit 1
fi
for module in . cluster; do
	go mod -C $module tidy -diff >/dev/null || {
		echo "$module/go.mod is not tidy: run go mod -C $module tidy" >&2
		exit 1
	}
done
