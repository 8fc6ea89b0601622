#!/usr/bin/env python3
"""What a machine whose speed wanders would have measured, had it stood still.

Reads the rounds that `augur bench suite --log FILE` (or `bench spec`) wrote. A part of a round takes what its kind
takes times how slow the machine was just then: the kind of a verification is its suite, prompt and rows, of drafting
its variant, suite, prompt and candidates, of the rest its variant, suite, prompt and whether anything was drafted; the
machine has one speed during a few consecutive rounds of a text. Both are fitted to the logarithms, with Huber's loss (a
round that lost a slice to another program says next to nothing), and every round is priced at what its kinds take.
A kind's plain median would not do: what a controller drafts while the machine is slow it may draft at no other
time, when plain steps are faster, too.

Prints tokens per second by suite and variant, their share of the suite's best fixed variant, and the same as
measured. A variant is fixed unless a controller steered it. The best fixed variant is chosen by hindsight: of
several that differ by noise alone it is the luckiest, some per cent above their mean.
"""
import collections
import json
import math
import statistics
import sys

STRETCH = 8  # consecutive rounds that the machine is taken to be equally fast in
PASSES = 100
HUBER = 0.05  # of the logarithm: what is further off counts by its sign alone
SHORTEST_MS = 0.3  # what takes less tells little about the machine


def parts_of(rounds):
    """(round, kind, stretch, ms) of all that took time."""
    parts = []
    stretch, inside, before = -1, 0, None
    for i, r in enumerate(rounds):
        text = (r["variant"], r["suite"], r["prompt"])
        goes_on = before is not None and before[0] == text and r["round"] > before[1] and inside < STRETCH
        stretch, inside = (stretch, inside + 1) if goes_on else (stretch + 1, 1)
        before = (text, r["round"])
        for kind, ms in ((("verify", r["suite"], r["prompt"], r["rows"]), r["verify_ms"]),
                         (("draft", *text, r["drafted"]), r["draft_ms"]),
                         (("other", *text, r["drafted"] > 0), r["other_ms"])):
            if ms > 0:
                parts.append((i, kind, stretch, ms))
    return parts


def huber_mean(values, start):
    """One step from `start` towards the centre of the values."""
    weights = [min(1.0, HUBER / max(abs(v - start), 1e-12)) for v in values]
    return sum(w * v for w, v in zip(weights, values)) / sum(weights)


def priced(rounds):
    """What each round takes, in milliseconds, on a machine of one speed."""
    parts = parts_of(rounds)
    by_kind = collections.defaultdict(list)
    by_stretch = collections.defaultdict(list)
    for _, kind, stretch, ms in parts:
        by_kind[kind].append((stretch, math.log(ms)))
        if ms > SHORTEST_MS:
            by_stretch[stretch].append((kind, math.log(ms)))
    kinds = {kind: statistics.median(log for _, log in seen) for kind, seen in by_kind.items()}
    slowness = collections.defaultdict(float)
    for _ in range(PASSES):  # the loss is convex: taking turns leads to its only minimum
        for stretch, seen in by_stretch.items():
            slowness[stretch] = huber_mean([log - kinds[kind] for kind, log in seen], slowness[stretch])
        for kind, seen in by_kind.items():
            kinds[kind] = huber_mean([log - slowness[stretch] for stretch, log in seen], kinds[kind])
    usual = statistics.median(slowness.values()) if slowness else 0.0
    ms = [0.0] * len(rounds)
    for i, kind, _, _ in parts:
        ms[i] += math.exp(kinds[kind] + usual)
    return ms


def main(file):
    with open(file, encoding="utf-8") as lines:
        rounds = [json.loads(line) for line in lines]
    steered = {r["variant"] for r in rounds if r["mode"] != "fixed"}
    texts = {}  # (suite, variant) -> prompt -> [tokens, priced ms, measured ms]
    for r, ms in zip(rounds, priced(rounds)):
        text = texts.setdefault((r["suite"], r["variant"]), {}).setdefault(r["prompt"], [0, 0.0, 0.0])
        text[0] += r["tokens"]
        text[1] += ms
        text[2] += r["verify_ms"] + r["draft_ms"] + r["other_ms"]

    suites = list(dict.fromkeys(suite for suite, _ in texts))
    variants = list(dict.fromkeys(variant for _, variant in texts))
    for suite in suites:
        rate = {}
        for variant in variants:
            prompts = texts.get((suite, variant), {}).values()
            if prompts:
                rate[variant] = [statistics.mean(1000 * t[0] / t[i] for t in prompts) for i in (1, 2)]
        best = [max((r[i] for v, r in rate.items() if v not in steered), default=1.0) for i in (0, 1)]
        print(suite)
        for variant, (price, measured) in rate.items():
            print(f"  {variant:<34} {price:7.1f} tokens/s, {price / best[0]:.3f} of the best fixed;"
                  f" measured {measured:7.1f}, {measured / best[1]:.3f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    main(sys.argv[1])
