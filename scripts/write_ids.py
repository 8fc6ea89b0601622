#!/usr/bin/env python3
"""Writes the token ids of every drafter under every policy, so that two builds can be compared byte for byte.

usage: scripts/write_ids.py PROGRAM OUT [--limit 10] [--tokens 16] [--jobs 2] [--only TEXT]

Every line of OUT is one configuration (weights, sampling, drafter, policy): the SHA-256 of its ids over the first
--limit prompts of each bundled prompt file, and whether these ids are plain decoding's. A configuration that the
program refuses is a line with its message. Compare with `diff`. The target is scripts/get_model.sh's; the drafters are
those in models/. PROGRAM runs on one thread, --jobs at a time: neither changes an id.
"""
import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"
SAMPLINGS = {"T=0": [], "T=0.8": ["--temp", "0.8", "--top-p", "0.95", "--seed", "7"]}
WEIGHTS = ["native", "bf16"]
# Drafter: its flags. What a folder in models/ holds is found by its name.
DRAFTERS = {
    "ngram": ["--spec-type", "ngram"],
    "suffix": ["--spec-type", "suffix"],
    "layerskip": ["--spec-type", "layerskip", "-md", MODELS / "smollm2-early-exit"],
    "draft": ["-md", MODELS / "smollm2-draft-11m"],
    "eagle": ["-md", MODELS / "smollm2-eagle"],
    "eagle3": ["-md", MODELS / "smollm2-eagle3"],
    "mtp": ["-md", MODELS / "smollm2-mtp"],
    "medusa": ["-md", MODELS / "smollm2-medusa"],
    "hydra": ["-md", MODELS / "smollm2-hydra"],
    "dspark": ["-md", MODELS / "smollm2-dspark"],
    "draft,ngram": ["-md", MODELS / "smollm2-draft-11m", "--spec-type", "auto,ngram"],
    "eagle3,ngram": ["-md", MODELS / "smollm2-eagle3", "--spec-type", "auto,ngram"],
}
POLICIES = ["chain", "static", "eagle2", "adaedl", "svip", "dymax", "djoint", "c2t", "hetero", "acceptance", "auto"]


def part(drafter, name):
    """The folder of a learned part: the drafter's own, or the draft model's."""
    owner = "smollm2-eagle3" if drafter.startswith("eagle3") else "smollm2-draft-11m"
    folders = (MODELS / owner / name, MODELS / f"{owner}-{name}")  # beside the head, or as they were before that
    return next((str(f) for f in folders if f.exists()), str(folders[0]))


def policy_flags(drafter, policy):
    if policy == "static":
        return ["--spec-policy", "static", "--spec-tree", "mc_sim_7b_63"]
    if policy in ("c2t", "hetero"):
        return ["--spec-policy", f"{policy}:model={part(drafter, policy)}"]
    if policy == "acceptance":
        return ["--spec-policy", "acceptance:h=0.9"]
    return ["--spec-policy", policy]


def run(options, flags, prompts, cache):
    command = [options.program, "generate", "-m", options.model, "--chat", "--prompts", prompts, "-n", options.tokens,
               "--parallel", "8", "--json", "-t", "1", *flags]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**os.environ, "XDG_CACHE_HOME": cache})
    if done.returncode != 0:
        message = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return f"exit {done.returncode}: {message[0].replace(str(MODELS) + '/', '')}"
    ids = {}
    for line in done.stdout.splitlines():
        result = json.loads(line)
        ids[str(result["id"])] = result.get("tokens", result.get("error"))
    return hashlib.sha256(json.dumps(ids, sort_keys=True).encode()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("out")
    parser.add_argument("--limit", type=int, default=10, help="prompts of each of the four files")
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="configurations whose line contains this")
    options = parser.parse_args()
    options.model = subprocess.check_output([ROOT / "scripts/get_model.sh"], text=True).strip()
    with tempfile.TemporaryDirectory() as work:
        prompts = pathlib.Path(work) / "prompts.jsonl"
        with prompts.open("w") as out:
            for file in sorted((ROOT / "prompts").glob("*.jsonl")):
                for line in itertools.islice(file.open(), options.limit):
                    prompt = json.loads(line)
                    prompt["id"] = f"{file.stem}:{prompt.get('id', prompt.get('question_id'))}"
                    out.write(json.dumps(prompt) + "\n")
        cases = {}
        for weights, (sampling, flags) in itertools.product(WEIGHTS, SAMPLINGS.items()):
            common = ["--weights", weights, *flags]
            cases[f"{weights} {sampling} plain"] = common
            for (drafter, with_drafter), policy in itertools.product(DRAFTERS.items(), POLICIES):
                cases[f"{weights} {sampling} {drafter} {policy}"] = common + with_drafter + policy_flags(drafter, policy)
        cases = {name: flags for name, flags in cases.items() if options.only in name or name.endswith("plain")}
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            found = dict(zip(cases, pool.map(lambda flags: run(options, flags, prompts, work), cases.values())))
    different = refused = 0
    with open(options.out, "w") as out:
        for name, result in found.items():
            plain = found[" ".join(name.split()[:2]) + " plain"]
            same = "plain's ids" if result == plain else "refused" if result.startswith("exit") else "OTHER IDS"
            different += same == "OTHER IDS"
            refused += same == "refused"
            out.write(f"{name}: {same}: {result}\n")
    print(f"{len(found)} configurations, {refused} refused, {different} with other ids than plain decoding")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
