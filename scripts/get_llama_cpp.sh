#!/usr/bin/env bash
# Fetches and builds llama.cpp's server, to compare with; prints the folder of its programs. The source archive of the
# PyPI package llama-cpp-python carries a whole llama.cpp.
#
# usage: scripts/get_llama_cpp.sh
#   PEERS         where it is built (~/.cache/augur/peers)
#   LLAMA_SOURCE  a source tree to use instead      JOBS  compilers at a time (all cores)
set -euo pipefail

peers=${PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/augur/peers}
package=llama-cpp-python==0.3.36
source_tree=${LLAMA_SOURCE:-$peers/llama.cpp}
build=$peers/build
say() { echo "get_llama_cpp: $*" >&2; }

mkdir -p "$peers"
if [[ ! -d "$source_tree" ]]; then
  say "fetching $package"
  # pip asks an archive for its metadata before it keeps it: with the archive's own build tools, in isolation.
  python3 -m pip download -q --no-deps --no-binary "${package%%==*}" -d "$peers" "$package"
  tar -xzf "$peers"/llama_cpp_python-*.tar.gz -C "$peers"
  mv "$peers"/llama_cpp_python-*/vendor/llama.cpp "$source_tree"
fi
if [[ ! -x "$build/bin/llama-server" ]]; then
  say "building llama-server (minutes)"
  cmake -S "$source_tree" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=ON \
    -DLLAMA_CURL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_UI=OFF \
    > "$peers/configure.log"
  cmake --build "$build" -j "${JOBS:-$(nproc)}" --target llama-server > "$peers/build.log"
fi
echo "$build/bin"
