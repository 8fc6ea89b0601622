"""Grammars of random schemas against instances that jsonschema judges."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAB = ROOT / "build/release/augur-lab"


@pytest.mark.skipif(not LAB.exists(), reason="augur-lab is not built")
def test_random_schemas(tmp_path):
    drawn = tmp_path / "schemas.jsonl"
    with drawn.open("w", encoding="utf-8") as out:
        subprocess.run([sys.executable, ROOT / "scripts/fuzz_schemas.py", "--count", "300"], stdout=out, check=True)
    run = subprocess.run([LAB, "bench", "schemas", drawn], stdout=subprocess.PIPE, text=True)
    assert run.returncode == 0, run.stdout
