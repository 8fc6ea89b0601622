#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it in an environment without anything else of Augur, checks its types,
# and runs tests/python. Uses the objects of build/release where there are some. Exits with 77 where the packages of
# python/requirements.txt can't be had, with 1 where one has another hash.
#
# usage: tests/run_python.sh [pytest's arguments]
#   AUGUR_PYTHON_VENV    the environment (~/.cache/augur/python, or python-extras)
#   AUGUR_PYTHON_EXTRAS  1: with python/requirements_extras.txt, so that the tests of lm-eval, Ray and notebooks run
set -euo pipefail
cd "$(dirname "$0")/.."
extras=${AUGUR_PYTHON_EXTRAS:+-extras}
venv=${AUGUR_PYTHON_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/augur/python$extras}
files=(python/requirements.txt ${extras:+python/requirements_extras.txt})
wanted=$(cat "${files[@]}" | sha256sum)
if [[ $(cat "$venv/installed" 2>/dev/null) != "$wanted" ]]; then
  rm -rf "$venv"
  python3 -m venv "$venv" || { echo "run_python: there is no python3-venv" >&2; exit 77; }
  for file in "${files[@]}"; do  # in turn: the first has what builds source archives of the second
    if ! "$venv/bin/pip" install -q --disable-pip-version-check --require-hashes --no-deps --no-build-isolation -r "$file" \
      2>&1 | tee "$venv/pip.log" >&2; then
      echo "run_python: the packages of $file cannot be installed (pip says why above)" >&2
      ! grep -q 'DO NOT MATCH THE HASHES' "$venv/pip.log" || exit 1
      exit 77
    fi
  done
  echo "$wanted" >"$venv/installed"
fi
wheel=$(deploy/release/wheel.sh --python "$venv/bin/python" --build build/release build/python)
echo "$wheel, $(($(stat -c %s "$wheel") >> 20)) MiB"
"$venv/bin/pip" install -q --disable-pip-version-check --force-reinstall --no-deps --no-index "$wheel"
"$venv/bin/python" -m mypy --config-file pyproject.toml
AUGUR=${AUGUR:-$PWD/build/release/augur} "$venv/bin/python" -m pytest -c tests/pytest.ini tests/python "$@"
