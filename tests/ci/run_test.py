#!/usr/bin/env python3
"""CI's runner in a clone whose jobs are made for it: each way a job can go wrong is counted and named at the end."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

for name in [name for name in os.environ if name.startswith("AUGUR_CI_")]:  # the settings of a run that runs this
    del os.environ[name]
CI = pathlib.Path(__file__).resolve().parents[2] / ".ci"

JOBS = r"""
job_good() { check "a check" true; }
job_bad() { check "a wrong check" false; check "a right check" true; }
job_idle() { :; }
job_missing() { skip "a tool (could not be had)"; }
job_typo() { no_such_command_anywhere; }
job_hanging() { check "endless" bash -c 'echo $$ >pid; sleep infinity'; }
job_killed() { kill -KILL $$; }
job_hungry() { check "a greedy check" bash -c 'kill -KILL $$'; }
job_full() { ln -sf /dev/full "$folder/results"; check "a check" true; rm -f "$folder/results"; }
job_part() { check "part $1 of $2" true; }
job_ctest() { tests "many" cat ctest.log; }
job_unbuilt() { tests "many" bash -c 'cat build.log; exit 1'; }
job_needy() { need "the build" bash -c 'cat build.log; exit 1' || return; check "what needs it" true; }
job_said() { check "a talker" bash -c 'cat said.log; exit 1'; }
"""
TURNS = "always\tgood\t1\nalways\tbad\t1\nturn\tpart 1/2\t1\nturn\tpart 2/2\t1\nturn\thanging\t0.02\n"


class Clone:
    """.ci as it is, but for the jobs and their table."""

    def __init__(self, folder: pathlib.Path, turns: str = TURNS):
        self.folder = folder
        shutil.copytree(CI, folder / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / ".ci/jobs.sh").write_text(JOBS)
        (folder / ".ci/turns.tsv").write_text(turns)
        (folder / "scripts").mkdir()
        self.bootstrap("exit 0")
        for command in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a"]):
            subprocess.run(["git", *command], cwd=folder, check=True)

    def bootstrap(self, script: str) -> None:
        path = self.folder / "scripts/bootstrap.sh"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def start(self, *jobs: str, **environment: str) -> subprocess.Popen:
        return subprocess.Popen([self.folder / ".ci/run", *jobs], env={**os.environ, **environment}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, *jobs: str, **environment: str) -> tuple[int, list[str]]:
        process = self.start(*jobs, **environment)
        lines = process.communicate()[0].splitlines()
        return process.returncode, lines


def report(lines: list[str]) -> str:
    """What stands from the end of the last job on."""
    last = max(at for at, line in enumerate(lines) if line.startswith("====") and line.endswith("] done"))
    return "\n".join(lines[last:])


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.clone = Clone(self.folder)

    def failing(self, *jobs: str, last: str, **environment: str) -> str:
        code, lines = self.clone.run(*jobs, **environment)
        self.assertEqual(last, lines[-1], "\n".join(lines))
        self.assertNotEqual(0, code)
        return report(lines)

    def test_what_passes_is_counted(self):
        code, lines = self.clone.run("good", "part:2/7")
        self.assertEqual((0, "3 passed, 0 failed"), (code, lines[-1]))  # with the developer tools
        self.assertIn("part 2 of 7", "\n".join(lines))

    def test_a_failed_check_does_not_stop_the_others(self):
        self.assertIn("FAILED: a wrong check", self.failing("bad", "good", last="3 passed, 1 failed"))

    def test_a_run_takes_always_and_turns_and_says_what_took_how_long(self):
        told = self.failing(last="5 passed, 2 failed")
        self.assertRegex(told, r"good 0:0\d \(1\), bad 0:0\d \(1\), .*part 2/2 0:0\d \(1\).*; pace 0\.50")

    def test_what_was_not_in_turn_is_named(self):
        self.assertIn("not in turn: ", self.failing(last="3 passed, 1 failed", AUGUR_CI_MINUTES="0"))

    def test_a_job_that_hangs_is_stopped_and_named(self):
        told = self.failing("hanging", "good", last="2 passed, 1 failed")
        self.assertIn("FAILED: hanging: stopped after 0:02", told)
        self.wait_for_the_end_of(int((self.folder / "pid").read_text()))

    def wait_for_the_end_of(self, process: int) -> None:
        """Or for its being a zombie, whom process 1 has not buried."""
        status = pathlib.Path(f"/proc/{process}/status")
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            while "State:\tZ" not in status.read_text():
                time.sleep(0.01)

    def test_a_job_that_is_killed_is_named(self):
        self.assertIn("FAILED: killed: killed, which want of memory", self.failing("killed", "good", last="2 passed, 1 failed"))

    def test_a_check_that_is_killed_is_named(self):
        self.assertIn("FAILED: a greedy check (ended by SIGKILL", self.failing("hungry", "good", last="2 passed, 1 failed"))

    def test_a_job_without_a_check_has_failed(self):
        self.assertIn("FAILED: idle checked nothing", self.failing("idle", last="1 passed, 1 failed"))
        self.assertIn("FAILED: typo checked nothing", self.failing("typo", last="1 passed, 1 failed"))

    def test_what_every_run_must_do_may_not_be_skipped(self):
        lines = self.clone.run("missing")[1]
        self.assertEqual("1 passed, 0 failed", lines[-1])
        self.assertIn("SKIPPED: a tool (could not be had)", report(lines))
        (self.folder / ".ci/turns.tsv").write_text("always\tmissing\t1\nturn\tgood\t1\n")
        self.assertIn("FAILED: a tool", self.failing(last="2 passed, 1 failed"))

    def test_a_full_disk_fails_what_it_keeps_from_being_recorded(self):
        self.assertIn("FAILED: full (exit 1; what it found could not be kept)", self.failing("full", last="0 passed, 1 failed"))

    def test_no_room_for_the_report_is_a_failure(self):
        self.failing("good", last="0 passed, 1 failed", TMPDIR=str(self.folder / "nowhere"))

    def test_a_clone_that_cannot_be_written_is_a_failure(self):
        (self.folder / "build").write_text("")
        self.failing("good", last="0 passed, 1 failed")

    def test_tools_that_cannot_be_installed_are_a_failure_and_the_jobs_run(self):
        self.clone.bootstrap("exit 1")
        self.assertIn("FAILED: developer tools", self.failing("good", last="1 passed, 1 failed"))

    def test_a_clone_has_one_run_at_a_time(self):
        first = self.clone.start("hanging", AUGUR_CI_PATIENCE="1000")
        self.wait_for("pid")
        self.assertIn("another run", self.failing("good", last="0 passed, 1 failed"))
        first.send_signal(signal.SIGTERM)
        first.communicate()
        self.assertEqual("2 passed, 0 failed", self.clone.run("good")[1][-1])

    def test_a_run_that_is_stopped_stops_its_job_and_counts(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            (self.folder / "pid").unlink(missing_ok=True)
            process = self.clone.start("good", "hanging", AUGUR_CI_PATIENCE="1000")
            self.wait_for("pid")
            process.send_signal(number)
            lines = process.communicate()[0].splitlines()
            self.assertEqual("2 passed, 1 failed", lines[-1], "\n".join(lines))
            self.assertIn(f"FAILED: hanging was stopped ({number.name})", report(lines))
            self.wait_for_the_end_of(int((self.folder / "pid").read_text()))

    def wait_for(self, name: str) -> None:
        path = self.folder / name
        while not path.exists() or not path.read_text().strip():
            time.sleep(0.01)

    def test_no_job_of_that_name(self):
        code, lines = self.clone.run("goood")
        self.assertEqual(2, code)
        self.assertIn("goood is no job: all, good, bad", lines[-1])


class WhatFailedIsTold(unittest.TestCase):
    """At the end of the report, whatever the kind of check."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.clone = Clone(self.folder)

    def told(self, job: str, log: str, text: str, last: str = "1 passed, 1 failed") -> str:
        noise = "".join(f"[{i}/900] Building CXX object a{i}.o\n" for i in range(900))
        (self.folder / log).write_text(noise + text)
        lines = self.clone.run(job)[1]
        self.assertEqual(last, lines[-1])
        return report(lines)

    def test_tests_of_ctest(self):
        told = self.told("ctest", "ctest.log", CTEST, last="9 passed, 2 failed")
        self.assertIn("FAILED: many: Suite.Bad/one two (Failed)\nFAILED: many: crash (SEGFAULT)\n", told)
        self.assertIn("src/x.cpp:12: Failure\nExpected: 1\n", told)
        self.assertNotIn("Building", told)
        self.assertIn("SKIPPED: many: 1 tests", told)

    def test_a_test_that_ctest_does_not_name(self):
        told = self.told("ctest", "ctest.log", CTEST.replace("\t  3 - crash (SEGFAULT)\n", ""), last="9 passed, 2 failed")
        self.assertIn("FAILED: many: a test that is not named", told)

    def test_a_build_that_fails(self):
        told = self.told("unbuilt", "build.log", BUILD)
        self.assertIn("FAILED: many (exit 1)", told)
        self.assertIn("src/a.cpp:3:5: error: ‘b’ was not declared in this scope\n    3 |   b();", told)
        self.assertNotIn("Building", told)

    def test_what_a_job_needs_and_cannot_have(self):
        told = self.told("needy", "build.log", BUILD)
        self.assertIn("FAILED: the build (exit 1)", told)
        self.assertIn("error: ‘b’ was not declared", told)

    def test_a_link_that_fails(self):
        self.assertIn("undefined reference to `augur::f()'", self.told("unbuilt", "build.log", LINK))

    def test_a_sanitizers_report(self):
        told = self.told("said", "said.log", SANITIZER)
        for line in ("heap-buffer-overflow on address", "#0 0x1 in augur::f() src/f.cpp:7:3", "SUMMARY: AddressSanitizer",
                     "src/g.cpp:9:2: runtime error: signed integer overflow"):
            self.assertIn(line, told)

    def test_tests_of_pytest(self):
        told = self.told("said", "said.log", PYTEST)
        for line in ("E       assert 1 == 2", "FAILED tests/test_a.py::test_b - assert 1 == 2"):
            self.assertIn(line, told)

    def test_tests_of_unittest(self):
        told = self.told("said", "said.log", UNITTEST)
        for line in ("FAIL: test_a (__main__.T.test_a)", "AssertionError: 1 != 2"):
            self.assertIn(line, told)

    def test_else_the_last_lines(self):
        self.assertIn("nothing that anybody knows\n", self.told("said", "said.log", "nothing that anybody knows\n"))

    def test_no_more_than_fits(self):
        errors = "".join(f"src/a{i}.cpp:1:1: error: wrong, number {i}\n" for i in range(9000))
        told = self.told("said", "said.log", errors)
        self.assertIn("number 0\n", told)
        self.assertLess(len(told), 10000)


