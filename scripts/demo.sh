#!/usr/bin/env bash
# Three prompts on a real model, each generated plainly and with the default speculation: the same tokens? how much
# sooner? Needs the program `augur` alone. About half a minute.
#
# usage: scripts/demo.sh [PROGRAM]        PROGRAM: default build/release/augur
# exit status: 1 where some tokens differ from plain decoding's
set -euo pipefail
cd "$(dirname "$0")/.."
augur=${1:-build/release/augur}
out=build/demo
tokens=160
mkdir -p "$out"

if model=$(scripts/get_model.sh); then
  request=(-m "$model" --chat)
  speculation=(-md models/smollm2-eagle3)
  cp scripts/demo.jsonl "$out/prompts.jsonl"
  what="SmolLM2-135M-Instruct in 4 bits; drafts: an EAGLE-3 head, and look-ups in the text"
else
  echo "demo: going on with stories260k, the tiny model that ships with Augur: it writes children's stories, badly." >&2
  model=models/stories260k
  request=(-m "$model")
  speculation=(--spec-type ngram)
  printf '{"id": "%s", "turns": ["%s"]}\n' "a story" "Once upon a time" "a girl" "Lily had a big red ball." \
    "a list" "One cat, two cats, three cats, one cat, two cats," >"$out/prompts.jsonl"
  what="stories260k; drafts: look-ups in the text"
fi

run() { # NAME FLAG... : all prompts, one after the other, in one process
  local name=$1
  shift
  "$augur" generate "${request[@]}" --prompts "$out/prompts.jsonl" -n "$tokens" --json "$@" >"$out/$name.jsonl" 2>"$out/log" ||
    { cat "$out/log" >&2; exit 1; }
}

echo "$what"
echo "warming up: what forwards and drafts cost on this machine is measured once and kept for later runs"
run warm-up "${speculation[@]}"
rm -f "$out"/plain-*.jsonl "$out"/augur-*.jsonl
begin=$SECONDS
for round in 1 2 3 4 5; do
  (( round <= 3 || SECONDS - begin < 25 )) || break
  [[ -t 2 ]] && printf '\rround %d ' "$round" >&2
  run "plain-$round"
  run "augur-$round" "${speculation[@]}"
done
[[ -t 2 ]] && printf '\r         \r' >&2

python3 - "$out" <<'PY'
import glob, json, statistics, sys

out = sys.argv[1]
runs = {kind: [[json.loads(line) for line in open(name)] for name in sorted(glob.glob(f"{out}/{kind}-*.jsonl"))]
        for kind in ("plain", "augur")}
prompts = [answer["id"] for answer in runs["plain"][0]]
same = True
print(f"\n{'prompt':<20}{'plain':>12}{'Augur':>12}{'':>9}   the same tokens?")
print(f"{'':<20}{'tokens/s':>12}{'tokens/s':>12}{'times':>9}")
for i, prompt in enumerate(prompts):
    plain, augur = (statistics.median(run[i]["tokens_per_second"] for run in runs[kind]) for kind in ("plain", "augur"))
    ids = runs["plain"][0][i]["tokens"]
    identical = all(run[i]["tokens"] == ids for kind in runs for run in runs[kind])
    same = same and identical
    verdict = f"identical, all {len(ids)}" if identical else "DIFFERENT"
    print(f"{prompt:<20}{plain:>12.0f}{augur:>12.0f}{augur / plain:>8.2f}x   {verdict}")
print(f"\nMedians of {len(runs['plain'])} alternating runs; speeds of generation, the prompt's own time left out.")
print(f"\nThe answer to \"{prompts[-1]}\", either way:\n")
print("  " + runs["augur"][0][-1]["text"].strip().replace("\n", "\n  "))
sys.exit(not same)
PY

cat <<NEXT

Try next:
  augur=$augur; model=$model
  \$augur generate ${request[*]/"$model"/\$model} ${speculation[*]} --color -p "Hello"   # tinted by who proposed it
  \$augur generate -m YOUR_MODEL --spec-type ngram --chat -p "Hello"   # any GGUF file or folder of a known family
  make build && \$augur bench suite -m \$model --quick --report report.html   # every method, and a page to look at
README.md has more, and says where a drafter, a policy, a kernel or a model family of your own goes.
NEXT
