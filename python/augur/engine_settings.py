"""The options of an engine, as users write them and as the library takes them."""
from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from augur import _core


class EngineSettings(TypedDict, total=False):
    """The further options of an engine; each has the default of the library, but for `prompt_share`.

    Attributes
    ----------
    draft_models : mapping of str to str
        Further draft models, which plans name as "@NAME".
    weights : {"auto", "native", "bf16", "f32"}
        Type of the weights in memory.
    draft_weights : {"auto", "native", "bf16", "q8_0", "q4_0", "q4_1"}
    kv : {"auto", "bf16", "q8_0", "f32"}
        Type of keys and values in memory.
    law : {"auto", "chain", "blocks"}
        Order of sums with bf16 weights (docs/law.md).
    isa : str
        Instruction set of the kernels; empty: the best.
    pin_threads : bool
    datastore : path
        A file of `augur datastore build`, for "suffix".
    chat_template, fallback_template : str
        A Jinja template in place of the model's own; one for a model that has none.
    template_kwargs : mapping
        Further variables for the template.
    template_date : bool
        Gives the template today's date.
    cost_cache : path
        Folder for measured costs; "none": nowhere.
    parallel : int
        Requests that are decoded at once.
    queue : int
        Requests that may wait for their turn.
    compilers : int
        Threads that compile schemas and grammars.
    prompt_share : float
        How much new prompts may lengthen a step of requests that generate, as a share of its time. Infinity, the
        default: most tokens per second; 1, a server's default: steady streams.
    memory : int
        Bytes for the caches of requests and of kept texts; 0: `memory_share` of what is available.
    memory_share : float
    cache_bytes : int
        Part of it for texts that are kept for later requests; 0: none is kept.
    """

    draft_models: Mapping[str, str | os.PathLike[str]]
    weights: Literal["auto", "native", "bf16", "f32"]
    draft_weights: Literal["auto", "native", "bf16", "q8_0", "q4_0", "q4_1"]
    kv: Literal["auto", "bf16", "q8_0", "f32"]
    law: Literal["auto", "chain", "blocks"]
    isa: str
    pin_threads: bool
    datastore: str | os.PathLike[str]
    chat_template: str
    fallback_template: str
    template_kwargs: Mapping[str, Any]
    template_date: bool
    cost_cache: str | os.PathLike[str]
    parallel: int
    queue: int
    compilers: int
    prompt_share: float
    memory: int
    memory_share: float
    cache_bytes: int


_OF_SESSION = frozenset({"parallel", "queue", "compilers", "prompt_share", "memory", "memory_share", "cache_bytes"})
_PATHS = frozenset({"datastore", "cost_cache"})


def options_of(model: str | os.PathLike[str], draft: str | os.PathLike[str] | None, spec: str | None, threads: int,
               context: int, settings: EngineSettings) -> tuple[_core.EngineOptions, _core.SessionOptions]:
    """The options of an engine and of its session, as the library takes them.

    Raises
    ------
    TypeError
        For an option that there is not.
    """
    options, session = _core.EngineOptions(), _core.SessionOptions()
    options.model = os.fspath(model)
    if draft is not None:
        options.draft_model = os.fspath(draft)
    if spec is not None:
        options.speculation = spec
    options.threads = threads
    options.context = context
    session.prompt_share = math.inf
    for name, value in settings.items():
        if name not in EngineSettings.__annotations__:
            raise TypeError(f"an engine has no option {name!r}")
        if name == "draft_models":
            assert isinstance(value, Mapping)
            for of_plans, path in value.items():
                options.add_draft_model(of_plans, os.fspath(path))
        elif name == "template_kwargs":
            options.template_kwargs = json.dumps(value)
        elif name in _PATHS:
            setattr(options, name, os.fspath(value))  # type: ignore[call-overload]
        else:
            setattr(session if name in _OF_SESSION else options, name, value)
    return options, session
