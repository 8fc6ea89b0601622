"""Two replicas of `augur serve` behind a proxy with the file that deploy/ has for it.

First conversations: each has to find its beginning where it was kept, nearly as often as with one server. Then a
rolling restart under load: the replicas are ended (SIGTERM) and started again in turns, while clients ask (--requests in
all), half of them for streams, some with bodies of a megabyte. No request may fail, the same request has to have the
same answer whoever gives it, and vllm:generation_tokens_total of all processes together has to be what the clients have
got.
"""
import collections
import contextlib
import http.client
import json
import random
import re
import threading
import time

import pytest

from augur_server import Server, events, free_port
from proxies import proxy

CLIENTS, RESTARTS = 16, 4
KEY = "key-of-the-check"
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
# As the runbook has it: nginx notices nothing before it is refused something. The last scrape is there as soon as this
# test looks again.
LAME_DUCK = {"nginx": "0", "haproxy": "3"}
ENDS = ["--drain-timeout", "60", "--final-scrape", "10"]
SPREAD = 25  # seconds that the requests take at least: about as long as the restarts do
SETTLES = 2  # seconds until a proxy has noticed that a replica is back
OPENINGS = ["Once upon a time", "One day, Tom", "There was a little cat", "Lily and Ben", "The sun was", "A big dog"]
GENERATED = re.compile(r"^vllm:generation_tokens_total\{[^}]*\} ([0-9.e+]+)$", re.MULTILINE)


class Replica:
    """One of the two; restarts at the same port. What each of its processes has generated is read all the time."""

    def __init__(self, model, flags):
        self.model, self.port = model, free_port()
        self.flags = [*flags, "--port", str(self.port)]
        self.generated = []  # tokens, by process
        self.ending = threading.Event()
        self.start()
        self.reader = threading.Thread(target=self.read)

    def __enter__(self):
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.reader.join()
        self.server.kill()

    def start(self):
        self.server = Server(self.model, *self.flags)
        self.generated.append(0)

    def restart(self):
        self.server.close()  # which wants exit code 0
        self.start()

    def read(self):
        while not self.ending.wait(0.05):
            process = len(self.generated) - 1
            try:
                status, text = self.server.ask("GET", "/metrics", headers=HEADERS, timeout=10)
            except (OSError, http.client.HTTPException):
                continue  # between two processes
            if status == 200 and process == len(self.generated) - 1:
                found = GENERATED.search(text.decode())
                self.generated[process] = max(self.generated[process], int(float(found.group(1))) if found else 0)


def ask(connection, path, body, headers):
    """(text, tokens that were generated) of a whole answer or a stream. Throws for anything else."""
    connection.request("POST", path, json.dumps(body), {**HEADERS, **headers})
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"status {answer.status}: {answer.read()[:200]}")
    if not body.get("stream"):
        content = json.loads(answer.read())
        return content["choices"][0]["text"], usage_of(content)
    text, tokens, done = "", None, False
    for event in events(answer):
        if event is None:
            done = True
            continue
        if "error" in event:
            raise RuntimeError(f"in a stream: {event['error']}")
        text += "".join(choice["text"] for choice in event["choices"])
        if event.get("usage"):
            tokens = usage_of(event)
    if not done or tokens is None:
        raise RuntimeError("a stream broke off")
    return text, tokens


def usage_of(content):
    return content["usage"]["completion_tokens"]


