#!/usr/bin/env bash
# Does the image of deploy/Dockerfile have all that the program needs to run? Without Docker: unpacks the packages that
# its last stage installs, and what they depend on, to a folder, and runs the program in there as the image's user: a
# text, and a server, asked by the image's health check, that leaves what it has measured in the image's volume. Needs
# root and a Debian mirror; exits with 77 where it has not.
#
# usage: scripts/check_dockerfile.sh [PROGRAM]     default: build/release/augur
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/release/augur}")
[[ $EUID -eq 0 ]] || { echo "check_dockerfile: skipped, not root" >&2; exit 77; }

stage=$(awk '/^FROM/ {text = ""} {text = text "\n" $0} END {print text}' deploy/Dockerfile)
packages=$(sed -n '/apt-get install/,/&&  *rm/p' <<< "$stage" | tr -d '\\' | sed 's/.*--no-install-recommends//; s/&&.*//' | xargs)
user=$(sed -n 's/^USER //p' <<< "$stage")
volume=$(sed -n 's/^VOLUME //p' <<< "$stage")
mapfile -t environment < <(sed -n 's/^ENV //p' <<< "$stage")
health=$(sed -n 's/^HEALTHCHECK.* CMD \["\(.*\)"\]$/\1/p' <<< "$stage")
root=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$root"' EXIT
chmod 755 "$root"
# What debian:12-slim has of itself is a shell and the C library, of what matters here.
# shellcheck disable=SC2086
mapfile -t all < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
  --no-enhances $packages bash coreutils base-files libc-bin | grep '^[a-z0-9]' | sort -u)
(cd "$root" && apt-get download -q "${all[@]}" > /dev/null 2>&1) || true
ls "$root"/*.deb > /dev/null 2>&1 || { echo "check_dockerfile: skipped, no packages from the mirror" >&2; exit 77; }
for archive in "$root"/*.deb; do dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$root" --keep-directory-symlink; done
install -D "$program" "$root/usr/local/bin/augur"
install -D deploy/healthcheck.sh "$root/usr/local/bin/$health"
install -d -o "${user%:*}" -g "${user#*:}" "$root$volume"
cp -r models/stories260k "$root/stories260k"
chroot "$root" ldconfig

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
inside=(chroot --userspec="$user" "$root" env "${environment[@]}" AUGUR_PORT="$port")
"${inside[@]}" augur --version
"${inside[@]}" augur generate -m /stories260k -p "Once upon a time" -n 20 --temp 0
if "${inside[@]}" "$health" 2> /dev/null; then
  echo "check_dockerfile: nobody serves, and the health check has found somebody" >&2
  exit 1
fi
"${inside[@]}" augur serve -m /stories260k --port "$port" > /dev/null 2> "$root/log" &
server=$!
for ((i = 0; i < 600; ++i)); do
  if "${inside[@]}" "$health" 2> /dev/null; then break; fi
  kill -0 "$server" || { cat "$root/log" >&2; exit 1; }
  sleep 0.1
done
"${inside[@]}" "$health"
kill -TERM "$server"
wait "$server"
server=
[[ -n $(ls -A "$root$volume") ]] || { echo "check_dockerfile: nothing was kept in $volume" >&2; exit 1; }
echo "check_dockerfile: ready by its health check, as user $user; kept in $volume: $(cd "$root$volume" && find . -type f | wc -l) files"
