#!/usr/bin/env python3
"""Tokens that a call of the target yields, its own counted, per suite of prompts: the tables of the cards in models/.

usage: scripts/accepted_lengths.py SUITE.json...       (scripts/bench_suite.sh, PARTS=drafters: one file per temperature)

One table per drafter with its settings, a row per file. "All" is the mean over calls, "suites" that of the suites' own means.
"""

import json
import sys


def rows_of(path):
    """{method: [lengths of the suites, over all calls, mean of suites]} and the suites' names."""
    document = json.load(open(path))
    suites = document["suites"]
    rows = {}
    for i, method in enumerate(document["methods"]):
        if method["text"] == "plain":
            continue
        lengths = [suite["methods"][i]["tau"] for suite in suites]
        rows[method["text"]] = lengths + [document["overall"][i]["tau"], sum(lengths) / len(lengths)]
    return [suite["name"] for suite in suites], rows, document["settings"]["temperature"]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    files = [rows_of(path) for path in sys.argv[1:]]
    names = files[0][0]
    if any(other != names for other, _, _ in files):
        sys.exit("the files are of different suites")
    for method in files[0][1]:
        print(f"\n`{method}`\n\n| | {' | '.join(names)} | all | suites |")
        print("| --- " * (len(names) + 3) + "|")
        for _, rows, temperature in files:
            if method in rows:
                print(f"| temperature {temperature:g} | {' | '.join(f'{length:.2f}' for length in rows[method])} |")


main()
