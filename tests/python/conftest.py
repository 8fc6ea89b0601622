"""What the tests of the Python package share: an engine of the little model, and the program as the judge of its ids."""
import json
import subprocess
import sys

import pytest

import augur
from augur_server import PATIENCE, PROGRAM, STORIES


@pytest.fixture(scope="session")
def stories():
    """The folder of the little model."""
    return STORIES


@pytest.fixture(scope="session")
def engine(stories):
    with augur.Engine(stories) as loaded:
        yield loaded


@pytest.fixture(scope="session")
def said_by_program():
    """said_by_program(MODEL, FLAG...): the object that `augur generate --json` prints."""
    def said(model, *flags):
        done = subprocess.run([PROGRAM, "generate", "-m", model, "--json", *map(str, flags)], check=True, timeout=PATIENCE,
                              capture_output=True, text=True)
        return json.loads(done.stdout)
    return said


@pytest.fixture
def run_python():
    """run_python(SCRIPT, ARGUMENT...): a process of its own that runs it; its exit code, stdout and stderr."""
    def run(script, *arguments):
        done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], check=False, timeout=PATIENCE,
                              capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr
    return run
