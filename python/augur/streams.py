"""Texts that are read while they are generated."""
from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType

from augur import _core
from augur.results import Result, Token, error_in, token_of

Finish = Callable[[_core.Generation, "tuple[Token, ...] | None"], Result]
"""Makes the result of a generation that has ended, with the tokens of one that is traced."""


class _Tokens:
    """The tokens of a generation that have come and were not read, and those that were where all are kept."""

    def __init__(self, generation: _core.Generation, finish: Finish, keep: bool) -> None:
        self.generation = generation
        self.finish = finish
        self.ready: deque[Token] = deque()
        self.kept: list[Token] | None = [] if keep else None
        self.error: BaseException | None = None

    def add(self, pieces: list[_core.Piece]) -> None:
        for piece in pieces:
            token = token_of(piece)
            self.ready.append(token)
            if self.kept is not None:
                self.kept.append(token)

    def raise_error(self) -> None:
        """Raises what the generation, which has ended, failed by."""
        self.error = self.error or error_in(self.generation.result())
        if self.error is not None:
            raise self.error

    def result(self) -> Result:
        self.add(self.generation.take_ready())
        return self.finish(self.generation, None if self.kept is None else tuple(self.kept))


class Stream(Iterator[Token]):
    """The tokens of a text, each as soon as it is certain. Of `Engine.stream`.

    The generation ends when the stream is closed, left as a context, or collected. One thread reads it at a time;
    others may close it.
    """

    def __init__(self, generation: _core.Generation, finish: Finish, keep: bool) -> None:
        self._tokens = _Tokens(generation, finish, keep)

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Token:
        tokens = self._tokens
        if not tokens.ready:
            tokens.add(tokens.generation.take())
            if not tokens.ready:
                tokens.raise_error()
                raise StopIteration
        return tokens.ready.popleft()

    def result(self) -> Result:
        """Waits for the end. The result has all of the text, read from the stream or not.

        Raises
        ------
        Error
            What the generation failed by.
        """
        self._tokens.generation.wait(float("inf"))
        self._tokens.raise_error()
        return self._tokens.result()

    def close(self) -> None:
        """Ends the generation with the tokens that it has."""
        self._tokens.generation.cancel()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class AsyncStream(AsyncIterator[Token]):
    """The same for asyncio. Of `Engine.astream`; a task that is cancelled while it waits ends the generation."""

    def __init__(self, start: Callable[[], _core.Generation], finish: Finish, keep: bool) -> None:
        self._start = start
        self._finish = finish
        self._keep = keep
        self._tokens: _Tokens | None = None
        self._closed = False

    def __aiter__(self) -> AsyncStream:
        return self

    async def __anext__(self) -> Token:
        tokens = await self._started()
        while not tokens.ready:
            if not await self._news(tokens):
                tokens.raise_error()
                raise StopAsyncIteration
        return tokens.ready.popleft()

    async def result(self) -> Result:
        """Waits for the end, as `Stream.result`."""
        tokens = await self._started()
        while await self._news(tokens):
            pass
        tokens.raise_error()
        return tokens.result()

    async def aclose(self) -> None:
        """Ends the generation with the tokens that it has."""
        self._closed = True
        if self._tokens is not None:
            self._tokens.generation.cancel()

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.aclose()

    async def _started(self) -> _Tokens:
        """Submits the request with the first use; on another thread, as the engine's first request takes time."""
        if self._tokens is None:
            generation = await asyncio.to_thread(self._start)
            self._tokens = _Tokens(generation, self._finish, self._keep)
            if self._closed:
                generation.cancel()
        return self._tokens

    async def _news(self, tokens: _Tokens) -> bool:
        """Waits for tokens, or for the end: False."""
        generation = tokens.generation
        descriptor = generation.descriptor()
        while True:
            generation.clear_descriptor()
            ended = generation.ended()
            if pieces := generation.take_ready():
                tokens.add(pieces)
                return True
            if ended:
                return False
            loop = asyncio.get_running_loop()
            readable = asyncio.Event()
            loop.add_reader(descriptor, readable.set)
            try:
                await readable.wait()
            except asyncio.CancelledError:
                generation.cancel()
                raise
            finally:
                loop.remove_reader(descriptor)
