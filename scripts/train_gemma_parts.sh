#!/usr/bin/env bash
# Makes the parts that ship in models/ for Gemma 3 270M: a drafter (the early exit, which needs no training, or an MTP
# layer), and for it the list of frequent tokens, counted in text of the target, too, and clusters with a router. The
# target is a base model without a chat template: prompts and texts are plain text, conversations are joined.
#
# usage: scripts/train_gemma_parts.sh TEXTS_FOLDER WORK_FOLDER [PART...]
#   TEXTS_FOLDER   *.jsonl or *.jsonl.xz with records of messages or text (no evaluation prompts)
#   WORK_FOLDER    texts and results
#   PART           mtp (for DRAFTER=mtp, first) frspec dynaspec (default: frspec dynaspec)
# DRAFTER=early-exit (or mtp: the folder of WORK_FOLDER whose parts are made)
# TOKENS=440000 (of the MTP layer's schedule; it learns from 24000 tokens of each file again and again)
# AUGUR=build/release/augur   TARGET (another model)   EXIT=17 (layers that draft)
# ANSWERS=100, RECORDS=10000, WORDS=600000 (of each file: prompts that are answered, records read, tokens counted)
# CORE=4096   CLUSTERS=512   EXAMPLES=16000   MINUTES=3.5 (of drafting)   SHARE=0.09 (of the vocabulary)
set -euo pipefail

[[ $# -ge 2 ]] || { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
texts=$1 work=$2
shift 2
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(frspec dynaspec)
here=$(cd "$(dirname "$0")" && pwd)
augur=${AUGUR:-$here/../build/release/augur}
target=${TARGET:-$("$here/get_model.sh" gemma-3-270m)}
drafter=$work/${DRAFTER:-early-exit}
mkdir -p "$work/texts" "$drafter"
[[ ${DRAFTER:-early-exit} != early-exit || -f $drafter/config.json ]] || echo "{\"exit_layer\": ${EXIT:-17}}" >"$drafter/config.json"

# Plain texts of each file's first RECORDS.
python3 - "$texts" "$work/texts" "${RECORDS:-10000}" <<'PY'
import itertools, json, lzma, pathlib, sys
source, out, records = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
files = sorted(source.glob("*.jsonl")) + sorted(source.glob("*.jsonl.xz"))
if not files:
    sys.exit(f"{source}: no .jsonl or .jsonl.xz files")
for file in files:
    name = file.name.removesuffix(".xz")
    with (lzma.open(file, "rt") if file.suffix == ".xz" else open(file)) as lines, open(out / name, "w") as texts:
        for line in itertools.islice(lines, records):
            record = json.loads(line)
            text = record["text"] if "text" in record else "\n".join(m["content"] for m in record["messages"])
            print(json.dumps({"text": text}), file=texts)
PY
all=("$work"/texts/*.jsonl)
for part in "${parts[@]}"; do
  case "$part" in
    mtp) data=()
      for file in "${all[@]}"; do data+=(--data "$file"); done
      "$augur" train mtp -m "$target" "${data[@]}" --max-tokens-per-file 24000 --max-length 384 --held-out 32 \
        --tokens "${TOKENS:-440000}" --loss-vocab 24576 --unroll 3 --muon --lr 6e-3 --step-tokens 1024 \
        --checkpoint-tokens 40000 --evaluate-tokens 60000 --target-memory 6 -o "$work/mtp" ;;
    frspec) data=(--data "$work/answers.jsonl")
      "$augur" train generate -m "$target" --prompts "${all[@]}" -o "$work/answers.jsonl" --limit "${ANSWERS:-100}" \
        -n 96 --weights bf16 --parallel 64
      for file in "${all[@]}"; do data+=(--data "$file"); done
      "$augur" train frspec -m "$target" "${data[@]}" --max-tokens "${WORDS:-600000}" -o "$drafter/frspec" ;;
    dynaspec) prompts=()
      for file in "${all[@]}"; do prompts+=(--prompts "$file"); done
      "$augur" train dynaspec -m "$target" -d "$drafter" "${prompts[@]}" --limit 60 --core "$drafter/frspec" \
        --core-size "${CORE:-4096}" --clusters "${CLUSTERS:-512}" --examples "${EXAMPLES:-16000}" \
        --minutes "${MINUTES:-3.5}" --share "${SHARE:-0.09}" -o "$drafter/dynaspec" ;;
    *) echo "unknown part: $part" >&2; exit 2 ;;
  esac
done
