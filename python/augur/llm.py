"""Batches in vLLM's spelling: `LLM` and `SamplingParams`. A thin face of `augur.Engine`, with its ids."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from augur.engine import Engine
from augur.engine_settings import EngineSettings
from augur.requests import Message, Prompt, RequestOptions, is_batch
from augur.results import Result
from augur.speculative_config import engine_arguments


@dataclass(frozen=True)
class SamplingParams:
    """How a text is sampled, with vLLM's names and defaults: among these a temperature of 1 and 16 tokens."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stop: str | Sequence[str] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    logprobs: int | None = None
    logit_bias: Mapping[int, float] | None = None

    def options(self) -> RequestOptions:
        """The options of a request."""
        options: RequestOptions = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "min_p": self.min_p,
            "presence_penalty": self.presence_penalty,
            "frequency_penalty": self.frequency_penalty,
            "repetition_penalty": self.repetition_penalty,
            "penalty_window": -1,
            "seed": self.seed or 0,
            "ignore_eos": self.ignore_eos,
            "max_tokens": self.max_tokens,
            "logprobs": self.logprobs,
        }
        if self.stop is not None:
            options["stop"] = self.stop
        if self.logit_bias is not None:
            options["logit_bias"] = self.logit_bias
        return options


@dataclass(frozen=True)
class CompletionOutput:
    """One text of a request."""

    index: int
    text: str
    token_ids: tuple[int, ...]
    finish_reason: str
    stop_reason: str | None


@dataclass(frozen=True)
class RequestOutput:
    """A request and what came of it."""

    request_id: str
    prompt: str | None
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]
    finished: bool = True
    result: Result | None = field(default=None, repr=False)


def _prompt_of(given: Mapping[str, Any]) -> Prompt:
    prompt: Prompt = given["prompt_token_ids"] if "prompt_token_ids" in given else given["prompt"]
    return prompt


class LLM:
    """A model for batches.

    Parameters
    ----------
    model : path
    speculative_config : mapping, optional
        As `augur.speculative_config` reads it.
    max_model_len : int, optional
        Tokens that a text may have.
    max_num_seqs : int
        Requests that are decoded at once.
    **settings
        Of `augur.Engine`.
    """

    def __init__(self, model: str | os.PathLike[str], *, speculative_config: Mapping[str, Any] | None = None,
                 max_model_len: int | None = None, max_num_seqs: int = 16, **settings: Unpack[EngineSettings]) -> None:
        drafting = engine_arguments(speculative_config) if speculative_config else {}
        settings["parallel"] = max_num_seqs
        self.engine = Engine(model, draft=drafting.get("draft"), spec=drafting.get("spec"), context=max_model_len or 0,
                             **settings)

    def generate(self, prompts: str | Sequence[str] | Sequence[Mapping[str, Any]],
                 sampling_params: SamplingParams | Sequence[SamplingParams] | None = None) -> list[RequestOutput]:
        """Generates for texts, or for vLLM's dictionaries with `prompt` or `prompt_token_ids`; one set of parameters for
        all or one each."""
        given: list[str | Mapping[str, Any]] = [prompts] if isinstance(prompts, str) else list(prompts)
        texts: list[Prompt] = [one if isinstance(one, str) else _prompt_of(one) for one in given]
        return self._run(texts, sampling_params)

    def chat(self, messages: Sequence[Message] | Sequence[Sequence[Message]],
             sampling_params: SamplingParams | Sequence[SamplingParams] | None = None) -> list[RequestOutput]:
        """Generates replies of one conversation or of several."""
        conversations: list[Prompt] = list(messages) if is_batch(messages) else [messages]  # type: ignore
        return self._run(conversations, sampling_params)

    def get_tokenizer(self) -> Engine:
        """What has `tokenize`, `detokenize` and `apply_chat_template`."""
        return self.engine

    def _run(self, prompts: list[Prompt],
             params: SamplingParams | Sequence[SamplingParams] | None) -> list[RequestOutput]:
        each = [params or SamplingParams()] * len(prompts) if params is None or isinstance(params, SamplingParams) \
            else list(params)
        if len(each) != len(prompts):
            raise ValueError(f"{len(prompts)} prompts have {len(each)} sampling parameters")
        requests = [(prompt, one.options()) for prompt, one in zip(prompts, each)]
        return [self._output(index, prompts[index], result)
                for index, result in enumerate(self.engine.generate_each(requests))]

    def _output(self, index: int, prompt: Prompt, result: Result) -> RequestOutput:
        output = CompletionOutput(0, result.text, result.ids, result.finish_reason, result.stop_string)
        return RequestOutput(str(index), prompt if isinstance(prompt, str) else None, self.engine.prompt_ids(prompt),
                             [output], result=result)
