#!/usr/bin/env python3
"""scripts/price_rounds.py on rounds whose true times are known: a machine that is two thirds slower for a third of
the time, just when a controller drafts, and that loses a slice to other programs now and then."""
import importlib.util
import pathlib
import random
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "price_rounds.py"
spec = importlib.util.spec_from_file_location("price_rounds", SOURCE)
price_rounds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(price_rounds)

TRUE_MS = {"verify": {1: 6.0, 3: 7.2}, "draft": {0: 0.02, 4: 1.8}, "other": 0.01}


def write(variant, slow, drafts, random_):
    rounds = []
    for i in range(400):
        drafted = 4 if drafts(i) else 0
        rows = 3 if drafted else 1
        pace = (1.67 if slow(i) else 1.0) * random_.lognormvariate(0, 0.03)
        rounds.append({"variant": variant, "suite": "s", "prompt": 0, "round": i, "drafted": drafted, "rows": rows,
                       "tokens": 1, "mode": "fixed" if variant == "plain" else "plain",
                       "verify_ms": TRUE_MS["verify"][rows] * pace + (16 if random_.random() < 0.01 else 0),
                       "draft_ms": TRUE_MS["draft"][drafted] * pace if variant != "plain" else 0.0,
                       "other_ms": TRUE_MS["other"] + (16 if random_.random() < 0.005 else 0)})
    return rounds


def true_ms(rounds):
    return sum(TRUE_MS["verify"][r["rows"]] + TRUE_MS["other"]
               + (TRUE_MS["draft"][r["drafted"]] if r["variant"] != "plain" else 0) for r in rounds)


def main():
    random_ = random.Random(7)
    plain = write("plain", lambda i: False, lambda i: False, random_)
    # Mostly while the machine is slow, among plain steps.
    auto = write("auto", lambda i: 150 <= i < 280, lambda i: 160 <= i < 290 and i % 5 != 0, random_)
    rounds = plain + auto
    ms = price_rounds.priced(rounds)
    found = sum(ms[len(plain):]) / sum(ms[:len(plain)])
    expected = true_ms(auto) / true_ms(plain)
    measured = [sum(r["verify_ms"] + r["draft_ms"] + r["other_ms"] for r in some) for some in (plain, auto)]
    print(f"auto takes {expected:.3f} of plain; priced {found:.3f}; measured {measured[1] / measured[0]:.3f}")
    assert abs(found / expected - 1) < 0.01, "priced within 1% of the truth"
    assert abs(measured[1] / measured[0] / expected - 1) > 0.1, "the text is one that measuring gets wrong"


if __name__ == "__main__":
    sys.exit(main())
