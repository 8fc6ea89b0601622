"""Errors have a class, a kind and a field, and pickle."""
import pickle

import pytest

import augur


def test_a_model_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="/no/such") as caught:
        augur.Engine("/no/such/model.gguf")
    assert isinstance(caught.value, augur.NotFoundError)
    assert caught.value.kind is augur.ErrorKind.NOT_FOUND


def test_a_file_that_is_no_model(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(augur.Error) as caught:
        augur.Engine(tmp_path / "model.gguf")
    assert caught.value.kind in (augur.ErrorKind.MALFORMED, augur.ErrorKind.UNSUPPORTED)


@pytest.mark.parametrize("options, field", [
    ({"temperature": -1.0}, "temperature"),
    ({"speculation": "bogus"}, "speculation"),
    ({"top_p": 3.0}, "top_p"),
])
def test_a_refused_field_is_named(engine, options, field):
    for ask in (engine.generate, lambda *a, **o: list(engine.stream(*a, **o))):
        with pytest.raises(ValueError) as caught:
            ask("Once", max_tokens=2, **options)
        assert caught.value.kind is augur.ErrorKind.REFUSED_FIELD
        assert caught.value.field == field


@pytest.mark.parametrize("settings, field", [({"weights": "f99"}, "weights"), ({"spec": "ngram:what=1"}, "spec")])
def test_a_refused_option_is_named(stories, settings, field):
    with pytest.raises(augur.RefusedFieldError) as caught:
        augur.Engine(stories, **settings)
    assert caught.value.field == field


def test_a_grammar_that_is_none(engine):
    with pytest.raises(augur.Error) as caught:
        engine.generate("Once", grammar=augur.Grammar("regex", "("), max_tokens=4)
    assert caught.value.field == "grammar"


def test_a_prompt_that_is_too_long(engine):
    with pytest.raises(augur.ContextFullError):
        engine.generate([5] * (engine.info.context + 1))


@pytest.mark.parametrize("call", [
    lambda engine: engine.generate("Once", max_token=4),
    lambda engine: engine.stream("Once", no_such=None),
    lambda engine: engine.generate("Once", schema=3),
    lambda engine: augur.Engine("model", no_such=1),
])
def test_an_option_that_there_is_not(engine, call):
    with pytest.raises(TypeError):
        call(engine)


def test_a_time_that_is_over(engine):
    with pytest.raises(TimeoutError) as caught:
        engine.generate("Once", timeout=1e-9)
    assert caught.value.kind is augur.ErrorKind.CANCELLED


def test_one_of_many_fails_alone_where_that_is_asked(engine):
    requests = [("Once", {"max_tokens": 4}), ("Once", {"temperature": -1.0}), ("Once", {"max_tokens": 4})]
    first, second, third = engine.generate_each(requests, errors="return")
    assert first.ids == third.ids and first.error is None
    assert second.finish_reason == "error" and second.error.field == "temperature"
    with pytest.raises(augur.RefusedFieldError):
        list(engine.generate_each(requests))


def test_a_full_queue(stories):
    with augur.Engine(stories, parallel=1, queue=1) as engine:
        streams = []
        with pytest.raises(augur.QueueFullError):
            for _ in range(50):
                streams.append(engine.stream("Once", ignore_eos=True))
        assert len(streams) >= 1


def test_a_batch_waits_for_room_in_the_queue(stories):
    with augur.Engine(stories, parallel=2, queue=2) as engine:
        assert len(engine.generate(["Once"] * 40, max_tokens=4)) == 40


def test_a_closed_engine(stories):
    engine = augur.Engine(stories)
    stream = engine.stream("Once", ignore_eos=True)
    next(stream)
    engine.close()
    engine.close()
    assert engine.closed and "closed" in repr(engine)
    list(stream)
    for call in (lambda: engine.generate("Once"), lambda: engine.tokenize("Once"), lambda: engine.info, engine.costs):
        with pytest.raises(augur.MisuseError, match="closed"):
            call()


def test_costs_beside_requests_are_misuse(engine):
    with engine.stream("Once", ignore_eos=True) as stream:
        next(stream)
        with pytest.raises(augur.MisuseError):
            engine.costs()


@pytest.mark.parametrize("made", [
    augur.NotFoundError("no file", "model"), augur.TimeIsOverError("late"), augur.OutOfMemoryError("full", None),
    augur.RefusedFieldError("no", "top_p")])
def test_they_pickle(made):
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is type(made)
    assert (str(again), again.kind, again.field) == (str(made), made.kind, made.field)


def test_a_kind_that_is_not_known_is_internal():
    from augur.errors import error_of
    assert type(error_of(99, "of a later version", "")) is augur.InternalError


def test_an_engine_does_not_pickle(engine):
    with pytest.raises(TypeError, match="does not pickle"):
        pickle.dumps(engine)


def test_warnings_are_logged(engine, caplog):
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": "no-such-format"}}}
    result = engine.generate("Once", schema=schema, max_tokens=4)
    assert result.warnings
    assert set(result.warnings) <= {record.getMessage() for record in caplog.records if record.name == "augur"}
