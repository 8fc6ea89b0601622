#!/usr/bin/env python3
"""Greedy tokens beside llama.cpp's: where they first differ, and how near llama.cpp's own choice was there.

usage: scripts/compare_greedy.py -m MODEL.gguf PROMPTS.jsonl... [--limit N] [-n TOKENS] [--gap NATS]

llama-server comes from scripts/get_llama_cpp.sh. Ends with 1 where tokens differ though llama.cpp's two likeliest are
further apart than --gap, or where Augur's is neither of the two.
"""
import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import time


def augur_answers(args, file):
    command = [args.augur, "generate", "-m", args.model, "--prompts", file, "--limit", str(args.limit), "-n",
               str(args.tokens), "--ignore-eos", "-t", str(args.threads)]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [json.loads(line) for line in lines.splitlines() if line.startswith("{")]


def ask(port, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("POST" if body else "GET", path, json.dumps(body) if body else None,
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or "{}")


def start_llama(args):
    folder = subprocess.run(["scripts/get_llama_cpp.sh"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([os.path.join(folder, "llama-server"), "-m", args.model, "-c", "4096", "-t",
                               str(args.threads), "-np", "1", "--host", "127.0.0.1", "--port", str(port), "--no-webui"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            if ask(port, "/health")[0] == 200:
                return server, port
        except OSError:
            pass
        if server.poll() is not None:
            sys.exit("llama-server ended while it loaded the model")
        time.sleep(0.1)
    sys.exit("llama-server did not start within a minute")


def llama_choices(port, args, prompt):
    """[(id, {id: log probability of the likeliest})] of an answer"""
    body = {"prompt": prompt, "n_predict": args.tokens, "temperature": 0, "n_probs": 4, "ignore_eos": True,
            "cache_prompt": False}
    status, answer = ask(port, "/completion", body)
    if status != 200:
        sys.exit(f"llama-server: status {status}: {answer}")
    return [(t["id"], {top["id"]: top["logprob"] for top in t["top_logprobs"]})
            for t in answer["completion_probabilities"]]


def compare(name, ours, theirs, gap):
    """Prints a line; whether the answers agree but for a near-tie."""
    for position, (mine, (id_, tops)) in enumerate(zip(ours, theirs)):
        if mine == id_:
            continue
        distance = tops[id_] - tops[mine] if mine in tops else float("inf")
        print(f"{name}: differ at {position}: {mine} and {id_}, which llama.cpp has {distance:.3f} apart")
        return distance < gap
    print(f"{name}: the same {min(len(ours), len(theirs))} tokens")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prompts", nargs="+")
    parser.add_argument("-m", dest="model", required=True)
    parser.add_argument("--augur", default="build/release/augur")
    parser.add_argument("--limit", type=int, default=5)
    parser.add_argument("-n", dest="tokens", type=int, default=64)
    parser.add_argument("-t", dest="threads", type=int, default=os.cpu_count())
    parser.add_argument("--gap", type=float, default=0.3)
    args = parser.parse_args()
    server, port = start_llama(args)
    try:
        good = True
        for file in args.prompts:
            with open(file) as lines:
                prompts = [json.loads(line) for line in lines if line.strip()][:args.limit]
            for prompt, answer in zip(prompts, augur_answers(args, file)):
                name = f"{os.path.basename(file)} {prompt.get('id', '')}"
                good &= compare(name, answer["tokens"], llama_choices(port, args, prompt["turns"][0]), args.gap)
    finally:
        server.terminate()
        server.wait()
    sys.exit(0 if good else 1)


main()
