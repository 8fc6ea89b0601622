#!/usr/bin/env bash
# Fetches and builds llama.cpp's server, to compare with; prints the folder of its programs. The source archive of the
# PyPI package llama-cpp-python carries a whole llama.cpp, and is fetched by its hash.
#
# usage: scripts/get_llama_cpp.sh
#   PEERS         where it is built (~/.cache/augur/peers)
#   LLAMA_SOURCE  a source tree to use instead      JOBS  compilers at a time (all cores)
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
peers=${PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/augur/peers}
source_tree=${LLAMA_SOURCE:-$peers/llama.cpp}
build=$peers/build
say() { echo "get_llama_cpp: $*" >&2; }

mkdir -p "$peers"
if [[ ! -d "$source_tree" ]]; then
  scratch=$(mktemp -d "$peers/fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  say "fetching llama-cpp-python"
  archive=$("$here/fetch.py" llama-cpp-python "$scratch")
  tar -xzf "$archive" -C "$scratch"
  mv "$scratch"/llama_cpp_python-*/vendor/llama.cpp "$source_tree"
fi
if [[ ! -x "$build/bin/llama-server" ]]; then
  say "building llama-server (minutes)"
  cmake -S "$source_tree" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=ON \
    -DLLAMA_CURL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_UI=OFF \
    > "$peers/configure.log"
  cmake --build "$build" -j "${JOBS:-$(nproc)}" --target llama-server > "$peers/build.log"
fi
echo "$build/bin"
