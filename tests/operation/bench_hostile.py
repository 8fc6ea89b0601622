#!/usr/bin/env python3
"""What others notice of hostile requests: the catalogue of tests/server/hostile against a server of a real model.

  tests/operation/bench_hostile.py -m MODEL [-md DRAFT] [--tests build/release/bin/hostile_tests] [--clients 2]
  tests/operation/bench_hostile.py -m MODEL [-md DRAFT] --crowd 2000

A neighbour streams without end, one token a step, and /health is asked all the time: first beside ordinary requests of
32 tokens, then beside the catalogue, which the tests write. Bars: /health p99 at most 0.5 s; the neighbour's time
between tokens, p99, at most twice that beside the ordinary requests; the server's memory at most what it takes when it
has loaded, and what its flags allow, and 64 MiB; no 500, and the server ends with 0. Exits with 1 where one is missed.

With --crowd N instead, all that a bad day has, at once: N connections that say nothing and come again when they are
closed, a client that sends its header by the byte and one that reads its stream by the byte, a log that nobody reads,
and texts to be saved on a full disk. Bars: every request of a client with a key is answered; its time between tokens,
p99, at most twice that when it is alone; saves are a 507; after SIGTERM its stream goes on to its end and the server
ends with 0.
Times mean something on a machine that does nothing else. AUGUR names another program than the one that is built.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import resource
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from augur_server import PATIENCE, Server, events  # noqa: E402

MIB = 1 << 20
# What the flags of this server let requests take, in MiB.
KV_MEMORY, CACHE_RAM, HTTP_MEMORY, GRAMMAR_MEMORY, TEMPLATE_MEMORY = 512, 128, 64, 64, 128
HTTP_THREADS, GRAMMAR_THREADS = 2, 2
ALLOWED = (KV_MEMORY + CACHE_RAM + HTTP_MEMORY + GRAMMAR_THREADS * GRAMMAR_MEMORY + HTTP_THREADS * TEMPLATE_MEMORY)
SPARE = 64
HOSTILE_ADDRESS = "127.0.0.2"  # a client of its own beside the neighbour
SLOTS = 4  # whose texts are saved


def p99(times):
    return sorted(times)[int(0.99 * (len(times) - 1))] if times else float("nan")


KEY = "key-of-the-neighbour"
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}


class Busy:
    """What goes on again and again, a thread each, as long as it is entered."""

    def __init__(self, server, *works):
        self.server, self.stop = server, threading.Event()
        self.threads = [threading.Thread(target=self.again, args=(work,)) for work in works]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


class Watch(Busy):
    """A neighbour and a look at /health."""

    def __init__(self, server):
        super().__init__(server, self.neighbour, self.look)
        self.streams = 0  # that the neighbour has read to their ends
        self.tokens, self.health, self.faults = [], [], []

    def again(self, work):
        while not self.stop.is_set():
            try:
                work()
            except (OSError, ValueError) as error:
                self.faults.append(f"{work.__name__}: {type(error).__name__}: {error}")
                return

    def neighbour(self):
        connection = self.server.connect(PATIENCE)
        connection.request("POST", "/v1/completions", json.dumps(
            {"prompt": "Once upon a time", "max_tokens": 512, "ignore_eos": True, "stream": True, "temperature": 0,
             "speculative": {"type": "none"}}), HEADERS)
        answer = connection.getresponse()
        if answer.status != 200:
            raise ValueError(f"status {answer.status}")
        before = None
        for event in events(answer):
            if self.stop.is_set():
                break
            if event is None:
                self.streams += 1
                continue
            now = time.perf_counter()
            if before is not None:
                self.tokens.append(now - before)
            before = now
        connection.close()

    def look(self):
        begin = time.perf_counter()
        if self.server.ask("GET", "/health", timeout=PATIENCE)[0] != 200:
            raise ValueError("/health is not 200")
        self.health.append(time.perf_counter() - begin)
        time.sleep(0.01)


def send(server, case):
    """The answer's status; 0: none, or it was not read."""
    with socket.create_connection((server.host, server.port), PATIENCE, (HOSTILE_ADDRESS, 0)) as client:
        data = case["bytes"].encode("latin-1")
        try:
            client.sendall(data)
            if case["then"] == "leaves at once":
                return 0
            start = client.recv(65536)
            while case["then"] == "reads" and client.recv(65536):
                pass
        except (ConnectionError, BrokenPipeError):
            return 0
    status = re.match(rb"HTTP/1\.\d (\d+)", start)
    return int(status.group(1)) if status else 0


