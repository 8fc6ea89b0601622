#!/usr/bin/env bash
# Augur beside llama.cpp: one file of weights, the same prompts and chat template, as many tokens, greedy, interleaved;
# each plain and with its own speculation. Nothing else should run on the machine; a run that is cut off goes on when
# the same command is given again.
#
# usage: scripts/bench_peers.sh [PROMPTS.jsonl...] [-- METHOD...]    default: prompts/*.jsonl; methods as in bench suite
#   AUGUR   the program (build/release/augur)    MODEL  a GGUF file (scripts/get_model.sh's)
#   DRAFT   folder of the draft model that both use (models/smollm2-draft-11m), by both in the type DRAFT_TYPE (q4_1)
#   LIMIT   prompts of each file (2)             ROUNDS  repetitions (3)        TOKENS  of an answer (128)
#   PEERS_FILE  how to run the others (scripts/peers.txt)
#   OUT     folder of results (build/bench/peers)
set -euo pipefail
cd "$(dirname "$0")/.."
augur=${AUGUR:-build/release/augur}
model=${MODEL:-$(scripts/get_model.sh)}
draft=${DRAFT:-models/smollm2-draft-11m}
out=${OUT:-build/bench/peers}
mkdir -p "$out"

prompts=() methods=()
into=prompts
for argument in "$@"; do
  if [[ "$argument" == -- ]]; then into=methods; continue; fi
  if [[ $into == prompts ]]; then prompts+=("$argument"); else methods+=("$argument"); fi
done
[[ ${#prompts[@]} -gt 0 ]] || prompts=(prompts/*.jsonl)
name=$(basename "$draft")
[[ ${#methods[@]} -gt 0 ]] || methods=(plain ngram:n-min=3,n-max=8 "draft:model=$name,n-max=3" "draft,ngram:model=$name,policy=auto")

LLAMA=${LLAMA:-$(scripts/get_llama_cpp.sh)}
type=${DRAFT_TYPE:-q4_1}
DRAFT=$(realpath "$out")/$name.$type.gguf
[[ -s "$DRAFT" ]] || "$augur" quantize "$draft" "$DRAFT" "$type"
export LLAMA DRAFT
"$augur" bench suite -m "$model" --spec-draft-weights "$type" --parts "$(dirname "$draft")" --peers "${PEERS_FILE:-scripts/peers.txt}" --prompts "${prompts[@]}" \
  --limit "${LIMIT:-2}" -n "${TOKENS:-128}" --rounds "${ROUNDS:-3}" --turns 1 --analyse 0 --samples 0 \
  --methods "${methods[@]}" --json "$out/peers.json" --report "$out/peers.html"
