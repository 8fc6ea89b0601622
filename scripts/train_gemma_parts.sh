#!/usr/bin/env bash
# Makes the parts that ship in models/ for Gemma 3 270M: text of the target first, then an MTP layer, the list of
# frequent tokens, clusters with a router. Every step continues where it was stopped. The target is a base model without
# a chat template: prompts and texts are plain text, conversations are joined.
#
# usage: scripts/train_gemma_parts.sh TEXTS_FOLDER WORK_FOLDER [PART...]
#   TEXTS_FOLDER   *.jsonl or *.jsonl.xz with records of messages or text (no evaluation prompts)
#   WORK_FOLDER    texts and results
#   PART           mtp frspec dynaspec (default: all)
# AUGUR=build/release/augur   TARGET (another model)
# ANSWERS=200, RECORDS=250, WORDS=1000000 (of each file: prompts that are answered, texts learnt from, tokens counted)
# TOKENS=250000 (of the layer)   VOCAB=12288 (tokens learnt over)   LR=1.5e-3
# CORE=2048   CLUSTERS=1024   EXAMPLES=60000   MINUTES=10 (of the router)   BUDGET=96,96
set -euo pipefail

[[ $# -ge 2 ]] || { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
texts=$1 work=$2
shift 2
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(mtp frspec dynaspec)
here=$(cd "$(dirname "$0")" && pwd)
augur=${AUGUR:-$here/../build/release/augur}
target=${TARGET:-$("$here/get_model.sh" gemma-3-270m)}
mkdir -p "$work/texts"

# Plain texts of each file: the first RECORDS are learnt from (cut to 2,500 characters), all are counted.
python3 - "$texts" "$work/texts" "${RECORDS:-250}" <<'PY'
import itertools, json, lzma, pathlib, sys
source, out, records = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
files = sorted(source.glob("*.jsonl")) + sorted(source.glob("*.jsonl.xz"))
if not files:
    sys.exit(f"{source}: no .jsonl or .jsonl.xz files")
for file in files:
    name = file.name.removesuffix(".xz")
    with (lzma.open(file, "rt") if file.suffix == ".xz" else open(file)) as lines, \
            open(out / f"all-{name}", "w") as everything, open(out / f"learn-{name}", "w") as learn:
        for i, line in enumerate(itertools.islice(lines, 40 * records)):
            record = json.loads(line)
            text = record["text"] if "text" in record else "\n".join(m["content"] for m in record["messages"])
            print(json.dumps({"text": text}), file=everything)
            if i < records:
                print(json.dumps({"text": text[:2500]}), file=learn)
PY
learn=("$work"/texts/learn-*.jsonl) all=("$work"/texts/all-*.jsonl)
"$augur" train generate -m "$target" --prompts "${all[@]}" -o "$work/answers.jsonl" --limit "${ANSWERS:-200}" -n 96 \
  --weights bf16 --parallel 64

for part in "${parts[@]}"; do
  case "$part" in
    mtp) "$augur" train mtp -m "$target" --data "$work/answers.jsonl" "${learn[@]}" --tokens "${TOKENS:-250000}" \
      --held-out "${HELD_OUT:-60}" -o "$work/mtp" --shared-norm --by-text --loss-vocab "${VOCAB:-12288}" \
      --lr "${LR:-1.5e-3}" --muon --step-tokens 2048 --learn-prompts ;;
    frspec) data=(--data "$work/answers.jsonl")
      for file in "${all[@]}"; do data+=(--data "$file"); done
      "$augur" train frspec -m "$target" "${data[@]}" --max-tokens "${WORDS:-1000000}" -o "$work/mtp/frspec" ;;
    dynaspec) prompts=()
      for file in "${all[@]}"; do prompts+=(--prompts "$file"); done
      "$augur" train dynaspec -m "$target" -d "$work/mtp" "${prompts[@]}" --limit 300 --core "$work/mtp/frspec" \
        --core-size "${CORE:-2048}" --clusters "${CLUSTERS:-1024}" --examples "${EXAMPLES:-60000}" \
        --minutes "${MINUTES:-10}" --budget "${BUDGET:-96,96}" -o "$work/mtp/dynaspec" ;;
    *) echo "unknown part: $part" >&2; exit 2 ;;
  esac
done
