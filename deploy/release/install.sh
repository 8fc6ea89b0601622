#!/usr/bin/env bash
# Installs what a release has of a build: the programs and the library. A build with libtorch has augur-train as well,
# which needs libraries that no release brings.
# usage: deploy/release/install.sh BUILD OPTION...     (of cmake --install)
set -euo pipefail
for component in programs library; do
  cmake --install "$1" --component "$component" "${@:2}"
done
