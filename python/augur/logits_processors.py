"""Logits processors as the engine calls them: from its own thread, with memory that is lent for the call."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LogitsProcessor = Callable[["NDArray[np.int32]", "NDArray[np.float32]"], Union["NDArray[np.float32]", None]]
"""Gets the tokens of a place, [tokens] and read-only, and its logits, [vocab]; changes these in place or returns
others, where -infinity forbids a token. A pure function: it is asked about places of drafted tokens, too."""


def processor_calls(function: LogitsProcessor) -> Callable[[memoryview, memoryview], None]:
    """What calls a processor with copies, so that it may keep its arrays."""
    import numpy as np

    def call(lent_ids: memoryview, lent_row: memoryview) -> None:
        ids = np.frombuffer(lent_ids, np.int32).copy()
        ids.flags.writeable = False
        row = np.frombuffer(lent_row, np.float32).copy()
        returned = function(ids, row)
        changed = row if returned is None else np.asarray(returned, np.float32)
        if changed.shape != row.shape:
            raise ValueError(f"a logits processor returned an array of shape {changed.shape}, not {row.shape}")
        lent_row[:] = memoryview(np.ascontiguousarray(changed)).cast("B")

    return call
