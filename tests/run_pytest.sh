#!/usr/bin/env bash
# Runs the tests in Python: clients of others as they are (tests/clients), schemas (tests/schemas), and what stands
# around a server (tests/operation). Builds what they try, and makes an environment of the packages of
# tests/requirements.txt beside the cache. Exits with 77 where these can't be had, with 1 where one has another hash.
#
# usage: tests/run_pytest.sh [pytest's arguments]    default: all three folders; the project's own options:
#                                                    tests/run_pytest.sh --help, under "augur"
#   AUGUR              the program (build/release/augur, which is built)
#   AUGUR_TESTS_VENV   the environment (~/.cache/augur/tests)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${AUGUR_TESTS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/augur/tests}
# Tools that some archives are built by come first: pip would fetch them without a hash.
wanted=$(cat tests/build_requirements.txt tests/requirements.txt | sha256sum)

install() { # FILE
  "$venv/bin/pip" install -q --disable-pip-version-check --require-hashes --no-deps --no-build-isolation -r "$1" 2>&1 |
    tee "$venv/pip.log" >&2 && return
  echo "run_pytest: the packages of $1 cannot be installed (pip says why above)" >&2
  ! grep -q 'DO NOT MATCH THE HASHES' "$venv/pip.log" || exit 1
  exit 77
}

if [[ $(cat "$venv/installed" 2>/dev/null) != "$wanted" ]]; then
  rm -rf "$venv"
  python3 -m venv "$venv" || { echo "run_pytest: there is no python3-venv" >&2; exit 77; }
  install tests/build_requirements.txt
  install tests/requirements.txt
  echo "$wanted" >"$venv/installed"
fi
if [[ -z ${AUGUR:-} ]]; then
  cmake --preset release --log-level=WARNING
  cmake --build --preset release -j "$(nproc)" --target augur_program augur_lab_program grammar_tests text_tests
fi
folders=(tests/clients tests/schemas tests/operation)
for argument in "$@"; do [[ ! -e ${argument%%::*} ]] || folders=(); done
"$venv/bin/python" -m pytest -c tests/pytest.ini "${folders[@]}" "$@"
