#!/usr/bin/env python3
"""What a machine whose speed wanders would have measured, had it stood still.

Reads the rounds that `augur bench spec --log FILE` wrote and prices every round at the median time of the
rounds of its kind: verification by suite, prompt and rows, drafting by variant, suite, prompt and candidates.
Prints tokens per second by suite and variant, their share of the suite's best fixed variant, and the same as
measured. A variant is fixed unless a controller steered it. The best fixed variant is chosen by hindsight: of
several that differ by noise alone it is the luckiest, some per cent above their mean.
"""
import collections
import json
import statistics
import sys


def main(file):
    with open(file, encoding="utf-8") as lines:
        rounds = [json.loads(line) for line in lines]
    verify = collections.defaultdict(list)
    draft = collections.defaultdict(list)
    for r in rounds:
        r["verify_kind"] = (r["suite"], r["prompt"], r["rows"])
        r["draft_kind"] = (r["variant"], r["suite"], r["prompt"], r["drafted"])
        verify[r["verify_kind"]].append(r["verify_ms"])
        draft[r["draft_kind"]].append(r["draft_ms"])
    verify = {kind: statistics.median(ms) for kind, ms in verify.items()}
    draft = {kind: statistics.median(ms) for kind, ms in draft.items()}

    steered = {r["variant"] for r in rounds if r["mode"] != "fixed"}
    texts = {}  # (suite, variant) -> prompt -> [tokens, priced ms, measured ms]
    for r in rounds:
        text = texts.setdefault((r["suite"], r["variant"]), {}).setdefault(r["prompt"], [0, 0.0, 0.0])
        text[0] += r["tokens"]
        text[1] += verify[r["verify_kind"]] + draft[r["draft_kind"]] + r["other_ms"]
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
        for variant, (priced, measured) in rate.items():
            print(f"  {variant:<34} {priced:7.1f} tokens/s, {priced / best[0]:.3f} of the best fixed;"
                  f" measured {measured:7.1f}, {measured / best[1]:.3f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    main(sys.argv[1])
