"""What a build says where it cannot be, and what a wheel has in it."""
import importlib.metadata
import os
import subprocess

import augur
from augur_server import PATIENCE, ROOT

MODULE = ROOT / "cmake/AugurPackages.cmake"


def configured(tmp_path, installed):
    """CMake's first step of a wheel's build, on a system where these packages are installed."""
    (tmp_path / "dpkg-query").write_text(f"#!/bin/sh\nfor name in {installed}; do echo installed $name; done\n")
    (tmp_path / "dpkg-query").chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if key != "AUGUR_SKIP_BOOTSTRAP"}
    return subprocess.run(["cmake", "-P", MODULE], env={**environment, "PATH": f"{tmp_path}:{environment['PATH']}"},
                          check=False, capture_output=True, text=True, timeout=PATIENCE)


def test_missing_packages_are_one_error_that_names_them(tmp_path):
    done = configured(tmp_path, "g++ cmake")
    assert done.returncode != 0
    assert "libhwy-dev" in done.stderr and "make bootstrap" in done.stderr
    assert " cmake " not in done.stderr


def test_nothing_is_said_where_nothing_is_missing():
    done = subprocess.run(["cmake", "-P", MODULE], check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_distribution():
    assert importlib.metadata.version("augur-engine") == augur.__version__
    names = [str(file) for file in importlib.metadata.files("augur-engine")]
    for part in ("augur/py.typed", "augur/_core.pyi", "augur/bin/augur", "augur/bin/augur-lab", "augur/web/tree.js"):
        assert part in names
    assert sum(name.startswith("augur/lib/libaugur.so.") for name in names) == 1
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/nanobind/LICENSE") for name in names)
