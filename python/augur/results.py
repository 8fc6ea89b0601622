"""What the engine gives: frozen dataclasses of plain values, which pickle and outlive the engine."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from augur import _core
from augur.errors import TimeIsOverError, error_of
from augur.raised import exception_in

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

FinishReason = Literal["stop", "length", "cancelled", "error"]

# Names of the engine's for options that have others here.
_FIELDS = {"speculative": "speculation"}


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """The log-probability of a token at its place, in nats.

    Attributes
    ----------
    logprob : float
    top : tuple of (int, float)
        The most probable tokens there with their log-probabilities, falling.
    """

    logprob: float
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A generated token.

    Attributes
    ----------
    text : str
        The text that is certain with this token: perhaps of several tokens, or none (an incomplete character, the
        possible beginning of a stop string).
    id : int or None
        None: only text that was held back until the end.
    proposer : str
        The drafter that proposed it; empty: the model's own draw.
    depth : int
        Its depth in the drafted tree, from 1; 0: the model's own draw.
    logprobs : TokenLogprobs or None
        Where the request asks for them.
    """

    text: str
    id: int | None
    proposer: str = ""
    depth: int = 0
    logprobs: TokenLogprobs | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a drafted tree.

    Attributes
    ----------
    id : int
    text : str
    parent : int
        Index of an earlier node; -1: this is the root, the newest token of the text.
    proposer : str
        The drafter that was the first to propose it; empty: the root.
    probability : float
        Given its parent, by that drafter.
    accepted : bool
    """

    id: int
    text: str
    parent: int
    proposer: str
    probability: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class Round:
    """One step of a request: the tree that was verified, and what came of it.

    Attributes
    ----------
    nodes : tuple of Node
        As verified; the root is the first.
    next : int
        The model's own token after the accepted ones.
    next_text : str
    drafted : int
        Tokens that were proposed, before pruning.
    batch_rows : int
        Rows of the verifying forward pass, of all requests and prompts.
    draft_ms, verify_ms, other_ms : float
        This request's share of the step's time.
    """

    nodes: tuple[Node, ...]
    next: int
    next_text: str
    drafted: int
    batch_rows: int
    draft_ms: float
    verify_ms: float
    other_ms: float


@dataclass(frozen=True, slots=True)
class Speculation:
    """What speculation did for a result. Plain decoding has the type "none", one token a call, and no drafts.

    Attributes
    ----------
    type : str
        Drafter types, joined by commas.
    calls : int
        Forward passes of the model after the prompt.
    verified_tokens, drafted_tokens, accepted_tokens : int
        Rows of these passes, tokens that drafters proposed, and those that became part of the result.
    mean_accepted_length : float
        Tokens a call, the model's own included.
    accepted_per_position : tuple of int
        At [d]: rounds whose draft was accepted at depth d + 1.
    draft_ms, verify_ms, other_ms : float
    """

    type: str
    calls: int
    verified_tokens: int
    drafted_tokens: int
    accepted_tokens: int
    mean_accepted_length: float
    accepted_per_position: tuple[int, ...]
    draft_ms: float
    verify_ms: float
    other_ms: float


@dataclass(frozen=True, slots=True)
class Timings:
    """Times of a result: of the prompt, of all tokens after it, and the rate of these."""

    prompt_ms: float
    decode_ms: float
    tokens_per_second: float


@dataclass(frozen=True, slots=True)
class Result:
    """What a request has come to.

    Attributes
    ----------
    text : str
    ids : tuple of int
        Generated tokens, one that ends the text included.
    finish_reason : {"stop", "length", "cancelled", "error"}
    stop_string : str or None
        The one of `stop` that ended the text.
    prompt_tokens : int
    cached_tokens : int
        Of the prompt's tokens, those that were known from earlier texts and not read again.
    speculation : Speculation
    timings : Timings
    logprobs : tuple of TokenLogprobs or None
        Of `ids`, where the request asks for them.
    prompt_logprobs : tuple of TokenLogprobs or None
        The same from the prompt's second token on.
    warnings : tuple of str
        Parts of the request's schema or grammar that have no effect although they may be meant to.
    error : Exception or None
        Why `finish_reason` is "error": an `Error`, or what the request's own code raised. The tokens that were
        generated before are in the result.
    tokens : tuple of Token or None
        With ``trace=True``: the tokens with their proposers.
    rounds : tuple of Round or None
        With ``trace=True``: every step's tree.
    """

    text: str
    ids: tuple[int, ...]
    finish_reason: FinishReason
    stop_string: str | None
    prompt_tokens: int
    cached_tokens: int
    speculation: Speculation
    timings: Timings
    logprobs: tuple[TokenLogprobs, ...] | None = None
    prompt_logprobs: tuple[TokenLogprobs, ...] | None = None
    warnings: tuple[str, ...] = ()
    error: BaseException | None = None
    tokens: tuple[Token, ...] | None = None
    rounds: tuple[Round, ...] | None = None

    def __str__(self) -> str:
        return self.text

    def rounds_frame(self) -> pd.DataFrame:
        """A frame of the rounds of a result with ``trace=True``, by their numbers: `verified` rows, the tree's `depth`,
        `accepted` nodes without the root, `drafted`, `next`, `next_text`, `batch_rows`, and the times. Needs pandas.

        Raises
        ------
        ValueError
            The result has no trace.
        """
        from augur.frames import rounds_frame

        return rounds_frame(self)

    def nodes_frame(self) -> pd.DataFrame:
        """A frame of all nodes of all rounds, by round and node: `id`, `text`, `parent`, `depth`, `proposer`,
        `probability`, `accepted`. Needs pandas.

        Raises
        ------
        ValueError
            The result has no trace.
        """
        from augur.frames import nodes_frame

        return nodes_frame(self)

    def _repr_html_(self) -> str:
        """The text in a notebook: with ``trace=True`` tinted by who proposed what, and a tree for each round."""
        from augur.display import page_of

        return page_of(self)


@dataclass(frozen=True, slots=True, eq=False)
class TextScore:
    """How probable a text is to the model.

    Attributes
    ----------
    logprobs : array of float32, [scored tokens]
        Of each token after those before it, in nats.
    sum : float
        Of these, in double precision.
    greedy : bool
        Whether each of these tokens has the largest logit at its place.
    """

    logprobs: NDArray[np.float32]
    sum: float
    greedy: bool


def logprobs_of(given: _core.TokenLogprobs) -> TokenLogprobs:
    return TokenLogprobs(given.logprob, tuple((one.token, one.logprob) for one in given.top))


def token_of(piece: _core.Piece) -> Token:
    logprobs = piece.logprobs
    token = piece.token
    return Token(piece.text, None if token < 0 else token, piece.proposer, piece.depth,
                 None if logprobs is None else logprobs_of(logprobs))


def error_in(given: _core.Result) -> BaseException | None:
    """What a result ended with: an error of the engine's, or what the request's own code raised, as it was. That is
    given once."""
    if given.finish_reason != "error":
        return None
    if given.expired:
        return TimeIsOverError(given.error)
    if (raised := exception_in(given.error)) is not None:
        return raised
    kind = _core.ErrorKind.INTERNAL if given.error_kind is None else given.error_kind
    return error_of(kind, given.error, _FIELDS.get(given.refused_field, given.refused_field))


def _round_of(given: _core.Round, engine: _core.SharedEngine) -> Round:
    def text(token: int) -> str:
        return engine.token_bytes(token).decode(errors="replace") if token >= 0 else ""

    nodes = tuple(Node(node.token, text(node.token), node.parent, node.proposer, node.probability, node.accepted)
                  for node in given.nodes)
    return Round(nodes, given.next, text(given.next), given.drafted, given.batch_rows, given.draft_ms, given.verify_ms,
                 given.other_ms)


def result_of(generation: _core.Generation, engine: _core.SharedEngine, tokens: tuple[Token, ...] | None = None,
              *, asked_logprobs: bool = False) -> Result:
    """The result of a generation that has ended. `tokens`: those of one that is traced."""
    given = generation.result()
    s = given.speculation
    prompt_logprobs = given.prompt_logprobs
    return Result(
        text=given.text,
        ids=tuple(given.tokens),
        finish_reason=given.finish_reason,  # type: ignore[arg-type]  # one of the engine's words
        stop_string=given.stop_string or None,
        prompt_tokens=given.prompt_tokens,
        cached_tokens=given.cached_tokens,
        speculation=Speculation(
            s.type, s.calls, s.verified_tokens, s.drafted_tokens, s.accepted_tokens, s.mean_accepted_length,
            tuple(s.accepted_per_position), s.draft_ms, s.verify_ms, s.other_ms),
        timings=Timings(given.prompt_ms, given.decode_ms, given.tokens_per_second),
        logprobs=tuple(map(logprobs_of, given.logprobs)) if asked_logprobs else None,
        prompt_logprobs=tuple(map(logprobs_of, prompt_logprobs)) if prompt_logprobs else None,
        warnings=tuple(given.warnings),
        error=error_in(given),
        tokens=tokens,
        rounds=None if tokens is None else tuple(_round_of(one, engine) for one in generation.rounds()),
    )
