#!/usr/bin/env python3
"""Two replicas of `augur serve` behind a proxy with the file that deploy/ has for it.

  scripts/check_replicas.py -m MODEL --proxy nginx|haproxy [--requests 5000] [--restarts 4] [--clients 16]

First conversations: each has to find its beginning where it was kept, nearly as often as with one server. Then a
rolling restart under load: the replicas are ended (SIGTERM) and started again in turns, while clients ask, half of them
for streams, some with bodies of a megabyte. No request may fail, the same request has to have the same answer whoever
gives it, and vllm:generation_tokens_total of all processes together has to be what the clients have got. Exits with 1
where anything is wrong.
"""
import argparse
import collections
import http.client
import json
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from server_process import Server, add_arguments, drafting

DEPLOY = pathlib.Path(__file__).resolve().parent.parent / "deploy"
KEY = "key-of-the-check"
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
# As the runbook has it: nginx notices nothing before it is refused something. The last scrape is there as soon as this
# program looks again.
LAME_DUCK = {"nginx": "0", "haproxy": "3"}
ENDS = ["--drain-timeout", "60", "--final-scrape", "10"]
SPREAD = 25  # seconds that the requests take at least: about as long as the restarts do
SETTLES = 2  # seconds until a proxy has noticed that a replica is back
OPENINGS = ["Once upon a time", "One day, Tom", "There was a little cat", "Lily and Ben", "The sun was", "A big dog"]
GENERATED = re.compile(r"^vllm:generation_tokens_total\{[^}]*\} ([0-9.e+]+)$", re.MULTILINE)


class Replica:
    """One of the two; restarts at the same port. What each of its processes has generated is read all the time."""

    def __init__(self, args, port):
        self.args, self.port = args + ["--port", str(port)], port
        self.generated = []  # tokens, by process
        self.ending = threading.Event()
        self.start()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def start(self):
        self.server = Server(self.args)
        self.generated.append(0)

    def restart(self):
        self.server.close()  # which wants exit code 0
        self.start()

    def close(self):
        if self.server.process.poll() is None:
            self.server.close()
        self.ending.set()
        self.reader.join()

    def read(self):
        while not self.ending.wait(0.05):
            process = len(self.generated) - 1
            try:
                found = GENERATED.search(get(self.port, "/metrics"))
            except (OSError, http.client.HTTPException):
                continue  # between two processes
            if found and process == len(self.generated) - 1:
                self.generated[process] = max(self.generated[process], int(float(found.group(1))))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers=HEADERS)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def configured(name, ports):
    """A file of deploy/ with the addresses of this run."""
    text = (DEPLOY / name).read_text()
    for written, port in zip((8000, 8081, 8082), ports):
        if text.count(f"127.0.0.1:{written}") != 1:
            sys.exit(f"deploy/{name}: expected 127.0.0.1:{written} once")
        text = text.replace(f"127.0.0.1:{written}", f"127.0.0.1:{port}")
    return text


def start_proxy(kind, folder, ports):
    program = shutil.which(kind) or shutil.which(kind, path="/usr/sbin")
    if not program:
        print(f"not run: there is no {kind}")
        sys.exit(77)
    if kind == "haproxy":
        (folder / "haproxy.cfg").write_text(configured("haproxy/haproxy.cfg", ports))
        command = [program, "-db", "-f", folder / "haproxy.cfg"]
    else:
        folder.chmod(0o755)
        (folder / "augur.conf").write_text(configured("nginx/augur.conf", ports))
        (folder / "nginx.conf").write_text(
            f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
            f"events {{}}\nhttp {{ access_log off; client_body_temp_path {folder}/bodies; include augur.conf; }}\n")
        command = [program, "-p", folder, "-c", folder / "nginx.conf"]
    process = subprocess.Popen(command)
    for _ in range(200):
        try:
            if get(ports[0], "/v1/models").startswith('{"object":"list"'):
                return process
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.05)
    sys.exit(f"{kind} does not answer")


