#!/usr/bin/env bash
# Sees to it that what a task needs beyond Go, gcc and make is there.
#
#   build/deps.sh browser|window|peers|packages|postgres|all
#
# Says nothing when it is. Otherwise installs Debian packages when it may (root, apt), else prints what to install and
# fails.
set -euo pipefail

missing=()
command_needs() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
library_needs() { pkg-config --exists "$1" 2>/dev/null || missing+=("$2"); }
font_needs() { [ -n "$(fc-list "$1" 2>/dev/null)" ] || missing+=("$2"); }

browser() {
	command -v google-chrome >/dev/null 2>&1 || command_needs chromium chromium
	command_needs fc-list fontconfig
	font_needs :lang=ja fonts-noto-cjk
	font_needs :lang=en fonts-dejavu-core
	if [ -n "${CI:-}" ]; then # elsewhere what needs them is left out: journeys in WebKit, a desktop's notifications
		command_needs WebKitWebDriver webkit2gtk-driver
		command_needs Xvfb xvfb
		command_needs dbus-daemon dbus
	fi
}

window() {
	command_needs pkg-config pkg-config
	library_needs gtk+-3.0 libgtk-3-dev
	library_needs webkit2gtk-4.1 libwebkit2gtk-4.1-dev
	command_needs Xvfb xvfb
	command_needs dbus-run-session dbus
	command_needs import imagemagick
	font_needs :lang=en fonts-dejavu-core
}

peers() {
	command_needs node nodejs
	command_needs npm npm
	command_needs python3 python3
	if [ -n "${CI:-}" ]; then # elsewhere the peer in Java is left out without them
		command_needs javac default-jdk-headless
		command_needs mvn maven
	fi
	python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
}

packages() {
	window
	command_needs dpkg-shlibdeps dpkg-dev
	command_needs x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64
	command_needs desktop-file-validate desktop-file-utils
	command_needs python3 python3
}

# The server's programs are not on the path: Debian keeps several versions beside one another.
postgres() {
	compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command_needs initdb postgresql
}

case "${1:-all}" in
browser | window | peers | packages | postgres) "$1" ;;
all) browser && window && peers && packages && postgres ;;
*) echo "usage: $0 browser|window|peers|packages|postgres|all" >&2 && exit 2 ;;
esac
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing ${missing[*]}" >&2
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	export DEBIAN_FRONTEND=noninteractive
	{ apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		exit 1
	}
	exit 0
fi
{
	echo "This needs what is not on this machine. On Debian or Ubuntu:"
	echo "  sudo apt-get install ${missing[*]}"
} >&2
exit 1
