"""How far the loading of a model is."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[str, float], object]


class _PlainBar:
    """A line on stderr that is written over."""

    def __init__(self) -> None:
        self._percent = -1

    def report(self, what: str, fraction: float) -> None:
        if (percent := int(100 * fraction)) != self._percent:
            self._percent = percent
            sys.stderr.write(f"\raugur: {percent:3d}% {what[:60]:<60}")
            sys.stderr.flush()

    def close(self) -> None:
        if self._percent >= 0:
            sys.stderr.write("\n")


class _TqdmBar:
    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(total=1.0, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}")

    def report(self, what: str, fraction: float) -> None:
        self._bar.set_description_str(what, refresh=False)
        self._bar.n = fraction
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


def _bar() -> _PlainBar | _TqdmBar:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _PlainBar()
    return _TqdmBar(tqdm)


@contextmanager
def progress_bar(wanted: bool | Report) -> Iterator[Report | None]:
    """What the engine reports to while it loads: nothing, a bar (tqdm's where it is installed), or the caller's own."""
    if not isinstance(wanted, bool):
        yield wanted
    elif not wanted:
        yield None
    else:
        bar = _bar()
        try:
            yield bar.report
        finally:
            bar.close()
