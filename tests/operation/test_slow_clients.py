"""slowhttptest against `augur serve`: hundreds of connections that send headers or bodies by the byte, or read slowly,
don't keep others from their answers. --seconds: how long each kind goes on."""
import subprocess
import time

import pytest

from augur_server import PATIENCE, Server

CONNECTIONS = 400
BODY = {"prompt": "Once upon a time", "max_tokens": 16, "temperature": 0}
KINDS = {"headers": ("/v1/completions", "-H -t POST"), "bodies": ("/v1/completions", "-B -t POST -s 8192"),
         "readers": ("/openapi.json", "-X -t GET -w 10 -y 20 -n 5 -z 8 -k 3")}


@pytest.fixture(scope="module")
def server(request):
    with Server(request.config.getoption("--model"), "--no-log-requests") as running:
        yield running
        running.close()


@pytest.mark.parametrize("kind", KINDS)
def test_others_are_answered(request, need, server, say, tmp_path, kind):
    program = need("slowhttptest", "slowhttptest")
    path, flags = KINDS[kind]
    command = [program, *flags.split(), "-u", server.url + path, "-c", str(CONNECTIONS), "-r", "200", "-i", "5", "-l",
               str(request.config.getoption("--seconds")), "-p", "5"]
    expected = server.ask("POST", "/v1/completions", BODY)[1]
    longest = asked = 0
    with open(tmp_path / "said", "w+", encoding="utf-8") as said, \
            subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT) as slow:
        while slow.poll() is None:
            begin = time.monotonic()
            status, answer = server.post("/v1/completions", BODY, timeout=PATIENCE)
            assert status == 200 and answer["choices"][0]["text"] in expected.decode(), answer
            longest = max(longest, time.monotonic() - begin)
            asked += 1
            time.sleep(0.2)
        said.seek(0)
        assert asked >= 3, f"it ended at once: {said.read()[-500:]}"
    say(f"{asked} requests beside {CONNECTIONS} connections, at most {1000 * longest:.0f} ms, {server.memory():.0f} MiB")
