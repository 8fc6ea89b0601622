"""HAProxy and vllm-router in front of two replicas, one of which is killed midway: what is asked again has the same
tokens, and what follows is answered by the other."""
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from conftest import ROOT, Server

BODY = {"model": "stories", "prompt": "Once upon a time", "max_tokens": 400, "temperature": 1, "seed": 7,
        "ignore_eos": True, "logprobs": 1}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def haproxy(replicas, folder):
    program = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if not program:
        pytest.skip("haproxy is not installed")
    port = free_port()
    config = folder / "haproxy.cfg"
    a, b = (replica.url.removeprefix("http://") for replica in replicas)
    text = (ROOT / "deploy/haproxy/haproxy.cfg").read_text()
    for written, here in (("8000", f"127.0.0.1:{port}"), ("8081", a), ("8082", b)):
        text = text.replace(f"127.0.0.1:{written}", here)
    config.write_text(text)
    return port, subprocess.Popen([program, "-db", "-f", str(config)])


def vllm_router(replicas, folder):
    port = free_port()
    program = pathlib.Path(sys.executable).parent / "vllm-router"
    return port, subprocess.Popen(
        [program, "--port", str(port), "--prometheus-port", str(free_port()), "--policy", "round_robin",
         "--worker-urls", *(replica.url for replica in replicas)], cwd=folder, stdout=subprocess.DEVNULL)


def ask(url, **more):
    request = urllib.request.Request(url + "/v1/completions", json.dumps({**BODY, **more}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["choices"][0]


def stream(url, pieces):
    """Appends the pieces of a stream; ends where it breaks."""
    request = urllib.request.Request(url + "/v1/completions", json.dumps({**BODY, "stream": True}).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            for line in answer:
                if line.startswith(b"data: {"):
                    pieces.append(json.loads(line[6:])["choices"][0]["text"])
    except OSError:
        pass


def wait_for(url):
    for _ in range(200):
        try:
            return ask(url, max_tokens=1)
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{url} does not answer")


def busy(replica):
    return replica.load()["running"] > 0


@pytest.mark.parametrize("proxy", [haproxy, vllm_router])
def test_a_killed_replica_is_made_up_for(model, tmp_path, proxy):
    replicas = [Server(model, "--parallel", "2") for _ in range(2)]
    port, process = proxy(replicas, tmp_path)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url)
        expected = ask(url)
        assert expected == ask(replicas[0].url) == ask(replicas[1].url)

        pieces = []
        client = threading.Thread(target=stream, args=(url, pieces))
        client.start()
        while not pieces and client.is_alive():
            time.sleep(0.001)
        assert pieces, "the stream broke off before anything had been written"
        at = next((i for i, replica in enumerate(replicas) if busy(replica)), 0)
        replicas[at].process.kill()  # mostly the one that is writing; the other will do, too
        client.join()
        assert expected["text"].startswith("".join(pieces))

        for _ in range(4):  # asked again: the same tokens, now by the one that is left
            assert ask(url) == expected
    finally:
        process.terminate()
        process.wait(30)
        for replica in replicas:
            if replica.process.poll() is None:
                replica.close()
