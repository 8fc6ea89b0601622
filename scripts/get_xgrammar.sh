#!/usr/bin/env bash
# Fetches the source archive of xgrammar, the library that structured output stands on (src/grammar), from PyPI, checks
# its hash, mends it by xgrammar.patch, and prints the folder it is unpacked in. The build compiles it.
#
# usage: scripts/get_xgrammar.sh
#   AUGUR_DEPS  where it is kept (~/.cache/augur/deps)
set -euo pipefail
patch_file=$(cd "$(dirname "$0")" && pwd)/xgrammar.patch

version=0.2.8
sha256=8305646fd2b319d6c3003f51a1665e54cbbe9cba1fb636bc41d0b46434ccbb80
deps=${AUGUR_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/augur/deps}
source_tree=$deps/xgrammar-$version-$(sha256sum "$patch_file" | cut -c1-8)
say() { echo "get_xgrammar: $*" >&2; }

if [[ ! -f "$source_tree/.complete" ]]; then
  mkdir -p "$deps"
  scratch=$(mktemp -d "$deps/fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  say "fetching xgrammar $version"
  # pip asks an archive whose hash is right for its metadata before it keeps it: with the archive's own build tools, in
  # isolation.
  echo "xgrammar==$version --hash=sha256:$sha256" > "$scratch/requirements.txt"
  if ! python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary xgrammar --require-hashes \
      -d "$scratch" -r "$scratch/requirements.txt" >&2; then
    say "PyPI has not given out xgrammar-$version.tar.gz with the hash that is expected"
    exit 1
  fi
  tar -xzf "$scratch/xgrammar-$version.tar.gz" -C "$scratch"
  patch -s -p1 -d "$scratch/xgrammar-$version" < "$patch_file" >&2
  touch "$scratch/xgrammar-$version/.complete"
  rm -rf "$source_tree"
  mv "$scratch/xgrammar-$version" "$source_tree"
fi
echo "$source_tree"
