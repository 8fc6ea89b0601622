"""What the library is, and what it can do."""
from __future__ import annotations

from dataclasses import dataclass

from augur import _core


@dataclass(frozen=True, slots=True)
class SpeculationType:
    """A way to draft: its name in plans, llama.cpp's name for it, and what it proposes."""

    name: str
    alias: str
    needs_draft_model: bool
    in_models: bool
    summary: str


@dataclass(frozen=True, slots=True)
class SpeculationPolicy:
    """A way to shape drafts."""

    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class BuildInfo:
    """What the library is made of."""

    version: str
    commit: str
    compiler: str
    type: str
    flags: str


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A loaded model.

    Attributes
    ----------
    path, family : str
    vocab : int
        Tokens of its vocabulary.
    hidden, layers : int
        Width of a hidden state; transformer layers.
    context : int
        Tokens that a text may have.
    weight_bytes : int
        Bytes of weights that one token reads.
    weights : str
        Types of the weights, the most frequent first.
    isa : str
        Instruction set of the kernels.
    law : int
        Number of the law that the products follow (docs/law.md).
    threads : int
    has_chat_template : bool
    end_tokens : tuple of int
        Tokens that end a text.
    bos_token, eos_token : str
    fingerprint : str
        Equal fingerprints and files give equal ids on any machine (docs/law.md).
    """

    path: str
    family: str
    vocab: int
    hidden: int
    layers: int
    context: int
    weight_bytes: int
    weights: str
    isa: str
    law: int
    threads: int
    has_chat_template: bool
    end_tokens: tuple[int, ...]
    bos_token: str
    eos_token: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Curve:
    """Times in ms by rows."""

    rows: tuple[int, ...]
    ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class DraftCosts:
    """What a drafter's first level costs, and every further one; rows as in `augur inspect --costs`."""

    name: str
    first_level: Curve
    level: Curve


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured times of this machine, in ms of wall time; policies decide by them.

    Attributes
    ----------
    context : float
        Tokens of text before the rows that `verify` was measured with.
    verify : Curve
        A forward pass of the model, with logits.
    growth_one, growth_many : float
        Relative increase of the time of one row, and of 64 and more, for each token of text.
    other_ms : float
        Time of a step that is neither drafting nor verification.
    drafters : tuple of DraftCosts
    file : str
        Where the costs are stored; empty: nowhere.
    """

    context: float
    verify: Curve
    growth_one: float
    growth_many: float
    other_ms: float
    drafters: tuple[DraftCosts, ...]
    file: str


@dataclass(frozen=True, slots=True)
class Load:
    """What an engine has to do.

    Attributes
    ----------
    running, waiting : int
        Requests that are decoded; that wait for a place or for memory.
    steps : int
        That the batch has made so far.
    memory, memory_in_use : int
        Bytes for caches and kept texts; 0 before the first request.
    prompt_tokens, cached_tokens : int
        Of all prompts so far; of these, those that were known.
    drafted_tokens, accepted_tokens : int
        Of all requests that have ended.
    """

    running: int
    waiting: int
    steps: int
    memory: int
    memory_in_use: int
    prompt_tokens: int
    cached_tokens: int
    drafted_tokens: int
    accepted_tokens: int


def speculation_types() -> tuple[SpeculationType, ...]:
    """The ways to draft."""
    return tuple(SpeculationType(t.name, t.alias, t.needs_draft_model, t.in_models, t.summary)
                 for t in _core.speculation_types())


def speculation_policies() -> tuple[SpeculationPolicy, ...]:
    """The ways to shape drafts."""
    return tuple(SpeculationPolicy(p.name, p.summary) for p in _core.speculation_policies())


def build_info() -> BuildInfo:
    """What the library is made of."""
    info = _core.build_info()
    return BuildInfo(info.version, info.commit, info.compiler, info.type, info.flags)


def info_of(given: _core.ModelInfo) -> ModelInfo:
    return ModelInfo(given.path, given.family, given.vocab, given.hidden, given.layers, given.context,
                     given.weight_bytes, given.weights, given.isa, given.law, given.threads, given.has_chat_template,
                     tuple(given.end_tokens), given.bos_token, given.eos_token, given.fingerprint)


def _curve_of(given: _core.MeasuredCosts.Curve) -> Curve:
    return Curve(tuple(given.rows), tuple(given.ms))


def costs_of(given: _core.MeasuredCosts) -> Costs:
    return Costs(given.context, _curve_of(given.verify), given.growth_one, given.growth_many, given.other_ms,
                 tuple(DraftCosts(d.name, _curve_of(d.first_level), _curve_of(d.level)) for d in given.drafters),
                 given.file)


def load_of(given: _core.SessionLoad) -> Load:
    return Load(given.running, given.waiting, given.steps, given.memory, given.memory_in_use, given.prompt_tokens,
                given.cached_tokens, given.drafted_tokens, given.accepted_tokens)
