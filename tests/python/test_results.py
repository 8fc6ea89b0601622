"""Results are plain values: frozen, they pickle, and they say what happened."""
import dataclasses
import json
import pickle
import re

import pytest

import augur


@pytest.fixture(scope="module")
def traced(engine):
    return engine.generate("Once upon a time", max_tokens=64, speculation="layerskip:policy=eagle2", logprobs=2, prompt_logprobs=True,
                           trace=True)


def test_they_pickle(traced):
    assert pickle.loads(pickle.dumps(traced)) == traced


def test_they_are_frozen(traced):
    with pytest.raises(dataclasses.FrozenInstanceError):
        traced.text = ""


def test_log_probabilities_are_of_the_ids(engine, traced):
    assert len(traced.logprobs) == len(traced.ids)
    for token, at in zip(traced.ids, traced.logprobs):
        assert at.top[0] == (token, at.logprob)  # greedy: the likeliest
        assert at.top[0][1] >= at.top[1][1]
    assert len(traced.prompt_logprobs) == traced.prompt_tokens - 1
    assert engine.generate("Once", max_tokens=2).logprobs is None


def test_a_trace_has_who_proposed_each_token(engine, traced):
    assert tuple(token.id for token in traced.tokens) == traced.ids
    assert "".join(token.text for token in traced.tokens) == traced.text
    drafted = [token for token in traced.tokens if token.proposer]
    assert {token.proposer for token in drafted} == {"layerskip"}
    assert len(drafted) == traced.speculation.accepted_tokens > 0
    assert len(traced.rounds) == traced.speculation.calls
    for made in traced.rounds:
        assert made.nodes[0].parent == -1
        assert all(0 <= node.parent < at for at, node in enumerate(made.nodes) if at > 0)
    assert engine.generate("Once", max_tokens=2).rounds is None


def test_a_page_draws_the_tokens_and_the_trees(traced):
    from augur.display import data_of
    data = data_of(traced)
    assert "".join(text for text, _, _ in data["tokens"]) == traced.text
    assert data["proposers"] == ["layerskip"]
    assert sum(made["accepted"] + 1 for made in data["rounds"]) >= len(traced.ids)
    page = traced._repr_html_()
    assert "<iframe" in page and "treePicture" in page


def test_a_page_is_plain_without_a_trace(engine):
    page = engine.generate("<b>", max_tokens=4)._repr_html_()
    assert "<pre" in page and "<iframe" not in page


def test_nothing_in_a_text_ends_the_pages_data(traced):
    evil = dataclasses.replace(traced, tokens=(augur.Token("</script><script>alert(1)</script>", 5),))
    page = evil._repr_html_()
    assert "alert(1)" in page
    assert not re.search("&lt;/script&gt;&lt;script&gt;alert", page)


def test_what_was_known_is_not_read_again(engine):
    prompt = "There was a little dog who had a very long name that nobody could ever say without a laugh. " * 3
    engine.generate(prompt, max_tokens=4)
    again = engine.generate(prompt, max_tokens=4)
    assert again.cached_tokens > 0
    assert engine.generate(prompt, max_tokens=4, cache_salt="another").cached_tokens == 0


def test_information(engine, stories):
    assert engine.info.path == str(stories)
    assert engine.info.threads > 0 and engine.info.vocab == 512
    assert "ngram" in engine.drafters
    assert engine.info.end_tokens
    assert {"ngram", "eagle3"} <= {kind.name for kind in augur.speculation_types()}
    assert {"auto", "eagle2"} <= {policy.name for policy in augur.speculation_policies()}
    assert augur.build_info().version == augur.__version__
    assert json.dumps(dataclasses.asdict(engine.info))


def test_costs_are_measured(stories, tmp_path):
    with augur.Engine(stories, cost_cache=tmp_path) as engine:
        engine.generate("Once", max_tokens=2)
        costs = engine.costs()
        assert len(costs.verify.rows) == len(costs.verify.ms) > 2
        assert all(ms > 0 for ms in costs.verify.ms)
        engine.forget()
        assert engine.generate("Once", max_tokens=2).ids  # the session opens again
