"""Grammars of schemas against instances that jsonschema has judged: random ones, and 343 that were written from the
specification and from schemas of tools, APIs and configurations, by someone who had not seen the code."""
import lzma
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAB = ROOT / "build/release/augur-lab"


def check(schemas):
    run = subprocess.run([LAB, "bench", "schemas", schemas], stdout=subprocess.PIPE, text=True)
    assert run.returncode == 0, run.stdout


def test_random_schemas(tmp_path):
    drawn = tmp_path / "random.jsonl"
    with drawn.open("w", encoding="utf-8") as out:
        subprocess.run([sys.executable, ROOT / "scripts/fuzz_schemas.py", "--count", "300"], stdout=out, check=True)
    check(drawn)


def test_written_schemas(tmp_path):
    written = tmp_path / "written.jsonl"
    written.write_bytes(lzma.decompress(pathlib.Path(__file__).with_name("written_schemas.jsonl.xz").read_bytes()))
    check(written)
