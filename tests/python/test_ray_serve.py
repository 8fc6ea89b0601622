"""The Ray Serve deployment answers as the server does, and loses nothing when replicas die."""
import json

import pytest

pytest.importorskip("ray.serve")

from ray import serve  # noqa: E402

from augur.ray import serve_app  # noqa: E402
from augur_server import Server, events  # noqa: E402
from ray_load import cluster, ids_of_program, post, prompts_for, run_load  # noqa: E402

TOKENS = 120


@pytest.fixture(scope="module")
def port(stories):
    with cluster() as port:
        serve.run(serve_app(stories, replicas=2, threads=1, flags=["--kv-memory-share", "0.1"]), name="augur")
        yield port


@pytest.fixture(scope="module")
def server(stories):
    with Server(stories, "-t", "1") as server:
        yield server


def without_chance(value):
    """An answer without what is drawn or measured."""
    if isinstance(value, dict):
        return {key: without_chance(one) for key, one in value.items()
                if key not in ("id", "created", "created_at", "timings", "usage")}
    return [without_chance(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path, body", [
    ("/v1/completions", {"prompt": "Once upon a time", "max_tokens": 12, "temperature": 0}),
    ("/v1/completions", {"prompt": "Once", "max_tokens": 12, "temperature": 1, "n": 3, "logprobs": 2}),
    ("/v1/completions", {"prompt": "Once upon a time", "max_tokens": 12, "stream": True}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 9}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 9, "stream": True}),
    ("/v1/responses", {"input": "Hello!", "max_output_tokens": 9}),
    ("/v1/messages", {"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 9}),
    ("/tokenize", {"prompt": "Once upon a time"}),
    ("/v1/completions", {"prompt": "Once", "max_tokens": -3}),
    ("/v1/completions", {"promt": "Once"}),
    ("/no/such/route", {}),
])
def test_every_route_is_the_servers(port, server, path, body):
    asked = {**body, "seed": 3}
    status, wanted = server.ask("POST", path, asked)
    got = post(port, path, asked)
    assert got.status == status
    if body.get("stream"):
        mine = [without_chance(one) for one in events(got)]
        assert mine == [without_chance(one) for one in events(wanted.splitlines())] and mine[-1] is None
    else:
        assert without_chance(json.loads(got.read())) == without_chance(json.loads(wanted))


def test_what_is_no_json_is_refused_by_the_server(port):
    import http.client
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/completions", b"{nothing", {"Content-Type": "application/json", "X-Request-Id": "me"})
    answer = connection.getresponse()
    assert answer.status == 400 and answer.getheader("X-Request-Id") == "me"
    assert "error" in json.loads(answer.read())


def test_requests_without_a_seed_differ(port):
    bodies = [{"prompt": "Once", "max_tokens": 40, "temperature": 1}, {"prompt": "Once", "max_tokens": 40,
                                                                      "temperature": 1, "seed": None}]
    texts = {json.loads(post(port, "/v1/completions", body).read())["choices"][0]["text"] for body in bodies * 2}
    assert len(texts) == 4


def test_prompts_go_where_their_beginning_was_read(port):
    beginning = "The little dog went to the big park with a red ball. " * 12
    cached = []
    for number in range(6):
        answer = json.loads(post(port, "/v1/completions", {"prompt": f"{beginning}{number}", "max_tokens": 1}).read())
        cached.append(answer["timings"]["cache_n"])
    assert all(count > 50 for count in cached[1:]), cached


def test_nothing_is_lost_or_delivered_twice_when_replicas_are_killed(port, stories, tmp_path):
    prompts = prompts_for(48)
    wanted = ids_of_program(stories, prompts, TOKENS, [], tmp_path)
    assert run_load(port, prompts, TOKENS, kills=2) == wanted


def test_replicas_say_where_they_listen():
    with pytest.raises(ValueError, match="--port"):
        serve_app("model", flags=["--port=80"])
