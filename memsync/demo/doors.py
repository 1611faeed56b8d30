"""Two ways to the same memory: through the published client, or through the services in this process."""

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

import httpx
from memorysync import MemorySyncClient, MemorySyncError, RateLimitError

from apps.api.memory.add import proposal
from apps.api.memory.outputs import decisions_body, memory_body, skip_body
from apps.core.plaintext import Plaintext
from apps.ingest.services import remember
from apps.memories.selectors import get_memory
from apps.projects.scope import Scope
from apps.recall.services import recall

Body = dict[str, Any]

ADD_ARGUMENTS = ("text", "source", "session_id", "metadata")  # of the client's, as far as the demo says them


class DoorShut(Exception):
    """The server could not be reached or refused.  Says its status and error code, and holds no content."""


class Door(Protocol):
    """The requests that a published client makes, and their bodies.  Every one is for the same end user."""

    def add(self, fields: Mapping[str, Any]) -> Body: ...

    def get(self, memory_id: int) -> Body: ...

    def query(self, query: str, *, k: int) -> Body: ...


class ClientDoor:
    """The running server, through the published client, with an API key."""

    PATIENCE = 5  # times that a rate limit is waited for

    def __init__(self, url: str, *, key: str, end_user: str) -> None:
        self._url = url
        self._wire = _Wire()
        self._client = MemorySyncClient(key, url, end_user_id=end_user, transport=self._wire)

    def add(self, fields: Mapping[str, Any]) -> Body:
        known = {name: value for name, value in fields.items() if name in ADD_ARGUMENTS}
        self._wire.more = {name: value for name, value in fields.items() if name not in ADD_ARGUMENTS}
        return self._whole(lambda: self._client.add(**known))

    def get(self, memory_id: int) -> Body:
        return self._whole(lambda: self._client.get(memory_id))

    def query(self, query: str, *, k: int) -> Body:
        return self._whole(lambda: self._client.query(query, k=k))

    def _whole(self, call: Callable[[], object]) -> Body:
        """The body of the answer to the call: the client's own objects leave out decisions and explanations."""
        try:
            for _ in range(self.PATIENCE):
                try:
                    call()
                    return self._wire.answer
                except RateLimitError as error:
                    time.sleep(min(60.0, error.retry_after_seconds or 1.0))
            raise DoorShut(f"{self._url} met the rate limit {self.PATIENCE} times")
        except MemorySyncError as error:
            if error.status_code is None:
                raise DoorShut(f"{self._url} does not answer as expected: run `memsync up` first") from error
            raise DoorShut(f"{self._url} answered {error.status_code} {_code(error.response)}") from error
        finally:
            self._wire.more = {}


class _Wire(httpx.BaseTransport):
    """What the client sends through.  more: fields of the next body that the client has no argument for."""

    def __init__(self) -> None:
        self.more: Body = {}
        self.answer: Body = {}
        # Never through a proxy: the key is for this server's eyes.
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.more:
            body = json.loads(request.read()) | self.more
            headers = {name: value for name, value in request.headers.items() if name != "content-length"}
            request = httpx.Request(request.method, request.url, headers=headers, content=json.dumps(body))
        response = self._inner.handle_request(request)
        with contextlib.suppress(ValueError):
            self.answer = json.loads(response.read())
        return response

    def close(self) -> None:
        self._inner.close()


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


def _code(body: object) -> str:
    error = body.get("error") if isinstance(body, dict) else None
    return str(error.get("code", "")) if isinstance(error, dict) else ""
