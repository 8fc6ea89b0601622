#!/usr/bin/env python3
"""What was asked of the policies, per suite, from the figures of a suite (scripts/bench_suite.sh, PARTS=policies).

usage: scripts/policy_bars.py SUITE.json

Ratios are of tokens/s in the same run; calls and verified tokens are counts, which no noise moves. Methods that did not run are
left out.

The best of ten fixed rows that differ by noise alone is some per cent above their mean. So where there are several rounds, a second
figure follows: the best row is chosen by the speedups of every other round and compared in the rounds between, then the other way
round, and the mean of both is printed.
"""

import json
import sys


def read(path):
    """{suite: {settings of the method: its figures}}; "all" is over all suites, its counts their sums."""
    document = json.load(open(path))
    names = [method["text"].split(":", 1) for method in document["methods"]]
    keys = []
    for name in names:
        settings = [s for s in (name[1] if len(name) > 1 else "").split(",") if s and not s.startswith("model=")]
        keys.append((name[0] + " " if "," in name[0] else "") + (",".join(settings) or name[0]))
    suites = {suite["name"]: dict(zip(keys, suite["methods"])) for suite in document["suites"]}
    suites["all"] = dict(zip(keys, document["overall"]))
    return suites


def rate(row):
    return row["tokens_per_second"]


def change(new, old, key):
    return f"{100 * (new[key] / old[key] - 1):+.1f}%"


def halves(row):
    """The mean speedup of the first, third, ... complete rounds, and that of the others."""
    rounds = row.get("round_speedups", [])
    if len(rounds) < 2 or not all(rounds):
        return None
    return [sum(half) / len(half) for half in (rounds[::2], rounds[1::2])]


def share_of_chosen(rows, fixed, key):
    """What `key` reaches of the fixed row that is the best one in the other half of the rounds; None: one round only."""
    by_row = {k: halves(rows[k]) for k in [*fixed, key]}
    if not all(by_row.values()):
        return None
    shares = []
    for choose, compare in ((0, 1), (1, 0)):
        best = max(fixed, key=lambda k: by_row[k][choose])
        shares.append(by_row[key][compare] / by_row[best][compare])
    return sum(shares) / len(shares)


def auto(suites):
    print("auto over the best fixed row (bar: 0.98), chosen by hindsight and by the other half of the rounds, and over plain (bar: 1)")
    for name, rows in suites.items():
        fixed = {k: rate(r) for k, r in rows.items() if "policy=" not in k}
        best = max(fixed, key=fixed.get)
        for key in rows:
            if key.endswith("policy=auto"):
                chosen = share_of_chosen(rows, fixed, key)
                print(f"  {name:10} {key:28} {rate(rows[key]) / fixed[best]:.2f} of {best}, "
                      f"{'one round only' if chosen is None else f'{chosen:.2f} of the row chosen'}; "
                      f"{rate(rows[key]) / rate(rows['plain']):.2f} of plain")


def against(suites, title, base, policies):
    for key in policies:
        if not all(base in rows and key in rows for rows in suites.values()):
            continue
        print(f"{title}: {key} against {base}")
        for name, rows in suites.items():
            new, old = rows[key], rows[base]
            print(f"  {name:10} tokens/s {change(new, old, 'tokens_per_second')}, calls {change(new, old, 'calls')}, "
                  f"verified {change(new, old, 'verified_tokens')}, plain {rate(new) / rate(rows['plain']):.2f}x")


def c2t(rows):
    print("C2T: verified tokens over EAGLE-2's at as many accepted drafts a call, its sizes interpolated (bar: 80%)")
    curve = sorted((r["accept_length"], r["verified_tokens"] / r["tokens"]) for k, r in rows.items()
                   if k.startswith("topk=10,depth=6,size=") and "policy=" not in k)
    for key, row in rows.items():
        if not key.startswith("policy=c2t"):
            continue
        length, verified = row["accept_length"], row["verified_tokens"] / row["tokens"]
        for (low, a), (high, b) in zip(curve, curve[1:]):
            if low <= length <= high and high > low:
                equal = a + (b - a) * (length - low) / (high - low)
                print(f"  {key}: {length:.2f} accepted, {100 * verified / equal:.0f}%")
                break
        else:
            print(f"  {key}: {length:.2f} accepted, beyond EAGLE-2's sizes")


def main():
    suites = {name: rows for name, rows in read(sys.argv[1]).items() if "plain" in rows}
    if not suites:
        sys.exit("no prompt has run with every method yet")
    rows = suites["all"]
    auto(suites)
    for key in [k for k in rows if "policy=hetero" in k]:
        against(suites, "HeteroSpec", key.split(",policy=")[0], [key])
    deep = "topk=10,depth=8,size=60"
    against(suites, "HeteroSpec, the paper's tree", deep, [k for k in rows if "policy=hetero" in k and not k.startswith(deep)])
    against(suites, "Acceptance-guided", "topk=8,depth=6,size=32", [k for k in rows if k.startswith("policy=acceptance")])
    c2t(rows)


main()
