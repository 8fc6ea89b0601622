"""Load of every kind for --minutes: a server must neither crash, nor lose an answer, nor grow.

Clients ask whole and streamed, greedy and seeded, raw, chats, under schemas, with plans of their own; some go away at
once, before the first token, or midway; some send what is no request, send slowly, or read slowly; now and then all ask
at once, which is more than the queue holds. Checks: a greedy question that comes again has the same answer; what is
answered has one end and one [DONE]; every answer has a status of those that belong to its question; 429 has
Retry-After; `/metrics` counts as many running and waiting requests as there are, none at the end; and, with a request
still running, SIGTERM lets it finish and ends the server with 0. The memory in use may grow by 5 % from the first
third of the time to the end.
"""
import collections
import http.client
import json
import random
import re
import socket
import threading
import time
import traceback

from augur_server import Server, eventually, events

CLIENTS = 32
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
    def __init__(self, server, minutes):
        self.server = server
        self.counts, self.faults = collections.Counter(), []
        self.greedy = {}
        self.lock = threading.Lock()
        self.end = time.monotonic() + 60 * minutes
        self.storm = threading.Event()
        _, counted = server.post("/tokenize", {"prompt": LONG})
        self.long = LONG * min(40, counted["max_model_len"] // 2 // 32)

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def fault(self, what):
        with self.lock:
            self.faults.append(what)

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
            text, ends, done, seen = "", 0, 0, 0
            for event in events(answer):
                if event is None:
                    done += 1
                    continue
                if "error" in event:
                    return self.fault(f"a stream failed: {event}")
                seen += 1
                text += event["choices"][0]["text"]
                ends += event["choices"][0]["finish_reason"] is not None
                if seen == leave_after:
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
                if not self.server.runs:
                    return

    def gauges(self):
        text = self.server.get("/metrics")
        return [float(re.search(rf"^vllm:num_requests_{what}{{[^}}]*}} (\S+)", text, re.M).group(1))
                for what in ("running", "waiting")]

    def drain(self):
        """What runs when the server is told to end is finished; it ends with 0."""
        connection = self.server.connect(120)
        connection.request("POST", "/v1/completions", json.dumps(
            {"prompt": QUESTIONS[0], "max_tokens": 300, "ignore_eos": True, "stream": True}))
        answer = connection.getresponse()
        answer.readline()
        self.server.terminate()
        if None not in list(events(answer)):
            self.fault("SIGTERM cut off a stream")
        if (code := self.server.ended()) != 0:
            self.fault(f"the server ended with {code}")

    def run(self):
        """(when, MiB) all the time."""
        clients = [threading.Thread(target=self.client, args=(i,)) for i in range(CLIENTS)]
        begin = time.monotonic()
        for client in clients:
            client.start()
        samples = []
        while time.monotonic() < self.end and self.server.runs:
            samples.append((time.monotonic(), self.server.memory()))
            time.sleep(1)
            if int(time.monotonic() - begin) % 30 < 6:
                self.storm.set()
            else:
                self.storm.clear()
        for client in clients:
            client.join()
        if not self.server.runs:
            self.fault(f"the server is gone: {self.server.process.returncode}")
            return samples
        eventually(lambda: self.gauges() == [0, 0], "nobody asks, and nothing runs or waits")
        self.drain()
        return samples


def test_soak(request, drafting, say):
    option = request.config.getoption
    # Few kept texts, so that their memory is soon full: what fills caches is done in seconds, and a leak goes on.
    with Server(option("--model"), "--parallel", "8", "--queue", "16", "--cache-ram", "2", "--no-log-requests",
                *drafting) as server:
        soak = Soak(server, option("--minutes"))
        samples = soak.run()
    begin, end = samples[0][0], samples[-1][0]
    warm = max(m for t, m in samples if t <= begin + (end - begin) / 3)
    last = max(m for t, m in samples if t >= end - (end - begin) / 3)
    say(f"memory: {warm:.1f} MiB at most in the first third, {last:.1f} in the last")
    say(", ".join(f"{what}: {count}" for what, count in sorted(soak.counts.items())))
    assert not soak.faults, "\n".join(soak.faults)
    assert soak.counts["answered again"], "no question was answered twice: this shows nothing"
    if not option("--no-memory"):
        assert last <= 1.05 * warm, "its memory grows"
