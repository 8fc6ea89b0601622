"""Prometheus with the files that deploy/ has for it, on a server's metrics."""
import contextlib
import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from augur_server import ROOT, Server, eventually, events, free_port

FOLDER = ROOT / "deploy/prometheus"
DASHBOARD = ROOT / "deploy/grafana.json"


class Prometheus:
    def __init__(self, url):
        self.url = f"{url}/api/v1/"

    def ask(self, path, **parameters):
        """What it answers; urllib.error.HTTPError where a query is none."""
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(parameters)}") as answer:
            return json.load(answer)["data"]

    def value(self, query):
        """Of its only series; None where there is none."""
        result = self.ask("query", query=query)["result"]
        return float(result[0]["value"][1]) if result else None

    def has_read(self):
        """Whether it has read the server; not as long as it doesn't listen, or has nothing to answer with."""
        try:
            return self.value('up{job="augur"}') == 1
        except urllib.error.URLError:
            return False


@contextlib.contextmanager
def prometheus(need, folder, config):
    (folder / "prometheus.yml").write_text(config, encoding="utf-8")
    here = f"127.0.0.1:{free_port()}"
    command = [need("prometheus", "prometheus"), f"--config.file={folder / 'prometheus.yml'}",
               f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={here}"]
    with open(folder / "prometheus.log", "wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            running = Prometheus(f"http://{here}")
            eventually(running.has_read, "Prometheus reads the server", of=process)
            yield running
        finally:
            process.terminate()


@pytest.fixture
def promtool(need):
    def run(*arguments, **more):
        return subprocess.run([need("promtool", "prometheus"), *arguments], check=False, capture_output=True, text=True,
                              **more)
    return run


def test_rules(promtool):
    for command in (("check", "rules", FOLDER / "alerts.yml"), ("test", "rules", FOLDER / "alerts_test.yml")):
        done = promtool(*command)
        assert done.returncode == 0, done.stdout + done.stderr


def test_queries_name_what_there_is(need, promtool, model, tmp_path, say):
    """The rules and the dashboard, with a server that is scraped with the example's credentials: all queries are such,
    and every name in them is one that there is."""
    (tmp_path / "key").write_text("secret\n")
    (tmp_path / "alerts.yml").write_bytes((FOLDER / "alerts.yml").read_bytes())
    # Nobody listens at the collector's address.
    flags = ["--api-key", "other", "--metrics-key", "secret", "--llamacpp-metrics", "--spec-type", "ngram",
             "--otlp-endpoint", f"http://127.0.0.1:{free_port()}"]
    headers = {"Authorization": "Bearer other"}
    with Server(model, *flags) as server:
        asked = {"prompt": "Once upon a time", "max_tokens": 40, "ignore_eos": True}
        assert server.post("/v1/completions", asked, headers)[0] == 200
        assert server.post("/v1/completions", {"prompt": 7}, headers)[0] == 400
        checked = promtool("check", "metrics", input=server.get("/metrics", {"Authorization": "Bearer secret"}))
        complaints = (checked.stdout + checked.stderr).splitlines()
        # One complaint: about the colons, which vLLM's names have.
        assert complaints and all("should not contain ':'" in line for line in complaints), complaints

        config = (FOLDER / "prometheus.yml").read_text(encoding="utf-8")
        for written, here in ((r"/etc/prometheus/augur-metrics-key", str(tmp_path / "key")),
                              (r"targets: .*", f"targets: [{server.host}:{server.port}]"),
                              (r"_interval: 15s", "_interval: 1s")):
            config, count = re.subn(written, here, config)
            assert count, f"deploy/prometheus/prometheus.yml: expected {written}"
        with prometheus(need, tmp_path, config) as running:
            done = promtool("check", "config", tmp_path / "prometheus.yml")
            assert done.returncode == 0, done.stdout + done.stderr
            eventually(lambda: (running.value('count_over_time(up{job="augur"}[1m])') or 0) >= 3, "three scrapes")
            rules = [rule for group in running.ask("rules")["groups"] for rule in group["rules"]]
            panels = [target["expr"].replace("$model", ".*")
                      for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
                      for target in panel["targets"]]
            queries = panels + [rule["query"] for rule in rules]
            known = set(running.ask("label/__name__/values"))
            for query in queries:
                running.ask("query", query=query)  # one that is none raises
                names = set(re.findall(r"\b(?:vllm:|augur:|process_)[a-z_:]+", query))
                assert names <= known, f"{query}: there is no {names - known}"
            assert rules and all(rule["health"] == "ok" for rule in rules), rules
            assert not [rule["name"] for rule in rules if rule["state"] == "firing"], rules
            assert running.value("vllm:generation_tokens_total") == 40
            assert running.value("vllm:kv_cache_usage_perc") == 0
            say(f"{len(queries)} queries, {len(known)} names")


def test_last_scrape_has_everything(need, model, tmp_path):
    """What a server writes after it was told to end is in Prometheus."""
    with Server(model, "--api-key", "key", "--metrics-key", "look", "--final-scrape", "30") as server:
        config = f"""
global: {{scrape_interval: 2s, scrape_timeout: 2s}}
scrape_configs:
  - job_name: augur
    authorization: {{credentials: look}}
    static_configs: [{{targets: ["{server.host}:{server.port}"]}}]
"""
        with prometheus(need, tmp_path, config) as running:
            connection = server.connect()
            connection.request("POST", "/v1/completions", json.dumps(
                {"prompt": "Once upon a time", "max_tokens": 400, "ignore_eos": True, "stream": True,
                 "stream_options": {"include_usage": True}}), {"Authorization": "Bearer key"})
            stream = events(connection.getresponse())
            next(stream)
            server.terminate()
            usages = [event["usage"] for event in stream if event and event.get("usage")]
            assert server.ended() == 0
            assert usages[-1]["completion_tokens"] == 400
            assert running.value("max_over_time(vllm:generation_tokens_total[1m])") == 400
