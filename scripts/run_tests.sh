#!/usr/bin/env bash
# Runs the tests of one preset with ctest. Failures are printed in full, and at the end which tests were left out, and
# why; the last line on stdout is "N passed, N failed" (", N skipped" when some were). Exits non-zero when a test failed
# or none ran.
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
[[ $skipped -eq 0 ]] || python3 - "$report" <<'END'
import re, sys, xml.etree.ElementTree
reasons = {}
for case in xml.etree.ElementTree.parse(sys.argv[1]).iter("testcase"):
    if case.get("status") in ("notrun", "disabled"):
        # GoogleTest writes FILE:LINE: Skipped, and what was given to GTEST_SKIP(); other tests write a reason alone.
        said = re.search(r": Skipped\n(.+)|^skipped: (.+)", case.findtext("system-out") or "", re.MULTILINE)
        why = (said[1] or said[2]) if said else "it does not say why"
        reasons.setdefault(why, []).append(case.get("name"))
print("left out:")
for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
    print(f"  {len(names)} test{'s' * (len(names) > 1)}: {why}")
    more = [f"and {len(names) - 5} more"] * (len(names) > 5)
    print(*(f"    {name}" for name in names[:5] + more), sep="\n")
END
summary="$((total - failed - skipped)) passed, $failed failed"
[[ $skipped -gt 0 ]] && summary+=", $skipped skipped"
echo "$summary"
exit $status
