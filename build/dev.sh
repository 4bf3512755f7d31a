#!/usr/bin/env bash
# Serves with demo data kept in .cache/dev. When a source of Go, templ, TypeScript or CSS changes, the generated files
# are written anew, the program is built and started again on the same addresses, and open pages follow it. A build
# that fails leaves the running program alone.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache/dev
stamp=.cache/dev.stamp
pid=

stop() {
	[ -n "$pid" ] && kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
	pid=
}
trap stop EXIT
trap 'exit 0' INT TERM

changed() {
	find . \( -name .git -o -name .cache -o -name bin -o -name node_modules -o -path ./frontend/static \) -prune -o -type f \
		\( -name '*.go' -o -name '*.templ' -o -path './frontend/src/*' -o -name '*.sql' \) ! -name '*_templ.go' \
		-newer "$stamp" -print -quit
}

open=--open
while :; do
	touch "$stamp"
	if make -s gen && make -s build; then
		stop
		bin/parley serve --demo $open --data .cache/dev --ui 127.0.0.1:7420 --a2a 127.0.0.1:7421 &
		pid=$!
		open=
	fi
	until [ -n "$(changed)" ]; do sleep 0.3; done
	echo "changed: $(changed)" >&2
done
