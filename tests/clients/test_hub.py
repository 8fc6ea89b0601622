"""The cache is that of huggingface_hub's tools: what they fetched is found, and they find what Augur fetched."""
import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

import pytest

from augur_server import PROGRAM, STORIES

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "owner/name"
THEIRS = """
import sys
from huggingface_hub import hf_hub_download, snapshot_download
offline = sys.argv[1] == "offline"
print(snapshot_download("owner/name", local_files_only=offline, allow_patterns=sys.argv[2:] or None))
for name in sys.argv[2:]:
    print(hf_hub_download("owner/name", name, local_files_only=offline))
"""


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of the hub as both ask for. `server.files`: name to content; `server.fetched`: names of what was sent."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), "X-Repo-Commit": COMMIT, **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.split("?")[0]
        entries = {name: (hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
                          hashlib.sha256(content).hexdigest() if len(content) > 10000 else None, content)
                   for name, content in sorted(self.server.files.items())}
        if path == f"/api/models/{REPOSITORY}/revision/main":
            siblings = [{"rfilename": name, "size": len(content), "blobId": git,
                         **({"lfs": {"sha256": large, "size": len(content), "pointerSize": 134}} if large else {})}
                        for name, (git, large, content) in entries.items()]
            return self.reply(200, json.dumps({"id": REPOSITORY, "sha": COMMIT, "siblings": siblings}).encode())
        if path == f"/api/models/{REPOSITORY}/tree/{COMMIT}":
            tree = [{"type": "file", "path": name, "size": len(content), "oid": git,
                     **({"lfs": {"oid": large, "size": len(content), "pointerSize": 134}} if large else {})}
                    for name, (git, large, content) in entries.items()]
            return self.reply(200, json.dumps(tree).encode())
        for revision in ("main", COMMIT):
            name = path.removeprefix(f"/{REPOSITORY}/resolve/{revision}/")
            if name in entries:
                git, large, content = entries[name]
                if self.command == "GET":
                    self.server.fetched.append(name)
                return self.reply(200, content, ETag=f'"{large or git}"')
        return self.reply(404, X_Error_Code="EntryNotFound")


@pytest.fixture
def hub():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.fetched = []
    server.files = {name: (STORIES / name).read_bytes()
                    for name in ("config.json", "tokenizer.model", "model.safetensors")}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with server:
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def environment(hub, tmp_path):
    return {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_address[1]}", "HF_HOME": str(tmp_path),
            "HF_HUB_DISABLE_PROGRESS_BARS": "1"}


def run(command, environment):
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def generate(environment, *flags):
    return run([PROGRAM, "generate", "-p", "Once upon a time", "-n", 20, *flags], environment)


def test_they_find_what_augur_fetched(hub, environment):
    text = generate(environment, "-hf", REPOSITORY)
    assert text == generate(environment, "-m", STORIES)
    fetched = list(hub.fetched)
    assert sorted(fetched) == sorted(hub.files)
    found = run([sys.executable, "-c", THEIRS, "offline", *hub.files], environment).split()
    assert [pathlib.Path(path).name for path in found[1:]] == list(hub.files)
    for name, path in zip(hub.files, found[1:]):
        assert pathlib.Path(path).read_bytes() == hub.files[name]
    run([sys.executable, "-c", THEIRS, "online"], environment)
    assert hub.fetched == fetched


def test_augur_finds_what_they_fetched(hub, environment):
    run([sys.executable, "-c", THEIRS, "online"], environment)
    fetched = list(hub.fetched)
    assert sorted(fetched) == sorted(hub.files)
    text = generate(environment, "-hf", REPOSITORY)
    assert text == generate(environment, "-hf", REPOSITORY, "--offline") == generate(environment, "-m", STORIES)
    assert hub.fetched == fetched


def test_who_comes_second_waits_for_who_fetches(hub, environment):
    """Both hold the same lock: whoever is first, every file is fetched once."""
    lock = pathlib.Path(environment["HF_HOME"]) / "hub/.locks/models--owner--name"
    commands = ([PROGRAM, "tokenize", "-hf", REPOSITORY, "-p", "Once"], [sys.executable, "-c", THEIRS, "online"])
    running = [subprocess.Popen([str(word) for word in command], env=environment, stdout=subprocess.DEVNULL)
               for command in commands]
    assert [process.wait() for process in running] == [0, 0]
    assert sorted(hub.fetched) == sorted(hub.files)
    assert len(list(lock.glob("*.lock"))) == len(hub.files)
