#!/usr/bin/env bash
# Installs the packages of the peers in JavaScript and Python, exactly as their lock files say, into the peers' own
# directories, compiles those in Go, and builds the peer in Java, whose libraries are held against its list of checksums.
# Does nothing where they are there already. Where there is no Java, that peer is left out, but not in CI.
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

# jars builds the Java peer. Maven 3.8 has no lock file of its own: what it fetched is compared afterwards, before it is run.
jars() {
	local p=java03
	local jar=$p/target/quarkus-app/quarkus-run.jar
	[ ! -e $jar ] || [ -n "$(find $p/pom.xml $p/checksums.txt $p/src -newer $jar)" ] || return 0
	if [ -z "${CI:-}" ] && ! { command -v javac && command -v mvn; } >/dev/null; then
		echo "interop: the Java peer is left out: there is no JDK or no Maven here" >&2
		return 0
	fi
	mvn --quiet --batch-mode --strict-checksums --file $p/pom.xml -Dmaven.test.skip=true clean package
	if ! (cd $p/target/quarkus-app && sha256sum --check --quiet --strict ../../checksums.txt &&
		diff <(find lib -name '*.jar' | LC_ALL=C sort) <(cut -d' ' -f3 ../../checksums.txt)); then
		rm -rf $p/target
		echo "interop: the libraries of $p are not those of its checksums.txt" >&2
		return 1
	fi
}

# gos compiles what the peers in Go are made of, so that the tests have but to link them.
gos() {
	for p in go01 go02 go03 go10; do
		go list -C $p -export ./... >/dev/null
	done
}

npms &
jars
venvs
gos
wait $!
