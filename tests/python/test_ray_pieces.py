"""What the Ray deployment is made of, without a cluster: streams that go on, pages of prompts."""
import json

import pytest

pytest.importorskip("ray.serve")

from augur.ray.pages import MOST, PAGE, pages_of  # noqa: E402
from augur.ray.resumed import Diverged, ResumedEvents  # noqa: E402


CREATED = {"one": 1, "two": 22, "three": 333}


def event(identity, text, index=0, **extra):
    content = {"id": identity, "created": CREATED[identity], "choices": [{"index": index, "text": text}], **extra}
    return b"data: " + json.dumps(content, separators=(",", ":")).encode() + b"\n\n"


def answer(identity):
    return [event(identity, text) for text in "abcdef"] + [b"data: [DONE]\n\n"]


@pytest.mark.parametrize("cut", range(0, len(b"".join(answer("one"))), 23))
def test_a_stream_goes_on_where_it_was_cut_with_the_first_names(cut):
    first, second, third = (b"".join(answer(identity)) for identity in CREATED)
    further = cut + 40
    events = ResumedEvents()
    events.begin()
    got = list(events.read(first[:cut // 2])) + list(events.read(first[cut // 2:cut]))
    events.begin()
    got += events.read(second[:further])
    events.begin()
    for begin in range(0, len(third), 31):
        got += events.read(third[begin:begin + 31])
    begun = [identity for identity, bytes_read in (("one", cut), ("two", further)) if
             bytes_read >= len(answer(identity)[0])]
    assert got == answer([*begun, "three"][0])


def test_choices_may_come_in_another_order():
    events = ResumedEvents()
    events.begin()
    got = list(events.read(event("one", "a", 0) + event("one", "x", 1) + event("one", "b", 0)))
    events.begin()
    got += events.read(event("two", "x", 1) + event("two", "y", 1) + event("two", "a", 0) + event("two", "b", 0) +
                       event("two", "c", 0))
    choices = [json.loads(one[6:])["choices"][0] for one in got]
    assert ["".join(one["text"] for one in choices if one["index"] == index) for index in (0, 1)] == ["abc", "xy"]
    assert all(json.loads(one[6:])["id"] == "one" for one in got)


def test_steps_of_the_engine_are_not_counted():
    def step(identity):
        content = {"id": identity, "created": CREATED[identity], "choices": [{"index": 0, "speculation": {"round": {}}, "text": ""}]}
        return b"data: " + json.dumps(content, separators=(",", ":")).encode() + b"\n\n"

    events = ResumedEvents()
    events.begin()
    got = list(events.read(event("one", "1") + step("one") + event("one", "2")))
    events.begin()
    got += events.read(event("two", "1") + event("two", "2") + step("two") + event("two", "3"))
    texts = [json.loads(one[6:])["choices"][0]["text"] for one in got]
    assert texts == ["1", "", "2", "", "3"]


@pytest.mark.parametrize("other", [event("two", "z"), event("two", "a", extra=1), b"data: [1]\n\n"])
def test_another_text_is_never_delivered(other):
    events = ResumedEvents()
    events.begin()
    list(events.read(event("one", "a")))
    events.begin()
    if other == b"data: [1]\n\n":  # of no choice, so nothing to compare with
        assert list(events.read(other)) == [other]
        return
    with pytest.raises(Diverged):
        list(events.read(other))


def test_prompts_share_the_hashes_of_the_pages_that_they_share():
    long = "word " * 400
    one, other = pages_of({"prompt": long + "one"}), pages_of({"prompt": long[:1000] + "X" + long[1000:]})
    shared = sum(a == b for a, b in zip(one, other, strict=False))
    assert shared == 1000 // PAGE and one[shared] != other[shared]
    assert pages_of({"messages": [{"role": "user", "content": long}], "system": "a"}) != pages_of(
        {"messages": [{"role": "user", "content": long}], "system": "b"})
    assert pages_of({"prompt": "short"}) == () == pages_of({"tokens": [1]})
    assert len(pages_of({"prompt": long * 100})) == MOST
