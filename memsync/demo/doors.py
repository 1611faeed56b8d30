"""Two ways to reach the same memory: through the published client, or through the services in this process."""

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

import httpx
from memorysync import MemorySyncClient, MemorySyncError, RateLimitError

from apps.api.memory.add import proposal
from apps.api.memory.memory_output import decisions_body, hit_body, memory_body, skip_body
from apps.core.plaintext import Plaintext
from apps.ingest.services import remember
from apps.memories.selectors import get_memory
from apps.projects.scope import Scope
from apps.recall.services import recall

Body = dict[str, Any]

ADD_ARGUMENTS = ("text", "source", "session_id", "metadata")  # arguments of the client's add() that the demo uses


class DoorShut(Exception):
    """The server was unreachable or refused the request.  Holds its status and error code, no content."""


class Door(Protocol):
    """The requests of a published client, with their response bodies, all for the same end user."""

    def add(self, fields: Mapping[str, Any]) -> Body: ...

    def get(self, memory_id: int) -> Body: ...

    def query(self, query: str, *, k: int) -> Body: ...


class ClientDoor:
    """A running server, called through the published client with an API key."""

    PATIENCE = 5  # attempts when rate limited

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
        """The full response body: the client's own objects leave out decisions and explanations."""
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
    """HTTP transport of the client.  more: fields to add to the next body, for which the client has no argument."""

    def __init__(self) -> None:
        self.more: Body = {}
        self.answer: Body = {}
        # No proxy: the API key is for this server only.
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
    """The same requests through the services, where only the databases run.  scope: one end user's space."""

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
            "memories": [hit_body(hit) for hit in found.hits],
            "latency_ms": found.latency_ms,
        }


def _code(body: object) -> str:
    error = body.get("error") if isinstance(body, dict) else None
    return str(error.get("code", "")) if isinstance(error, dict) else ""
