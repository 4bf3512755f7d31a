#!/usr/bin/env bash
# Takes the pictures of the README from the real program.
#
#   build/pictures.sh bin/parley bin/parley-window docs/img
set -euo pipefail

program=$1 window=$2 out=$3
mkdir -p "$out"
home=$(mktemp -d)
trap 'kill $pid 2>/dev/null || true; rm -rf "$home"' EXIT
"$program" serve --demo --data "$home/data" --ui 127.0.0.1:0 --a2a 127.0.0.1:0 >"$home/out" 2>"$home/log" &
pid=$!
until grep -q '^ready' "$home/out"; do sleep 0.1; done
ui=$(sed -n 's/.*ui=\([^ ]*\).*/\1/p' "$home/out")
send() { "$program" --data "$home/data" send --json "$@" </dev/null 2>/dev/null || true; }
send --to echo "Hello there" >/dev/null
send --to files "Send me a chart" >/dev/null
send --to travel "Plan a trip from Oslo to Bergen" >/dev/null
chat=$(send --to writer "Write about the sea" | sed -n 's/.*"conversation":"\([^"]*\)".*/\1/p' | head -1)

browser=$(command -v chromium || command -v google-chrome)
shot() { # URL PICTURE SIZE
	timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$home/browser" \
		--window-size="$3" --virtual-time-budget=5000 --screenshot="$2" "$1" >/dev/null 2>&1
}
shot "$ui" "$home/enter.png" 1280,860
shot "${ui%%#*}c/$chat" "$out/chat.png" 1280,860
"$(dirname "$0")/desktop-smoke.sh" "$window" "$out/window.png"
convert "$out/window.png" -trim +repage "$out/window.png"
