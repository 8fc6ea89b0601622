#!/usr/bin/env bash
# The suites behind results/: all methods at temperature 0 and 1 with weights in bf16 and as stored, cheaper drafts, all
# drafters' accepted lengths, all policies side by side, the papers' tables, other engines, and the calculation for
# larger targets. Tables in Markdown go to OUT/figures.md. Nothing else should run on the machine. A run that is cut off
# goes on when the same command is given again.
#
# usage: scripts/bench_suite.sh [PROMPTS.jsonl...]     default: prompts/*.jsonl
#   AUGUR    the program (build/release/augur)      MODEL   a model (scripts/get_model.sh's)
#   LIMIT    prompts of each file (3)               ROUNDS  repetitions (3; of `papers` 1)        TOKENS  of an answer (128)
#   METHODS  separated by spaces (default: those of the document)
#   MINUTES  stop after about so long of every measurement
#   PARTS    which of: bf16 native cheap drafters policies papers project peers (all)
#   DRAFTERS parts whose policies are compared (smollm2-eagle3 smollm2-draft-11m)
#   WEIGHTS  that `policies` and `papers` compute with (bf16)     TEMPERATURES  of both (0 1)
#   OUT      folder of results (build/bench/suite)
set -euo pipefail
cd "$(dirname "$0")/.."
augur=${AUGUR:-build/release/augur}
model=${MODEL:-$(scripts/get_model.sh)}
out=${OUT:-build/bench/suite}
prompts=("$@")
[[ ${#prompts[@]} -gt 0 ]] || prompts=(prompts/*.jsonl)
wanted=" ${PARTS:-bf16 native cheap drafters policies papers project peers} "
wants() { [[ $wanted == *" $1 "* ]]; }

# The parts of models/, and the draft model in 4 bits.
mkdir -p "$out/parts"
for part in models/*/; do ln -sfn "$(realpath "$part")" "$out/parts/$(basename "$part")"; done
draft=smollm2-draft-11m
small=$draft.Q4_0.gguf
[[ -s $out/parts/$small ]] || "$augur" quantize "models/$draft" "$out/parts/$small" Q4_0
frequent=vocab=frspec:$draft/frspec:4096  # named, as the file in 4 bits has no parts beside it

common=(-m "$model" --parts "$out/parts" --prompts "${prompts[@]}" --limit "${LIMIT:-3}" --turns 1 --seed 3 --minutes "${MINUTES:-0}")
timed=(-n "${TOKENS:-128}" --rounds "${ROUNDS:-3}")

methods=(plain ngram:n-min=3,n-max=8 ngram:policy=auto draft:model=$draft,n-max=4 draft:model=$draft,topk=4,depth=4,size=16
         draft:model=$draft,policy=auto draft,ngram:model=$draft,policy=auto draft:model=$small,policy=auto
         draft,ngram:model=$small,policy=auto eagle3:model=smollm2-eagle3,topk=4,depth=4,size=16
         eagle3,ngram:model=smollm2-eagle3,policy=auto)
if [[ -n "${METHODS:-}" ]]; then read -ra methods <<< "$METHODS"; fi
cheaper=(plain draft,ngram:model=$draft,policy=auto draft,ngram:model=$draft,$frequent,policy=auto
         draft,ngram:model=$small,policy=auto draft,ngram:model=$small,$frequent,policy=auto)
tree=policy=eagle2,topk=10,depth=8,size=60
drafters=(plain ngram:n-min=3,n-max=8 draft:model=$draft,$tree eagle3:model=smollm2-eagle3,$tree eagle:model=smollm2-eagle,$tree mtp:model=smollm2-mtp,$tree
          medusa:model=smollm2-medusa,$tree hydra:model=smollm2-hydra,$tree layerskip:model=smollm2-early-exit,$tree dspark:model=smollm2-dspark,$tree)
# Learned policies and draft vocabularies, each with the drafters that it was made for.
drafters+=({eagle3:model=smollm2-eagle3,draft:model=$draft},topk=10,depth=3,size=60)  # the trees that bins extend
for with in eagle3:model=smollm2-eagle3 draft:model=$draft; do
  drafters+=("$with,topk=10,size=60,policy=hetero" "$with,policy=c2t:beta=0.5;children=10;depth=8;size=128"
             "$with,policy=acceptance:h=0.95;k-max=8;topk=10;size=60")
done
drafters+=(draft:model=$draft,$frequent,$tree draft:model=$draft,vocab=dynaspec,$tree)

tables=()  # suites whose tables make the document
suite() { # NAME ARGUMENT...
  local name=$1
  shift
  echo "== $name"
  "$augur" bench suite "${common[@]}" "$@" --json "$out/$name.json" --report "$out/$name.html"
  tables+=("$name")
}

for temperature in 0 1; do
  ! wants bf16 || suite "bf16-t$temperature" "${timed[@]}" --weights bf16 --temp $temperature --methods "${methods[@]}"
  ! wants native || suite "native-t$temperature" "${timed[@]}" --temp $temperature --methods "${methods[@]}"
done
if wants cheap; then
  suite cheap-native-t0 "${timed[@]}" --temp 0 --analyse 0 --samples 0 --methods "${cheaper[@]}"
  suite cheap-bf16-t1 "${timed[@]}" --weights bf16 --temp 1 --analyse 0 --samples 0 --methods "${cheaper[@]}"
fi
if wants drafters; then
  for temperature in 0 1; do
    suite "drafters-t$temperature" -n 64 --rounds 1 --weights bf16 --temp $temperature --analyse 0 --samples 0 --methods "${drafters[@]}"
  done
  scripts/accepted_lengths.py "$out"/drafters-t[01].json | tee "$out/drafters.txt"
fi
if wants policies; then
  # Every policy beside the fixed trees that its paper compares with, and what was asked of each.
  for part in ${DRAFTERS:-smollm2-eagle3 $draft}; do
    type=draft
    [[ $part != *eagle3* ]] || type=eagle3
    with=$type:model=$part
    policies=(plain $with,n-max=1 $with,n-max=4 $with,topk=4,depth=3,size=8 $with,topk=4,depth=4,size=16
              $with,topk=10,depth=6,size={10,20,30,40,50,60} $with,topk=10,depth=8,size=60 $with,topk=10,depth=3,size=60
              $with,topk=10,depth=3,size=60,policy=hetero
              $with,topk=8,depth=6,size=32 "$with,policy=acceptance:model=none;k-max=6;topk=8;size=32"{,";h=0.94",";h=0.95",";h=0.96"}
              "$with,policy=acceptance:k-max=6;topk=8;size=32"{,";h=0.95"}
              "$with,policy=c2t:beta="{0.7,0.5,0.3}";children=10;depth=6;size=128"
              $with,policy={adaedl,dymax,djoint,auto} $type,ngram:model=$part,policy=auto)
    for temperature in ${TEMPERATURES:-0 1}; do
      name=policies-$part-t$temperature
      suite "$name" "${timed[@]}" --weights "${WEIGHTS:-bf16}" --temp "$temperature" --analyse 0 --samples 0 --methods "${policies[@]}"
      scripts/policy_bars.py "$out/$name.json" | tee "$out/$name.txt"
    done
  done
fi
if wants papers; then
  for paper in hetero c2t acceptance dynaspec overview; do
    for temperature in ${TEMPERATURES:-0 1}; do
      name=$paper-t$temperature
      "$augur" bench paper "$paper" "${common[@]}" --weights "${WEIGHTS:-bf16}" -n 96 --temp "$temperature" --rounds "${ROUNDS:-1}" \
        --drafter "${DRAFTER:-$draft}" --json "$out/$name.json" | tee "$out/$name.txt"
    done
  done
fi
if wants project; then
  for temperature in 0 1; do
    [[ ! -s $out/bf16-t$temperature.json ]] || "$augur" bench project "$out/bf16-t$temperature.json" --json "$out/project-t$temperature.json" |
      tee "$out/project-t$temperature.txt"
  done
fi
if wants peers; then
  OUT=$out AUGUR=$augur MODEL=$model ROUNDS=${ROUNDS:-3} TOKENS=${TOKENS:-128} scripts/bench_peers.sh "${prompts[@]}"
  tables+=(peers)
fi

for name in "${tables[@]}"; do
  printf '## %s\n' "$name"
  "$augur" bench report "$out/$name.json" --markdown
  echo
done > "$out/figures.md"
for text in "$out"/*.txt; do
  [[ ! -s $text ]] || { printf '## %s\n```\n' "$(basename "$text" .txt)"; cat "$text"; printf '```\n\n'; } >> "$out/figures.md"
done
echo "written: $out/figures.md, a page for each suite beside it"