class Load:
    """Clients that ask one thing after another until they are told to end, or have asked ten times what they should."""

    def __init__(self, port, requests):
        self.port, self.most = port, 10 * requests
        self.pause = SPREAD * CLIENTS / requests
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.asked = self.streams = self.tokens = 0
        self.failures, self.answers = [], {}
        self.threads = [threading.Thread(target=self.client, args=(i,)) for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def client(self, number):
        pick = random.Random(number)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        while not self.ending.is_set() and self.asked < self.most:
            self.ending.wait(self.pause * pick.random() * 2)
            body, headers = self.request(pick)
            question = json.dumps([body["prompt"], body["max_tokens"]])
            try:
                text, tokens = ask(connection, "/v1/completions", body, headers)
            except Exception as error:  # one that fails must not end the others
                connection.close()
                with self.lock:
                    self.asked += 1
                    self.failures.append(f"{time.strftime('%T')} {question}: {error!r}")
                continue
            with self.lock:
                self.asked += 1
                self.streams += bool(body.get("stream"))
                self.tokens += tokens
                if self.answers.setdefault(question, text) != text:
                    self.failures.append(f"{question}: {text!r}, expected {self.answers[question]!r}")
        connection.close()

    @staticmethod
    def request(pick):
        body = {"prompt": pick.choice(OPENINGS), "max_tokens": pick.choice([2, 4, 8, 8, 12, 16]), "temperature": 0,
                "ignore_eos": True}
        if pick.random() < 0.02:
            body["max_tokens"] = 300  # which are being written when their server is told to end
        if pick.random() < 0.5:
            body.update(stream=True, stream_options={"include_usage": True})
        if pick.random() < 0.01:
            body["metadata"] = {"padding": "x" * (1 << 20)}  # more than a proxy keeps in memory
        headers = {"X-Session-Id": f"session-{pick.randrange(64)}"} if pick.random() < 0.5 else {}
        return body, headers

    def wait_until_asked(self, count):
        while self.asked < count and any(thread.is_alive() for thread in self.threads):
            time.sleep(0.05)

    def finish(self):
        self.ending.set()
        for thread in self.threads:
            thread.join()


def converse(port, salt, number, names_itself, counts):
    """A conversation of some turns: each asks with all that was said before."""
    headers = {**HEADERS, "X-Session-Id": f"conversation-{number}"} if names_itself else HEADERS
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    messages = [{"role": "system", "content": "You tell stories."},
                {"role": "user", "content": f"{OPENINGS[number % len(OPENINGS)]}, number {number}"}]
    for _ in range(5):
        body = {"messages": messages, "max_tokens": 12, "temperature": 0, "ignore_eos": True, "cache_salt": salt}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        content = json.loads(connection.getresponse().read())
        counts["prompt"] += content["usage"]["prompt_tokens"]
        counts["cached"] += content["usage"]["prompt_tokens_details"]["cached_tokens"]
        messages += [content["choices"][0]["message"], {"role": "user", "content": "And then?"}]
    connection.close()


def cached_share(port, salt, names_itself, conversations=16):
    counts = collections.Counter()
    threads = [threading.Thread(target=converse, args=(port, salt, i, names_itself, counts))
               for i in range(conversations)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts["cached"] / max(1, counts["prompt"])


def check_restarts(port, replicas, requests, say):
    time.sleep(0.5)  # what was counted is read
    before = sum(sum(replica.generated) for replica in replicas)
    load = Load(port, requests)
    try:
        for i in range(RESTARTS):
            load.wait_until_asked((i + 1) * requests // (RESTARTS + 1))
            replicas[i % 2].restart()
            time.sleep(SETTLES)
        if load.asked >= load.most:
            load.failures.append("the clients had ended before the last restart had")
        load.wait_until_asked(requests)
    finally:
        load.finish()
    for replica in replicas:
        replica.server.close()
    generated = sum(sum(replica.generated) for replica in replicas) - before
    say(f"{load.asked} requests, {load.streams} of them streams, over {RESTARTS} restarts: {len(load.failures)} failed; "
        f"{load.tokens} tokens got, {generated} counted")
    assert not load.failures, "\n".join(load.failures[:20])
    assert load.tokens == generated and load.asked >= requests


@pytest.mark.parametrize("kind", ["nginx", "haproxy"])
def test_restarts_are_not_noticed(request, need, drafting, say, kind):
    option = request.config.getoption
    flags = ["--api-key", KEY, "--no-log-requests", *ENDS, "--lame-duck", LAME_DUCK[kind], *drafting]
    with contextlib.ExitStack() as stack:
        replicas = [stack.enter_context(Replica(option("--model"), flags)) for _ in range(2)]
        addresses = [f"127.0.0.1:{replica.port}" for replica in replicas]
        url = stack.enter_context(proxy(kind, need, addresses, HEADERS))
        port = int(url.rsplit(":", 1)[1])
        names_itself = kind == "nginx"  # HAProxy reads bodies
        alone = cached_share(replicas[0].port, "alone", names_itself)
        behind = cached_share(port, "behind the proxy", names_itself)
        say(f"cached tokens of conversations: {behind:.0%}, of one server {alone:.0%}")
        assert alone > 0.3 and behind > 0.95 * alone
        check_restarts(port, replicas, option("--requests") or 5000, say)
