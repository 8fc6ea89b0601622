"""A server's answers under load, held against those that it gives one at a time.

Requests (--requests) are greedy and seeded, chat and raw, with and without a common beginning, each with a plan for
speculation of its own; a third are cancelled midway. The reference is `augur serve --parallel 1 --cache-ram 0` without
speculation, one request after another, and for some of them `augur generate` in a process of its own. Every finished
answer must have the reference's text and finish_reason, every cancelled one a beginning of it: in two runs that differ
in the order of arrival; and once more with every request under a JSON schema.
"""
import json
import queue
import random
import subprocess
import threading

import pytest

from augur_server import PROGRAM, ROOT, STORIES, Server, events

CLIENTS, PROCESSES = 16, 10
PLANS = [None, None, {"type": "none"}, {"type": "ngram"}, {"type": "ngram", "policy": "chain", "n_max": 5},
         {"type": "suffix"}]
DRAFT_PLANS = [{"policy": "eagle2", "topk": 4, "depth": 4, "size": 16}, {"policy": "chain", "n_max": 3}]
SYSTEM = "You are a careful assistant. "
MORE = "Answer briefly, in plain words, and say what you do not know. "
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string", "maxLength": 40},
                                           "sure": {"type": "boolean"}, "score": {"type": "integer"}},
          "required": ["answer", "sure", "score"], "additionalProperties": False}


def prompts_of(letters):
    """The first turns of prompts/, cut where they are long."""
    return [json.loads(line)["turns"][0][:letters] for file in sorted((ROOT / "prompts").glob("*.jsonl"))
            for line in file.read_text(encoding="utf-8").splitlines()]


def make_requests(count, prompts, system, with_draft, schema):
    pick = random.Random(1)
    plans = PLANS + (DRAFT_PLANS if with_draft else [])
    requests = []
    for i in range(count):
        prompt = prompts[i % len(prompts)]
        body = {"max_tokens": pick.choice([8, 20, 40, 64]), "temperature": 0, "seed": i}
        if i % 2:
            body.update(temperature=pick.choice([0.7, 1.0, 1.3]), top_p=pick.choice([0.9, 1.0]),
                        top_k=pick.choice([0, 40]))
        if i % 7 == 3:
            body["repetition_penalty"] = 1.1
        chat = i % 3 != 0 or schema
        if chat:
            common = [{"role": "system", "content": system}] if i % 2 else []
            path, body["messages"] = "/v1/chat/completions", common + [{"role": "user", "content": prompt}]
        else:
            path, body["prompt"] = "/v1/completions", prompt
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
    for event in filter(None, events(answer)):
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


def run(server, requests, order):
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

    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers, failures


def generate(model, request):
    """The text that `augur generate` writes for a raw request."""
    body = request["body"]
    args = [PROGRAM, "generate", "-m", model, "--json", "-n", str(body["max_tokens"]), "--seed", str(body["seed"]),
            "--temp", str(body["temperature"]), "--top-p", str(body.get("top_p", 1)), "--top-k",
            str(body.get("top_k", 0)), "--repeat-penalty", str(body.get("repetition_penalty", 1)), "-p", body["prompt"]]
    return json.loads(subprocess.run(args, capture_output=True, text=True, check=True).stdout)["text"]


@pytest.mark.parametrize("schema", [False, True], ids=["free", "schema"])
def test_answers_are_those_one_at_a_time(request, chat_stories, drafting, say, schema):
    option = request.config.getoption
    model = option("--model")
    small = model == STORIES  # which has a short context, and by itself no chat template
    if small:
        model = chat_stories
        drafting = drafting or ["--spec-type", "ngram,suffix"]
    requests = make_requests(option("--requests") or 180, prompts_of(120 if small else 1500),
                             SYSTEM + MORE * (1 if small else 12), option("--draft") is not None, schema)
    with Server(model, "--parallel", "1", "--cache-ram", "0", "--spec-type", "none") as reference:
        expected = [ask(reference, one) for one in requests]
        reference.close()

    differences = []
    raw = [i for i, one in enumerate(requests) if "prompt" in one["body"]][:PROCESSES]
    for i in raw:
        if generate(model, requests[i]) != expected[i][0]:
            differences.append(f"request {i}: `augur generate` differs")

    finished = cancelled = 0
    with Server(model, "--parallel", str(CLIENTS), *drafting) as server:
        for seed in (1, 2):
            order = list(range(len(requests)))
            random.Random(seed).shuffle(order)
            answers, failures = run(server, requests, order)
            differences += failures
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
                    differences.append(f"run {seed}, request {i} ({requests[i]['plan']}): {text!r}\n"
                                       f"  expected {expected[i]!r}")
        drafted = server.load()["num_draft_tokens"]
        server.close()
    say(f"{finished} answers finished, {cancelled} cancelled, {len(raw)} by processes of their own, {drafted} tokens "
        "drafted")
    assert not differences, "\n".join(differences)
    assert finished and cancelled and drafted
