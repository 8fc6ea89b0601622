#!/usr/bin/env python3
"""Tokens per second of the Python package and of the program, on the same requests, in turns: one stream, and sixteen.

usage: tests/python/bench_rates.py MODEL [--draft DRAFT] [--rounds N] [-n TOKENS] [--one N] [--many N]
The package has to be installed; the program is its own. Prints a Markdown table: the best of the program's rounds, and
the best of each way's by it (in brackets the median of the rounds' ratios). Loading is not in the times.
"""
import argparse
import asyncio
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from operator import truediv

import augur

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANY = 16


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--draft")
    parser.add_argument("--one", type=int, default=8, help="prompts of one stream")
    parser.add_argument("--many", type=int, default=32, help="prompts of sixteen streams")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-n", type=int, default=64)
    return parser.parse_args()


def rate_of_program(options, file, parallel, flags):
    """As it prints it: the tokens of all prompts by the time that they took together."""
    done = subprocess.run(
        [sys.executable, "-m", "augur", "generate", "-m", options.model, "--chat", "--prompts", file, "--parallel",
         str(parallel), "-n", str(options.n), *flags], check=True, capture_output=True, text=True)
    tokens, _, rate = re.search(r"(\d+) tokens in ([\d.]+) s: ([\d.]+) tokens/s", done.stderr).groups()
    ids = [json.loads(line)["tokens"] for line in done.stdout.splitlines()]
    assert sum(map(len, ids)) == int(tokens)
    return float(rate), ids


def generate(engine, conversations, parallel, **options):
    if parallel == 1:
        return [engine.generate(one, **options).ids for one in conversations]
    return [result.ids for result in engine.generate(conversations, **options)]


def stream(engine, conversations, parallel, **options):
    """Every token of every text is looked at, by a thread for each text that runs."""
    ids = [()] * len(conversations)
    rest = iter(enumerate(conversations))
    lock = threading.Lock()

    def read():
        while True:
            with lock:
                at, one = next(rest, (None, None))
            if one is None:
                return
            ids[at] = tuple(token.id for token in engine.stream(one, **options) if token.id is not None)

    if parallel == 1:
        read()
        return ids
    threads = [threading.Thread(target=read) for _ in range(parallel)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ids


def astream(engine, conversations, parallel, **options):
    """The same by tasks of one thread."""
    async def text(one, places):
        async with places:
            return tuple([token.id async for token in engine.astream(one, **options) if token.id is not None])

    async def all_of_them():
        places = asyncio.Semaphore(parallel)
        return await asyncio.gather(*(text(one, places) for one in conversations))

    return asyncio.run(all_of_them())


def measured(engine, how, conversations, parallel, options):
    engine.forget()
    engine.generate("A", max_tokens=1)  # opens the session
    began = time.perf_counter()
    ids = how(engine, conversations, parallel, max_tokens=options.n)
    return sum(map(len, ids)) / (time.perf_counter() - began), ids


def main():
    options = arguments()
    lines = [line for file in sorted((ROOT / "prompts").glob("*.jsonl")) for line in file.read_text().splitlines()]
    hows = (generate, stream, astream)
    print(f"| speculation | streams | program, tokens/s | {' | '.join(f'`{how.__name__}`' for how in hows)} |")
    print("| --- " * (3 + len(hows)) + "|")
    with augur.Engine(options.model, draft=options.draft, cache_bytes=0, parallel=MANY) as engine:
        for parallel, count in ((1, options.one), (MANY, options.many)):
            print(row(options, engine, parallel, lines[:: len(lines) // count][:count], hows), flush=True)


def row(options, engine, parallel, lines, hows):
    conversations = [[{"role": "user", "content": json.loads(line)["turns"][0]}] for line in lines]
    ours, rates = {how: [] for how in hows}, []
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("\n".join(lines))
        file.flush()
        for _ in range(options.rounds):
            rate, ids = rate_of_program(options, file.name, parallel, ["-md", options.draft] if options.draft else [])
            rates.append(rate)
            for how in hows:
                ours_now, our_ids = measured(engine, how, conversations, parallel, options)
                assert list(map(list, our_ids)) == ids, "other ids than the program's"
                ours[how].append(ours_now)
    best = max(rates)
    cells = [f"{max(one) / best:.3f} ({statistics.median(map(truediv, one, rates)):.3f})" for one in ours.values()]
    name = pathlib.Path(options.draft).name if options.draft else "none"
    return f"| {name} | {parallel} | {best:.1f} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
