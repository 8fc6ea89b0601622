"""Augur: large language models on CPUs with speculative decoding; the same tokens, sooner.

>>> import augur
>>> with augur.Engine("model.gguf", draft="models/smollm2-eagle3") as engine:
...     print(engine.generate("Once upon a time", max_tokens=64).text)

`Engine` is the interface; `Result` and `Token` are what it gives, `Error` is what it raises. The modules `augur.llm`,
`augur.chat_completion`, `augur.speculative_config` and `augur.response_format` spell requests as other packages do.
The commands of the program, `augur serve` among them, are there as ``python -m augur`` too.
"""
try:
    from augur import _core as _core
except ImportError as error:
    raise ImportError(
        f"the extension augur._core of the distribution augur-engine cannot be loaded ({error}). "
        "Is another package named augur installed beside it, or is this the source folder? "
        "`pip install .` in a clone of Augur builds and installs it."
    ) from error

from augur.drafters import BuiltInDrafter, Drafter, DrafterSetup, DrafterTraits, DraftRequest, Proposal
from augur.engine import Engine
from augur.engine_settings import EngineSettings
from augur.errors import (
    CancelledError,
    ContextFullError,
    Error,
    ErrorKind,
    InternalError,
    MalformedError,
    MisuseError,
    NotFoundError,
    OutOfMemoryError,
    QueueFullError,
    RefusedFieldError,
    TimeIsOverError,
    UnsupportedError,
)
from augur.information import (
    BuildInfo,
    Costs,
    Load,
    ModelInfo,
    SpeculationPolicy,
    SpeculationType,
    build_info,
    speculation_policies,
    speculation_types,
)
from augur.models import MemoryEstimate, ModelDescription, describe_model, estimate_memory
from augur.policies import DraftedTree, Policy, PolicyRound, PolicySetup, VerifiedRound
from augur.requests import Grammar, Prompt, RequestOptions
from augur.results import Node, Result, Round, Speculation, TextScore, Timings, Token, TokenLogprobs
from augur.streams import AsyncStream, Stream

__version__: str = _core.build_info().version

__all__ = [
    "AsyncStream",
    "BuildInfo",
    "BuiltInDrafter",
    "CancelledError",
    "ContextFullError",
    "Costs",
    "DraftRequest",
    "DraftedTree",
    "Drafter",
    "DrafterSetup",
    "DrafterTraits",
    "Engine",
    "EngineSettings",
    "Error",
    "ErrorKind",
    "Grammar",
    "InternalError",
    "Load",
    "MalformedError",
    "MemoryEstimate",
    "MisuseError",
    "ModelDescription",
    "ModelInfo",
    "Node",
    "NotFoundError",
    "OutOfMemoryError",
    "Policy",
    "PolicyRound",
    "PolicySetup",
    "Prompt",
    "Proposal",
    "QueueFullError",
    "RefusedFieldError",
    "RequestOptions",
    "Result",
    "Round",
    "Speculation",
    "SpeculationPolicy",
    "SpeculationType",
    "Stream",
    "TextScore",
    "TimeIsOverError",
    "Timings",
    "Token",
    "TokenLogprobs",
    "UnsupportedError",
    "VerifiedRound",
    "build_info",
    "describe_model",
    "estimate_memory",
    "speculation_policies",
    "speculation_types",
]
