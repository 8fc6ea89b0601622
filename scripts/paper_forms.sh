#!/usr/bin/env bash
# Trains the policies' parts in their papers' forms beside the usual ones (docs/papers.md), and measures both with the
# papers' studies, which have a row for every part. Goes on where it was stopped. Nothing else should run on the machine.
#
# usage: scripts/paper_forms.sh TRAINING_PROMPTS.jsonl WORK_FOLDER [PROMPTS.jsonl...]     default: prompts/*.jsonl
#   DRAFTER  a part of models/ (smollm2-eagle3)     TRACES  training prompts that are traced (300)
#   STUDIES  which of hetero c2t acceptance dynaspec overview (all; dynaspec for drafters with a part for it)
#   LIMIT    prompts of each file (3)               ROUNDS  repetitions (4, acceptance-guided drafting's)
#   AUGUR    the program                            MODEL   a model (scripts/get_model.sh's)
#   TEMPERATURES  (0 1)                             WEIGHTS (bf16)
#   TOKENS   of an answer (96)
#   DO       parts (which needs no quiet machine), studies (with the parts that there are), or both ("parts studies")
set -euo pipefail

[[ $# -ge 2 ]] || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/.."
training=$1 work=$2
shift 2
prompts=("$@")
[[ ${#prompts[@]} -gt 0 ]] || prompts=(prompts/*.jsonl)
augur=${AUGUR:-build/release/augur}
model=${MODEL:-$(scripts/get_model.sh)}
drafter=${DRAFTER:-smollm2-eagle3}
parts=$work/parts
mkdir -p "$parts"
for part in models/*/; do ln -sfn "$(realpath "$part")" "$parts/$(basename "$part")"; done

does() { [[ " ${DO:-parts studies} " == *" $1 "* ]]; }
wants() { [[ " ${STUDIES:-hetero c2t acceptance dynaspec overview} " == *" $1 "* ]]; }
trains() { does parts && wants "$1"; }
traced() {  # NAME FLAGS...
  local file=$work/$drafter-$1.trace
  shift
  [[ -s $file ]] || "$augur" trace -m "$model" -d "models/$drafter" --prompts "$training" --limit "${TRACES:-300}" "$@" -o "$file"
}
made() {  # PART NAME FLAGS...
  local part=$1 folder=$parts/$drafter-$2
  shift 2
  [[ -s $folder/config.json ]] || "$augur" train "$part" "$@" -o "$folder"
}

if trains hetero; then
  # The paper's tree is 7 levels deep; 3 are what drafts here fill.
  for depth in 3 7; do
    traced "depth$depth" --tree-depth $depth --tree-size 60
    of=(--traces "$work/$drafter-depth$depth.trace")
    made hetero "ranks-$depth" "${of[@]}" --of rank
    made hetero "ranks-$depth-paper" "${of[@]}" --of rank --split weighted --smallest 1
    made hetero "lengths-$depth" "${of[@]}" --of length
    made hetero "lengths-$depth-weighted" "${of[@]}" --of length --split weighted
  done
fi
if trains acceptance; then
  traced chances --hidden --mix 0.5 --target-probabilities
  of=(--traces "$work/$drafter-chances.trace")
  made acceptance heads-hard "${of[@]}"
  made acceptance heads-soft "${of[@]}" --labels soft
  made acceptance heads-hard-6 "${of[@]}" --reject-weight 6
  # Without the drafter's own estimate to start from there is more to learn.
  made acceptance heads-paper "${of[@]}" --labels soft --reject-weight 6 --state-only --epochs 60 --lr 1e-3
fi
if trains c2t; then
  traced trees --tree-depth 11 --tree-topk 10
  of=(--traces "$work/$drafter-trees.trace" --epochs 10)
  made c2t nodes "${of[@]}"
  for features in P,H,d P,H P,d H,d; do made c2t "nodes-${features//,/}" "${of[@]}" --features $features; done
  for hidden in 2 6 12 24 36; do made c2t "nodes-$hidden" "${of[@]}" --hidden $hidden; done
  # Of another drafter, as it is and fine-tuned.
  for other in models/*/c2t; do
    [[ $other != "models/$drafter/c2t" ]] || continue
    made c2t "tuned-$(basename "$(dirname "$other")")" "${of[@]}" --init-from "$other"
  done
fi
if trains dynaspec && [[ -d models/$drafter/frspec ]]; then
  of=(-m "$model" -d "models/$drafter" --prompts "$training")
  core=(--core "models/$drafter/frspec" --core-size 1024)
  made dynaspec clusters "${of[@]}" "${core[@]}"
  made dynaspec clusters-no-bands "${of[@]}" "${core[@]}" --no-bands
  made dynaspec clusters-rows "${of[@]}" "${core[@]}" --row-budget
  made dynaspec clusters-paper "${of[@]}" --loss top --row-budget
fi
for study in hetero c2t acceptance dynaspec overview; do
  does studies && wants $study || continue
  [[ $study != dynaspec || -d models/$drafter/frspec ]] || continue
  for temperature in ${TEMPERATURES:-0 1}; do
    name=$work/$drafter-$study-t$temperature
    "$augur" bench paper $study -m "$model" --parts "$parts" --drafter "$drafter" --prompts "${prompts[@]}" --turns 1 -n "${TOKENS:-96}" \
      --limit "${LIMIT:-3}" --rounds "${ROUNDS:-4}" --temp "$temperature" --weights "${WEIGHTS:-bf16}" --json "$name.json" | tee "$name.txt"
  done
done
