#!/usr/bin/env python3
"""Compares the log-likelihoods of lm-eval's model `augur` with those of its model `hf` (torch, float32) on the same
weights, and those with and without speculation. By hand: the first two commands each in an environment with lm-eval,
`hf` also with torch and transformers; MODEL is a Hugging Face folder.

usage: parity_lm_eval.py items CORPUS.jsonl.xz... > ITEMS.jsonl      (the end of the files)
       parity_lm_eval.py hf|augur MODEL ITEMS.jsonl [KEY=VALUE...] > SCORES.jsonl
       parity_lm_eval.py compare SCORES.jsonl SCORES.jsonl
"""
import json
import lzma
import sys
import time

ITEMS = 1020
CONTEXT_WORDS, ALL_WORDS = 12, 18


def make_items(corpora):
    for corpus in corpora:
        with lzma.open(corpus, "rt", encoding="utf-8") as file:
            lines = file.readlines()
        left = ITEMS // len(corpora)
        for line in reversed(lines):
            record = json.loads(line)
            text = record.get("text") or " ".join(turn["content"] for turn in record.get("messages", ()))
            words = text.split()[:ALL_WORDS]
            if len(words) == ALL_WORDS:
                print(json.dumps([" ".join(words[:CONTEXT_WORDS]), " " + " ".join(words[CONTEXT_WORDS:])]))
                left -= 1
            if left == 0:
                break


def score(kind, model, items, settings):
    from lm_eval.api.instance import Instance

    if kind == "augur":
        from augur.lm_eval import AugurLM
        lm = AugurLM.create_from_arg_string(",".join([f"model={model}", "weights=f32", *settings]))
    else:
        from lm_eval.models.huggingface import HFLM
        lm = HFLM(pretrained=model, dtype="float32", device="cpu", batch_size=8)
    with open(items, encoding="utf-8") as file:
        pairs = [tuple(json.loads(line)) for line in file]
    begun = time.monotonic()
    scores = lm.loglikelihood([Instance("loglikelihood", {}, pair, index) for index, pair in enumerate(pairs)])
    print(f"{kind}: {len(pairs)} items in {time.monotonic() - begun:.1f} s", file=sys.stderr)
    for logprob, greedy in scores:
        print(json.dumps([logprob, greedy]))


def compare(one, other):
    with open(one, encoding="utf-8") as first, open(other, encoding="utf-8") as second:
        pairs = [(json.loads(a), json.loads(b)) for a, b in zip(first, second, strict=True)]
    apart = sorted(abs(a[0] - b[0]) for a, b in pairs)
    print(f"{len(pairs)} items; within 0.02 nats: {sum(gap <= 0.02 for gap in apart) / len(pairs):.2%}; "
          f"median {apart[len(apart) // 2]:.2g}, 99%: {apart[int(0.99 * len(apart))]:.2g}, worst {apart[-1]:.2g}; "
          f"same bits: {sum(gap == 0 for gap in apart)}; greedy differs: {sum(a[1] != b[1] for a, b in pairs)}")


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "items":
        make_items(arguments)
    elif command == "compare":
        compare(*arguments)
    else:
        score(command, arguments[0], arguments[1], arguments[2:])
