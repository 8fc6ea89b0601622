#!/usr/bin/env python3
"""What scripts/run_tests.sh says after a run: of a ctest that writes a report and ends as it is told."""
import os
import pathlib
import subprocess
import tempfile
import unittest

RUN_TESTS = pathlib.Path(__file__).resolve().parents[2] / "scripts/run_tests.sh"
CTEST = """#!/bin/sh
while [ "$1" != --output-junit ]; do shift; done
cp "$REPORT" "$2"
exit "$STATUS"
"""
REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)"
\ttests="{tests}"
\tfailures="{failures}"
\tdisabled="0"
\tskipped="{skipped}"
\thostname=""
\ttime="1"
\ttimestamp="2026-01-01T00:00:00"
>{cases}
</testsuite>
"""
PASSED = '<testcase name="A.Passes" classname="A.Passes" time="1" status="run"><system-out>[ OK ]</system-out></testcase>'
FAILED = '<testcase name="A.Fails" classname="A.Fails" time="1" status="fail"><failure message=""/></testcase>'


def skipped(name, why):
    return (f'<testcase name="{name}" classname="{name}" time="1" status="notrun">'
            '<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
            f"<system-out>[ RUN      ] {name}\n/tests/a_test.cpp:12: Skipped\n{why}\n\n[  SKIPPED ] {name} (0 ms)\n"
            "</system-out></testcase>")


class RunTests(unittest.TestCase):
    def run_tests(self, cases, failures=0, status=0):
        """(exit code, lines of stdout)"""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "ctest").write_text(CTEST)
            (folder / "ctest").chmod(0o755)
            (folder / "report").write_text(REPORT.format(
                tests=len(cases), failures=failures, skipped=sum("<skipped" in case for case in cases),
                cases="".join(cases)))
            done = subprocess.run([RUN_TESTS, "release"], capture_output=True, text=True, check=False, env={
                **os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "REPORT": str(folder / "report"),
                "STATUS": str(status)})
        return done.returncode, done.stdout.splitlines()

    def test_counts(self):
        self.assertEqual((0, ["2 passed, 0 failed"]), self.run_tests([PASSED, PASSED]))
        self.assertEqual((8, ["1 passed, 1 failed"]), self.run_tests([PASSED, FAILED], failures=1, status=8))

    def test_says_what_was_left_out_and_why(self):
        code, said = self.run_tests([PASSED, skipped("M.One", "m.gguf is not there: run x"), skipped("G.Four", "no GPU"),
                                     skipped("M.Two", "m.gguf is not there: run x"), skipped("Q.Three", "")])
        self.assertEqual(0, code)
        self.assertEqual(["left out:", "  2 tests: m.gguf is not there: run x", "    M.One", "    M.Two",
                          "  1 test: no GPU", "    G.Four", "  1 test: it does not say why", "    Q.Three",
                          "1 passed, 0 failed, 4 skipped"], said)

    def test_many_of_a_kind_are_counted(self):
        _, said = self.run_tests([PASSED] + [skipped(f"M.T{i}", "no model") for i in range(9)])
        self.assertEqual(["left out:", "  9 tests: no model", *(f"    M.T{i}" for i in range(5)), "    and 4 more",
                          "1 passed, 0 failed, 9 skipped"], said)

    def test_no_test_is_a_failure(self):
        code, said = self.run_tests([])
        self.assertEqual((1, "0 passed, 1 failed"), (code, said[-1]))


if __name__ == "__main__":
    unittest.main()
