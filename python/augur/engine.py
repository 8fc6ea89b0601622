"""The engine: a loaded model that generates for any number of threads and tasks at once."""
from __future__ import annotations

import atexit
import logging
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from augur import _core
from augur.drafters import Drafter, DrafterSetup
from augur.drafters import register as register_drafter
from augur.engine_settings import EngineSettings, options_of
from augur.errors import QueueFullError, RefusedFieldError
from augur.information import Costs, Load, ModelInfo, costs_of, info_of, load_of
from augur.policies import Policy, PolicySetup
from augur.policies import register as register_policy
from augur.progress import progress_bar
from augur.requests import Message, Prompt, RequestOptions, is_batch, request_of
from augur.results import Result, TextScore, Token, error_in, result_of, token_of
from augur.streams import AsyncStream, Stream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger("augur")
_open: weakref.WeakSet[Engine] = weakref.WeakSet()
_SECONDS_AT_EXIT = 10.0
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}


class Engine:
    """A loaded model, ready to generate. Any thread and any task may use it, at the same time as others: their requests
    are decoded in one batch, and no request changes the ids of another.

    Parameters
    ----------
    model : path
        A Hugging Face folder or a GGUF file.
    draft : path, optional
        A draft model or a draft head. None: the model's own layers that draft, if it has any.
    spec : str, optional
        The plan of speculation in its text form: "ngram", "none", "eagle3,ngram:policy=hetero". None: as suits the
        files. Ids do not depend on it.
    threads : int
        0: one for each core that the process may use.
    context : int
        Tokens that a text may have; 0: the model's own limit.
    progress : bool or callable
        True: a bar on stderr while the model is loaded. A callable gets what is loaded and the fraction done.
    drafters : mapping of str to Drafter class, optional
        Drafters of your own, by the names that plans have with "@".
    policies : mapping of str to Policy class, optional
        Policies of your own, likewise.
    **settings
        See `EngineSettings`.

    Raises
    ------
    Error
        Of the class for its kind: NotFoundError, MalformedError, UnsupportedError, OutOfMemoryError,
        RefusedFieldError.

    Notes
    -----
    What the engine tells goes to the logger "augur", with its level. The engine's threads sleep while it has nothing to do. A child of
    `os.fork` may tokenise with it and load an engine of its own; its requests raise MisuseError.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        draft: str | os.PathLike[str] | None = None,
        spec: str | None = None,
        threads: int = 0,
        context: int = 0,
        progress: bool | Callable[[str, float], object] = False,
        drafters: Mapping[str, Callable[[DrafterSetup], Drafter]] | None = None,
        policies: Mapping[str, Callable[[PolicySetup], Policy]] | None = None,
        **settings: Unpack[EngineSettings],
    ) -> None:
        options, session = options_of(model, draft, spec, threads, context, settings)
        for name, drafter in (drafters or {}).items():
            register_drafter(options, name, drafter)
        for name, policy in (policies or {}).items():
            register_policy(options, name, policy)
        self._parallel = session.parallel
        with progress_bar(progress) as report:
            self._core = _core.SharedEngine(options, session, report)
        _open.add(self)
        self._pass_log_on()

    @overload
    def generate(self, prompt: str, **options: Unpack[RequestOptions]) -> Result: ...
    @overload
    def generate(self, prompt: list[int], **options: Unpack[RequestOptions]) -> Result: ...
    @overload
    def generate(self, prompt: list[str], **options: Unpack[RequestOptions]) -> list[Result]: ...
    @overload
    def generate(self, prompt: list[list[int]], **options: Unpack[RequestOptions]) -> list[Result]: ...
    @overload
    def generate(self, prompt: list[list[dict[str, Any]]], **options: Unpack[RequestOptions]) -> list[Result]: ...
    @overload
    def generate(self, prompt: Sequence[Message], **options: Unpack[RequestOptions]) -> Result: ...

    def generate(self, prompt: Any, **options: Unpack[RequestOptions]) -> Result | list[Result]:
        """Generates for a prompt, or for a list of prompts in one batch.

        Parameters
        ----------
        prompt : str, list of int, list of messages, or a list of these
            A text; token ids; a conversation, which the chat template renders.
        **options
            See `RequestOptions`.

        Returns
        -------
        Result or list of Result
            A list, in order, for a list of prompts.

        Raises
        ------
        Error
            What a request was refused for or failed by; the others of the list are then cancelled.
        KeyboardInterrupt
            At Ctrl-C; what was submitted is cancelled.
        """
        if not is_batch(prompt):
            return next(self.generate_each([(prompt, options)]))
        return list(self.generate_each((one, options) for one in prompt))

    def generate_each(self, requests: Iterable[tuple[Prompt, RequestOptions]], *,
                      errors: Literal["raise", "return"] = "raise") -> Iterator[Result]:
        """Generates for prompts with options of their own.

        Parameters
        ----------
        requests : iterable of (prompt, options)
            Read as there is room for more, so it may be endless.
        errors : {"raise", "return"}
            "return": a request that fails has a result with `error`, and the others go on.

        Yields
        ------
        Result
            In the order of the requests. What runs is cancelled when the iterator is closed.
        """
        running: deque[tuple[_core.Generation, RequestOptions]] = deque()
        ahead = 4 * self._parallel
        try:
            for prompt, options in requests:
                while len(running) >= ahead:
                    yield self._next_result(running, errors)
                request = request_of(prompt, options)
                while True:
                    try:
                        running.append((self._submit(request, options, pieces=options.get("trace", False)), options))
                        break
                    except QueueFullError:  # others' requests wait, too; some of ours are taken out first
                        if not running:
                            raise
                    yield self._next_result(running, errors)
            while running:
                yield self._next_result(running, errors)
        finally:
            for generation, _ in running:
                generation.cancel()

    def stream(self, prompt: Prompt, **options: Unpack[RequestOptions]) -> Stream:
        """Generates, and gives each token as soon as it is certain.

        Returns
        -------
        Stream
            An iterator of `Token`. The generation ends when it is closed or collected.

        Raises
        ------
        Error
            Here, or from the iterator.
        """
        generation = self._submit(request_of(prompt, options), options, pieces=True)
        return Stream(generation, self._finish(options), options.get("trace", False))

    def chat(self, messages: str | Sequence[Message], **options: Unpack[RequestOptions]) -> Result:
        """Generates the reply of a conversation; a text is the user's only message."""
        return self.generate(_conversation(messages), **options)

    async def agenerate(self, prompt: Prompt, **options: Unpack[RequestOptions]) -> Result:
        """As `generate`, of one prompt; `asyncio.gather` runs several in one batch. Cancelling ends the generation."""
        trace = options.get("trace", False)
        request = request_of(prompt, options)
        return await AsyncStream(lambda: self._submit(request, options, pieces=trace), self._finish(options),
                                 trace).result()

    def astream(self, prompt: Prompt, **options: Unpack[RequestOptions]) -> AsyncStream:
        """As `stream`, for ``async for``."""
        request = request_of(prompt, options)
        return AsyncStream(lambda: self._submit(request, options, pieces=True), self._finish(options),
                           options.get("trace", False))

    def tokenize(self, text: str, *, part: bool = False, parse_special: bool = True) -> list[int]:
        """The ids of a text as a prompt.

        Parameters
        ----------
        text : str
        part : bool
            Of a part of a prompt: without the token for the beginning.
        parse_special : bool
            Text that looks like a control token becomes that token.
        """
        return self._core.tokenize(text, part, parse_special)

    def detokenize(self, ids: Sequence[int], *, show_special: bool = False) -> str:
        """The text of ids."""
        return self._core.detokenize(list(ids), show_special)

    def token_bytes(self, token: int) -> bytes:
        """The bytes of a token within a text, perhaps a part of a character."""
        return self._core.token_bytes(token)

    def apply_chat_template(self, messages: str | Sequence[Message], **options: Unpack[RequestOptions]) -> str:
        """The prompt of a conversation as text; `tools`, `template_kwargs` and `chat_end` as in requests."""
        return self._core.render_chat(request_of(_conversation(messages), options))

    def prompt_ids(self, prompt: Prompt, **options: Unpack[RequestOptions]) -> list[int]:
        """The ids of a request's prompt."""
        return self._core.prompt_tokens(request_of(prompt, options))

    @property
    def info(self) -> ModelInfo:
        """The loaded model."""
        return info_of(self._core.info())

    @property
    def load(self) -> Load:
        """What there is to do now, and has been done so far."""
        return load_of(self._core.load())

    @property
    def chat_template(self) -> str:
        """The text of the chat template in use; empty: none."""
        return self._core.chat_template()

    @property
    def speculation(self) -> str:
        """The plan for requests that have none."""
        return self._core.speculation()

    @property
    def drafters(self) -> list[str]:
        """Names of the loaded drafters, as plans may have them."""
        return self._core.drafters()

    def costs(self, *, anew: bool = False) -> Costs:
        """Costs of the model and its drafters on this machine; measured now if they are unknown, or with `anew`.

        Raises
        ------
        MisuseError
            While requests run.
        """
        return costs_of(self._core.costs(anew))

    def forget(self) -> None:
        """Forgets what was learnt from texts. Ids do not depend on it.

        Raises
        ------
        MisuseError
            While requests run.
        """
        self._core.forget()

    @overload
    def score(self, text: str | list[int], *, start: int = 1) -> TextScore: ...
    @overload
    def score(self, text: list[str] | list[list[int]], *, start: int | Sequence[int] = 1) -> list[TextScore]: ...

    def score(self, text: Any, *, start: int | Sequence[int] = 1) -> TextScore | list[TextScore]:
        """The log-probabilities of a text's tokens, or of many texts', which are read in common passes.

        Parameters
        ----------
        text : str, list of int, or a list of these
            A text is tokenised as a prompt, with the token for the beginning; ids are used as they are.
        start : int or sequence of int
            Index of the first token that is scored, at least 1: those before it are what it continues. One for each
            text, or for all.

        Returns
        -------
        TextScore or list of TextScore
            The same figures in whatever company a text is read: those of `prompt_logprobs`.

        Raises
        ------
        ContextFullError, RefusedFieldError
        MisuseError
            While requests run.
        """
        many = is_batch(text)
        texts = list(text) if many else [text]
        starts = [start] * len(texts) if isinstance(start, int) else list(start)
        given = [(self._ids(one), first) for one, first in zip(texts, starts, strict=True)]
        scores = [TextScore(one.logprobs, one.sum, one.greedy) for one in self._core.score(given)]
        return scores if many else scores[0]

    def logits(self, text: str | Sequence[int]) -> NDArray[np.float32]:
        """The model's logits after every token.

        Returns
        -------
        array of float32, [tokens, vocab]
            The caller's own.

        Raises
        ------
        ContextFullError, RefusedFieldError
        MisuseError
            While requests run.
        """
        return self._core.logits(self._ids(text))

    def hidden_states(self, text: str | Sequence[int], layer: int) -> NDArray[np.float32]:
        """The residual stream that enters a layer.

        Parameters
        ----------
        text : str or sequence of int
        layer : int
            From 0, the embeddings, to `info.layers`, what the last layer leaves, before the final norm.

        Returns
        -------
        array of float32, [tokens, hidden]
            The caller's own.

        Raises
        ------
        ContextFullError, RefusedFieldError
        MisuseError
            While requests run.
        """
        return self._core.hidden_states(self._ids(text), layer)

    def embed(self, text: str | Sequence[int], pooling: Literal["last", "mean"] = "last", *,
              normalised: bool = True) -> NDArray[np.float32]:
        """A vector that stands for a text, of the states behind the final norm.

        Parameters
        ----------
        text : str or sequence of int
        pooling : {"last", "mean"}
            The state of the last token, or the mean of all.
        normalised : bool
            Divided by its Euclidean length.

        Returns
        -------
        array of float32, [hidden]
            The caller's own.

        Raises
        ------
        ContextFullError, RefusedFieldError
        MisuseError
            While requests run.
        """
        if pooling not in ("last", "mean"):
            raise RefusedFieldError(f"pooling is {pooling!r}, not one of last, mean", "pooling")
        return self._core.embed(self._ids(text), mean=pooling == "mean", normalised=normalised)

    def close(self) -> None:
        """Cancels what runs, and frees the model once it has ended. Every further call raises MisuseError."""
        self._core.close()
        _open.discard(self)

    @property
    def closed(self) -> bool:
        return self._core.closed()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<augur.Engine, closed>"
        info = self.info
        return f"<augur.Engine of {info.path!r}: {info.family}, {info.weights}, {info.threads} threads>"

    def __reduce__(self) -> str:
        raise TypeError("an engine does not pickle; its results do. Each process loads its own")

    def _ids(self, text: str | Sequence[int]) -> list[int]:
        return self.tokenize(text) if isinstance(text, str) else [int(token) for token in text]

    def _submit(self, request: _core.Request, options: RequestOptions, *, pieces: bool) -> _core.Generation:
        return self._core.submit(
            request,
            priority=options.get("priority", 0),
            client=options.get("client", ""),
            seconds=options.get("timeout") or 0.0,
            pieces=pieces,
            rounds=options.get("trace", False),
        )

    def _finish(self, options: RequestOptions) -> Callable[[_core.Generation, tuple[Token, ...] | None], Result]:
        """What makes the result of a generation that has ended."""
        logprobs = options.get("logprobs")
        asked = logprobs is not None and logprobs >= 0

        def finish(generation: _core.Generation, tokens: tuple[Token, ...] | None) -> Result:
            result = result_of(generation, self._core, tokens, asked_logprobs=asked)
            for warning in result.warnings:
                _log.warning("%s", warning)
            self._pass_log_on()
            return result

        return finish

    def _next_result(self, running: deque[tuple[_core.Generation, RequestOptions]],
                     errors: Literal["raise", "return"]) -> Result:
        """Waits for the first of what runs, and takes it out."""
        generation, options = running[0]
        generation.wait(float("inf"))
        running.popleft()
        if errors == "raise" and (error := error_in(generation.result())) is not None:
            raise error
        tokens = tuple(map(token_of, generation.take_ready())) if options.get("trace", False) else None
        return self._finish(options)(generation, tokens)

    def _pass_log_on(self) -> None:
        for level, text in self._core.take_log():
            _log.log(_LEVELS.get(level, logging.WARNING), "%s", text)


def _conversation(messages: str | Sequence[Message]) -> Sequence[Message]:
    return [{"role": "user", "content": messages}] if isinstance(messages, str) else messages


@atexit.register
def _close_all() -> None:
    """Before the interpreter ends: other threads that wait for an engine come back, and then none goes in again."""
    for engine in list(_open):
        engine.close()
    _core.end_threads(_SECONDS_AT_EXIT)
