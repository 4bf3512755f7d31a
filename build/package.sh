#!/usr/bin/env bash
# Makes the packages of Parley in bin/package/: two for Debian and Ubuntu, an archive for Windows.
#
#   build/package.sh deb|windows|all [VERSION]
#
# parley has the window; parley-server is the same without GTK, with a service. Both are /usr/bin/parley, so one of them is
# installed at a time. Not for a Mac: see docs/packaging.md.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-all}
version=${2:-$(git describe --tags --match 'v[0-9]*' 2>/dev/null | sed 's/^v//; s/-/+/g' || true)}
version=${version:-0.1.0}
out=bin/package
tags=sqlite_fts5
window=$tags,desktop,production
ldflags="-s -w -X parley/app/cli.release=$version"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work" rsrc_windows_amd64.syso' EXIT

# stage NAME PROGRAM TAGS: what both packages have.
stage() {
	local root=$work/$1/root program=$2 tags=$3
	install -D -m 755 "$program" "$root/usr/bin/parley"
	mkdir -p "$root/usr/share/bash-completion/completions"
	"$work/server" completion bash >"$root/usr/share/bash-completion/completions/parley"
	mkdir -p "$root/usr/share/doc/$1"
	build/licences.sh "$tags" | gzip -9n >"$root/usr/share/doc/$1/licences.gz"
}

# deb ROOT NAME SECTION DESCRIPTION EXTRA: packs what was staged. What it depends on follows from the program.
deb() {
	local root=$1 name=$2 section=$3 description=$4 extra=$5 arch depends
	arch=$(dpkg --print-architecture)
	install -D -m 644 build/linux/copyright "$root/usr/share/doc/$name/copyright"
	printf '%s (%s) stable; urgency=medium\n\n  * See the history of the repository.\n\n -- Parley <parley@localhost>  %s\n' \
		"$name" "$version" "$(date -Ru -d "@$(git log -1 --format=%ct)")" | gzip -9n >"$root/usr/share/doc/$name/changelog.gz"
	mkdir -p "$work/$name/debian" "$root/DEBIAN"
	printf 'Source: %s\n\nPackage: %s\nArchitecture: any\n' "$name" "$name" >"$work/$name/debian/control"
	depends=$(cd "$work/$name" && dpkg-shlibdeps -O "$root/usr/bin/parley" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
	{
		echo "Package: $name"
		echo "Version: $version"
		echo "Architecture: $arch"
		echo "Maintainer: Parley <parley@localhost>"
		echo "Section: $section"
		echo "Priority: optional"
		echo "Installed-Size: $(du -ks --exclude=DEBIAN "$root" | cut -f1)"
		echo "Depends: $depends"
		printf '%s\n' "$extra"
		echo "Description: $description"
		echo " Parley finds agents that speak the Agent2Agent protocol (A2A), talks to them"
		echo " in the version they speak, chains them into larger work, asks you when an"
		echo " agent needs an answer or a sign-in, keeps every event, and is itself an A2A"
		echo " agent that other clients can call."
	} >"$root/DEBIAN/control"
	dpkg-deb --root-owner-group --build "$root" "$out/${name}_${version}_$arch.deb" >/dev/null
	echo "$out/${name}_${version}_$arch.deb"
}

debs() {
	go build -tags "$tags" -ldflags "$ldflags" -o "$work/server" .
	go build -tags "$window,webkit2_41" -ldflags "$ldflags" -o "$work/window" .

	local root=$work/parley/root
	stage parley "$work/window" "$window,webkit2_41"
	install -D -m 644 build/linux/parley.desktop "$root/usr/share/applications/parley.desktop"
	install -D -m 644 build/icon.svg "$root/usr/share/icons/hicolor/scalable/apps/parley.svg"
	install -D -m 644 build/icon.png "$root/usr/share/icons/hicolor/256x256/apps/parley.png"
	deb "$root" parley net "talk to A2A agents, chain them, and be one" \
		"$(printf 'Recommends: xdg-utils, gnome-keyring\nConflicts: parley-server\nReplaces: parley-server')"

	root=$work/parley-server/root
	stage parley-server "$work/server" "$tags"
	install -D -m 644 build/linux/parley.service "$root/usr/lib/systemd/system/parley.service"
	install -D -m 644 build/linux/parley.sysusers "$root/usr/lib/sysusers.d/parley.conf"
	deb "$root" parley-server net "talk to A2A agents, chain them, and be one (without a window)" \
		"$(printf 'Recommends: systemd, ca-certificates\nConflicts: parley\nReplaces: parley')"

	desktop-file-validate build/linux/parley.desktop
	tried parley
	tried parley-server
}

windows() {
	local flags=(env GOOS=windows GOARCH=amd64 CGO_ENABLED=1 CC=x86_64-w64-mingw32-gcc) folder=$work/parley-$version
	mkdir -p "$folder"
	(cd build/tools && GOFLAGS='' go build -o "$work/go-winres" github.com/tc-hib/go-winres)
	"$work/go-winres" simply --arch amd64 --out rsrc --icon build/icon.png --manifest gui --product-name Parley \
		--file-description Parley --original-filename parley.exe --product-version "${version%%+*}" --file-version "${version%%+*}"
	"${flags[@]}" go build -tags "$window" -ldflags "$ldflags -H windowsgui" -o "$folder/Parley.exe" .
	"${flags[@]}" go build -tags "$tags" -ldflags "$ldflags" -o "$folder/parley-cli.exe" .
	GOOS=windows build/licences.sh "$window" >"$folder/LICENCES.txt"
	(cd "$work" && python3 -m zipfile -c parley.zip "parley-$version")
	mv "$work/parley.zip" "$out/parley_${version}_windows_amd64.zip"
	echo "$out/parley_${version}_windows_amd64.zip"
}

# tried looks at a package as whoever installs it would.
tried() {
	local name=$1 root=$work/$1/tried
	dpkg-deb -x "$out/${name}_${version}_$(dpkg --print-architecture).deb" "$root"
	[ "$("$root/usr/bin/parley" version)" = "parley $version" ] || { echo "$name does not start, or is not $version" >&2 && exit 1; }
	if [ "$name" = parley-server ] && ldd "$root/usr/bin/parley" | grep -q gtk; then
		echo "$name wants GTK" >&2 && exit 1
	fi
}

case "$what" in
deb) debs ;;
windows) windows ;;
all) debs; windows ;;
*) echo "usage: $0 deb|windows|all [VERSION]" >&2 && exit 2 ;;
esac
