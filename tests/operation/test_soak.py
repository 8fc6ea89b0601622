#!/usr/bin/env python3
"""Load of every kind for minutes: a server must neither crash, nor lose an answer, nor grow.

  scripts/soak.py -m MODEL [-md DRAFT] [--spec-type TYPES] [--minutes 10] [--clients 32]

Clients ask whole and streamed, greedy and seeded, raw, chats, under schemas, with plans of their own; some go away at
once, before the first token, or midway; some send what is no request, send slowly, or read slowly; now and then all ask
at once, which is more than the queue holds. Checks: a greedy question that comes again has the same answer; what is
answered has one end and one [DONE]; every answer has a status of those that belong to its question; 429 has
Retry-After; `/metrics` counts as many running and waiting requests as there are, none at the end; and, with a request
still running, SIGTERM lets it finish and ends the server with 0. The memory in use may grow by 5 % from the first
third of the time to the end (not under a sanitizer: --no-memory). Exits with 1 where anything is wrong.
"""
import argparse
import collections
import http.client
import json
import random
import re
import socket
import sys
import threading
import time
import traceback

from server_process import Server, add_arguments, drafting

QUESTIONS = ["Once upon a time", "List three colours.", "def add(a, b):", "The capital of France is", "One day, Tom",
             "Write a long story about a cat that learns to swim.", "1, 2, 3, 4, 5, 6,"]
LONG = "The quick brown fox jumps over the lazy dog. "  # at most 32 tokens
SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"}},
          "required": ["name", "age"]}
PLANS = [None, {"type": "none"}, {"type": "ngram"}, {"type": "ngram", "policy": "chain", "n_max": 5}]
MALFORMED = [b"{", b"", b"[]", b"null", b'{"prompt": {}}', b'{"prompt": "a", "temperature": "hot"}', b"[" * 5000,
             b'{"prompt": "a", "stop": 3}', b'{"prompt": "a", "max_token": 1}', b"\xff\xfe\x00",
             b'{"prompt": "a", "guided_json": {"not": {}}}', b'{"prompt": "a", "speculative": {"type": "magic"}}']