def send_all(server, cases, clients):
    """(statuses, what went wrong)"""
    left, counts, faults = collections.deque(cases), collections.Counter(), []

    def work():
        while True:
            try:
                case = left.popleft()
            except IndexError:
                return
            begin = time.perf_counter()
            name = f"{case['kind']}: {case['name']}"
            try:
                status = send(server, case)
            except OSError as error:
                faults.append(f"{name}: {type(error).__name__}: {error}")
                continue
            counts[status] += 1
            if status == 500:
                faults.append(f"{name}: 500")
            if (took := time.perf_counter() - begin) > 10:
                print(f"{name}: {took:.1f} s", flush=True)

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, faults


def connect_from(server, address):
    client = socket.socket()
    client.bind((address, 0))
    client.settimeout(PATIENCE)
    client.connect((server.host, server.port))
    return client


class Crowd(Busy):
    """What a bad day has."""

    def __init__(self, server, idle):
        super().__init__(server, self.say_nothing, self.ask_slowly, self.read_slowly, self.save)
        self.idle = idle
        self.opened, self.statuses, self.faults = 0, collections.Counter(), []

    def again(self, work):
        while not self.stop.is_set():
            try:
                work()
            except OSError:  # the server had enough of it
                self.stop.wait(0.1)

    def say_nothing(self):
        """Many connections; those that the server closes come again."""
        poll, open_ = select.poll(), {}
        try:
            while not self.stop.is_set():
                for _ in range(min(50, self.idle - len(open_))):
                    client = connect_from(self.server, HOSTILE_ADDRESS)
                    open_[client.fileno()] = client
                    poll.register(client, select.POLLIN | select.POLLHUP)
                    self.opened += 1
                for fileno, _ in poll.poll(20):
                    poll.unregister(fileno)
                    open_.pop(fileno).close()
        finally:
            for client in open_.values():
                client.close()

    def ask_slowly(self):
        with connect_from(self.server, HOSTILE_ADDRESS) as client:
            for byte in b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"x" * 10_000:
                client.send(bytes([byte]))
                if self.stop.wait(0.05):
                    break

    def read_slowly(self):
        body = json.dumps({"prompt": "Once", "max_tokens": 400, "ignore_eos": True, "stream": True, "logprobs": 5})
        with connect_from(self.server, HOSTILE_ADDRESS) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall((f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
                            f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
            while client.recv(1) and not self.stop.wait(0.05):
                pass

    def save(self):
        for slot in range(SLOTS):
            status, _ = self.server.ask("POST", f"/slots/{slot}?action=save", {"filename": f"text{slot}"}, HEADERS)
            self.statuses[status] += 1
            if status in (200, 500):
                self.faults.append(f"a text is saved on a full disk: {status}, expected 507")
        self.stop.wait(0.2)


def fill_slots(server, count):
    """Has a text at each of the first places."""
    body = {"prompt": "Once upon a time", "max_tokens": 200, "ignore_eos": True}
    threads = [threading.Thread(target=server.ask, args=("POST", "/v1/completions", body, HEADERS))
               for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def end_in_the_middle(server):
    """What goes wrong when SIGTERM comes in the middle of a stream."""
    connection = server.connect(PATIENCE)
    connection.request("POST", "/v1/completions", json.dumps(
        {"prompt": "Once upon a time", "max_tokens": 200, "ignore_eos": True, "stream": True}), HEADERS)
    stream = events(connection.getresponse())
    next(stream)
    server.terminate()
    faults = [] if None in list(stream) else ["the stream was cut off by SIGTERM"]
    try:
        if (code := server.ended()) != 0:
            faults.append(f"the server ended with {code}")
    except subprocess.TimeoutExpired:
        faults.append("the server does not end")
    return faults


def bench_crowd(args, drafting):
    """Exits with 1 where a bar is missed."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        # A file system of its own, which is full.
        script = 'mount -t tmpfs -o size=64k none "$0" && { head -c 1M /dev/zero > "$0/full"; exec "$@"; }'
        log, unread = os.pipe()  # holds what a pipe holds; nobody reads it
        with Server(args.model, "--api-key", KEY, "--slot-save-path", folder, *drafting, stderr=unread,
                    before=["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, folder]) as server:
            os.close(unread)
            fill_slots(server, SLOTS)
            with Watch(server) as alone:
                time.sleep(args.seconds)
            with Crowd(server, args.crowd) as crowd:
                while crowd.opened < args.crowd:
                    time.sleep(0.1)
                with Watch(server) as beside:
                    time.sleep(args.seconds)
                saves = dict(crowd.statuses)  # before the server drains, when they are 503
                faults = crowd.faults + end_in_the_middle(server)
        os.close(log)
    print(f"{crowd.opened} connections that say nothing, saves {saves}, streams of the client with a "
          f"key: {alone.streams} alone, {beside.streams} beside them")
    usual, crowded = p99(alone.tokens), p99(beside.tokens)
    print("| | in the crowd | bar | alone |\n| --- | --- | --- | --- |")
    print(f"| between tokens p99, s | {crowded:.4g} | {2 * usual:.4g} | {usual:.4g} |")
    print(f"| /health p99, s | {p99(beside.health):.4g} | | {p99(alone.health):.4g} |")
    if not crowded <= 2 * usual:
        faults.append(f"between tokens p99: {crowded:.4g}, expected at most {2 * usual:.4g}")
    if saves.keys() - {409, 507} or 507 not in saves:
        faults.append(f"saves: {saves}, expected 507 (409 while the place is taken)")
    faults += alone.faults + beside.faults
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", dest="model", required=True)
    parser.add_argument("-md", dest="draft")
    parser.add_argument("--spec-type")
    parser.add_argument("--tests", default="build/release/bin/hostile_tests")
    parser.add_argument("--clients", type=int, default=2, help="that send the catalogue")
    parser.add_argument("--seconds", type=float, default=30, help="of ordinary requests; of each part of --crowd")
    parser.add_argument("--crowd", type=int, metavar="N",
                        help="connections that say nothing, instead of the catalogue")
    args = parser.parse_args()
    drafting = (["-md", args.draft] if args.draft else []) + (["--spec-type", args.spec_type] if args.spec_type else [])
    if args.crowd:
        bench_crowd(args, drafting)

    with tempfile.TemporaryDirectory() as folder:
        catalogue = pathlib.Path(folder, "catalogue.jsonl")
        subprocess.run([args.tests, "--gtest_filter=Catalogue.IsWrittenForOthers"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "AUGUR_HOSTILE_CATALOGUE": str(catalogue)})
        cases = [json.loads(line) for line in catalogue.read_text(encoding="utf-8").splitlines()]
        saved = pathlib.Path(folder, "saved")
        saved.mkdir()
        with Server(args.model, "--no-log-requests", "--kv-memory", str(KV_MEMORY), "--cache-ram", str(CACHE_RAM),
                    "--http-memory", str(HTTP_MEMORY), "--threads-http", str(HTTP_THREADS),
                    "--grammar-memory", str(GRAMMAR_MEMORY), "--grammar-threads", str(GRAMMAR_THREADS),
                    "--template-memory", str(TEMPLATE_MEMORY), "--timeout", "5", "--slot-save-path", str(saved),
                    *drafting) as server:
            loaded = server.memory()
            ordinary = {"kind": "ordinary", "name": "32 tokens", "then": "reads", "bytes":
                        'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n'
                        'Content-Length: 67\r\n\r\n'
                        '{"prompt": "The capital of France is", "max_tokens": 32, "seed": 1}'}
            with Watch(server) as beside_ordinary:
                end = time.monotonic() + args.seconds
                while time.monotonic() < end:
                    if send(server, ordinary) != 200:
                        sys.exit("an ordinary request is not answered")
            begin = time.monotonic()
            with Watch(server) as beside_hostile:
                counts, faults = send_all(server, cases, args.clients)
            peak = server.memory("VmHWM")
            took = time.monotonic() - begin
            server.close()

    print(f"{len(cases)} hostile requests in {took:.1f} s, statuses {dict(sorted(counts.items()))}")
    most = loaded + ALLOWED + SPARE
    usual, hostile = p99(beside_ordinary.tokens), p99(beside_hostile.tokens)
    rows = [("/health p99, s", p99(beside_hostile.health), 0.5, p99(beside_ordinary.health)),
            ("neighbour between tokens p99, s", hostile, 2 * usual, usual),
            ("peak memory, MiB", peak, most, loaded)]
    print("| | beside hostile | bar | beside ordinary, or loaded |\n| --- | --- | --- | --- |")
    for name, value, bar, before in rows:
        print(f"| {name} | {value:.4g} | {bar:.4g} | {before:.4g} |")
        if not value <= bar:
            faults.append(f"{name}: {value:.4g}, expected at most {bar:.4g}")
    faults += beside_ordinary.faults + beside_hostile.faults
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
