#!/usr/bin/env bash
# Makes the learned parts that ship in models/ for SmolLM2-135M-Instruct: answers of the target first, then one
# part after the other. Every step continues where it was stopped, so this script may be run again at any time.
#
# usage: scripts/train_reference_models.sh PROMPTS_FOLDER WORK_FOLDER [PART...]
#   PROMPTS_FOLDER   *.jsonl or *.jsonl.xz with records of messages or text (no evaluation prompts)
#   WORK_FOLDER      answers and results
#   PART             heads: eagle3 eagle mtp medusa hydra dflash dspark early-exit; draft; parts from traces: c2t acceptance
#                    hetero (for the draft model and the EAGLE-3 head, in their folders); draft vocabularies of the draft model:
#                    frspec dynaspec. Default: all. The draft model is WORK_FOLDER's or, before there is one, that of models/
# FROM=models/smollm2- (heads and draft model start from ${FROM}PART or ${FROM}PART-11m where there is one; default: from nothing)
# DATA="more.jsonl …" (answers made before, to learn from beside this run's)
# AUGUR=build/release/augur   TOKENS=10000000 (of each part)   ANSWERS=2000 (of each file)   TRACES=600 (prompts)
# TRACE_PROMPTS=prompts.jsonl (that drafters are watched on: messages, turns or prompt_ids; default: the answers' prompts)
# HELD_OUT=100 (sequences that grade)   TARGET, DRAFT (other models)   VOCAB=12288 (tokens learnt over)   EXIT_LAYER=8
# WORDS=2000000 (tokens counted)   CORE=1024   CLUSTERS=512   EXAMPLES=160000   MINUTES=20 (of the router)   UNROLL=7 (eagle3)   LR (learning rate)
set -euo pipefail

[[ $# -ge 2 ]] || { sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prompts=$1 work=$2
shift 2
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(eagle3 draft eagle mtp medusa hydra dflash dspark early-exit c2t acceptance hetero frspec dynaspec)
here=$(cd "$(dirname "$0")" && pwd)
augur=${AUGUR:-$here/../build/release/augur}
tokens=${TOKENS:-10000000}
vocab=${VOCAB:-12288}
target=${TARGET:-$("$here/get_model.sh")}
mkdir -p "$work"

draft_model() {
  if [[ -n ${DRAFT:-} ]]; then echo "$DRAFT"
  elif [[ -f $work/draft/config.json ]]; then echo "$work/draft"
  else echo "$here/../models/smollm2-draft-11m"
  fi
}

shopt -s nullglob
files=("$prompts"/*.jsonl "$prompts"/*.jsonl.xz)
[[ ${#files[@]} -gt 0 ]] || { echo "$prompts: no .jsonl or .jsonl.xz files" >&2; exit 1; }
"$augur" train generate -m "$target" --prompts "${files[@]}" -o "$work/answers.jsonl" --limit "${ANSWERS:-2000}" \
  --weights bf16 --parallel 64  # the weights that trainers compute with

# What the drafters do on training prompts, in one file each.
record_traces() {
  local name=$1 drafter=$2
  shift 2
  [[ -f $work/$name.trace ]] && return
  "$augur" trace -m "$target" -d "$drafter" --prompts "${TRACE_PROMPTS:-$work/answers.jsonl}" --limit "${TRACES:-600}" \
    "$@" -o "$work/$name.trace"
}

calibrate() {
  local part=$1 drafter folder
  for drafter in draft eagle3; do
    folder=$work/eagle3
    [[ $drafter == eagle3 ]] || folder=$(draft_model)
    [[ -f $folder/config.json ]] || continue
    if [[ $part == hetero ]]; then
      # Drafts are some three levels long: bins are for drafts that can be accepted whole. They are for all temperatures.
      local traces=()
      for temperature in 0 1; do
        record_traces "$drafter-depth3-t$temperature" "$folder" --tree-depth 3 --temp $temperature
        traces+=("$work/$drafter-depth3-t$temperature.trace")
      done
      "$augur" train hetero --of length --traces "${traces[@]}" -o "$work/$drafter/hetero"
    else
      record_traces "$drafter" "$folder" --hidden --mix 0.5
      "$augur" train "$part" --traces "$work/$drafter.trace" -o "$work/$drafter/$part"
    fi
  done
}

# Draft vocabularies: counted tokens of answers and texts, and clusters with a router.
shortlists() {
  local list=$work/draft/frspec data=() prompt_files=()
  for file in "$work/answers.jsonl" "${files[@]}"; do data+=(--data "$file"); done
  for file in "${files[@]}"; do prompt_files+=(--prompts "$file"); done
  [[ -f $list/config.json && $1 != frspec ]] ||
    "$augur" train frspec -m "$target" "${data[@]}" --max-tokens "${WORDS:-2000000}" -o "$list"
  [[ $1 == frspec ]] ||
    "$augur" train dynaspec -m "$target" -d "$(draft_model)" "${prompt_files[@]}" --limit 3000 --core "$list" --core-size "${CORE:-1024}" \
      --clusters "${CLUSTERS:-512}" --examples "${EXAMPLES:-160000}" --minutes "${MINUTES:-20}" --budget 64,64 -o "$work/draft/dynaspec"
}

read -ra data <<<"${DATA:-}"
data+=("$work/answers.jsonl")
for part in "${parts[@]}"; do
  command=$part options=() beginning=() start=
  for before in "$part" "$part-11m"; do
    [[ -z ${FROM:-} || ! -d $FROM$before ]] || start=$FROM$before
  done
  case "$part" in
    eagle3) beginning=(--draft-vocab "${VOCAB:-16384}")
      options=(--max-length 1600 --unroll "${UNROLL:-7}" --lr "${LR:-1.2e-3}" --final-lr 0.02 --learn-prompts) ;;
    draft) options=(--max-length 1024 --lr "${LR:-1e-3}") ;;
    eagle | mtp) options=(--loss-vocab "$vocab" --lr "${LR:-1.5e-3}") ;;
    medusa) options=(--shared-head --loss-vocab "$vocab" --lr "${LR:-2e-3}") ;;
    hydra) options=(--shared-head --heads 2 --loss-vocab "$vocab" --lr "${LR:-2e-3}") ;;
    dflash) beginning=(--draft-vocab "$vocab")
      options=(--shared-head --intermediate 352 --lr "${LR:-2e-3}") ;;
    dspark) command=dflash beginning=(--draft-vocab "$vocab")
      options=(--dspark --shared-head --intermediate 352 --markov-rank 16 --lr "${LR:-2e-3}") ;;
    early-exit) options=(--exit-layer "${EXIT_LAYER:-8}" --loss-vocab "$vocab" --lr "${LR:-1e-3}") ;;
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
  [[ -z $start ]] || beginning=(--init-from "$start")  # its weights and its vocabulary
  "$augur" train "$command" -m "$target" --data "${data[@]}" --tokens "$tokens" \
    --held-out "${HELD_OUT:-100}" -o "$work/$part" "${beginning[@]}" "${options[@]}"
done
