"""Frames of traced results."""
import pytest

pytest.importorskip("pandas")


def test_rounds_and_nodes(engine):
    result = engine.generate("Once upon a time", max_tokens=48, speculation="layerskip:exit=4,n-max=3", trace=True)
    rounds, nodes = result.rounds_frame(), result.nodes_frame()
    assert len(rounds) == result.speculation.calls
    assert rounds["accepted"].sum() == result.speculation.accepted_tokens > 0
    assert rounds["next"].tolist() == [one.next for one in result.rounds]
    assert len(nodes) == rounds["verified"].sum()
    assert (nodes.groupby("round")["depth"].max() == rounds["depth"]).all()
    assert nodes.loc[(0, 0), "parent"] == -1
    assert set(nodes["proposer"]) == {"", "layerskip"}


def test_without_a_trace(engine):
    with pytest.raises(ValueError, match="trace=True"):
        engine.generate("Once", max_tokens=2).rounds_frame()
