"""Two ways to the same memory: over HTTP, as a client would, or through the services in this process."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from apps.api.memory.add import proposal
from apps.api.memory.shapes import decisions_body, memory_body, skip_body
from apps.core.plaintext import Plaintext
from apps.ingest.services import remember
from apps.memories.selectors import get_memory
from apps.projects.scope import Scope
from apps.recall.services import recall

Body = dict[str, Any]


class DoorShut(Exception):
    """The server could not be reached or refused.  Says its status and error code, and holds no content."""


class Door(Protocol):
    """The requests that a published client makes, and their bodies.  Every one is for the same end user."""

    def add(self, fields: Mapping[str, Any]) -> Body: ...

    def get(self, memory_id: int) -> Body: ...

    def query(self, query: str, *, k: int) -> Body: ...


class HttpDoor:
    """The running server, with an API key."""

    PATIENCE = 5  # times that a rate limit is waited for

    def __init__(self, url: str, *, key: str, end_user: str) -> None:
        self._url = url
        self._headers = {
            "X-API-Key": key,
            "X-End-User-ID": end_user,
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        # Never through a proxy: the key is for this server's eyes.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def add(self, fields: Mapping[str, Any]) -> Body:
        return self._call("POST", "/memory/add", fields)

    def get(self, memory_id: int) -> Body:
        return self._call("GET", f"/memory/{memory_id}")

    def query(self, query: str, *, k: int) -> Body:
        return self._call("POST", "/memory/query", {"query": query, "k": k})

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Body:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self._url}{path}", data, self._headers, method=method)  # noqa: S310
        for _ in range(self.PATIENCE):
            try:
                with self._opener.open(request, timeout=30) as response:
                    answer: Body = json.loads(response.read())
                    return answer
            except urllib.error.HTTPError as error:
                with error:
                    if error.code != 429:
                        raise DoorShut(f"{method} {path} answered {error.code} {_code(error.read())}") from error
                    time.sleep(min(60.0, float(error.headers.get("Retry-After") or 1)))
            except (OSError, ValueError) as error:
                raise DoorShut(f"{self._url} does not answer as expected: run `memsync up` first") from error
        raise DoorShut(f"{method} {path} met the rate limit {self.PATIENCE} times")


class ServiceDoor:
    """The same without a server, where only the databases run.  scope: one end user's space."""

    def __init__(self, scope: Scope, *, now: datetime) -> None:
        self._scope = scope
        self._now = now

    def add(self, fields: Mapping[str, Any]) -> Body:
        (outcome,) = remember(self._scope, [proposal(fields, deduplicate=True)], now=self._now)
        if not outcome.is_stored:
            return skip_body(outcome)
        return {"memory_ids": outcome.memory_ids, "decisions": decisions_body(outcome.decisions)}

    def get(self, memory_id: int) -> Body:
        return memory_body(get_memory(self._scope, memory_id, now=self._now))

    def query(self, query: str, *, k: int) -> Body:
        found = recall(self._scope, Plaintext(query), limit=k, now=self._now)
        return {
            "memories": [memory_body(hit.memory, score=hit.score, explanation=hit.explanation) for hit in found.hits],
            "latency_ms": found.latency_ms,
        }


def _code(raw: bytes) -> str:
    try:
        return str(json.loads(raw)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return ""
