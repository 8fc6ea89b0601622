"""What models are, and what engines of them would take, without loading one."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Unpack

from augur import _core
from augur.engine_settings import EngineSettings, options_of
from augur.errors import Error, error_of


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file with weights: its tensors, and their bytes."""

    path: str
    tensors: int
    bytes: int


@dataclass(frozen=True, slots=True)
class WeightType:
    """A type that weights are stored in ("BF16", "Q4_K"), and how many are."""

    name: str
    tensors: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The shape of a model; `context` is the tokens that it was made for, `intermediate` the feed-forward's width."""

    family: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    context: int
    tied_embeddings: bool


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What a model's files say of it.

    Attributes
    ----------
    path : str
    gguf : bool
        A GGUF file; otherwise a Hugging Face folder, or a part of one.
    files : tuple of ModelFile
    shape : ModelShape or None
        None: the files hold a part of a model, a draft head perhaps.
    tensors, parameters, weight_bytes : int
    weight_types : tuple of WeightType
        The one with the most bytes first.
    tokenizer, chat_template : str
        The tokenizer's kind or file, the template's source; empty: there is none.
    head_type, head_target : str
        As a draft head its type, and the model that it was made for; empty: it is none, or does not say.
    own_drafter : str
        Type of the model's own layers that draft.
    metadata : dict of str to str
        What a GGUF file says beside its tensors.
    problems : tuple of Error
        What could not be found out, because files are malformed or not supported.
    """

    path: str
    gguf: bool
    files: tuple[ModelFile, ...]
    shape: ModelShape | None
    tensors: int
    parameters: int
    weight_bytes: int
    weight_types: tuple[WeightType, ...]
    tokenizer: str
    chat_template: str
    head_type: str
    head_target: str
    own_drafter: str
    metadata: dict[str, str]
    problems: tuple[Error, ...]


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes of memory that an engine takes; of this process alone, but for `mapped`.

    Attributes
    ----------
    mapped : int
        Files that are mapped while they are read, which all processes share.
    weights, draft_weights : int
    workspace : int
        What does not depend on texts.
    token, text : int
        Of a token of a text; of a text of the whole context.
    texts, kept : int
        Of as many as run at once, and of those that are kept, at most.
    """

    mapped: int
    weights: int
    draft_weights: int
    workspace: int
    token: int
    text: int
    texts: int
    kept: int

    @property
    def loaded(self) -> int:
        """What must be free for an engine to be loaded, without texts."""
        return self.weights + self.draft_weights + self.workspace

    @property
    def most(self) -> int:
        """What it needs to hold all texts that it may."""
        return self.loaded + self.texts + self.kept


def describe_model(path: str | os.PathLike[str]) -> ModelDescription:
    """Describes a Hugging Face folder or a GGUF file, a model or a draft head. Reads no weights.

    Raises
    ------
    Error
        There is nothing, or nothing that is a model.
    """
    given = _core.describe_model(os.fspath(path))
    shape = given.shape
    return ModelDescription(
        path=given.path,
        gguf=given.gguf,
        files=tuple(ModelFile(one.path, one.tensors, one.bytes) for one in given.files),
        shape=None if shape is None else ModelShape(**{name: getattr(shape, name) for name in ModelShape.__slots__}),
        tensors=given.tensors,
        parameters=given.parameters,
        weight_bytes=given.weight_bytes,
        weight_types=tuple(WeightType(one.name, one.tensors, one.bytes) for one in given.weight_types),
        tokenizer=given.tokenizer,
        chat_template=given.chat_template,
        head_type=given.head_type,
        head_target=given.head_target,
        own_drafter=given.own_drafter,
        metadata=given.metadata,
        problems=tuple(error_of(int(one.kind), one.text, "") for one in given.problems),
    )


def estimate_memory(model: str | os.PathLike[str], *, draft: str | os.PathLike[str] | None = None,
                    spec: str | None = None, threads: int = 0, context: int = 0,
                    **settings: Unpack[EngineSettings]) -> MemoryEstimate:
    """What `Engine` of these arguments would take. Reads no weights, and takes milliseconds.

    Raises
    ------
    Error
        Those of the engine, as far as headers tell them.
    """
    given = _core.estimate_memory(*options_of(model, draft, spec, threads, context, settings))
    return MemoryEstimate(**{name: getattr(given, name) for name in MemoryEstimate.__slots__})
