"""Policies that are written in Python (docs/own_code.md): `Engine(policies={"mine": Mine})`, "policy=@mine" in
plans."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from augur import _core
from augur.drafters import DrafterTraits, traits_of


@dataclass(frozen=True, slots=True)
class PolicySetup:
    """What a policy is made for.

    Attributes
    ----------
    drafter : str
        As in plans; "grammar" beside them for a request with a schema or a grammar.
    traits : DrafterTraits
    settings : dict of str to str
        What the plan has behind ``policy=@NAME:``.
    """

    drafter: str
    traits: DrafterTraits
    settings: dict[str, str]


@dataclass(frozen=True, slots=True)
class DraftedTree:
    """A drafted tree, by node. It owns what it has.

    Attributes
    ----------
    tokens, parents, depths : tuple of int
        Node 0 is the root, the newest token of the text; a parent, -1 for the root, precedes its children.
    log_probs : tuple of float
        Of a node if its parent is right, by its drafter.
    scores : tuple of float
        Sum of these along the path.
    proposers : tuple of int
        0: the root; i: the request's i-th drafter, which was the first.
    entropies : tuple of float
        In nats, of the distributions that nodes' children were taken from; NaN where unknown. With
        `Policy.wants_entropies`.
    drawn : bool
        Tokens were drawn (rejection sampling): `Policy.keep` must not choose by which they are.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    depths: tuple[int, ...]
    log_probs: tuple[float, ...]
    scores: tuple[float, ...]
    proposers: tuple[int, ...]
    entropies: tuple[float, ...]
    drawn: bool

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, slots=True)
class PolicyRound:
    """The circumstances of a round.

    Attributes
    ----------
    context : int
        Tokens of the text before the root.
    room : int
        Most nodes besides the root that can be verified.
    max_depth : int
        Deeper nodes are dropped.
    levels : int
        That are useful and that the drafter can draft.
    drafter : DrafterTraits
    behind : int
        Rows that the drafter's first level runs.
    tpot_ms, late_ms : float
        The request's promise, and how late its newest token is.
    costs : RoundCosts
        ``verify_ms(rows)``, ``draft_ms(level, rows)``, ``other_ms()``: prices until the round is over, then
        MisuseError.
    """

    context: int
    room: int
    max_depth: int
    levels: int
    drafter: DrafterTraits
    behind: int
    tpot_ms: float
    late_ms: float
    costs: _core.RoundCosts


@dataclass(frozen=True, slots=True)
class VerifiedRound:
    """What came of a round.

    Attributes
    ----------
    tree : DraftedTree
        As verified: the trees of all drafters, merged.
    accepted : tuple of int
        Nodes, the root first.
    next : int
        The model's own token after them.
    drafted : int
        Tokens that were proposed, before pruning.
    batch_rows : int
        Rows of the verifying forward pass, of all requests and prompts.
    draft_ms, verify_ms, other_ms : float
        This request's share of the step's time.
    """

    tree: DraftedTree
    accepted: tuple[int, ...]
    next: int
    drafted: int
    batch_rows: int
    draft_ms: float
    verify_ms: float
    other_ms: float


class Policy(ABC):
    """Shapes the trees of one drafter of one text. It cannot change the text, only the speed; what it raises ends its
    request and no other.

    The engine's thread calls it, one call at a time, and every request of the batch waits for it. Per round: `begin`;
    `grow` until it names no nodes; `keep`; then `observe`.

    Parameters
    ----------
    setup : PolicySetup
        Refuse a drafter or a setting by raising.

    Attributes
    ----------
    most_nodes : int
        Most nodes besides the root that `keep` leaves.
    most_expanded : int
        Most nodes of a tree that `grow` names.
    needs_costs : bool
        Prices are measured before it starts; otherwise they are guesses.
    wants_entropies : bool
        `DraftedTree.entropies` are computed.
    branches : bool
        A one-shot drafter may add more than one branch.
    """

    most_nodes: ClassVar[int] = 63
    most_expanded: ClassVar[int] = 64
    needs_costs: ClassVar[bool] = False
    wants_entropies: bool = False
    branches: bool = True

    def __init__(self, setup: PolicySetup) -> None:
        """Policies need nothing of the setup."""

    @abstractmethod
    def begin(self, round: PolicyRound) -> None:
        """A round begins."""

    @abstractmethod
    def grow(self, tree: DraftedTree) -> tuple[Iterable[int], int]:
        """The nodes that are to get children, none twice in a round, and the most children of each.

        First the root, or no nodes, which ends drafting. Of a one-shot drafter, which is asked once, the number is the
        most tokens.
        """

    def keep(self, tree: DraftedTree) -> Iterable[int] | None:
        """The nodes to verify, with each its parent; None: all."""
        return None

    def observe(self, round: VerifiedRound) -> None:
        """A round has been verified."""

    def abandoned(self) -> None:
        """In place of `observe`: the step failed and is made again."""


class _Calls:
    """A policy as the engine calls it, in plain values."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.wants_entropies = bool(policy.wants_entropies)
        self.branches = bool(policy.branches)
        self.abandoned = policy.abandoned

    def begin(self, context: int, room: int, max_depth: int, levels: int, drafter: _core.DrafterTraits, behind: int,
              tpot_ms: float, late_ms: float, costs: _core.RoundCosts) -> None:
        self._policy.begin(PolicyRound(context, room, max_depth, levels, traits_of(drafter), behind, tpot_ms, late_ms,
                                       costs))

    def grow(self, tree: tuple[Any, ...]) -> tuple[list[int], int]:
        nodes, children = self._policy.grow(DraftedTree(*tree))
        return [int(node) for node in nodes], int(children)

    def keep(self, tree: tuple[Any, ...], nodes: list[int]) -> list[int]:
        kept = self._policy.keep(DraftedTree(*tree))
        return nodes if kept is None else [int(node) for node in kept]

    def observe(self, tree: tuple[Any, ...], *rest: Any) -> None:
        self._policy.observe(VerifiedRound(DraftedTree(*tree), *rest))


def register(options: _core.EngineOptions, name: str, policy: Callable[[PolicySetup], Policy]) -> None:
    """Makes a class, or what makes policies, known as "@NAME"."""

    def make(drafter: str, traits: _core.DrafterTraits, settings: dict[str, str]) -> _Calls:
        return _Calls(policy(PolicySetup(drafter, traits_of(traits), settings)))

    limits = policy if isinstance(policy, type) and issubclass(policy, Policy) else Policy
    options.add_policy(name, make, most_nodes=limits.most_nodes, most_expanded=limits.most_expanded,
                       needs_costs=limits.needs_costs)
