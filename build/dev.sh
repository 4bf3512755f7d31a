#!/usr/bin/env bash
# Serves with demo data kept in .cache/dev. When a source of Go, templ, TypeScript or CSS changes, the generated files
# are written anew, and the program is built and started again on the same addresses; open pages come back to it. A
# build that fails leaves the running program alone.
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
		\( -name '*.go' -o -name '*.templ' -o -path './frontend/src/*' -o -name '*.sql' \) ! -name '*_templ.go' ! -name '*_test.go' \
		-newer "$stamp" -print -quit
}

# seed has a few conversations begin, in every state that the demo agents can leave one in.
seed() {
	until bin/parley open --print --data .cache/dev >/dev/null 2>&1; do sleep 0.2; done
	for say in 'writer|Write about the sea' 'travel|Plan a trip from Oslo to Bergen' 'vault|Open the vault' \
		'files|Send me a chart' 'slow|#slow 10m' 'flaky|#flaky 500' 'echo|Hello there'; do
		bin/parley send --data .cache/dev --to "${say%%|*}" "${say#*|}" </dev/null >/dev/null 2>&1 &
	done
}

open=--open
fresh=
[ -e .cache/dev/parley.db ] || fresh=1
while :; do
	touch "$stamp"
	if make -s gen && go build -o bin/parley ./build/dev; then
		stop
		bin/parley serve --demo $open --data .cache/dev --ui 127.0.0.1:7420 --a2a 127.0.0.1:7421 &
		pid=$!
		open=
		[ -z "$fresh" ] || { seed && fresh=; }
	fi
	until file=$(changed) && [ -n "$file" ]; do sleep 0.3; done
	echo "changed: $file" >&2
done
