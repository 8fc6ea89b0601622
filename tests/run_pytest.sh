#!/usr/bin/env bash
# Real clients, unchanged, against `augur serve`: tests/clients/. Builds what they try, and makes a Python environment
# with pinned versions beside the cache (AUGUR_CLIENTS_VENV; default ~/.cache/augur/clients). Exits with 77 where PyPI
# cannot be reached. HAProxy and promtool are asked, too, where they are (Debian: haproxy, prometheus). Arguments go to
# pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${AUGUR_CLIENTS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/augur/clients}
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv" || { echo "check_clients: skipped, no python3-venv" >&2; exit 77; }
if ! "$venv/bin/pip" install -q -r tests/clients/requirements.txt; then
  echo "check_clients: skipped, the packages of tests/clients/requirements.txt cannot be installed" >&2
  exit 77
fi
cmake --preset release --log-level=WARNING
cmake --build --preset release -j "$(nproc)" --target augur_program augur_lab_program grammar_tests io_tests
"$venv/bin/python" -m pytest -p no:cacheprovider tests/clients "$@"
