#!/usr/bin/env python3
"""CI's choice of turns: over a hundred commits each is taken, on the slowest machine too, and no run is too long."""
import hashlib
import importlib.util
import os
import pathlib
import subprocess
import unittest

for name in [name for name in os.environ if name.startswith("AUGUR_CI_")]:  # the settings of a run that runs this
    del os.environ[name]
CI = pathlib.Path(__file__).resolve().parents[2] / ".ci"
spec = importlib.util.spec_from_file_location("turns", CI / "turns.py")
turns = importlib.util.module_from_spec(spec)
spec.loader.exec_module(turns)

MOST = 75  # minutes, of a whole run; turns.MINUTES leaves some of them for a turn that takes longer than the table says
RUNS = 100
PACES = (1.0, 0.75, 0.5)  # the table's minutes are those of the slowest machine


def run(jobs, commit, pace):
    """Names that a run takes, and how long it lasts."""
    spent = pace * sum(job.minutes for job in jobs if job.when == "always")
    taken = []
    while job := turns.next_turn(jobs, commit, pace, spent, taken):
        taken.append(job.name)
        spent += pace * job.minutes
    return taken, spent


class Turns(unittest.TestCase):
    def setUp(self):
        self.jobs = turns.read_jobs((CI / "turns.tsv").read_text())
        self.commits = [hashlib.sha1(str(i).encode()).hexdigest() for i in range(RUNS)]

    def test_every_turn_comes_at_every_pace_and_no_run_is_too_long(self):
        names = {job.name for job in self.jobs if job.when == "turn"}
        for pace in PACES:
            runs = [run(self.jobs, commit, pace) for commit in self.commits]
            self.assertEqual(names, {name for taken, _ in runs for name in taken}, f"pace {pace}")
            self.assertLessEqual(max(spent for _, spent in runs), MOST, f"pace {pace}")

    def test_a_turn_fits_into_what_the_jobs_of_every_run_leave(self):
        left = turns.MINUTES - sum(job.minutes for job in self.jobs if job.when == "always")
        for job in self.jobs:
            if job.when == "turn":
                self.assertLessEqual(job.minutes, left, f"cut it: {job.name} never has its turn on the slowest machine")

    def test_the_parts_of_a_job_are_all_in_the_table(self):
        parts = [job.name.split(" ") for job in self.jobs if " " in job.name]
        for name in {name for name, _ in parts}:
            of_it = sorted(part for other, part in parts if other == name)
            self.assertEqual([f"{i + 1}/{len(of_it)}" for i in range(len(of_it))], of_it, name)

    def test_each_job_of_the_table_is_one(self):
        jobs = (CI / "jobs.sh").read_text()
        for job in self.jobs:
            self.assertIn(f"\njob_{job.name.split(' ')[0]}() {{", jobs)

    def test_runs_begin_all_around_the_circle(self):
        first = {turns.circle(self.jobs, commit)[0].name for commit in self.commits}
        self.assertGreater(len(first), len([j for j in self.jobs if j.when == "turn"]) // 2)

    def test_a_long_turn_gives_way_to_a_shorter_one(self):
        jobs = turns.read_jobs("always\ta\t60\nturn\tlong\t20\nturn\tshort\t5\n")
        self.assertEqual((["short"], 65), run(jobs, "0", 1.0))

    def test_a_turn_is_taken_once(self):
        for commit in self.commits[:10]:
            taken, _ = run(self.jobs, commit, 0.1)
            self.assertEqual(len(taken), len(set(taken)))
            self.assertEqual(len(taken), len([j for j in self.jobs if j.when == "turn"]))

    def test_a_pace_is_of_what_was_run(self):
        jobs = turns.read_jobs("always\ta\t10\nalways\tb\t20\nturn\tc\t30\n")
        self.assertEqual(2.0, turns.pace(jobs, 3600, ["a", "b"]))
        self.assertEqual(0.5, turns.pace(jobs, 60, ["a", "b"]))

    def test_the_command_answers_what_ci_asks(self):
        def ask(*arguments):
            return subprocess.run([CI / "turns.py", *arguments], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]

        always = ask("always")
        self.assertIn("test", always)
        self.assertEqual(["0.50"], ask("pace", "1", *always))
        minutes = next(job.minutes for job in self.jobs if job.name == "test")
        self.assertEqual([f"{minutes:g} {2 * 60 * minutes:.0f}"], ask("limit", "test"))
        taken = ask("next", self.commits[0], "0.5", "600")
        self.assertEqual(1, len(taken))
        self.assertEqual(set(ask("all")), {*always, *taken, *ask("left", self.commits[0], *taken)})
        self.assertEqual([], ask("next", self.commits[0], "0.5", "4200"))

    def test_a_line_of_another_kind_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "sometimes"):
            turns.read_jobs("sometimes\ttest\t3\n")


if __name__ == "__main__":
    unittest.main()
