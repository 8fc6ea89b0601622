"""A stream of server-sent events that goes on where it stopped when the request is repeated elsewhere.

A repeated request has the same ids, so it has the same events, but for what a server draws or measures: names of
answers, times, counts of what was cached. The events that were delivered are skipped; the ones after them are
delivered with the names that the first answer had.
"""
from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

# What differs between two answers to one request: names, and what is measured.
_NAMES = frozenset({"id", "item_id", "call_id", "tool_use_id", "created", "created_at"})
_MEASURED = frozenset({"timings", "usage", "speculation", "completed_at", "__verbose", "id_slot", "tokens_cached"})


class Diverged(Exception):
    """A repeated request has other events than the ones that were delivered."""


class ResumedEvents:
    """The events of one answer, over any number of attempts. `begin` each attempt, `read` its bytes."""

    def __init__(self) -> None:
        self._delivered: dict[int, list[bytes]] = defaultdict(list)  # of each choice

    def begin(self) -> None:
        """A new attempt: what came of a last event that was cut is forgotten."""
        self._tail = b""
        self._seen: dict[int, int] = defaultdict(int)
        self._names: dict[bytes, bytes] = {}

    def read(self, data: bytes) -> Iterator[bytes]:
        """The events within the bytes that were not delivered yet."""
        *events, self._tail = (self._tail + data).split(b"\n\n")
        for event in events:
            if (fresh := self._take(event + b"\n\n")) is not None:
                yield fresh

    def _take(self, event: bytes) -> bytes | None:
        content = _content_of(event)
        choice = _choice_of(content)
        delivered = self._delivered[choice]
        behind = self._seen[choice] < len(delivered)
        if _is_of_a_step(content):
            return None if behind else self._renamed(event)
        self._seen[choice] += 1
        if behind:
            self._learn(_content_of(delivered[self._seen[choice] - 1]), content)
            return None
        event = self._renamed(event)
        delivered.append(event)
        return event

    def _renamed(self, event: bytes) -> bytes:
        for new, old in self._names.items():
            event = event.replace(new, old)
        return event

    def _learn(self, old: Any, new: Any, key: str = "") -> None:
        """Which names of the first answer stand for those of this one."""
        if isinstance(old, dict) and isinstance(new, dict):
            for name in (old.keys() | new.keys()) - _MEASURED:
                if name not in old or name not in new:
                    raise Diverged(f"{name!r} is in only one of {old} and {new}")
                self._learn(old[name], new[name], name)
        elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            for one, other in zip(old, new, strict=True):
                self._learn(one, other, key)
        elif old != new:
            if key not in _NAMES or type(old) is not type(new):
                raise Diverged(f"{key!r} was {old!r} and is {new!r}")
            before, after = json.dumps(new).encode(), json.dumps(old).encode()
            if isinstance(old, str):
                self._names[before] = after
            else:
                self._names[b'"%s":%s,' % (key.encode(), before)] = b'"%s":%s,' % (key.encode(), after)


def _content_of(event: bytes) -> Any:
    """What the event says: JSON, or bytes where it is none."""
    found = re.search(rb"^data: (.*)$", event, re.MULTILINE)
    try:
        return json.loads(found.group(1)) if found else event
    except ValueError:
        return event


def _choice_of(content: Any) -> int:
    """Choices of one request come in an order of their own; -1: what concerns all of them."""
    if isinstance(content, dict):
        if content.get("choices"):
            return int(content["choices"][0].get("index", 0))
        if "choices" not in content:
            return int(content["index"]) if "content" in content and "index" in content else 0
    return -1


def _is_of_a_step(content: Any) -> bool:
    """Whether the event tells of a step of the engine, of which another run may have more or fewer."""
    if not isinstance(content, dict):
        return False
    rounds = (choice.get("speculation") or {} for choice in content.get("choices") or ())
    return "prompt_progress" in content or any("round" in one and "token" not in one for one in rounds)
