"""A model of lm-eval (EleutherAI's Language Model Evaluation Harness), computed by the engine in one batch.

``lm_eval --model augur --model_args model=PATH,draft=PATH --tasks ...`` finds it where this package is installed;
a program imports this module, or gives `AugurLM` to `lm_eval.simple_evaluate` itself. ``python -m augur.lm_eval`` is
lm-eval's command, too. Needs lm-eval, and neither torch nor transformers.
"""
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Unpack

from lm_eval.api.instance import Instance
from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import model_registry
from lm_eval.models.utils import has_bos_prefix, normalize_gen_kwargs
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window
from tqdm import tqdm

from augur.engine import Engine
from augur.engine_settings import EngineSettings
from augur.requests import Message, RequestOptions
from augur.results import TextScore

_AT_A_TIME = 256  # texts that are scored between two looks at the progress

Scored = tuple[float, bool]
"""The log-probability of a continuation in nats, and whether greedy decoding would have written it."""


class AugurLM(TemplateLM):
    """An engine as lm-eval takes models. Scores do not depend on what speculates, and not on the batch.

    Parameters
    ----------
    model : path or Engine
        A Hugging Face folder, a GGUF file, or a loaded engine, which `close` leaves open.
    pretrained : path, optional
        Another name of `model`, as lm-eval's `hf` has it.
    max_length : int, optional
        Tokens that a text may have: beginnings of longer ones are left out. None: the engine's context.
    max_gen_toks : int
        Tokens to generate where a task does not say.
    add_bos_token : bool, optional
        Texts begin with the token for the beginning. None: as the model's tokenizer has it.
    prefix_token_id : int, optional
        What texts without a context follow on. None: the token for the beginning, else that for the end.
    seed : int
        Of texts that are sampled.
    batch_size, max_batch_size, device
        Have no effect: `parallel` says how many requests the engine decodes at once.
    **settings
        Of `Engine`: `draft`, `spec`, `threads`, `context`, `weights`, `parallel`, ...

    Raises
    ------
    Error
        What `Engine` raises.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Engine | None = None,
        *,
        pretrained: str | os.PathLike[str] | None = None,
        max_length: int | None = None,
        max_gen_toks: int = 256,
        add_bos_token: bool | None = None,
        prefix_token_id: int | None = None,
        seed: int = 0,
        batch_size: int | str | None = None,
        max_batch_size: int | None = None,
        device: str | None = None,
        draft: str | os.PathLike[str] | None = None,
        spec: str | None = None,
        threads: int = 0,
        context: int = 0,
        **settings: Unpack[EngineSettings],
    ) -> None:
        super().__init__()
        model = model if model is not None else pretrained
        if model is None:
            raise TypeError("a model is missing: --model_args model=PATH")
        self._owned = not isinstance(model, Engine)
        self.engine = model if isinstance(model, Engine) else Engine(
            model, draft=draft, spec=spec, threads=threads, context=context, **settings)
        self.max_length = max_length or self.engine.info.context
        self._max_gen_toks = max_gen_toks
        self._add_bos = add_bos_token
        self._prefix = prefix_token_id
        self._seed = seed

    @property
    def eot_token_id(self) -> int:
        return self.engine.info.end_tokens[0]

    @property
    def prefix_token_id(self) -> int:
        if self._prefix is not None:
            return self._prefix
        beginning = self.engine.info.bos_token
        return self.engine.tokenize(beginning, part=True)[0] if beginning else self.eot_token_id

    @property
    def tokenizer_name(self) -> str:
        return self.engine.info.fingerprint

    def chat_template(self, chat_template: bool | str = False) -> str:
        return self.engine.chat_template

    def apply_chat_template(self, chat_history: Sequence[Message], add_generation_prompt: bool = True) -> str:
        return self.engine.apply_chat_template(chat_history,
                                               chat_end="reply" if add_generation_prompt else "continue")

    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **_: Any) -> list[int]:
        if add_special_tokens is None and has_bos_prefix(string, self.engine.info.bos_token or None):
            add_special_tokens = False
        elif add_special_tokens is None:
            add_special_tokens = self._add_bos
        ids = self.engine.tokenize(string, part=add_special_tokens is not None)
        return [self.prefix_token_id, *ids] if add_special_tokens else ids

    def close(self) -> None:
        """Frees the model, unless it was given as an engine."""
        if self._owned:
            self.engine.close()

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> list[float]:
        windows = []
        whose = []
        for index, request in enumerate(requests):
            for window in get_rolling_token_windows(
                    token_list=self.tok_encode(request.args[0]), prefix_token=self.prefix_token_id,
                    max_seq_len=self.max_length - 1, context_len=1):
                windows.append((None, *make_disjoint_window(window)))
                whose.append(index)
        sums = [0.0] * len(requests)
        for index, (logprob, _) in zip(whose, self._loglikelihood_tokens(windows, disable_tqdm), strict=True):
            sums[index] += logprob
        for request, logprob in zip(requests, sums, strict=True):
            self.cache_hook.add_partial("loglikelihood_rolling", request.args, logprob)
        return sums

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        texts = []
        asked = ((self._shortened(request.args[0], options), options)
                 for request in requests for options in [self._options_of(request.args[1])])
        results = tqdm(self.engine.generate_each(asked), total=len(requests), disable=disable_tqdm,
                       desc="Running generate_until requests")
        for request, result in zip(requests, results, strict=True):
            texts.append(result.text)
            self.cache_hook.add_partial("generate_until", request.args, result.text)
        return texts

    def _options_of(self, given: dict[str, Any]) -> RequestOptions:
        """The options of a request for lm-eval's `generation_kwargs`; any of `RequestOptions` may be among these."""
        options: dict[str, Any] = dict(normalize_gen_kwargs(given, self._max_gen_toks))
        until: str | list[str] = options.pop("until", None) or []
        options["stop"] = [text for text in ([until] if isinstance(until, str) else until) if text]
        options["max_tokens"] = options.pop("max_gen_toks")
        options.pop("do_sample", None)  # the temperature says it
        return RequestOptions(**{"seed": self._seed, **options})  # type: ignore[typeddict-item]

    def _shortened(self, context: str, options: RequestOptions) -> list[int]:
        """The end of a context that leaves room for the text."""
        room = self.max_length - (options["max_tokens"] or 0)
        if room <= 0:
            raise ValueError(f"max_gen_toks={options['max_tokens']} leaves no room for a context in the model's "
                             f"{self.max_length} tokens")
        return self.tok_encode(context)[-room:]

    def _loglikelihood_tokens(self, requests: Sequence[tuple[tuple[str, str] | None, list[int], list[int]]],
                              disable_tqdm: bool = False, **_: Any) -> list[Scored]:
        texts = ((context + continuation)[-self.max_length:] for _, context, continuation in requests)
        asked = ((ids, len(ids) - min(len(continuation), len(ids) - 1))
                 for ids, (_key, _context, continuation) in zip(texts, requests, strict=True))
        scores = tqdm(self._scores_of(asked), total=len(requests), disable=disable_tqdm,
                      desc="Running loglikelihood requests")
        answers = []
        for (key, _context, _continuation), score in zip(requests, scores, strict=True):
            answers.append((score.sum, score.greedy))
            if key is not None:
                self.cache_hook.add_partial("loglikelihood", key, answers[-1])
        return answers

    def _scores_of(self, asked: Iterable[tuple[list[int], int]]) -> Iterator[TextScore]:
        """Scores texts from the given token on, some of them at a time: the one place that asks the engine."""
        left = iter(asked)
        while some := list(islice(left, _AT_A_TIME)):
            yield from self.engine.score([ids for ids, _ in some], start=[first for _, first in some])


if "augur" not in model_registry:
    model_registry.register("augur", target="augur.lm_eval:AugurLM")

if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
