"""Drafters that are written in Python (docs/own_code.md): `Engine(drafters={"mine": Mine})`, "@mine" in plans."""
from __future__ import annotations

import array
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from augur import _core


@dataclass(frozen=True, slots=True)
class DrafterTraits:
    """What policies may count on about a drafter.

    Attributes
    ----------
    one_shot : bool
        Asked for the root, it adds whole branches; there are no further levels.
    branching : bool
        What it then adds can be a tree rather than one branch.
    has_probabilities : bool
        Its log-probabilities are a model's; only for drafters that leave all proposals to a built-in one.
    has_confidence : bool
        It foretells acceptance apart from its probabilities; likewise.
    learns : bool
        What it knows grows with the text.
    learns_across_sequences : bool
        Texts leave something behind that later ones are drafted from.
    max_depth : int
        Levels that it can draft at all.
    """

    one_shot: bool = False
    branching: bool = False
    has_probabilities: bool = False
    has_confidence: bool = False
    learns: bool = False
    learns_across_sequences: bool = False
    max_depth: int = 2**31 - 1

    @property
    def one_branch(self) -> bool:
        """It knows one branch at a time, so that all it can draft is a chain."""
        return self.one_shot and not self.branching


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """What a drafter is asked for. It owns what it has.

    Attributes
    ----------
    text : array of int
        Prompt and generated tokens; the last one is the root.
    tokens, parents, depths : tuple of int
        The drafter's own tree of this round. Node 0 is the root; a parent, -1 for the root, precedes its children.
    frontier : tuple of int
        The nodes to continue: the root alone, or nodes that the drafter has proposed in this round.
    most_children : int
        Of one node.
    most_nodes : int
        Proposals of this call.
    """

    text: array.array[int]
    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    depths: tuple[int, ...]
    frontier: tuple[int, ...]
    most_children: int
    most_nodes: int


class Proposal(NamedTuple):
    """A token that may come next; a plain tuple of the three does as well.

    Attributes
    ----------
    parent : int
        A node of the frontier. A one-shot drafter may also continue its own proposal number i of the same call:
        ``len(request.tokens) + i``.
    token : int
    log_prob : float
        Logarithm of the probability that the token is right if its parent is: finite, at most 0.
    """

    parent: int
    token: int
    log_prob: float


class BuiltInDrafter:
    """One of the engine's own drafters, which works for a `Drafter`: it follows the text by itself."""

    def __init__(self, core: _core.BuiltInDrafter) -> None:
        self._core = core

    @property
    def traits(self) -> DrafterTraits:
        return traits_of(self._core.traits())

    def draft(self, nodes: Sequence[int]) -> None:
        """Drafts for these nodes of the frontier, in place of proposals for them. At most once in a `propose`.

        Raises
        ------
        MisuseError
            Elsewhere.
        """
        self._core.draft(list(nodes))


class DrafterSetup:
    """What a drafter is made for.

    Attributes
    ----------
    context : int
        Most tokens of the text, drafted ones included.
    vocab : int
        Ids are below this.
    settings : dict of str to str
        ``drafter=@NAME.KEY=VALUE`` of the plan, by KEY.
    """

    def __init__(self, context: int, vocab: int, settings: Mapping[str, str],
                 make_built_in: Callable[[str], _core.BuiltInDrafter]) -> None:
        self.context = context
        self.vocab = vocab
        self.settings = dict(settings)
        self._make_built_in = make_built_in

    def built_in(self, name: str) -> BuiltInDrafter:
        """Makes one of `Engine.drafters`, at most one, while the drafter is made.

        Raises
        ------
        Error
            There is no such drafter, or the setup is no longer valid.
        """
        return BuiltInDrafter(self._make_built_in(name))


class Drafter(ABC):
    """A drafter of one text. It cannot change the text, only the speed; what it raises ends its request and no other.

    The engine's thread calls it, one call at a time, and every request of the batch waits for it. Per round: `propose`,
    level by level, as often as the policy asks; then `accepted`.

    Parameters
    ----------
    setup : DrafterSetup
    """

    def __init__(self, setup: DrafterSetup) -> None:
        """Drafters need nothing of the setup."""

    @property
    def traits(self) -> DrafterTraits:
        """Asked once, after it has been made. With a built-in drafter, `one_shot` is that one's."""
        return DrafterTraits()

    def reset(self) -> None:
        """The text begins, or it is told again from its start."""

    def accepted(self, tokens: tuple[int, ...], drafted: int) -> None:
        """The next tokens of the text: of the prompt (`drafted` is 0), or of a round, whose first `drafted` were
        drafted, by whichever drafter."""

    @abstractmethod
    def propose(self, request: DraftRequest) -> Iterable[tuple[int, int, float]]:
        """What may come next; nothing is fine, and ends the round's drafting."""

    @classmethod
    def forget(cls) -> None:
        """Called by `Engine.forget`."""


def traits_of(given: _core.DrafterTraits) -> DrafterTraits:
    return DrafterTraits(**{name: getattr(given, name) for name in DrafterTraits.__slots__})


class _Calls:
    """A drafter as the engine calls it, in plain values."""

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter
        self.reset = drafter.reset
        self.accepted = drafter.accepted

    def traits(self) -> _core.DrafterTraits:
        given, made = self._drafter.traits, _core.DrafterTraits()
        for name in DrafterTraits.__slots__:
            setattr(made, name, getattr(given, name))
        return made

    def propose(self, lent_text: memoryview, tokens: tuple[int, ...], parents: tuple[int, ...], depths: tuple[int, ...],
                frontier: tuple[int, ...], most_children: int, most_nodes: int) -> list[tuple[int, int, float]]:
        text = array.array("i", bytes(lent_text))
        request = DraftRequest(text, tokens, parents, depths, frontier, most_children, most_nodes)
        return [(int(parent), int(token), float(log_prob))
                for parent, token, log_prob in self._drafter.propose(request)]


def register(options: _core.EngineOptions, name: str, drafter: Callable[[DrafterSetup], Drafter]) -> None:
    """Makes a class, or what makes drafters, known as "@NAME"."""

    def make(context: int, vocab: int, settings: dict[str, str],
             built_in: Callable[[str], _core.BuiltInDrafter]) -> _Calls:
        return _Calls(drafter(DrafterSetup(context, vocab, settings, built_in)))

    options.add_drafter(name, make, forget=getattr(drafter, "forget", None))