CTEST = """1/10 Test  #2: Suite.Bad/one two ................***Failed    0.01 sec
src/x.cpp:12: Failure
Expected: 1

      Start  4: late
2/10 Test  #3: crash ............................***Exception: SegFault  0.01 sec

80% tests passed, 2 tests failed out of 10

The following tests FAILED:
\t  2 - Suite.Bad/one two (Failed)
\t  3 - crash (SEGFAULT)

8 passed, 2 failed, 1 skipped
"""
BUILD = """FAILED: a.o
/usr/bin/c++ -c src/a.cpp
src/a.cpp:3:5: error: ‘b’ was not declared in this scope
    3 |   b();
      |   ^
[901/902] Building CXX object b.o
ninja: build stopped: subcommand failed.
"""
LINK = "/usr/bin/ld: a.o: in function `main':\na.cpp:(.text+0x5): undefined reference to `augur::f()'\n"
SANITIZER = """==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x2
READ of size 4 at 0x2 thread T0
    #0 0x1 in augur::f() src/f.cpp:7:3
SUMMARY: AddressSanitizer: heap-buffer-overflow src/f.cpp:7:3 in augur::f()
src/g.cpp:9:2: runtime error: signed integer overflow: 1 + 2
"""
PYTEST = """____ test_b ____
    def test_b():
>       assert 1 == 2
E       assert 1 == 2
tests/test_a.py:4: AssertionError
==== short test summary info ====
FAILED tests/test_a.py::test_b - assert 1 == 2
"""
UNITTEST = """======
FAIL: test_a (__main__.T.test_a)
------
Traceback (most recent call last):
  File "a.py", line 3, in test_a
AssertionError: 1 != 2
"""

if __name__ == "__main__":
    unittest.main()
