#!/usr/bin/env bash
# Everything in docs/benchmarks.md that the suite measures: all methods, at temperature 0 and 1, the papers' tables, and
# the calculation for larger targets. Nothing else should run on the machine. A run that is cut off goes on when the
# same command is given again.
#
# usage: scripts/bench_suite.sh [PROMPTS.jsonl...]     default: prompts/*.jsonl
#   AUGUR    the program (build/release/augur)      MODEL   a model (scripts/get_model.sh's)
#   LIMIT    prompts of each file (4)               ROUNDS  repetitions (3)        TOKENS  of an answer (128)
#   METHODS  separated by spaces (default: what models/ makes possible)
#   MINUTES  stop after about so long of every measurement
#   WEIGHTS  native, bf16 or f32 (default: as the file)
#   PARTS    which of: t0 t1 papers project (all)
#   OUT      folder of results (build/bench/suite)
set -euo pipefail
cd "$(dirname "$0")/.."
augur=${AUGUR:-build/release/augur}
model=${MODEL:-$(scripts/get_model.sh)}
out=${OUT:-build/bench/suite}
prompts=("$@")
[[ ${#prompts[@]} -gt 0 ]] || prompts=(prompts/*.jsonl)
what=" ${PARTS:-t0 t1 papers project} "
mkdir -p "$out"

common=(-m "$model" --prompts "${prompts[@]}" --limit "${LIMIT:-4}" -n "${TOKENS:-128}" --rounds "${ROUNDS:-3}" --turns 1
        --minutes "${MINUTES:-0}" ${WEIGHTS:+--weights "$WEIGHTS"})
methods=()
if [[ -n "${METHODS:-}" ]]; then read -ra list <<< "$METHODS"; methods=(--methods "${list[@]}"); fi

for temperature in 0 1; do
  [[ $what == *" t$temperature "* ]] || continue
  "$augur" bench suite "${common[@]}" "${methods[@]}" --temp "$temperature" --seed 3 \
    --json "$out/t$temperature.json" --report "$out/t$temperature.html"
done
if [[ $what == *" papers "* ]]; then
  for paper in hetero c2t acceptance dynaspec; do
    "$augur" bench paper "$paper" "${common[@]}" ${DRAFTER:+--drafter "$DRAFTER"} --json "$out/$paper.json" || true
  done
fi
if [[ $what == *" project "* ]]; then "$augur" bench project "$out/t0.json" --json "$out/project.json"; fi