def ask(connection, path, body, headers):
    """(text, tokens that were generated) of a whole answer or a stream. Throws for anything else."""
    connection.request("POST", path, json.dumps(body), {**HEADERS, **headers})
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"status {answer.status}: {answer.read()[:200]}")
    if not body.get("stream"):
        content = json.loads(answer.read())
        choice = content["choices"][0]
        return choice["text"] if "text" in choice else choice["message"]["content"], usage_of(content)
    text, tokens, done = "", None, False
    for line in answer:
        line = line.decode().strip()
        if line == "data: [DONE]":
            done = True
        elif line.startswith("data: "):
            event = json.loads(line[6:])
            if "error" in event:
                raise RuntimeError(f"in a stream: {event['error']}")
            for choice in event["choices"]:
                text += choice["text"]
            if event.get("usage"):
                tokens = usage_of(event)
    if not done or tokens is None:
        raise RuntimeError("a stream broke off")
    return text, tokens


def usage_of(content):
    return content["usage"]["completion_tokens"]


class Load:
    """Clients that ask one thing after another until they are told to end, or have asked ten times what they should."""

    def __init__(self, port, clients, requests):
        self.port, self.most = port, 10 * requests
        self.pause = SPREAD * clients / requests
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.asked = self.streams = self.tokens = 0
        self.failures, self.answers = [], {}
        self.threads = [threading.Thread(target=self.client, args=(i,)) for i in range(clients)]
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

    def wait_for(self, count):
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


def check_conversations(port, replicas, names_itself):
    alone = cached_share(replicas[0].port, "alone", names_itself)
    behind = cached_share(port, "behind the proxy", names_itself)
    print(f"cached tokens of conversations: {behind:.0%}, of one server {alone:.0%}")
    return alone > 0.3 and behind > 0.95 * alone


def check_restarts(port, replicas, args, before):
    load = Load(port, args.clients, args.requests)
    for i in range(args.restarts):
        load.wait_for((i + 1) * args.requests // (args.restarts + 1))
        began = time.monotonic()
        replicas[i % 2].restart()
        print(f"restart {i + 1} of {'ab'[i % 2]}: {time.monotonic() - began:.1f} s, {load.asked} asked", flush=True)
        time.sleep(SETTLES)
    if load.asked >= load.most:
        load.failures.append("the clients had ended before the last restart had")
    load.wait_for(args.requests)
    load.finish()
    for replica in replicas:
        replica.close()
    generated = sum(sum(replica.generated) for replica in replicas) - before
    for failure in load.failures[:20]:
        print(failure)
    print(f"{load.asked} requests, {load.streams} of them streams, over {args.restarts} restarts: "
          f"{len(load.failures)} failed; {load.tokens} tokens got, {generated} counted")
    return not load.failures and load.tokens == generated and load.asked >= args.requests


def main():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    parser.add_argument("--proxy", choices=["nginx", "haproxy"], required=True)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--restarts", type=int, default=4)
    parser.add_argument("--clients", type=int, default=16)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends, too

    ports = [free_port() for _ in range(3)]
    serve = [args.augur, "serve", "-m", args.model, "--api-key", KEY, "--no-log-requests", *ENDS,
             "--lame-duck", LAME_DUCK[args.proxy], *drafting(args)]
    replicas, proxy, fine = [], None, False
    with tempfile.TemporaryDirectory() as folder:
        try:
            replicas += [Replica(serve, port) for port in ports[1:]]
            proxy = start_proxy(args.proxy, pathlib.Path(folder), ports)
            fine = check_conversations(ports[0], replicas, names_itself=args.proxy == "nginx")  # HAProxy reads bodies
            time.sleep(0.5)  # what was counted is read
            before = sum(sum(replica.generated) for replica in replicas)
            fine &= check_restarts(ports[0], replicas, args, before)
        finally:
            for replica in replicas:
                replica.close()
            if proxy:
                proxy.terminate()
                proxy.wait(30)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
