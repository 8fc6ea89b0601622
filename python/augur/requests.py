"""What is asked of the engine: prompts in their forms, the options of a request, and both as the engine takes them."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Union

from augur import _core
from augur.logits_processors import LogitsProcessor, processor_calls

Message = Mapping[str, Any]
"""A turn of a conversation in OpenAI's form: `role`, `content`, `tool_calls`, `tool_call_id`, `name`,
`reasoning_content`."""

Prompt = Union[str, Sequence[int], Sequence[Message]]
"""A text, token ids that are used as they are, or a conversation, which the model's chat template renders."""

Schema = Union[Mapping[str, Any], str, type]
"""A JSON schema, as a dictionary or as JSON, or a pydantic model."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The form of a text.

    Attributes
    ----------
    kind : str
        "regex", "gbnf", "ebnf", "json-schema", "json" (any JSON object; no text) or "structural-tag".
    text : str
    """

    kind: Literal["regex", "gbnf", "ebnf", "json-schema", "json", "structural-tag"]
    text: str = ""


class RequestOptions(TypedDict, total=False):
    """The options of a request; each has the default of the program's `augur generate`.

    Attributes
    ----------
    max_tokens : int or None
        Tokens to generate, at most; None: until the model ends or the context is full.
    temperature : float
        0: greedy, the default.
    top_k : int
    top_p, min_p : float
    repetition_penalty, presence_penalty, frequency_penalty : float
    penalty_window : int
        Last tokens that penalties look at; -1: all.
    logit_bias : mapping of int to float
    seed : int
        The same seed gives the same ids, whatever speculates and whatever else runs.
    stop : str or sequence of str
        Ends the text before the first of these.
    ignore_eos : bool
    schema : dict, str or pydantic model
        A JSON schema that the text follows.
    grammar : Grammar
        Another form that the text has.
    logprobs : int or None
        Log-probabilities of the ids, and of so many most probable tokens at each place.
    prompt_logprobs : bool
        With `logprobs`: of the prompt, too.
    sampled_logprobs : bool
        Of the distribution that is drawn from, not of the model's own.
    logits_processors : sequence of callable
        Each gets the ids so far, a read-only array of int32, and the logits of the next token, an array of float32; it
        changes these in place, or returns others. A pure function: drafted tokens are asked about, too. The engine's
        thread calls it. What it raises ends this request and is raised by it. Needs NumPy.
    speculation : str
        A plan in its text form in place of the engine's: "ngram", "none", "eagle3,ngram:policy=hetero".
    tools : sequence of dict
        For the chat template, in OpenAI's form.
    template_kwargs : mapping
        Further variables for the chat template.
    chat_end : {"reply", "turn", "continue"}
        How the prompt of a conversation ends: where the reply begins; after the last turn; within it.
    show_special : bool
        Special tokens appear in the text.
    cache_prompt : bool
        Use and keep beginnings of texts for other requests.
    cache_salt : str
        Only requests of one salt share what is kept.
    tpot_ms : float
        Promised time for each token after the prompt; 0: no promise.
    trace : bool
        The result has its tokens with their proposers, and every step's tree.
    timeout : float or None
        Seconds after which the request ends with TimeIsOverError.
    priority : int
        The highest begins first, among those of one `client`.
    client : str
        Clients take turns.
    """

    max_tokens: int | None
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    penalty_window: int
    logit_bias: Mapping[int, float]
    seed: int
    stop: str | Sequence[str]
    ignore_eos: bool
    schema: Schema
    grammar: Grammar
    logprobs: int | None
    prompt_logprobs: bool
    sampled_logprobs: bool
    logits_processors: Sequence[LogitsProcessor]
    speculation: str
    tools: Sequence[Mapping[str, Any]]
    template_kwargs: Mapping[str, Any]
    chat_end: Literal["reply", "turn", "continue"]
    show_special: bool
    cache_prompt: bool
    cache_salt: str
    tpot_ms: float
    trace: bool
    timeout: float | None
    priority: int
    client: str


_OF_SAMPLING = frozenset({"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty",
                          "frequency_penalty", "penalty_window", "seed"})
