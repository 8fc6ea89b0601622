#!/usr/bin/env bash
# `augur serve` beside llama.cpp's server: one file of weights, the same client, prompts and number of tokens, greedy,
# interleaved; each plain and with its own speculation. Prompts are read anew each time. Nothing else should run on the
# machine.
#
# usage: scripts/bench_serve_peers.sh
#   AUGUR    the programs augur and augur-lab (folder; build/release)      MODEL  a GGUF file (scripts/get_model.sh's)
#   DRAFT    Augur's draft model (models/smollm2-eagle3)   SPEC  its drafters (eagle3,ngram)
#   LIMIT    prompts of each file in prompts/ (8)          TOKENS  of an answer (64)
#   CLIENTS  (1,4,16)   ROUNDS  repetitions (2)   THREADS  of each server (2)
#   LLAMA_FLAGS  more flags of llama-server: --no-repack where its AMX kernels crash
#   OUT      folder of results (build/bench/serve_peers)
set -euo pipefail
cd "$(dirname "$0")/.."
augur=${AUGUR:-build/release}
model=${MODEL:-$(scripts/get_model.sh)}
draft=${DRAFT:-models/smollm2-eagle3}
clients=${CLIENTS:-1,4,16}
threads=${THREADS:-2}
out=${OUT:-build/bench/serve_peers}
llama=${LLAMA:-$(scripts/get_llama_cpp.sh)}
mkdir -p "$out"

head -q -n "${LIMIT:-8}" prompts/*.jsonl > "$out/prompts.jsonl"
most=$(tr , '\n' <<<"$clients" | sort -n | tail -n 1)
port=${PORT:-18480}
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; wait' EXIT
serve() { # NAME COMMAND...
  "${@:2}" --host 127.0.0.1 --port "$port" > "$out/$1.log" 2>&1 &
  servers+=($!)
  until curl -sf "http://127.0.0.1:$port/health" > /dev/null; do
    kill -0 "${servers[-1]}" 2>/dev/null || { tail "$out/$1.log" >&2; exit 1; }
    sleep 0.5
  done
  url=http://127.0.0.1:$port
  port=$((port + 1))
}
llama_serve() { # NAME FLAGS...
  serve "$1" "$llama/llama-server" -m "$model" -t "$threads" -np "$most" -c $((most * 2048)) --jinja --no-ui \
    ${LLAMA_FLAGS:-} "${@:2}"
}
ask() { echo "$1@$url={\"ignore_eos\": true, \"cache_prompt\": false${2:+, $2}}"; }

llama_serve llama.cpp
methods=(--method "$(ask llama.cpp)")
llama_serve llama.cpp-ngram --spec-type ngram-simple --spec-draft-n-max 8
methods+=(--method "$(ask "llama ngram")")
serve augur "$augur/augur" serve -m "$model" -md "$draft" --spec-type "${SPEC:-eagle3,ngram}" -t "$threads" --parallel "$most" \
  --no-log-requests
methods+=(--method "$(ask plain '"speculative": {"type": "none"}')" --method "$(ask auto)")

"$augur/augur-lab" bench serve --url "$url" --prompts "$out/prompts.jsonl" -n "${TOKENS:-64}" --clients "$clients" \
  --rounds "${ROUNDS:-2}" "${methods[@]}" --json "$out/serve_peers.json"
