#!/usr/bin/env bash
# Installs the packages of the peers in JavaScript and Python, exactly as their lock files say, into the peers' own
# directories. Does nothing where they are there already.
set -euo pipefail
cd "$(dirname "$0")"

# stale DIR STAMP LOCK: is what STAMP stands for older than its lock file?
stale() { [ ! -e "$1/$2" ] || [ "$1/$3" -nt "$1/$2" ]; }

npms() {
	for p in js02 js03 js10 sign; do
		stale $p node_modules/.package-lock.json package-lock.json || continue
		npm ci --prefix $p --ignore-scripts --no-audit --no-fund --loglevel=error
		touch $p/node_modules/.package-lock.json
	done
}

venvs() {
	for p in py02 py03 py10 sign; do
		stale $p .venv/.stamp requirements.txt || continue
		python3 -m venv --clear $p/.venv
		$p/.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $p/requirements.txt
		touch $p/.venv/.stamp
	done
}

npms &
venvs
wait $!