# Of the submission rather than of the request.
_SUBMITTED = frozenset({"trace", "timeout", "priority", "client"})
_CHAT_ENDS = {"reply": _core.ChatEnd.REPLY, "turn": _core.ChatEnd.TURN, "continue": _core.ChatEnd.CONTINUE}


def is_conversation(prompt: Any) -> bool:
    """Whether a prompt is a list of messages."""
    return not isinstance(prompt, str) and len(prompt) > 0 and isinstance(prompt[0], Mapping)


def is_batch(prompts: Any) -> bool:
    """Whether this is a list of prompts rather than one."""
    if isinstance(prompts, str):
        return False
    return len(prompts) == 0 or isinstance(prompts[0], str) or (
        isinstance(prompts[0], Sequence) and not isinstance(prompts[0], Mapping))


def schema_text(schema: Schema) -> str:
    """A schema as JSON.

    Raises
    ------
    TypeError
        If it is neither a dictionary, nor JSON, nor a pydantic model.
    """
    if isinstance(schema, str):
        return schema
    if isinstance(schema, Mapping):
        return json.dumps(schema)
    describe = getattr(schema, "model_json_schema", None)
    if describe is None:
        raise TypeError(f"a schema is a dictionary, JSON or a pydantic model, not {schema!r}")
    return json.dumps(describe())


def _content_of(content: Any) -> str:
    """The text of a message's content: a text, or a list of parts that are texts."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content:
        if part.get("type") != "text":
            raise TypeError(f"a part of a message is a text, not {part.get('type')!r}")
        texts.append(part["text"])
    return "".join(texts)


def message_of(given: Message) -> _core.Message:
    """A message as the engine takes it."""
    message = _core.Message()
    message.role = given["role"]
    if "content" not in given:
        message.absence = _core.Absence.MISSING
    elif given["content"] is None:
        message.absence = _core.Absence.NULL
    else:
        message.content = _content_of(given["content"])
    message.tool_call_id = given.get("tool_call_id") or ""
    message.name = given.get("name") or ""
    message.reasoning = given.get("reasoning_content") or ""
    calls = []
    for call in given.get("tool_calls") or ():
        function = call["function"]
        arguments = function["arguments"]
        calls.append(_core.ToolCall(call.get("id") or "", function["name"],
                                    arguments if isinstance(arguments, str) else json.dumps(arguments)))
    message.tool_calls = calls
    return message


def request_of(prompt: Prompt, options: RequestOptions) -> _core.Request:
    """A request as the engine takes it.

    Raises
    ------
    TypeError
        For an option that there is not, or of another type.
    """
    request = _core.Request()
    if isinstance(prompt, str):
        request.prompt = prompt
    elif is_conversation(prompt):
        request.messages = [message_of(message) for message in prompt]  # type: ignore[arg-type]
    else:
        request.prompt_tokens = [int(token) for token in prompt]  # type: ignore[arg-type]
    for name, value in options.items():
        if name not in RequestOptions.__annotations__:
            raise TypeError(f"a request has no option {name!r}")
        if value is not None and name not in _SUBMITTED:
            _set(request, name, value)
    return request


def _set(request: _core.Request, name: str, value: Any) -> None:
    match name:
        case "logit_bias":
            request.sampling.logit_bias = [(int(token), float(bias)) for token, bias in value.items()]
        case "stop":
            request.stop = [value] if isinstance(value, str) else list(value)
        case "schema":
            request.set_grammar("json-schema", schema_text(value), "schema")
        case "grammar":
            request.set_grammar(value.kind, value.text, "grammar")
        case "logits_processors":
            for processor in value:
                request.add_logits_processor(processor_calls(processor))
        case "speculation":
            request.set_speculation(value)
        case "tools":
            request.tools = json.dumps(list(value)) if value else ""
        case "template_kwargs":
            request.template_kwargs = json.dumps(value)
        case "chat_end":
            request.chat_end = _CHAT_ENDS[value]
        case _:
            setattr(request.sampling if name in _OF_SAMPLING else request, name, value)
