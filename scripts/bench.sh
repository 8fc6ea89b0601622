#!/usr/bin/env bash
# This machine's kernels and whole-model speed: the figures that the README quotes. Nothing else should run.
#
# usage: scripts/bench.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/.."
augur=${1:-build/release/augur}
mkdir -p build/bench

"$augur" --version
"$augur" bench kernels --k 4096 --n 14336 --dtype bf16 --json build/bench/kernels.json
model=$(scripts/get_model.sh) || model=models/stories260k
"$augur" bench decode -m "$model" --json build/bench/decode.json
echo "written: build/bench/kernels.json, build/bench/decode.json"
