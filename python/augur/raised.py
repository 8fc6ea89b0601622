"""Exceptions of users' own code on their way through the engine, which knows texts only: a number in the error's text
stands for the exception."""
from __future__ import annotations

import itertools
import re
import threading

_MOST = 64  # of requests that nobody asks for their results
_NUMBERED = re.compile(r"Python's exception (\d+): ")

_kept: dict[int, BaseException] = {}
_lock = threading.Lock()
_numbers = itertools.count(1)


def keep(error: BaseException) -> int:
    """Keeps an exception until it is taken, or until many more have come."""
    with _lock:
        number = next(_numbers)
        _kept[number] = error
        while len(_kept) > _MOST:
            del _kept[next(iter(_kept))]
        return number


def take(number: int, text: str) -> BaseException:
    """The exception of that number, once."""
    with _lock:
        return _kept.pop(number, None) or RuntimeError(text)


def exception_in(text: str) -> BaseException | None:
    """The exception that an error's text stands for, if it does."""
    found = _NUMBERED.search(text)
    return None if found is None else take(int(found[1]), text)
