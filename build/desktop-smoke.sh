#!/usr/bin/env bash
# Starts the window on an empty data directory, waits until its page reports itself live to the server, takes a
# picture, starts the program again with a link, which the first window has to show, and ends it the way a session manager
# would.
#
#   build/desktop-smoke.sh PROGRAM PICTURE.png
set -euo pipefail

if [ -z "${SMOKE_INSIDE:-}" ]; then
	SMOKE_INSIDE=1 FORCE_XVFB=1 exec "$(dirname "$0")/display.sh" "$0" "$@"
fi
program=$1 picture=$2
home=$(mktemp -d)
pid=
end() {
	[ -n "$pid" ] && kill -KILL "$pid" 2>/dev/null || true
	rm -rf "$home"
}
trap end EXIT
fail() {
	echo "window: $1 (a picture may be in $picture)" >&2
	import -window root "$picture" 2>/dev/null || true
	tail -n 30 "$home/log" >&2
	exit 1
}

"$program" --demo --data "$home/data" --ui 127.0.0.1:0 --a2a 127.0.0.1:0 >"$home/out" 2>"$home/log" &
pid=$!
for i in $(seq 600); do
	grep -q 'msg="window live"' "$home/log" && break
	kill -0 "$pid" 2>/dev/null || fail "ended before its page was live"
	[ "$i" = 600 ] && fail "its page was not live within a minute"
	sleep 0.1
done
# The page is live before it is painted, and painted before its paint says so: done when nothing but the caret changes.
changed() { compare -metric AE "$home/before.png" "$picture" null: 2>&1 || true; }
for i in $(seq 100); do
	import -window root "$picture"
	if [ "$(convert "$picture" -unique-colors -format %w info:)" -gt 40 ]; then
		[ -f "$home/before.png" ] && [ "$(changed | cut -d' ' -f1 | cut -d. -f1)" -lt 100 ] && break
		cp "$picture" "$home/before.png"
	fi
	[ "$i" = 100 ] && fail "nothing was painted, or it changed all the time: see $picture"
	sleep 0.5
done

timeout 30 "$program" --data "$home/data" parley://agents >"$home/second" 2>&1 || fail "a second start did not end by itself"
for i in $(seq 300); do
	[ "$(grep -c 'msg="window live"' "$home/log")" -ge 2 ] && break
	[ "$i" = 300 ] && fail "the window did not show what a second start named"
	sleep 0.1
done

kill -TERM "$pid"
for i in $(seq 100); do
	kill -0 "$pid" 2>/dev/null || break
	[ "$i" = 100 ] && fail "SIGTERM did not end it within 10 s"
	sleep 0.1
done
status=0
wait "$pid" || status=$?
pid=
[ "$status" = 0 ] || { echo "window: exit status $status after SIGTERM" >&2 && tail -n 30 "$home/log" >&2 && exit 1; }
[ -s "$home/data/window.json" ] || { echo "window: its place was not kept" >&2 && exit 1; }
echo "window: live, painted ($picture), shows what a second start names, ended cleanly"
