#!/usr/bin/env bash
# Runs every fuzz target of the module for the time given (60s).
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-60s}
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do
	for target in $(go test -list '^Fuzz' "$dir" | grep '^Fuzz'); do
		echo "== $dir $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir"
	done
done
