#!/usr/bin/env bash
# Runs a command on the display there is, or on an Xvfb of its own where there is none. FORCE_XVFB=1 always takes the
# second.
#
#   build/display.sh COMMAND…
set -euo pipefail

if [ -z "${FORCE_XVFB:-}" ] && [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
	exec "$@"
fi
number=$(mktemp)
Xvfb -displayfd 3 -screen 0 1280x900x24 -nolisten tcp 3>"$number" 2>/dev/null &
xvfb=$!
trap 'kill $xvfb 2>/dev/null || true; rm -f "$number"' EXIT
for _ in $(seq 100); do
	[ -s "$number" ] && break
	sleep 0.1
done
[ -s "$number" ] || { echo "Xvfb did not start" >&2 && exit 1; }
DISPLAY=:$(cat "$number") dbus-run-session -- "$@"
