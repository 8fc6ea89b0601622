"""The form of an answer in OpenAI's spelling (`response_format`), with pydantic models too."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augur.requests import Grammar, RequestOptions


def request_options(response_format: Mapping[str, Any] | type | None) -> RequestOptions:
    """The options of a request for a `response_format`.

    Parameters
    ----------
    response_format : dict, pydantic model or None
        ``{"type": "text"}``, ``{"type": "json_object"}``, ``{"type": "json_object", "schema": ...}`` (llama.cpp's),
        ``{"type": "json_schema", "json_schema": {"schema": ...}}``, or a pydantic model.

    Raises
    ------
    ValueError
        For another type.
    """
    if response_format is None:
        return {}
    if not isinstance(response_format, Mapping):
        return {"schema": response_format}
    match response_format.get("type"):
        case "text":
            return {}
        case "json_object":
            schema = response_format.get("schema")
            return {"grammar": Grammar("json")} if schema is None else {"schema": schema}
        case "json_schema":
            return {"schema": response_format["json_schema"]["schema"]}
        case other:
            raise ValueError(f"response_format has the type {other!r}, none of: text, json_object, json_schema")
