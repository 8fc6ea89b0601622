"""`augur serve` as a process of its own: the one way in which tests, checks and benchmarks in Python start a server."""
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("AUGUR", str(ROOT / "build/release/augur"))
STORIES = ROOT / "models/stories260k"
PATIENCE = 120  # seconds that anything may take before it counts as hanging


class Server:
    """Started and awaited by the constructor, at a free port unless the flags name a place; RuntimeError where it ends
    before it serves. What the body of a `with` leaves running is killed.

    before: a command that becomes the program (strace -D, unshare, chroot).
    stderr: as subprocess.Popen has it; None: that of the caller."""

    def __init__(self, model, *flags, before=(), program=PROGRAM, stderr=None):
        place = [] if {"--port", "--host"} & set(flags) else ["--port", "0"]
        self.args = [str(part) for part in (*before, program, "serve", "-m", model, *place, *flags)]
        self.process = subprocess.Popen(self.args, stdout=subprocess.PIPE, text=True, stderr=stderr)
        self.url = self.line(r"is served at (\S+)")
        address = urllib.parse.urlsplit(self.url)
        self.host, self.port = address.hostname, address.port

    def line(self, pattern):
        """The first group of the pattern in the next line of stdout."""
        watch = threading.Timer(5 * PATIENCE, self.process.kill)
        watch.start()
        line = self.process.stdout.readline()
        watch.cancel()
        if not (found := re.search(pattern, line)):
            self.process.kill()
            raise RuntimeError(f"{' '.join(self.args)}: it said {line!r} and ended with {self.process.wait()}")
        return found.group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def runs(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        """Asks it to end."""
        self.process.terminate()

    def ended(self):
        """Its exit code; waits for it. One that doesn't end is killed, and raises subprocess.TimeoutExpired."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def close(self):
        """Ends it by SIGTERM, which has to be with 0."""
        self.terminate()
        assert (code := self.ended()) == 0, f"the server ended with {code}"

    def connect(self, timeout=600):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, timeout=600):
        """(status, the answer's bytes). `body`: what JSON is made of, or bytes."""
        if body is not None and not isinstance(body, bytes):
            body, headers = json.dumps(body), {"Content-Type": "application/json", **(headers or {})}
        connection = self.connect(timeout)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path, headers=None):
        """The answer's text, which has to be a 200."""
        status, answer = self.ask("GET", path, headers=headers)
        assert status == 200, f"{path}: {status} {answer[:300]}"
        return answer.decode()

    def post(self, path, body, headers=None, timeout=600):
        """(status, the answer's JSON)"""
        status, answer = self.ask("POST", path, body, headers, timeout)
        return status, json.loads(answer)

    def load(self):
        return json.loads(self.get("/load"))

    def memory(self, name="VmRSS"):
        """MiB of a line of /proc/PID/status."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(rf"{name}:\s+(\d+)", text).group(1)) / 1024


def events(answer):
    """The objects of a stream, and its [DONE] as None."""
    for line in answer:
        if line.startswith(b"data: "):
            yield None if line.strip() == b"data: [DONE]" else json.loads(line[6:])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(condition, what, of=None):
    """Waits for the condition and returns what it is then. AssertionError where it doesn't come, or where the process
    `of` which it depends ends."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert of is None or of.poll() is None, f"{what}: the program has ended with {of.returncode}"
        assert time.monotonic() < end, f"{what}: not within {PATIENCE} s"
        time.sleep(0.02)
    return found


def is_answered(url, headers=None):
    """Whether a GET of it is answered with 200."""
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    try:
        connection.request("GET", address.path, headers=headers or {})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
