#!/usr/bin/env bash
# Does the image of deploy/Dockerfile have all that the program needs to run? Without Docker: unpacks the packages that
# its last stage installs, and what they depend on, to a folder, and runs the program in there. Needs root and a Debian
# mirror; exits with 77 where it has not.
#
# usage: scripts/check_dockerfile.sh [PROGRAM]     default: build/release/augur
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/release/augur}")
[[ $EUID -eq 0 ]] || { echo "check_dockerfile: skipped, not root" >&2; exit 77; }

packages=$(awk '/^FROM/ {text = ""} {text = text "\n" $0} END {print text}' deploy/Dockerfile |
  sed -n '/apt-get install/,/&&  *rm/p' | tr -d '\\' | sed 's/.*--no-install-recommends//; s/&&.*//' | xargs)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# What debian:12-slim has of itself is a shell and the C library, of what matters here.
mapfile -t all < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
  --no-enhances $packages bash coreutils base-files libc-bin | grep '^[a-z0-9]' | sort -u)
(cd "$root" && for package in "${all[@]}"; do apt-get download -q "$package" > /dev/null 2>&1 || true; done)
ls "$root"/*.deb > /dev/null 2>&1 || { echo "check_dockerfile: skipped, no packages from the mirror" >&2; exit 77; }
for archive in "$root"/*.deb; do dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$root" --keep-directory-symlink; done
install -D "$program" "$root/usr/local/bin/augur"
cp -r models/stories260k "$root/stories260k"
chroot "$root" ldconfig
chroot "$root" augur --version
chroot "$root" augur generate -m /stories260k -p "Once upon a time" -n 20 --temp 0
