"""Traced results as pandas' frames."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from augur.results import Result, Round


def _rounds(result: Result) -> tuple[Round, ...]:
    if result.rounds is None:
        raise ValueError("the result has no rounds: it was generated without trace=True")
    return result.rounds


def rounds_frame(result: Result) -> pd.DataFrame:
    """See `Result.rounds_frame`."""
    import pandas as pd

    rows = [(len(one.nodes), max(_depths(one)), sum(node.accepted for node in one.nodes[1:]), one.drafted, one.next,
             one.next_text, one.batch_rows, one.draft_ms, one.verify_ms, one.other_ms) for one in _rounds(result)]
    columns = ["verified", "depth", "accepted", "drafted", "next", "next_text", "batch_rows", "draft_ms", "verify_ms",
               "other_ms"]
    return pd.DataFrame(rows, columns=columns).rename_axis("round")


def nodes_frame(result: Result) -> pd.DataFrame:
    """See `Result.nodes_frame`."""
    import pandas as pd

    rows = [(number, index, node.id, node.text, node.parent, depth, node.proposer, node.probability, node.accepted)
            for number, one in enumerate(_rounds(result))
            for index, (node, depth) in enumerate(zip(one.nodes, _depths(one), strict=True))]
    columns = ["round", "node", "id", "text", "parent", "depth", "proposer", "probability", "accepted"]
    return pd.DataFrame(rows, columns=columns).set_index(["round", "node"])


def _depths(one: Round) -> list[int]:
    depths: list[int] = []
    for node in one.nodes:
        depths.append(0 if node.parent < 0 else depths[node.parent] + 1)
    return depths
