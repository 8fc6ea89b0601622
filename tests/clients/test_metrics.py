"""promtool reads /metrics, and complains of nothing but vLLM's colons."""
import shutil
import subprocess
import urllib.request

import pytest


def test_promtool(server):
    program = shutil.which("promtool")
    if not program:
        pytest.skip("promtool (Debian's package prometheus) is not installed")
    with urllib.request.urlopen(server.url + "/metrics") as answer:
        text = answer.read()
    checked = subprocess.run([program, "check", "metrics"], input=text, capture_output=True)
    complaints = (checked.stdout + checked.stderr).decode().splitlines()
    assert complaints and all("should not contain ':'" in line for line in complaints), complaints
