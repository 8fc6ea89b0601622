"""A deployment of Ray Serve that answers as `augur serve` does: each replica runs one.

A request goes from Ray's HTTP proxy to the gateway, which sends it to a replica by a handle, whose router
(`augur.ray.router`) minds what replicas have read. The replica hands its bytes to the server and the answer's bytes
back, so every route, field and error is the server's own. Where a replica dies the gateway repeats what ran there, and
a stream goes on where it stopped (`augur.ray.resumed`).
"""
from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import ray.exceptions
from ray import serve
from ray.serve.config import AutoscalingConfig, RequestRouterConfig
from ray.serve.handle import DeploymentHandle
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from augur.ray.pages import pages_of
from augur.ray.resumed import Diverged, ResumedEvents
from augur.ray.router import PrefixRouter
from augur.ray.server_process import ServerProcess

ATTEMPTS = 5
"""How often a request is tried before the answer is a 502."""

_GENERATES = ("completions", "completion", "responses", "messages", "infill")
_OF_A_HOP = frozenset({"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
                       "transfer-encoding", "upgrade", "host", "content-length", "date", "server"})
_PLACES = ("--host", "--port", "--config", "--admin-listen")


class ServerGone(Exception):
    """The server of a replica has gone while it answered."""


@dataclass(frozen=True)
class Asked:
    """A request as the server gets it; `pages` are for the router."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    pages: tuple[str, ...]


@dataclass(frozen=True)
class Head:
    """The beginning of an answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    is_events: bool


def serve_app(
    model: str | os.PathLike[str],
    *,
    draft: str | os.PathLike[str] | None = None,
    replicas: int | tuple[int, int] = 1,
    threads: int = 1,
    parallel: int = 16,
    flags: Sequence[str] = (),
    ray_actor_options: Mapping[str, Any] | None = None,
) -> serve.Application:
    """The server's routes as an application of Ray Serve: ``serve.run(serve_app(...))``.

    Parameters
    ----------
    model : path
        A Hugging Face folder or a GGUF file, which every node of the cluster has at this place.
    draft : path, optional
        A draft model or head.
    replicas : int or (int, int)
        How many; or the fewest and the most, between which Ray Serve scales them by the requests that run and wait.
    threads : int
        Threads of a replica, and the CPUs that Ray counts for it.
    parallel : int
        Requests that a replica decodes at once. It gets up to twice as many; the others wait at the gateway. More than
        `parallel` for each replica is what scales them up.
    flags : sequence of str
        Further flags of `augur serve`, but for the place where it listens.
    ray_actor_options : mapping, optional
        Of a replica, over `num_cpus`.

    Returns
    -------
    ray.serve.Application

    Raises
    ------
    ValueError
        Where `flags` say where to listen.

    Notes
    -----
    A request without a seed gets one from the gateway, so that its repetition has the same ids. What is asked of one
    server (`/metrics`, `/load`, `/slots`) is answered by any replica.
    """
    flags = [str(flag) for flag in flags]
    if wrong := [flag for flag in flags if flag.partition("=")[0] in _PLACES]:
        raise ValueError(f"flags={wrong}: replicas listen at places of their own")
    command = ["-m", os.fspath(model), *([] if draft is None else ["-md", os.fspath(draft)]), "-t", str(threads),
               "--parallel", str(parallel), *flags]
    scaling: dict[str, Any] = {"num_replicas": replicas}
    if isinstance(replicas, tuple):
        scaling = {"autoscaling_config": AutoscalingConfig(
            min_replicas=replicas[0], max_replicas=replicas[1], target_ongoing_requests=parallel)}
    replica = serve.deployment(Replica).options(
        name="augur-replica", max_ongoing_requests=2 * parallel, health_check_period_s=5,
        ray_actor_options={"num_cpus": threads, **(ray_actor_options or {})},
        request_router_config=RequestRouterConfig(request_router_class=PrefixRouter,
                                                  request_router_kwargs={"ahead": parallel}), **scaling)
    gateway = serve.deployment(Gateway).options(
        name="augur-gateway", max_ongoing_requests=100_000, ray_actor_options={"num_cpus": 0})
    return gateway.bind(replica.bind(command), seeds="--seed" not in flags)


