#!/usr/bin/env bash
# Takes the pictures of the README from the real program: a chat, a workflow that waits for a yes, the inbox, each in light
# and dark, a film of the workflow, and the window.
#
#   build/pictures.sh bin/parley bin/parley-window docs/img
set -euo pipefail

program=$1 window=$2 out=$3
here=$(dirname "$0")
mkdir -p "$out"
home=$(mktemp -d)
trap 'kill $pid 2>/dev/null || true; rm -rf "$home"' EXIT
"$program" serve --demo --data "$home/data" --ui 127.0.0.1:0 --a2a 127.0.0.1:0 --grpc off >"$home/out" 2>"$home/log" &
pid=$!
until grep -q '^ready' "$home/out"; do sleep 0.1; done
ui=$(sed -n 's/.*ui=\([^ ]*\).*/\1/p' "$home/out")
send() { "$program" --data "$home/data" send --json "$@" </dev/null >/dev/null 2>&1 || true; }
send --to echo "Hello there"
send --to files "Send me a chart"
send --to travel "Plan a trip from Oslo to Bergen"

go run "$here/pictures.go" "$ui" "$home/pictures"
for p in "$home"/pictures/*.png; do
	convert "$p" -strip +dither -colors 256 -define png:compression-level=9 "$out/$(basename "$p")"
done
# One palette for all frames, and of each frame only what changed.
convert -delay 60 "$home"/pictures/frames/*.png -resize 800x +dither -colors 40 -layers OptimizePlus -loop 0 "$out/run.gif"

"$here/desktop-smoke.sh" "$window" "$out/window.png"
convert "$out/window.png" -trim +repage "$out/window.png"
