"""Results as pictures, for notebooks: the tinted text, and the draft tree of a round, drawn as the chat page and the
laboratory's report draw them (web/tree.js)."""
from __future__ import annotations

import html
import json
import pathlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from augur.results import Node, Result, Round

_OURS = pathlib.Path(__file__).parent
_WEB = _OURS.parent / "web"


def _facts_of(result: Result) -> str:
    speculation, timings = result.speculation, result.timings
    facts = f"{len(result.ids)} tokens, {timings.tokens_per_second:.1f} tokens/s, ended by {result.finish_reason}"
    if speculation.type != "none":
        facts += (f"; {speculation.type}: {speculation.mean_accepted_length:.2f} tokens a call, "
                  f"{speculation.accepted_tokens} of {speculation.drafted_tokens} drafted tokens accepted")
    return facts


def _node_of(node: Node, proposers: list[str]) -> list[Any]:
    # As tree.js reads nodes: text, parent, probability, proposer (0: the model), 1 verified or 2 accepted.
    return [node.text, node.parent, node.probability, _index(node.proposer, proposers), 2 if node.accepted else 1]


def _index(proposer: str, proposers: list[str]) -> int:
    return proposers.index(proposer) + 1 if proposer else 0


def _round_of(made: Round, proposers: list[str]) -> dict[str, Any]:
    return {
        "nodes": [_node_of(node, proposers) for node in made.nodes],
        "next": made.next_text,
        "proposed": made.drafted,
        "verified": len(made.nodes),
        "accepted": sum(node.accepted for node in made.nodes[1:]),
        "ms": made.draft_ms + made.verify_ms + made.other_ms,
    }


def data_of(result: Result) -> dict[str, Any]:
    """What the page draws of a traced result."""
    tokens, rounds = result.tokens or (), result.rounds or ()
    named = [token.proposer for token in tokens] + [node.proposer for made in rounds for node in made.nodes]
    proposers = list(dict.fromkeys(name for name in named if name))
    return {
        "proposers": proposers,
        "tokens": [[token.text, _index(token.proposer, proposers), token.depth] for token in tokens],
        "rounds": [_round_of(made, proposers) for made in rounds],
        "facts": _facts_of(result),
    }


def page_of(result: Result) -> str:
    """HTML of a result. Without a trace: the text and its figures. With one: a frame of its own, since notebooks have
    styles and scripts of theirs."""
    if result.tokens is None:
        return (f'<pre style="white-space: pre-wrap">{html.escape(result.text)}</pre>'
                f"<small>{html.escape(_facts_of(result))}; <code>trace=True</code> shows who proposed what</small>")
    style = "".join(path.read_text() for path in (_WEB / "theme.css", _OURS / "result.css"))
    script = "".join(path.read_text() for path in (_WEB / "dom.js", _WEB / "tree.js", _OURS / "result.js"))
    data = json.dumps(data_of(result)).replace("<", "\\u003c")  # in strings only
    page = (f'<!doctype html><meta charset="utf-8"><style>{style}</style><div id="tip" hidden></div><main></main>'
            f'<script type="application/json" id="data">{data}</script><script>{script}</script>')
    return (f'<iframe title="a result of Augur" style="width: 100%; height: 480px; border: 0" sandbox="allow-scripts" '
            f'srcdoc="{html.escape(page)}"></iframe>')