class Replica:
    """A server, and what hands requests to it. Its process ends when the server does, so that Ray replaces it."""

    def __init__(self, flags: Sequence[str]) -> None:
        self._server = ServerProcess(flags, on_end=lambda: os._exit(1))
        self._session: aiohttp.ClientSession | None = None

    async def answer(self, asked: Asked) -> AsyncIterator[Head | bytes]:
        """The head of the answer, then the bytes of its body: in pieces where these are events, else whole.

        Raises
        ------
        ServerGone
            Where the server ends meanwhile.
        """
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.UnixConnector(self._server.socket, limit=0), auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None), skip_auto_headers=("Accept-Encoding", "User-Agent"))
        try:
            async with self._session.request(asked.method, f"http://localhost{asked.target}", data=asked.body or None,
                                             headers=list(asked.headers), allow_redirects=False) as answer:
                is_events = answer.content_type == "text/event-stream"
                headers = _of_the_message(answer.headers.items())  # Ray adds X-Request-Id, which it gave the request
                yield Head(answer.status, tuple(one for one in headers if one[0].lower() != "x-request-id"), is_events)
                if not is_events:
                    yield await answer.read()
                    return
                async for data in answer.content.iter_any():
                    yield data
        except aiohttp.ClientError as error:
            raise ServerGone(str(error)) from None

    def pid(self) -> int:
        """Of the server's process."""
        return self._server.pid

    def check_health(self) -> None:
        if not self._server.is_healthy():
            raise RuntimeError("the server does not say that it serves")

    def __del__(self) -> None:
        if hasattr(self, "_server"):
            self._server.stop()


class Gateway:
    """Sends requests to replicas, and repeats those whose replica dies."""

    def __init__(self, replicas: DeploymentHandle, seeds: bool) -> None:
        self._replicas = replicas.options(stream=True, method_name="answer")
        self._seeds = seeds

    async def __call__(self, request: Request) -> Response:
        try:
            asked = await self._asked(request)
        except ClientDisconnect:
            return Response(status_code=499)
        parts = self._parts(asked)
        try:
            head = await anext(parts)
            assert isinstance(head, Head)
            if head.is_events:
                return StreamingResponse(parts, head.status, dict(head.headers))
            body = b"".join([part async for part in parts if isinstance(part, bytes)])
        except ServerGone as error:
            return JSONResponse({"error": {"message": str(error), "type": "server_error", "code": 502}}, 502)
        answer = Response(body, head.status)
        for name, value in head.headers:
            answer.headers.append(name, value)
        return answer

    async def _asked(self, request: Request) -> Asked:
        body = await request.body()
        headers = dict(_of_the_message(request.headers.items()))
        if request.client is not None:
            before = headers.get("x-forwarded-for")
            headers["x-forwarded-for"] = f"{before}, {request.client.host}" if before else request.client.host
        query = request.url.query
        pages: tuple[str, ...] = ()
        if request.method == "POST" and request.url.path.rstrip("/").endswith(_GENERATES):
            body, pages = self._prepared(body)
        return Asked(request.method, request.url.path + (f"?{query}" if query else ""), tuple(headers.items()), body,
                     pages)

    def _prepared(self, body: bytes) -> tuple[bytes, tuple[str, ...]]:
        """The body, with a seed if it has none, and its prompt's pages. What is no JSON is left to the server."""
        try:
            fields = json.loads(body)
        except ValueError:
            return body, ()
        if not isinstance(fields, dict) or not fields:
            return body, ()
        seed = random.getrandbits(31)
        if not self._seeds or fields.get("seed", -1) not in (-1, None):
            pass
        elif "seed" in fields:
            body = json.dumps({**fields, "seed": seed}).encode()
        else:
            body = body.replace(b"{", b'{"seed":%d,' % seed, 1)
        return body, pages_of(fields)

    async def _parts(self, asked: Asked) -> AsyncIterator[Head | bytes]:
        """The head of the answer and the parts of its body, each once, whatever happens to replicas.

        Raises
        ------
        ServerGone
            Where no attempt came to the answer's beginning.
        """
        events = ResumedEvents()
        head: Head | None = None
        reason = "no replica has answered"
        for _ in range(ATTEMPTS):
            events.begin()
            parts = self._replicas.remote(asked)
            try:
                async for part in parts:
                    if isinstance(part, Head):
                        if head is None:
                            head = part
                            if head.is_events:
                                yield head
                        elif head.status != part.status:
                            raise Diverged(f"the status was {head.status} and is {part.status}")
                        continue
                    assert head is not None
                    if not head.is_events:
                        yield head
                        yield part
                        return
                    for event in events.read(part):
                        yield event
                return
            except (ray.exceptions.RayActorError, ServerGone) as error:
                reason = str(error)
                await asyncio.sleep(0.05)
            except Diverged as error:
                reason = f"a repetition of the request differs: {error}"
                break
            finally:
                parts.cancel()
        if head is None or not head.is_events:
            raise ServerGone(reason)
        yield b'data: %s\n\n' % json.dumps({"error": {"message": reason, "type": "server_error", "code": 502}}).encode()


def _of_the_message(headers: Any) -> tuple[tuple[str, str], ...]:
    """The headers that concern the message and not its way."""
    return tuple((name, value) for name, value in headers if name.lower() not in _OF_A_HOP)
