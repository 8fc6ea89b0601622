"""Models without an engine: what they are, and what an engine of them would take."""
import pytest

import augur
from augur_server import ROOT


def test_a_description_is_of_the_loaded_model(engine, stories):
    described, info = augur.describe_model(stories), engine.info
    shape = described.shape
    assert (shape.family, shape.layers, shape.hidden, shape.vocab) == (info.family, info.layers, info.hidden, info.vocab)
    assert described.problems == () and described.files and described.tokenizer and not described.gguf
    assert sum(one.bytes for one in described.weight_types) == described.weight_bytes
    assert sum(one.tensors for one in described.files) == described.tensors


def test_a_draft_head_is_described():
    described = augur.describe_model(ROOT / "models/smollm2-eagle3")
    assert (described.shape, described.head_type) == (None, "eagle3")


def test_memory_grows_with_what_is_asked_for(stories):
    one, many = augur.estimate_memory(stories, parallel=1), augur.estimate_memory(stories, parallel=4)
    assert 0 < one.loaded <= one.most and one.text > one.token > 0
    assert many.texts == 4 * one.texts
    assert augur.estimate_memory(stories, context=128).text < one.text


def test_what_there_is_not(tmp_path):
    for ask in (augur.describe_model, augur.estimate_memory):
        with pytest.raises(augur.NotFoundError):
            ask(tmp_path / "none")
    with pytest.raises(TypeError):
        augur.estimate_memory(tmp_path, bogus=1)
