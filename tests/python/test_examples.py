"""The scripts of examples/python run."""
import importlib.util
import json
import os
import subprocess
import sys

import pytest

from augur_server import PATIENCE, ROOT


@pytest.fixture
def run(stories):
    """run(SCRIPT, ARGUMENT...): what examples/python/SCRIPT prints, with the little model."""
    def run(script, *arguments):
        command = [sys.executable, ROOT / "examples/python" / script, stories, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=5 * PATIENCE,
                              env={**os.environ, "HF_HUB_OFFLINE": "1"})
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout
    return run


def needs(module):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


def test_batch_with_schema(run):
    lines = run("batch_with_schema.py").splitlines()
    assert [line.split()[0] for line in lines] == ["cow", "eagle", "spider", "dog", "snake", "ant"]


@needs("lm_eval")
def test_lm_eval_scores(run, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Once upon a time there was a girl.\nThe dog was happy.\n", encoding="utf-8")
    assert "byte_perplexity" in run("lm_eval_scores.py", text)


@needs("ray")
def test_ray_data_batch(run, engine, tmp_path):
    table = tmp_path / "in.jsonl"
    table.write_text("".join(json.dumps({"prompt": f"The {animal}"}) + "\n" for animal in ("cat", "dog")), encoding="utf-8")
    run("ray_data_batch.py", table, tmp_path / "out")
    rows = [json.loads(line) for file in (tmp_path / "out").iterdir() for line in file.read_text().splitlines()]
    wanted = engine.generate(["The cat", "The dog"], max_tokens=64, temperature=0.8, seed=7)
    assert {row["prompt"]: row["text"] for row in rows} == {"The cat": wanted[0].text, "The dog": wanted[1].text}


@needs("ray")
def test_ray_serve_app(run, engine):
    assert engine.generate("Once upon a time", max_tokens=32).text.strip() in run("ray_serve_app.py")
