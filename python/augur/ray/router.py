"""Requests go where the beginning of their prompt was read before: a request router of Ray Serve."""
from __future__ import annotations

import random
from collections import OrderedDict
from typing import Any

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica

KNOWN_PAGES = 100_000
"""Hashes that a router remembers, those that were asked for last."""


class PrefixRouter(RequestRouter):
    """Prefers the replica that has read the most pages of a request's prompt, unless it has `ahead` requests more than
    the replica with the fewest; others come after it, those with the fewest requests first.

    A request's first argument has `pages` (`augur.ray.pages`); what a replica has read is what was sent to it.
    """

    def initialize_state(self, ahead: int = 16) -> None:
        self._ahead = ahead
        self._readers: OrderedDict[str, ReplicaID] = OrderedDict()

    async def choose_replicas(self, candidate_replicas: list[RunningReplica],
                              pending_request: PendingRequest | None = None) -> list[list[RunningReplica]]:
        running = {replica.replica_id: replica for replica in candidate_replicas}
        shuffled = random.sample(candidate_replicas, len(candidate_replicas))
        by_load = sorted(shuffled, key=lambda replica: self._requests_at(replica.replica_id))
        reader = None if pending_request is None else self._reader_of(pages_in(pending_request))
        if reader not in running:
            return [by_load[:1], by_load[1:]] if len(by_load) > 1 else [by_load]
        if self._requests_at(reader) > self._requests_at(by_load[0].replica_id) + self._ahead:
            return [[replica] for replica in by_load]
        return [[running[reader]], [replica for replica in by_load if replica.replica_id != reader]]

    def on_request_routed(self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any) -> None:
        for page in pages_in(pending_request):
            self._readers[page] = replica_id
            self._readers.move_to_end(page)
        while len(self._readers) > KNOWN_PAGES:
            self._readers.popitem(last=False)

    def on_replica_actor_died(self, replica_id: ReplicaID) -> None:
        super().on_replica_actor_died(replica_id)
        for page in [page for page, reader in self._readers.items() if reader == replica_id]:
            del self._readers[page]

    def _reader_of(self, pages: tuple[str, ...]) -> ReplicaID | None:
        """Who has read the longest beginning."""
        return next((self._readers[page] for page in reversed(pages) if page in self._readers), None)

    def _requests_at(self, replica_id: ReplicaID) -> int:
        return self.replica_queue_len_cache.get(replica_id) or 0


def pages_in(request: PendingRequest) -> tuple[str, ...]:
    return getattr(request.args[0], "pages", ()) if request.args else ()
