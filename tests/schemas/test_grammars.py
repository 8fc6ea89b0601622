"""Grammars of schemas against instances that others have judged: random ones (--schemas, --seed), and 343 that were
written from the specification and from schemas of tools, APIs and configurations, by someone who had not seen the code."""
import lzma
import pathlib
import subprocess

from augur_server import ROOT
from judged_schemas import write_judged_schemas

LAB = ROOT / "build/release/augur-lab"


def check(schemas):
    run = subprocess.run([LAB, "bench", "schemas", schemas], stdout=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 0, run.stdout


def test_random_schemas(tmp_path, request):
    drawn = tmp_path / "random.jsonl"
    write_judged_schemas(drawn, request.config.getoption("--schemas") or 300, request.config.getoption("--seed"))
    check(drawn)


def test_written_schemas(tmp_path):
    written = tmp_path / "written.jsonl"
    written.write_bytes(lzma.decompress(pathlib.Path(__file__).with_name("written_schemas.jsonl.xz").read_bytes()))
    check(written)
