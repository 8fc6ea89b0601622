#!/usr/bin/env python3
"""Whose turn it is: CI has more jobs than time, so every run takes the next ones of a circle.

usage: .ci/turns.py always                             the jobs of every run, in their order
       .ci/turns.py all                                these and every turn
       .ci/turns.py limit JOB                          the table's minutes for it; seconds after which it has hung
       .ci/turns.py pace SECONDS JOB...                how many times the table's minutes these jobs took together
       .ci/turns.py next COMMIT PACE SPENT [TRIED...]  the next turn of this run, or nothing
       .ci/turns.py left COMMIT [RUN...]               the turns that were not taken, in the circle's order

COMMIT: its hash, which decides where the circle begins. PACE: how many times the table's minutes this machine takes.
SPENT: seconds that the run has taken. TRIED: turns that are over, in this run.

AUGUR_CI_MINUTES: when the last turn shall have ended (70)
AUGUR_CI_PATIENCE: how many times its minutes a job may take before it counts as hung (2)"""
import os
import pathlib
import sys
from typing import NamedTuple, Optional, Sequence

TABLE = pathlib.Path(__file__).with_name("turns.tsv")
MINUTES = float(os.environ.get("AUGUR_CI_MINUTES", 70))
PATIENCE = float(os.environ.get("AUGUR_CI_PATIENCE", 2))
ELSE = 60  # minutes of a job that is not in the table


class Job(NamedTuple):
    when: str
    name: str
    minutes: float


def read_jobs(text: str) -> list[Job]:
    jobs = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        when, name, minutes = line.split("\t")
        if when not in ("always", "turn"):
            raise ValueError(f"turns.tsv: {line!r}: expected always or turn")
        jobs.append(Job(when, name, float(minutes)))
    return jobs


def circle(jobs: Sequence[Job], commit: str) -> list[Job]:
    """All turns, from the one that the commit decides on."""
    turns = [job for job in jobs if job.when == "turn"]
    first = int(commit, 16) % len(turns)
    return turns[first:] + turns[:first]


def next_turn(jobs: Sequence[Job], commit: str, pace: float, spent: float, tried: Sequence[str]) -> Optional[Job]:
    """The first one that nobody has tried and that ends in time. What is too long for what is left is passed over."""
    for job in circle(jobs, commit):
        if job.name not in tried and job.minutes * pace <= MINUTES - spent:
            return job
    return None


def limit(jobs: Sequence[Job], name: str) -> str:
    """The table's minutes (?: it has none), and the limit in seconds."""
    table = next((job.minutes for job in jobs if job.name == name), None)
    seconds = 60 * PATIENCE * (ELSE if table is None else table)
    return f"{'?' if table is None else f'{table:g}'} {seconds:.0f}"


def pace(jobs: Sequence[Job], seconds: float, run: Sequence[str]) -> float:
    """Half at least: what was in a cache for these jobs need not be for the next."""
    return max(0.5, seconds / 60 / sum(job.minutes for job in jobs if job.name in run))


def main(arguments: list[str]) -> None:
    jobs = read_jobs(TABLE.read_text())
    match arguments:
        case ["always"]:
            names = [job.name for job in jobs if job.when == "always"]
        case ["all"]:
            names = [job.name for job in jobs]
        case ["limit", name]:
            names = [limit(jobs, name)]
        case ["pace", seconds, *run]:
            names = [f"{pace(jobs, float(seconds), run):.2f}"]
        case ["next", commit, times, spent, *tried]:
            job = next_turn(jobs, commit, float(times), float(spent) / 60, tried)
            names = [job.name] if job else []
        case ["left", commit, *run]:
            names = [job.name for job in circle(jobs, commit) if job.name not in run]
        case _:
            sys.exit(__doc__)
    for name in names:
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
