"""Plans of speculation in vLLM's spelling, for code that has them."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_METHODS = {"ngram": "ngram", "draft_model": "draft", "suffix": "suffix", "mtp": "mtp"}
_OTHERS = frozenset({"medusa", "eagle", "eagle3", "dflash"})
_KEYS = {"prompt_lookup_min": "ngram-min", "prompt_lookup_max": "ngram-max", "num_speculative_tokens": "n-max"}


def engine_arguments(config: Mapping[str, Any]) -> dict[str, str]:
    """The arguments of `augur.Engine` for a `speculative_config`.

    Parameters
    ----------
    config : mapping
        vLLM's `method`, `model`, `num_speculative_tokens`, `prompt_lookup_min` and `prompt_lookup_max`.

    Returns
    -------
    dict
        `spec`, and `draft` where a model is named.

    Raises
    ------
    ValueError
        For a key or a method that there is not.

    Examples
    --------
    >>> engine_arguments({"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3})
    {'spec': 'ngram:n-max=4,ngram-max=3'}
    """
    settings = []
    for key, value in config.items():
        if key in _KEYS:
            settings.append(f"{_KEYS[key]}={value}")
        elif key not in ("method", "model"):
            raise ValueError(f"speculative_config has {key!r}, which is none of: method, model, {', '.join(_KEYS)}")
    method = config.get("method") or ("draft_model" if "model" in config else None)
    name = _METHODS.get(str(method)) or (method if method in _OTHERS else None)
    if name is None:
        raise ValueError(f"speculative_config has the method {method!r}, which is none of: "
                         f"{', '.join(sorted({*_METHODS, *_OTHERS}))}")
    arguments = {"spec": name + (":" + ",".join(settings) if settings else "")}
    if "model" in config and name != "ngram":
        arguments["draft"] = str(config["model"])
    return arguments
