"""Logits processors in Python: what they see and change, what they raise, and how engines end around them."""
import gc
import threading
import weakref

import pytest

import augur

np = pytest.importorskip("numpy")

PROMPT = "Once upon a time"
PLANS = ["none", "ngram", "layerskip:exit=4,n-max=3", "layerskip,ngram:exit=4,policy=eagle2"]


def no_repeats(ids, row):
    row[ids[-1]] = -np.inf


def only_even(ids, row):
    changed = row.copy()
    changed[1::2] = -np.inf
    return changed


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.0, "seed": 5}], ids=["greedy", "sampled"])
def test_ids_are_those_of_plain_decoding_whatever_drafts(engine, sampling):
    options = {"max_tokens": 48, "logits_processors": [only_even, no_repeats], **sampling}
    results = [engine.generate(PROMPT, speculation=plan, **options) for plan in PLANS]
    assert len({result.ids for result in results}) == 1
    ids = results[0].ids
    assert all(token % 2 == 0 for token in ids)
    assert all(a != b for a, b in zip(ids, ids[1:]))
    assert ids != engine.generate(PROMPT, max_tokens=48, **sampling).ids
    assert any(result.speculation.accepted_tokens for result in results[1:])


def test_it_sees_the_text_and_the_models_logits(engine):
    seen = []
    prompt = engine.tokenize(PROMPT)
    result = engine.generate(prompt, max_tokens=4, speculation="none",
                             logits_processors=[lambda ids, row: seen.append((ids, row))])
    text = prompt + list(result.ids)
    assert [ids.tolist() for ids, _ in seen] == [text[:len(prompt) + n] for n in range(4)]
    assert all(not ids.flags.writeable and row.dtype == np.float32 for ids, row in seen)
    rows = np.stack([row for _, row in seen])  # its own, though the calls are over
    assert np.array_equal(rows, engine.logits(text)[len(prompt) - 1:-1])


def test_what_it_raises_fails_its_request_only(engine):
    error = KeyError("mine")

    def fail(ids, row):
        if len(ids) > 12:
            raise error

    requests = [(PROMPT, {"max_tokens": 24, "logits_processors": [fail] if n == 1 else []}) for n in range(3)]
    results = list(engine.generate_each(requests, errors="return"))
    assert results[1].error is error and results[1].finish_reason == "error" and results[1].ids
    wanted = engine.generate(PROMPT, max_tokens=24).ids
    assert results[0].ids == results[2].ids == wanted
    with pytest.raises(KeyError) as caught:
        engine.generate(PROMPT, **requests[1][1])
    assert caught.value is error
    stream = engine.stream(PROMPT, **requests[1][1])
    for _ in range(2):
        with pytest.raises(KeyError):
            list(stream)
    with pytest.raises(KeyError):
        stream.result()


@pytest.mark.parametrize("processor, kind", [
    (lambda ids, row: row[:-1], ValueError),
    (lambda ids, row: np.full_like(row, np.nan), augur.Error),
    (lambda ids, row: np.full_like(row, -np.inf), augur.Error),
    (lambda ids: None, TypeError),
])
def test_a_row_that_cannot_be(engine, processor, kind):
    with pytest.raises(kind):
        engine.generate(PROMPT, max_tokens=4, logits_processors=[processor])
    assert engine.generate(PROMPT, max_tokens=4).ids


def test_nothing_of_a_request_is_kept(engine):
    class Fails:
        def __call__(self, ids, row):
            self.kept = ids, row
            if len(ids) > 8:
                self.error = ValueError("mine")  # its traceback knows the request, which knows this
                raise self.error

    def failed():
        processor = Fails()
        with pytest.raises(ValueError, match="mine"):
            engine.generate(PROMPT, max_tokens=24, logits_processors=[processor])
        return weakref.ref(processor)

    gone = [failed() for _ in range(4)]
    engine.generate(PROMPT, max_tokens=2, logits_processors=[no_repeats])  # the engine's thread is done with the others
    gc.collect()
    assert [one() for one in gone] == [None] * 4


def test_an_engine_is_closed_or_collected_while_one_runs(stories):
    for close in (True, False):
        entered, go_on = threading.Event(), threading.Event()

        def wait(ids, row):
            entered.set()
            go_on.wait(10)

        engine = augur.Engine(stories)
        stream = engine.stream(PROMPT, logits_processors=[wait])
        assert entered.wait(10)
        threading.Timer(0.05, go_on.set).start()
        if close:
            engine.close()
            assert stream.result().finish_reason in ("cancelled", "length", "stop")
        del engine, stream  # ends with this


AT_EXIT = """
import sys, augur
engine = augur.Engine(sys.argv[1])
class Counts:
    def __call__(self, ids, row): row[0] = -float("inf")
streams = [engine.stream("Once", ignore_eos=True, temperature=1.0, logits_processors=[Counts()]) for _ in range(3)]
for _ in range(8): next(streams[0])
print("leaving", flush=True)
{end}
"""


@pytest.mark.parametrize("end, code", [("", 0), ("del streams", 0), ("del streams, engine", 0), ("sys.exit(3)", 3)])
def test_the_interpreter_ends_with_running_ones(run_python, stories, end, code):
    assert run_python(AT_EXIT.replace("{end}", end), stories) == (code, "leaving\n", "")
