#!/usr/bin/env bash
# Fetches the source archive of xgrammar, the library that structured output stands on (src/grammar), from PyPI by its
# hash, mends it by xgrammar.patch, and prints the folder it is unpacked in. The build compiles it.
#
# usage: scripts/get_xgrammar.sh
#   AUGUR_DEPS  where it is kept (~/.cache/augur/deps)
# exit codes: 0 the path is printed; 3 it can't be had (no network, no pip); 1 anything else, as another hash
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

version=$(sed -n 's/^xgrammar==\([^ ]*\) .*/\1/p' "$here/fetched.txt")
deps=${AUGUR_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/augur/deps}
source_tree=$deps/xgrammar-$version-$(sha256sum "$here/xgrammar.patch" | cut -c1-8)

if [[ ! -f "$source_tree/.complete" ]]; then
  mkdir -p "$deps"
  scratch=$(mktemp -d "$deps/fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  echo "get_xgrammar: fetching xgrammar $version" >&2
  archive=$("$here/fetch.py" xgrammar "$scratch")
  tar -xzf "$archive" -C "$scratch"
  patch -s -p1 -d "$scratch/xgrammar-$version" < "$here/xgrammar.patch" >&2
  touch "$scratch/xgrammar-$version/.complete"
  rm -rf "$source_tree"
  mv "$scratch/xgrammar-$version" "$source_tree"
fi
echo "$source_tree"
