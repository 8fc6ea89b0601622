#!/usr/bin/env bash
# The promise, on a real model: over prompt files, the ids with every drafter, and with prompts batched, are
# those of plain decoding. Prints one line per configuration and exits non-zero at any difference.
#
# usage: scripts/check_lossless.sh FILE.jsonl...
# AUGUR          the program           (build/release/augur)
# AUGUR_MODEL    the target            (SmolLM2, from the cache)
# AUGUR_DRAFT    the draft model       (models/smollm2-draft-11m)
# LIMIT, TOKENS  prompts per file, tokens per prompt (32, 128)
# PARALLEL       how many prompts share a batch (16)
# SAMPLING       lines of sampling flags (greedy and two others)
# GENERATE       further arguments of `augur generate` (--chat; a base model has no template: GENERATE=)
# HEADS          a folder of draft heads, which are then run in place of the first drafters; untrained ones do
#                (scripts/make_untrained_heads.py). With the draft vocabularies that lie in a head's folder, too
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
[[ $# -gt 0 ]] || { sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2; }
augur=${AUGUR:-$here/../build/release/augur}
model=${AUGUR_MODEL:-$("$here/get_model.sh")}
draft=${AUGUR_DRAFT:-$here/../models/smollm2-draft-11m}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One file with ids that stay apart: "mt_bench:81".
python3 - "${LIMIT:-32}" "$@" >"$work/prompts.jsonl" <<'PY'
import itertools, json, pathlib, sys
for name in sys.argv[2:]:
    with open(name, encoding="utf-8") as lines:
        for line in itertools.islice(lines, int(sys.argv[1])):
            prompt = json.loads(line)
            prompt["id"] = f"{pathlib.Path(name).stem}:{prompt['id']}"
            print(json.dumps(prompt))
PY

run() { # OUTPUT, arguments
  local output=$1
  shift
  # shellcheck disable=SC2086  # GENERATE is a list of arguments
  "$augur" generate -m "$model" ${GENERATE---chat} --prompts "$work/prompts.jsonl" -n "${TOKENS:-128}" --json \
    "$@" </dev/null >"$work/$output" 2>"$work/stderr" || { cat "$work/stderr" >&2; exit 1; }
}

status=0
compare() { # NAME, OUTPUT
  python3 - "$work/plain" "$work/$2" "$1" "$work/drafted" <<'PY' || status=1
import json, sys
plain, other = ({r["id"]: r for r in map(json.loads, open(path))} for path in sys.argv[1:3])
if not plain or plain.keys() != other.keys():
    sys.exit(f"{sys.argv[3]}: not the same prompts, or none")
different = [i for i in plain if plain[i]["tokens"] != other[i]["tokens"]]
calls = sum(r["speculation"]["calls"] for r in other.values())
tokens = sum(len(r["tokens"]) for r in other.values())
print(f"{sys.argv[3]:<44} {len(plain)} prompts, {tokens} tokens, {tokens / max(calls, 1):.2f} a call: "
      f"{len(different)} differences {different[:5] if different else ''}", flush=True)
with open(sys.argv[4], "a") as drafted:
    print(sum(r["speculation"]["drafted_tokens"] for r in other.values()), file=drafted)
sys.exit(bool(different))
PY
}

chain=(--spec-draft-n-max 4)
tree=(--spec-tree-topk 4 --spec-tree-depth 4 --spec-tree-size 16)
together=(--parallel "${PARALLEL:-16}")
samplings=${SAMPLING:-"--temp 0
--temp 0.8 --top-p 0.95 --seed 7
--temp 1 --repeat-penalty 1.1 --seed 5"}
while read -r sampling; do
  read -ra s <<<"$sampling"
  run plain "${s[@]}"
  run other "${s[@]}" "${together[@]}";          compare "$sampling, plain, ${together[*]}" other
  for type in ngram suffix; do
    run other "${s[@]}" --spec-type $type;       compare "$sampling, $type" other
  done
  for head in ${HEADS:+"$HEADS"/*/}; do
    name=$(basename "$head")
    run other "${s[@]}" -md "$head" "${chain[@]}"; compare "$sampling, $name chain" other
    run other "${s[@]}" -md "$head" "${tree[@]}"; compare "$sampling, $name tree" other
    run other "${s[@]}" -md "$head" "${tree[@]}" "${together[@]}"; compare "$sampling, $name tree, ${together[*]}" other
    run other "${s[@]}" -md "$head";              compare "$sampling, $name auto" other
    vocabularies=()
    [[ ! -d $head/frspec ]] || vocabularies+=(full frspec:8192 pafr:8192 hot:8192)
    [[ ! -d $head/dynaspec ]] || vocabularies+=(dynaspec)
    for vocabulary in "${vocabularies[@]}"; do
      for batch in "--parallel 1" "${together[*]}"; do
        # shellcheck disable=SC2086  # a flag and its value
        run other "${s[@]}" -md "$head" "${tree[@]}" --spec-vocab $vocabulary $batch
        compare "$sampling, $name tree, $vocabulary, $batch" other
      done
    done
    [[ $sampling == "--temp 0" ]] || {
      run other "${s[@]}" -md "$head" "${tree[@]}" --no-spec-coupling; compare "$sampling, $name tree, uncoupled" other
    }
  done
  [[ -z ${HEADS:-} ]] || continue
  run other "${s[@]}" --spec-type draft -md "$draft";         compare "$sampling, draft, auto" other
  run other "${s[@]}" --spec-type draft -md "$draft" "${chain[@]}"; compare "$sampling, draft chain" other
  run other "${s[@]}" --spec-type draft -md "$draft" "${tree[@]}"; compare "$sampling, draft tree" other
  if [[ $sampling != "--temp 0" ]]; then
    run other "${s[@]}" --spec-type draft -md "$draft" "${chain[@]}" --no-spec-coupling; compare "$sampling, chain, uncoupled" other
    run other "${s[@]}" --spec-type draft -md "$draft" "${tree[@]}" --no-spec-coupling
    compare "$sampling, tree, uncoupled" other
  fi
  run other "${s[@]}" --spec-type draft -md "$draft" "${tree[@]}" "${together[@]}"
  compare "$sampling, draft tree, ${together[*]}" other
done <<<"$samplings"
grep -q '[1-9]' "$work/drafted" || { echo "nothing was drafted: this shows nothing" >&2; exit 1; }
exit $status
