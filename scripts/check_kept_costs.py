#!/usr/bin/env python3
"""Whether `auto` is as good with costs that were kept, or measured beside busy programs, as with fresh ones.

usage: scripts/check_kept_costs.py LAB MODEL HEAD PROMPTS...   (LAB: the program augur-lab; on a quiet machine, about 12 minutes)

For temperatures 0 and 1, auto over plain decoding in one interleaved run each of every prompt file: (a) costs measured on the quiet
machine, (b) kept from (a), (c) measured beside two busy processes, which go on for about as long as the first file takes. Exits with 1
where the mean over the files of (b) or (c) is less than 0.97 of (a)'s. The first file of (c) is printed, but has no part in the mean
of that comparison: what it was measured beside changes plain decoding, too.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

BAR = 0.97
BUSY = "while True: sum(range(10000))"


def ratios(lab, model, head, prompts, temperature, cache, busy_seconds):
    """({file: auto's tokens/s over plain's}, seconds)."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [lab, "bench", "spec", "-m", model, "--chat", "--limit", "6", "-n", "128", "--rounds", "2", "--temp",
                   str(temperature), "--seed", "1", "--methods", f"eagle3:model={head},policy=auto", "--no-details", "--json", out.name,
                   "--prompts", *prompts]
        busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2 if busy_seconds else 0)]
        began = time.monotonic()
        try:
            run = subprocess.Popen(command, env={**os.environ, "XDG_CACHE_HOME": cache}, stdout=subprocess.DEVNULL)
            try:
                run.wait(timeout=busy_seconds or None)
            except subprocess.TimeoutExpired:
                pass
        finally:
            for process in busy:
                process.kill()
                process.wait()
        if run.wait() != 0:
            sys.exit(f"{' '.join(command)}: exit {run.returncode}")
        document = json.load(open(out.name))
    return {suite["name"]: suite["methods"][-1]["speedup"] for suite in document["suites"]}, time.monotonic() - began


def mean(by_file, files):
    return sum(by_file[f] for f in files) / len(files)


def main():
    lab, model, head, *prompts = sys.argv[1:]
    failed = False
    for temperature in (0, 1):
        with tempfile.TemporaryDirectory() as quiet, tempfile.TemporaryDirectory() as other:
            a, seconds = ratios(lab, model, head, prompts, temperature, quiet, 0)
            b, _ = ratios(lab, model, head, prompts, temperature, quiet, 0)
            # Twice as slow, as long as it takes to measure and to write a first file.
            c, _ = ratios(lab, model, head, prompts, temperature, other, 2 * seconds / len(prompts))
        files = list(a)
        print(f"T = {temperature}      " + "  ".join(f"{f:>12}" for f in files))
        for name, figures in (("(a) fresh", a), ("(b) kept", b), ("(c) busy", c)):
            print(f"{name:<11}" + "  ".join(f"{figures[f]:12.2f}" for f in files))
        for name, figures, counted in (("(b)", b, files), ("(c)", c, files[1:])):
            share = mean(figures, counted) / mean(a, counted)
            failed = failed or share < BAR
            print(f"{name} over (a): {share:.3f} (bar: {BAR})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
