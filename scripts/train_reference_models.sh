#!/usr/bin/env bash
# Makes the learned parts that ship in models/ for SmolLM2-135M-Instruct: answers of the target first, then one
# part after the other. Every step continues where it was stopped, so this script may be run again at any time.
#
# usage: scripts/train_reference_models.sh PROMPTS_FOLDER WORK_FOLDER [PART...]
#   PROMPTS_FOLDER   *.jsonl or *.jsonl.xz with records of messages or text (no evaluation prompts)
#   WORK_FOLDER      answers and results
#   PART             eagle3 draft eagle dflash dspark medusa hydra mtp (default: all, in this order)
# AUGUR=build/release/augur   TOKENS=10000000 (of each part)   ANSWERS=2000 (of each file)
set -euo pipefail

[[ $# -ge 2 ]] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prompts=$1 work=$2
shift 2
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(eagle3 draft eagle dflash dspark medusa hydra mtp)
here=$(cd "$(dirname "$0")" && pwd)
augur=${AUGUR:-$here/../build/release/augur}
tokens=${TOKENS:-10000000}
target=$("$here/get_model.sh")
mkdir -p "$work"

shopt -s nullglob
files=("$prompts"/*.jsonl "$prompts"/*.jsonl.xz)
[[ ${#files[@]} -gt 0 ]] || { echo "$prompts: no .jsonl or .jsonl.xz files" >&2; exit 1; }
"$augur" train generate -m "$target" --prompts "${files[@]}" -o "$work/answers.jsonl" --limit "${ANSWERS:-2000}"

for part in "${parts[@]}"; do
  options=()
  case "$part" in
    eagle3) options=(--draft-vocab 12288 --lr 2e-4) ;;
    draft) options=(--max-length 1024) ;;
    dflash) options=(--draft-vocab 12288 --lr 3e-4) ;;
    dspark) options=(--dspark --draft-vocab 12288 --lr 3e-4) ;;
    eagle | medusa | hydra | mtp) ;;
    *) echo "unknown part: $part" >&2; exit 2 ;;
  esac
  command=$part
  [[ $part == dspark ]] && command=dflash
  "$augur" train "$command" -m "$target" --data "$work/answers.jsonl" --tokens "$tokens" -o "$work/$part" "${options[@]}"
done
