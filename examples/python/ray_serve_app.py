"""OpenAI's routes from replicas on a cluster of Ray: python ray_serve_app.py MODEL [REPLICAS] starts one on this machine
(or joins the one that RAY_ADDRESS names) and asks it once. `serve run ray_serve_app:build model=MODEL` serves until
Ctrl-C."""
import json
import sys
import urllib.request

import ray
from ray import serve

from augur.ray import serve_app

PORT = 8000


def build(arguments):
    """What Ray's command `serve run` and its configuration files call."""
    return serve_app(arguments["model"], draft=arguments.get("draft"), replicas=int(arguments.get("replicas", 1)),
                     threads=int(arguments.get("threads", 1)))


def main(model, replicas=1):
    ray.init(include_dashboard=False, log_to_driver=False)
    serve.start(http_options={"host": "127.0.0.1", "port": PORT})
    serve.run(build({"model": model, "replicas": replicas}), name="augur")
    body = json.dumps({"prompt": "Once upon a time", "max_tokens": 32, "temperature": 0}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/v1/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        print(json.load(answer)["choices"][0]["text"])
    serve.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
