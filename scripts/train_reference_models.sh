#!/usr/bin/env bash
# Makes the learned parts that ship in models/ for SmolLM2-135M-Instruct: answers of the target first, then one
# part after the other. Every step continues where it was stopped, so this script may be run again at any time.
#
# usage: scripts/train_reference_models.sh PROMPTS_FOLDER WORK_FOLDER [PART...]
#   PROMPTS_FOLDER   *.jsonl or *.jsonl.xz with records of messages or text (no evaluation prompts)
#   WORK_FOLDER      answers and results
#   PART             heads: eagle3 eagle mtp medusa hydra dflash dspark early-exit; draft; parts from traces: c2t acceptance
#                    hetero (for the draft model in models/ and the EAGLE-3 head); draft vocabularies of that
#                    draft model: frspec dynaspec. Default: all
# AUGUR=build/release/augur   TOKENS=10000000 (of each part)   ANSWERS=2000 (of each file)   TRACES=600 (prompts)
# HELD_OUT=100 (sequences that grade)   TARGET, DRAFT (other models)   VOCAB=12288 (tokens learnt over)   EXIT_LAYER=8
# WORDS=2000000 (tokens counted)   CORE=1024   CLUSTERS=512   EXAMPLES=160000 (dynaspec)
set -euo pipefail

[[ $# -ge 2 ]] || { sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prompts=$1 work=$2
shift 2
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(eagle3 draft eagle mtp medusa hydra dflash dspark early-exit c2t acceptance hetero frspec dynaspec)
here=$(cd "$(dirname "$0")" && pwd)
augur=${AUGUR:-$here/../build/release/augur}
tokens=${TOKENS:-10000000}
vocab=${VOCAB:-12288}
target=${TARGET:-$("$here/get_model.sh")}
draft=${DRAFT:-$here/../models/smollm2-draft-11m}
mkdir -p "$work"

shopt -s nullglob
files=("$prompts"/*.jsonl "$prompts"/*.jsonl.xz)
[[ ${#files[@]} -gt 0 ]] || { echo "$prompts: no .jsonl or .jsonl.xz files" >&2; exit 1; }
"$augur" train generate -m "$target" --prompts "${files[@]}" -o "$work/answers.jsonl" --limit "${ANSWERS:-2000}"

# What the drafters do on training prompts, in one file each.
record_traces() {
  local name=$1 drafter=$2
  shift 2
  [[ -f $work/$name.trace ]] && return
  "$augur" trace -m "$target" -d "$drafter" --prompts "$work/answers.jsonl" --limit "${TRACES:-600}" --hidden --mix 0.5 \
    "$@" -o "$work/$name.trace"
}

calibrate() {
  local part=$1 options=() depth=() traces=eagle3
  # The head's drafts are some three levels long: bins are for drafts that can be accepted whole.
  [[ $part == hetero ]] && options=(--of length) depth=(--tree-depth 3) traces=eagle3-depth3
  record_traces draft-11m "$draft"
  "$augur" train "$part" --traces "$work/draft-11m.trace" -o "$work/draft-11m-$part" "${options[@]}"
  if [[ -f $work/eagle3/config.json ]]; then
    record_traces "$traces" "$work/eagle3" "${depth[@]}"
    "$augur" train "$part" --traces "$work/$traces.trace" -o "$work/eagle3-$part" "${options[@]}"
  fi
}

# Draft vocabularies: counted tokens of answers and texts, and clusters with a router.
shortlists() {
  local list=$work/draft-11m-frspec data=() prompt_files=()
  for file in "$work/answers.jsonl" "${files[@]}"; do data+=(--data "$file"); done
  for file in "${files[@]}"; do prompt_files+=(--prompts "$file"); done
  [[ -f $list/config.json && $1 != frspec ]] ||
    "$augur" train frspec -m "$target" "${data[@]}" --max-tokens "${WORDS:-2000000}" -o "$list"
  [[ $1 == frspec ]] ||
    "$augur" train dynaspec -m "$target" -d "$draft" "${prompt_files[@]}" --limit 3000 --core "$list" --core-size "${CORE:-1024}" \
      --clusters "${CLUSTERS:-512}" --examples "${EXAMPLES:-160000}" --minutes 20 --budget 64,64 -o "$work/draft-11m-dynaspec"
}

for part in "${parts[@]}"; do
  command=$part options=()
  case "$part" in
    eagle3) options=(--draft-vocab "${VOCAB:-16384}" --max-length 1600 --unroll 3 --lr 1.2e-3 --final-lr 0.02 --learn-prompts) ;;
    draft) options=(--max-length 1024) ;;
    eagle | mtp) options=(--loss-vocab "$vocab" --lr 1.5e-3) ;;
    medusa) options=(--shared-head --loss-vocab "$vocab" --lr 2e-3) ;;
    hydra) options=(--shared-head --heads 3 --loss-vocab "$vocab" --lr 2e-3) ;;
    dflash) options=(--shared-head --draft-vocab "$vocab" --intermediate 352 --lr 2e-3) ;;
    dspark) command=dflash
      options=(--dspark --shared-head --draft-vocab "$vocab" --intermediate 352 --markov-rank 16 --lr 2e-3) ;;
    early-exit) options=(--exit-layer "${EXIT_LAYER:-8}" --loss-vocab "$vocab" --lr 1e-3) ;;
    c2t | acceptance | hetero)
      calibrate "$part"
      continue
      ;;
    frspec | dynaspec)
      shortlists "$part"
      continue
      ;;
    *) echo "unknown part: $part" >&2; exit 2 ;;
  esac
  # Heads learn from fewer tokens so (docs/training.md).
  [[ $part == draft ]] || options+=(--muon --step-tokens 2048)
  "$augur" train "$command" -m "$target" --data "$work/answers.jsonl" --tokens "$tokens" \
    --held-out "${HELD_OUT:-100}" -o "$work/$part" "${options[@]}"
done
