"""The suite from Python: its frames are what the program has measured."""
import json

import pytest

import augur
from augur import lab
from augur.__main__ import program
from augur_server import ROOT

pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def measured(stories, tmp_path_factory):
    if not (program().parent / "augur-lab").exists():
        pytest.skip("the package has no laboratory")
    folder = tmp_path_factory.mktemp("suite")
    arguments = {"prompts": [ROOT / "prompts/gsm8k.jsonl"], "methods": ["ngram", "suffix:policy=auto"], "limit": 2,
                 "max_tokens": 12, "rounds": 2, "threads": 1, "folder": folder}
    return lab.run_suite(stories, **arguments), folder


def test_frames(measured):
    suite, _ = measured
    methods, cells = suite.methods(), suite.cells()
    assert suite.complete and len(cells) == 3 * 2 * 2
    assert methods.index[0] == "plain" and len(methods) == 3
    assert (methods["different"] == 0).all() and methods.loc["plain", "tau"] == 1
    for name in ("speedup", "tau"):
        assert (methods[f"{name}_low"] <= methods[f"{name}_high"]).all()
    assert methods["tokens"].sum() == cells["tokens"].sum()
    assert suite.suites().loc["gsm8k"].equals(methods)


def test_a_suite_is_read_again(measured, tmp_path):
    suite, folder = measured
    assert lab.read_suite(folder / "suite.json") == suite
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"augur_suite": 99}))
    with pytest.raises(ValueError, match="is not what"):
        lab.read_suite(other)


def test_what_the_program_refuses(measured, stories):
    with pytest.raises(augur.Error, match="bogus"):
        lab.run_suite(stories, prompts=[ROOT / "prompts/gsm8k.jsonl"], methods=["bogus"])
