"""deploy/Dockerfile and the manifests for Kubernetes: held against hadolint and the schemas of the API, on no cluster.
The replicas' own flags and probes are tried with the program."""
import re
import subprocess

import pytest
import yaml

from augur_server import ROOT, Server, eventually

DOCKERFILE = ROOT / "deploy/Dockerfile"
MANIFEST = ROOT / "deploy/kubernetes/augur.yaml"


def test_dockerfile(tool):
    subprocess.run([tool("hadolint"), "--no-color", DOCKERFILE], check=True)


def test_manifest_is_one(tool):
    subprocess.run([tool("kubernetes-validate"), "--strict", MANIFEST], check=True)


@pytest.fixture
def pod():
    documents = yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8"))
    return next(d for d in documents if d["kind"] == "StatefulSet")["spec"]["template"]["spec"]


def seconds_of(args, *flags):
    return sum(float(args[args.index(flag) + 1]) for flag in flags)


def test_manifest_fits_the_program_and_the_image(pod):
    container, = pod["containers"]
    ends = seconds_of(container["args"], "--lame-duck", "--drain-timeout", "--final-scrape")
    assert pod["terminationGracePeriodSeconds"] >= ends + 10, "its grace is shorter than what its flags take"
    user = re.search(r"^USER (\d+):", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE).group(1)
    assert pod["securityContext"]["runAsUser"] == int(user), "another user than the image's"


def test_replica_is_probed(pod, model, tmp_path):
    container, = pod["containers"]
    args = container["args"]
    assert args[0] == "-m"
    keys = tmp_path / "keys"
    keys.write_text("key\n")
    flags = [part.replace("/etc/augur/keys", str(keys)) for part in args[2:]]
    with Server(model, *flags) as server:
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            server.get(container[probe]["httpGet"]["path"])
        server.terminate()  # its lame duck begins
        eventually(lambda: server.ask("GET", "/health/ready")[0] == 503, "it is to end, and ready", of=server.process)
        server.get("/health/live")
