"""Chat completions as dictionaries, as llama-cpp-python's `Llama.create_chat_completion` gives them. A thin face of
`augur.Engine`, with its ids; a server with all of OpenAI's routes is `augur serve`."""
from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Unpack, overload

from augur.engine import Engine
from augur.requests import Message, RequestOptions
from augur.response_format import request_options
from augur.results import Result


@overload
def create_chat_completion(engine: Engine, messages: Sequence[Message], *, stream: Literal[False] = False,
                           response_format: Mapping[str, Any] | type | None = None,
                           **options: Unpack[RequestOptions]) -> dict[str, Any]: ...
@overload
def create_chat_completion(engine: Engine, messages: Sequence[Message], *, stream: Literal[True],
                           response_format: Mapping[str, Any] | type | None = None,
                           **options: Unpack[RequestOptions]) -> Iterator[dict[str, Any]]: ...


def create_chat_completion(engine: Engine, messages: Sequence[Message], *, stream: bool = False,
                           response_format: Mapping[str, Any] | type | None = None,
                           **options: Unpack[RequestOptions]) -> dict[str, Any] | Iterator[dict[str, Any]]:
    """The reply of a conversation as OpenAI's dictionary, or as an iterator of its chunks.

    Parameters
    ----------
    engine : Engine
    messages : sequence of dict
    stream : bool
    response_format : dict or pydantic model, optional
        See `augur.response_format`.
    **options
        Of `Engine.generate`.
    """
    asked: RequestOptions = {**request_options(response_format), **options}
    head = {"id": f"chatcmpl-{uuid.uuid4()}", "created": int(time.time()), "model": engine.info.path}
    if stream:
        return _chunks(engine, messages, head, asked)
    result = engine.chat(messages, **asked)
    message = {"role": "assistant", "content": result.text}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": result.finish_reason}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": _usage(result)}


def _usage(result: Result) -> dict[str, int]:
    return {"prompt_tokens": result.prompt_tokens, "completion_tokens": len(result.ids),
            "total_tokens": result.prompt_tokens + len(result.ids)}


def _chunks(engine: Engine, messages: Sequence[Message], head: dict[str, Any],
            options: RequestOptions) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**head, "object": "chat.completion.chunk", "choices": [choice]}

    with engine.stream(messages, **options) as tokens:
        yield chunk({"role": "assistant"})
        for token in tokens:
            if token.text:
                yield chunk({"content": token.text})
        yield chunk({}, tokens.result().finish_reason)
