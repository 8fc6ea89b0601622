#!/usr/bin/env python3
"""Holds a server's answers under load against those that it gives one at a time.

  scripts/check_serve.py -m MODEL [-md DRAFT] --prompts FILE.jsonl... [--requests 600] [--clients 16] [--schema]

Requests are greedy and seeded, chat and raw, with and without a common beginning, each with a plan for speculation of
its own; a third are cancelled midway. The reference is `augur serve --parallel 1 --cache-ram 0` without speculation,
one request after another, and for some of them `augur generate` in a process of its own. Every finished answer must have
the reference's text and finish_reason, every cancelled one a beginning of it: in two runs that differ in the order of
arrival. --schema puts every request under a JSON schema. Exits with 1 where anything differs.
"""
import argparse
import json
import queue
import random
import subprocess
import sys
import threading

from server_process import Server, add_arguments, drafting

PLANS = [None, None, {"type": "none"}, {"type": "ngram"}, {"type": "ngram", "policy": "chain", "n_max": 5},
         {"type": "suffix"}]
DRAFT_PLANS = [{"policy": "eagle2", "topk": 4, "depth": 4, "size": 16}, {"policy": "chain", "n_max": 3}]
SYSTEM = "You are a careful assistant. " + "Answer briefly, in plain words, and say what you do not know. " * 12
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string", "maxLength": 40},
                                           "sure": {"type": "boolean"}, "score": {"type": "integer"}},
          "required": ["answer", "sure", "score"], "additionalProperties": False}


def prompts_of(files):
    for name in files:
        with open(name, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                if "messages" in record:
                    yield record["messages"]
                elif "turns" in record:
                    yield [{"role": "user", "content": record["turns"][0]}]
                else:
                    yield [{"role": "user", "content": record.get("text", record.get("prompt", ""))[:1500]}]


def make_requests(count, prompts, with_draft, schema):
    pick = random.Random(1)
    plans = PLANS + (DRAFT_PLANS if with_draft else [])
    requests = []
    for i in range(count):
        messages = prompts[i % len(prompts)]
        body = {"max_tokens": pick.choice([8, 20, 40, 64]), "temperature": 0, "seed": i}
        if i % 2:
            body.update(temperature=pick.choice([0.7, 1.0, 1.3]), top_p=pick.choice([0.9, 1.0]),
                        top_k=pick.choice([0, 40]))
        if i % 7 == 3:
            body["repetition_penalty"] = 1.1
        chat = i % 3 != 0 or schema
        if chat:
            common = [{"role": "system", "content": SYSTEM}] if i % 2 else []
            path, body["messages"] = "/v1/chat/completions", common + messages
        else:
            path, body["prompt"] = "/v1/completions", messages[-1]["content"]
        if schema:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
            body["max_tokens"] = 96
        requests.append({"path": path, "body": body, "plan": pick.choice(plans),
                         "cancel_after": pick.randint(1, 12) if i % 3 == 1 else None})
    return requests


def ask(server, request, plan=None, cancel_after=None):
    """(text, finish_reason); the reason is None where it was cancelled after so many pieces."""
    body = dict(request["body"], stream=True)
    if plan is not None:
        body["speculative"] = plan
    connection = server.connect()
    connection.request("POST", request["path"], json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"{request['path']}: {answer.status} {answer.read().decode()}")
    text, reason, pieces = "", None, 0
    for line in answer:
        line = line.decode().strip()
        if not line.startswith("data: ") or line == "data: [DONE]":
            continue
        event = json.loads(line[6:])
        if "error" in event:
            raise RuntimeError(f"{request['path']}: {event['error']}")
        for choice in event["choices"]:
            piece = choice["delta"].get("content") if "delta" in choice else choice["text"]
            text += piece or ""
            pieces += bool(piece)
            reason = choice["finish_reason"] or reason
        if cancel_after is not None and pieces >= cancel_after and reason is None:
            break
    connection.close()
    return text, reason


def run(server, requests, order, clients):
    answers, failures, todo = [None] * len(requests), [], queue.SimpleQueue()
    for i in order:
        todo.put(i)

    def client():
        while True:
            try:
                i = todo.get_nowait()
            except queue.Empty:
                return
            try:
                answers[i] = ask(server, requests[i], requests[i]["plan"], requests[i]["cancel_after"])
            except Exception as error:  # one that fails must not end the others
                failures.append(f"request {i}: {error}")

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers, failures


def generate(program, model, request):
    """The text that `augur generate` writes for a raw request."""
    body = request["body"]
    args = [program, "generate", "-m", model, "--json", "-n", str(body["max_tokens"]), "--seed", str(body["seed"]),
            "--temp", str(body["temperature"]), "--top-p", str(body.get("top_p", 1)), "--top-k",
            str(body.get("top_k", 0)), "--repeat-penalty", str(body.get("repetition_penalty", 1)), "-p", body["prompt"]]
    return json.loads(subprocess.run(args, capture_output=True, text=True, check=True).stdout)["text"]


def main():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    parser.add_argument("--prompts", nargs="+", required=True)
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--processes", type=int, default=10, help="references by `augur generate`")
    parser.add_argument("--schema", action="store_true")
    args = parser.parse_args()

    prompts = list(prompts_of(args.prompts))
    requests = make_requests(args.requests, prompts, args.draft is not None, args.schema)
    base = [args.augur, "serve", "-m", args.model, "--port", "0"]
    reference = Server(base + ["--parallel", "1", "--cache-ram", "0"])
    expected = [ask(reference, request) for request in requests]
    reference.close()

    differences = 0
    raw = [i for i, r in enumerate(requests) if "prompt" in r["body"]][:args.processes]
    for i in raw:
        if generate(args.augur, args.model, requests[i]) != expected[i][0]:
            differences += 1
            print(f"request {i}: `augur generate` differs")

    finished = cancelled = 0
    server = Server(base + drafting(args) + ["--parallel", str(args.clients)])
    for seed in (1, 2):
        order = list(range(len(requests)))
        random.Random(seed).shuffle(order)
        answers, failures = run(server, requests, order, args.clients)
        for failure in failures:
            print(failure)
        differences += len(failures)
        for i, answer in enumerate(answers):
            if answer is None:
                continue
            text, reason = answer
            if reason is None:
                cancelled += 1
                same = expected[i][0].startswith(text)
            else:
                finished += 1
                same = (text, reason) == expected[i]
            if not same:
                differences += 1
                print(f"run {seed}, request {i} ({requests[i]['plan']}): {text!r}\n  expected {expected[i]!r}")
    server.close()
    print(f"{finished} answers finished, {cancelled} cancelled, {len(raw)} by processes of their own: "
          f"{differences} differences")
    if not finished:
        print("nothing finished: this shows nothing")
    sys.exit(differences > 0 or not finished)


if __name__ == "__main__":
    main()
