"""Whoever reads the log, or what it lies on, holds nobody up."""
import contextlib
import os
import subprocess

import pytest

from augur_server import PATIENCE, Server

LONG = "/" + "x" * 20000
REQUESTS = 100


@contextlib.contextmanager
def pipe_that_nobody_reads(_):
    reader, writer = os.pipe()
    try:
        yield writer, []
    finally:
        os.close(reader)
        os.close(writer)


@contextlib.contextmanager
def full_device(_):
    with open("/dev/full", "wb") as file:
        yield file, []


@contextlib.contextmanager
def full_device_as_a_file(_):
    yield subprocess.DEVNULL, ["--log-file", "/dev/full"]


@contextlib.contextmanager
def full_disk(folder):
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=False, capture_output=True,
                             text=True)
    if mounted.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.strip()}")
    try:
        yield subprocess.DEVNULL, ["--log-file", folder / "log"]
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("log", [pipe_that_nobody_reads, full_device, full_device_as_a_file, full_disk])
def test_log_holds_nobody_up(model, tmp_path, log):
    with log(tmp_path) as (stderr, flags), Server(model, *flags, stderr=stderr) as server:
        for _ in range(REQUESTS):
            assert server.ask("GET", LONG, timeout=PATIENCE)[0] == 404
        assert server.post("/v1/completions", {"prompt": "Once", "max_tokens": 3}, timeout=PATIENCE)[0] == 200
        dropped = [line for line in server.get("/metrics").splitlines()
                   if line.startswith("augur:log_lines_dropped_total")]
        assert dropped and float(dropped[0].split()[-1]) > 0
        server.close()
