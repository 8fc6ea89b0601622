#!/usr/bin/env bash
# Fetches JSON-Schema-Test-Suite, which the source archive of PyPI's jsonschema carries; prints the folder of its tests.
#
# usage: scripts/get_schema_suite.sh
#   AUGUR_DEPS  where it is kept (~/.cache/augur/deps)
set -euo pipefail

version=4.26.0
deps=${AUGUR_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/augur/deps}
suite=$deps/jsonschema-$version/json/tests
if [[ ! -d "$suite" ]]; then
  mkdir -p "$deps"
  scratch=$(mktemp -d "$deps/fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary jsonschema -d "$scratch" "jsonschema==$version" >&2
  tar -xzf "$scratch/jsonschema-$version.tar.gz" -C "$scratch"
  mv "$scratch/jsonschema-$version" "$deps/"
fi
echo "$suite"
