"""Logits, states, embeddings and scores of given texts, as arrays."""
import gc

import pytest

import augur

np = pytest.importorskip("numpy")

TEXT = "Once upon a time there was a girl who had a dog."


def test_shapes_and_types(engine):
    ids, info = engine.tokenize(TEXT), engine.info
    for array, shape in ((engine.logits(ids), (len(ids), info.vocab)),
                         (engine.hidden_states(TEXT, 0), (len(ids), info.hidden)),
                         (engine.embed(TEXT), (info.hidden,)),
                         (engine.score(TEXT).logprobs, (len(ids) - 1,))):
        assert (array.shape, array.dtype) == (shape, np.float32)
        assert array.flags.writeable


def test_scores_are_the_log_probabilities_of_prompts(engine):
    result = engine.generate(TEXT, max_tokens=0, logprobs=1, prompt_logprobs=True)
    places = [place.logprob for place in result.prompt_logprobs]
    score = engine.score(TEXT)
    assert score.logprobs.tolist() == places
    assert score.sum == sum(places)
    ids = engine.tokenize(TEXT)
    assert engine.score(ids, start=5).logprobs.tolist() == places[4:]
    together = engine.score([TEXT, "The cat", TEXT], start=[5, 1, 1])
    assert together[0].logprobs.tolist() == places[4:] and together[2].logprobs.tolist() == places
    assert engine.score([]) == []


def test_scores_are_of_the_logits(engine):
    ids = engine.tokenize(TEXT)
    rows = engine.logits(ids).astype(np.float64)
    of_all = rows - np.log(np.exp(rows - rows.max(1, keepdims=True)).sum(1, keepdims=True)) - rows.max(1, keepdims=True)
    wanted = of_all[np.arange(len(ids) - 1), ids[1:]]
    assert engine.score(ids).logprobs == pytest.approx(wanted, abs=1e-4)


def test_what_greedy_decoding_writes_is_greedy(engine):
    prompt = engine.tokenize("Once")
    written = list(engine.generate(prompt, max_tokens=12).ids)
    assert engine.score(prompt + written, start=len(prompt)).greedy
    written[-1] ^= 1
    assert not engine.score(prompt + written, start=len(prompt)).greedy
    assert engine.logits(prompt)[-1].argmax() == written[0]


def test_embeddings_are_pooled_states(engine):
    mean, raw = engine.embed(TEXT, "mean"), engine.embed(TEXT, "mean", normalised=False)
    assert np.linalg.norm(mean) == pytest.approx(1, abs=1e-5)
    assert mean == pytest.approx(raw / np.linalg.norm(raw), abs=1e-5)
    assert not np.array_equal(mean, engine.embed(TEXT))
    first = engine.hidden_states(TEXT, 0)
    assert not np.array_equal(first, engine.hidden_states(TEXT, engine.info.layers))


def test_arrays_outlive_the_engine(stories):
    with augur.Engine(stories) as engine:
        rows = engine.logits(TEXT)
        before = rows.copy()
    del engine
    gc.collect()
    assert np.array_equal(rows, before)
    rows[:] = 0


def test_what_cannot_be(engine):
    with pytest.raises(augur.ContextFullError):
        engine.logits([1] * (engine.info.context + 1))
    for call in (lambda: engine.hidden_states(TEXT, engine.info.layers + 1), lambda: engine.embed(TEXT, "first"),
                 lambda: engine.score([1, 10**6]), lambda: engine.score([1, 2], start=0), lambda: engine.logits([])):
        with pytest.raises(augur.Error):
            call()
    with pytest.raises(ValueError):
        engine.score(["a", "b"], start=[1])


INTERRUPTED = """
import os, signal, sys, threading
import augur
engine = augur.Engine(sys.argv[1], threads=1)
text = list(range(3, 500))
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True: engine.score([text] * 2000)
except KeyboardInterrupt:
    print("interrupted")
print(engine.score(text).sum < 0)
"""


def test_ctrl_c_ends_a_score(run_python, stories):
    assert run_python(INTERRUPTED, stories) == (0, "interrupted\nTrue\n", "")


def test_not_while_requests_run(stories):
    with augur.Engine(stories) as engine, engine.stream("Once", ignore_eos=True, temperature=1.0) as stream:
        next(stream)
        with pytest.raises(augur.MisuseError):
            engine.score(TEXT)
        stream.close()
        stream.result()
        assert engine.score(TEXT).sum < 0
        assert engine.generate("Once", max_tokens=2).ids
