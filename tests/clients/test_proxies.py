"""HAProxy and vllm-router in front of two replicas, one of which is killed midway: what is asked again has the same
tokens, and what follows is answered by the other."""
import json
import pathlib
import subprocess
import sys
import threading
import urllib.request

import pytest

from asking import serve
from augur_server import eventually, events, free_port
from proxies import proxy, running

BODY = {"model": "stories", "prompt": "Once upon a time", "max_tokens": 400, "temperature": 1, "seed": 7,
        "ignore_eos": True, "logprobs": 1}


def haproxy(need, _, replicas):
    return proxy("haproxy", need, [replica.url.removeprefix("http://") for replica in replicas])


def vllm_router(_, folder, replicas):
    port = free_port()
    return running([pathlib.Path(sys.executable).parent / "vllm-router", "--port", port, "--prometheus-port",
                    free_port(), "--policy", "round_robin", "--worker-urls", *(replica.url for replica in replicas)],
                   f"http://127.0.0.1:{port}", cwd=folder, stdout=subprocess.DEVNULL)


def post(url, **more):
    request = urllib.request.Request(url + "/v1/completions", json.dumps({**BODY, **more}).encode(),
                                     {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=60)


def ask(url):
    with post(url) as answer:
        return json.load(answer)["choices"][0]


def stream(url, pieces):
    """Appends the pieces of a stream; ends where it breaks."""
    try:
        with post(url, stream=True) as answer:
            for event in events(answer):
                if event:
                    pieces.append(event["choices"][0]["text"])
    except OSError:
        pass


@pytest.mark.parametrize("kind", [haproxy, vllm_router])
def test_a_killed_replica_is_made_up_for(model, need, tmp_path, kind):
    with serve(model, "--parallel", "2") as a, serve(model, "--parallel", "2") as b, kind(need, tmp_path, [a, b]) as url:
        expected = ask(url)
        assert expected == ask(a.url) == ask(b.url)

        pieces = []
        client = threading.Thread(target=stream, args=(url, pieces))
        client.start()
        eventually(lambda: pieces or not client.is_alive(), "the stream's first piece")
        assert pieces, "the stream broke off before anything had been written"
        # Mostly the one that is writing; the other will do, too.
        (b if b.load()["running"] > 0 else a).kill()
        client.join()
        assert expected["text"].startswith("".join(pieces))

        for _ in range(4):  # asked again: the same tokens, now by the one that is left
            assert ask(url) == expected
