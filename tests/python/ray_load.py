#!/usr/bin/env python3
"""Requests to a local cluster of Ray Serve whose replicas are killed meanwhile. Of test_ray.py, and by hand:

usage: ray_load.py MODEL [--requests 200] [--tokens 48] [--replicas 2] [--kills 2] [--flags "..."]
Prints what was lost, delivered twice or differs from the program's ids, and tokens/s; exits with 1 if anything was.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import ray
from ray import serve

from augur.__main__ import program
from augur.ray import serve_app
from augur_server import ROOT, events, free_port

SAMPLING = {"temperature": 0.8, "seed": 7, "top_k": 0, "top_p": 1, "min_p": 0}
PATIENCE = 300


@contextlib.contextmanager
def cluster():
    """A cluster of this machine alone with two CPUs, and the port of its HTTP proxy."""
    port = free_port()
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=80 << 20, log_to_driver=False,
             configure_logging=False)
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    try:
        yield port
    finally:
        serve.shutdown()
        ray.shutdown()


def post(port, path, body):
    """(status, headers, response); the response is read by the caller."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return connection.getresponse()


def ids_of(port, prompt, tokens, stream):
    """The ids of an answer, over the route whose answers have ids."""
    body = {"prompt": prompt, "n_predict": tokens, "return_tokens": True, "stream": stream, **SAMPLING}
    answer = post(port, "/completion", body)
    assert answer.status == 200, answer.read()
    if not stream:
        return json.loads(answer.read())["tokens"]
    ids = []
    ended = False
    for event in events(answer):
        assert event is not None and "error" not in event, event
        ids += event["tokens"]
        ended = event["stop"]
    assert ended, "the stream has no end"
    return ids


def prompts_for(count):
    """Beginnings of the repository's prompts; some share their first pages."""
    lines = [line for path in sorted((ROOT / "prompts").glob("*.jsonl"))
             for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [json.loads(line)["turns"][0][:300] for line in lines]
    return [f"{texts[number % len(texts)]} {number}:" for number in range(count)]


def ids_of_program(model, prompts, tokens, flags, folder):
    """What the program itself writes."""
    file = pathlib.Path(folder) / "prompts.jsonl"
    file.write_text("".join(json.dumps({"id": index, "prompt": text}) + "\n" for index, text in enumerate(prompts)),
                    encoding="utf-8")
    said = subprocess.run(
        [program(), "generate", "-m", model, "--prompts", file, "-n", str(tokens), "--parallel", "8", "--temp", "0.8",
         "--seed", "7", *flags], check=True, capture_output=True, text=True, timeout=10 * PATIENCE).stdout
    return [json.loads(line)["tokens"] for line in said.splitlines()]


def kill_a_replica(whole):
    """Kills the server of some replica, or the replica's whole process, as a failing machine would."""
    pid = serve.get_deployment_handle("augur-replica", "augur").pid.remote().result(timeout_s=PATIENCE)
    if whole:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        pid = int(re.search(r"PPid:\s+(\d+)", status).group(1))
    os.kill(pid, signal.SIGKILL)
    return pid


def run_load(port, prompts, tokens, kills, clients=24):
    """The ids of each prompt's answer, half of them streamed, while replicas are killed; None: it was lost."""
    ended = threading.Semaphore(0)

    def ask(index):
        try:
            return ids_of(port, prompts[index], tokens, stream=index % 2 == 0)
        except Exception as error:
            print(f"request {index}: {error!r}", file=sys.stderr)
            return None
        finally:
            ended.release()

    with ThreadPoolExecutor(clients) as pool:
        answers = [pool.submit(ask, index) for index in range(len(prompts))]
        for kill in range(kills):
            for _ in range(len(prompts) // (kills + 2)):
                ended.acquire()
            kill_a_replica(whole=kill % 2 == 1)
        return [answer.result() for answer in answers]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--flags", default="")
    given = parser.parse_args()
    flags = given.flags.split()
    prompts = prompts_for(given.requests)
    random.Random(1).shuffle(prompts)
    wanted = ids_of_program(given.model, prompts, given.tokens, flags, "/tmp")
    with cluster() as port:
        serve.run(serve_app(given.model, replicas=given.replicas, threads=1, flags=["--kv-memory-share", "0.3", *flags]),
                  name="augur")
        begun = time.monotonic()
        got = run_load(port, prompts, given.tokens, given.kills)
        seconds = time.monotonic() - begun
    lost = sum(ids is None for ids in got)
    longer = sum(ids is not None and len(ids) > len(want) for ids, want in zip(got, wanted, strict=True))
    other = sum(ids is not None and ids != want for ids, want in zip(got, wanted, strict=True))
    print(f"{given.replicas} replicas, {given.kills} kills, {len(got)} requests: {lost} lost, {longer} with ids twice, "
          f"{other} with other ids than the program's; {sum(len(ids or ()) for ids in got) / seconds:.1f} tokens/s")
    return 1 if lost or longer or other else 0


if __name__ == "__main__":
    sys.exit(main())