# With localhost for a host: what is wrong is the rest.
POST = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
RAW = [b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n", POST + b"Content-Length: -5\r\n\r\n",
       POST + b"Content-Length: 99999999999\r\n\r\n", b"\x16\x03\x01\x02\x00",
       b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n", b"BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n"]
FOREIGN = b"GET /v1/models HTTP/1.1\r\nHost: somewhere.example\r\n\r\n"
MEANT_TO_FAIL = {400, 404, 405, 408, 413, 429, 431, 503}


class Soak:
    def __init__(self, server, args):
        self.server, self.args = server, args
        self.counts, self.faults = collections.Counter(), []
        self.greedy = {}
        self.lock = threading.Lock()
        self.end = time.monotonic() + 60 * args.minutes
        self.storm = threading.Event()
        _, counted = server.post("/tokenize", {"prompt": LONG})
        self.long = LONG * min(40, counted["max_model_len"] // 2 // 32)

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def fault(self, what):
        with self.lock:
            self.faults.append(what)
            print(what, flush=True)

    def body(self, pick):
        question = pick.randrange(len(QUESTIONS))
        body = {"max_tokens": pick.choice([1, 8, 24, 48]), "temperature": 0}
        if pick.random() < 0.3:
            body.update(temperature=1, seed=pick.randrange(5))
        plan = pick.choice(PLANS)
        kind = pick.random()
        key = json.dumps([question, body])
        if plan:
            body["speculative"] = plan
        if kind < 0.15:
            body.update(prompt=QUESTIONS[question], structured_outputs={"json": SCHEMA}, max_tokens=60)
            key = None
        elif kind < 0.25:
            body.update(prompt=self.long + QUESTIONS[question], max_tokens=8)
            key = None
        else:
            body["prompt"] = QUESTIONS[question]
        if pick.random() < 0.1:
            body["cache_prompt"] = False
        if pick.random() < 0.1:
            body["priority"] = -1  # first; what comes last of all may wait for as long as others come
        return body, key

    def stream(self, pick, leave_after=None, slowly=False):
        """One streamed request; a client that leaves does so after so many events."""
        body, key = self.body(pick)
        connection = self.server.connect(120)
        try:
            connection.request("POST", "/v1/completions", json.dumps({**body, "stream": True}))
            answer = connection.getresponse()
            if not self.status(answer, {200, 429}):
                return answer.read()
            text, ends, done, events = "", 0, 0, 0
            for line in answer:
                line = line.decode().strip()
                if not line.startswith("data: "):
                    continue
                if line == "data: [DONE]":
                    done += 1
                    continue
                event = json.loads(line[6:])
                if "error" in event:
                    return self.fault(f"a stream failed: {event}")
                events += 1
                text += event["choices"][0]["text"]
                ends += event["choices"][0]["finish_reason"] is not None
                if events == leave_after:
                    return self.count("left midway")
                if slowly:
                    time.sleep(0.02)
            if (ends, done) != (1, 1):
                self.fault(f"a stream has {ends} ends and {done} [DONE]: {body}")
            self.finished(key, body, text)
        finally:
            connection.close()

    def whole(self, pick):
        body, key = self.body(pick)
        connection = self.server.connect(120)
        try:
            connection.request("POST", "/v1/completions", json.dumps(body))
            answer = connection.getresponse()
            fine = self.status(answer, {200, 429})
            content = json.loads(answer.read())
            if fine:
                self.finished(key, body, content["choices"][0]["text"])
        finally:
            connection.close()

    def status(self, answer, expected):
        """Whether it is 200."""
        self.count(f"status {answer.status}")
        if answer.status not in expected:
            self.fault(f"status {answer.status}, expected one of {sorted(expected)}")
        if answer.status == 429:
            if not answer.getheader("Retry-After"):
                self.fault("a 429 without Retry-After")
            time.sleep(0.1)
        return answer.status == 200

    def finished(self, key, body, text):
        self.count("answers")
        if key is None:
            return
        with self.lock:
            again = key in self.greedy
            first = self.greedy.setdefault(key, text)
        self.count("answered again" if again else "answered first")
        if first != text:
            self.fault(f"{body}: {text!r}, before {first!r}")

    def gone(self, pick):
        """Sends a request and goes away."""
        body, _ = self.body(pick)
        text = json.dumps({**body, "stream": pick.random() < 0.5}).encode()
        with socket.create_connection((self.server.host, self.server.port), timeout=60) as client:
            client.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(text) +
                           text[:pick.choice([0, len(text) // 2, len(text)])])
            time.sleep(pick.choice([0, 0.05, 0.5]))
        self.count("left at once")

    def malformed(self, pick):
        connection = self.server.connect(60)
        try:
            connection.request("POST", pick.choice(["/v1/completions", "/v1/chat/completions", "/completion", "/nowhere"]),
                               pick.choice(MALFORMED))
            answer = connection.getresponse()
            answer.read()
            self.status(answer, MEANT_TO_FAIL)
        finally:
            connection.close()

    def raw(self, pick):
        with socket.create_connection((self.server.host, self.server.port), timeout=60) as client:
            sent = pick.choice(RAW + [FOREIGN])
            client.sendall(sent)
            client.settimeout(pick.choice([0.1, 1]))
            try:
                answer = client.recv(200)
                status = re.match(rb"HTTP/1.\d (\d+)", answer)
                expected = {403} if sent == FOREIGN else MEANT_TO_FAIL | {505, 501}
                if status and int(status.group(1)) not in expected:
                    self.fault(f"no request, but: {answer[:60]!r}")
            except socket.timeout:
                pass
        self.count("no HTTP")

    def slow(self, pick):
        """Writes a request in small pieces."""
        body, key = self.body(pick)
        text = json.dumps(body).encode()
        text = POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(text) + text
        with socket.create_connection((self.server.host, self.server.port), timeout=120) as client:
            for begin in range(0, len(text), 40):
                client.sendall(text[begin:begin + 40])
                time.sleep(0.05)
            answer = http.client.HTTPResponse(client)
            answer.begin()
            fine = self.status(answer, {200, 429})
            content = json.loads(answer.read())
            if fine:
                self.finished(key, body, content["choices"][0]["text"])

    def client(self, number):
        pick = random.Random(number)
        while time.monotonic() < self.end:
            kind = pick.random()
            try:
                if self.storm.is_set() or kind < 0.35:
                    self.stream(pick)
                elif kind < 0.5:
                    self.whole(pick)
                elif kind < 0.65:
                    self.stream(pick, leave_after=pick.randint(1, 10))
                elif kind < 0.75:
                    self.gone(pick)
                elif kind < 0.85:
                    self.malformed(pick)
                elif kind < 0.9:
                    self.raw(pick)
                elif kind < 0.95:
                    self.slow(pick)
                else:
                    self.stream(pick, slowly=True)
            except ConnectionResetError:
                self.count("reset")  # what is refused unread may be
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)
                calls = [frame.name for frame in where if frame.filename == __file__]
                self.fault(f"{'/'.join(calls)}: {type(error).__name__}: {error}")
                if self.server.process.poll() is not None:
                    return

    def memory(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024

    def gauges(self):
        connection = self.server.connect(60)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return [float(re.search(rf"^vllm:num_requests_{what}{{[^}}]*}} (\S+)", text, re.M).group(1))
                for what in ("running", "waiting")]

    def drain(self):
        """What runs when the server is told to end is finished; it ends with 0."""
        connection = self.server.connect(120)
        connection.request("POST", "/v1/completions", json.dumps(
            {"prompt": QUESTIONS[0], "max_tokens": 300, "ignore_eos": True, "stream": True}))
        answer = connection.getresponse()
        answer.readline()
        self.server.process.terminate()
        rest = answer.read().decode()
        if "[DONE]" not in rest:
            self.fault("SIGTERM cut off a stream")
        code = self.server.process.wait(120)
        if code != 0:
            self.fault(f"the server ended with {code}")

    def run(self):
        clients = [threading.Thread(target=self.client, args=(i,)) for i in range(self.args.clients)]
        begin = time.monotonic()
        for client in clients:
            client.start()
        samples, said = [], begin
        while time.monotonic() < self.end and self.server.process.poll() is None:
            time.sleep(1)
            now = time.monotonic()
            samples.append((now, self.memory() if self.server.process.poll() is None else 0))
            if int(now - begin) % 30 < 6:
                self.storm.set()
            else:
                self.storm.clear()
            if now - said > 60:
                said = now
                print(f"{(now - begin) / 60:.0f} min, {samples[-1][1]:.0f} MiB, {dict(self.counts)}", flush=True)
        for client in clients:
            client.join()
        if self.server.process.poll() is not None:
            self.fault(f"the server is gone: {self.server.process.returncode}")
            return samples
        for _ in range(50):
            gauges = self.gauges()
            if gauges == [0, 0]:
                break
            time.sleep(0.2)
        else:
            self.fault(f"nobody asks, but {gauges[0]:.0f} requests run and {gauges[1]:.0f} wait")
        self.drain()
        return samples


def main():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--cache-ram", type=int, default=32, help="MiB of kept texts: small, so that it is soon full")
    parser.add_argument("--no-memory", action="store_true", help="don't hold its memory against a bound")
    args = parser.parse_args()
    server = Server([args.augur, "serve", "-m", args.model, "--port", "0", "--parallel", "8", "--queue", "16",
                     "--cache-ram", str(args.cache_ram), "--no-log-requests"] + drafting(args), stderr=None)
    soak = Soak(server, args)
    samples = soak.run()
    begin, end = samples[0][0], samples[-1][0]
    # Thirds of the time, not of the work: what fills caches is done in seconds at --cache-ram 2, and a leak goes on.
    # On a machine that is too slow to fill them in a third, take more --minutes.
    warm = max(m for t, m in samples if t <= begin + (end - begin) / 3)
    last = max(m for t, m in samples if t >= end - (end - begin) / 3)
    print(f"memory: {warm:.1f} MiB at most in the first third, {last:.1f} in the last")
    if not args.no_memory and last > 1.05 * warm:
        soak.fault("its memory grows")
    if not soak.counts["answered again"]:
        soak.fault("no question was answered twice: this shows nothing")
    print(", ".join(f"{what}: {count}" for what, count in sorted(soak.counts.items())))
    print(f"{len(soak.faults)} faults")
    sys.exit(bool(soak.faults))


if __name__ == "__main__":
    main()
