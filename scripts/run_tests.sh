#!/usr/bin/env bash
# Runs the tests of one preset with ctest. Failures are printed in full; the last line on stdout is
# "N passed, N failed" (", N skipped" when some were). Exits non-zero when a test failed or none ran.
#
# usage: scripts/run_tests.sh PRESET [ctest arguments...]
set -uo pipefail
preset=${1:?usage: scripts/run_tests.sh PRESET [ctest arguments...]}
shift
report=$(mktemp)
trap 'rm -f "$report"' EXIT

ctest --preset "$preset" --output-on-failure --progress -j "${JOBS:-$(nproc)}" --output-junit "$report" "$@"
status=$?

# <testsuite ... tests="N" failures="N" disabled="N" skipped="N" ...> opens the report, an attribute a line.
attribute() { head -n 12 "$report" | sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\"$/\1/p"; }
total=$(attribute tests)
failed=$(attribute failures)
skipped=$(($(attribute skipped) + $(attribute disabled)))
if [[ -z "$total" || "$total" -eq 0 ]]; then
  echo "0 passed, 1 failed"
  echo "run_tests: no test ran" >&2
  exit 1
fi
summary="$((total - failed - skipped)) passed, $failed failed"
[[ $skipped -gt 0 ]] && summary+=", $skipped skipped"
echo "$summary"
exit $status
