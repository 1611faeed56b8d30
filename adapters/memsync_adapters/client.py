"""The HTTP client that all adapters share.

An adapter writes each operation once, as a generator that yields calls and is sent their answers; ``Client.run`` drives
it with a blocking client, ``Client.arun`` with an asynchronous one.
"""

import asyncio
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import httpx

PAGE: Final = 100  # items of a page, changes of a batch, turns of an append
MOST_LISTED: Final = 5_000  # items or namespaces of one request
MOST_FOUND: Final = 100  # items of one search
MOST_TURNS: Final = 5_000  # of one request

Json = dict[str, Any]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Call:
    """A POST to a route that names the owner in its body, as those under /v1 do."""

    path: str
    body: Mapping[str, Any] = field(default_factory=dict)


Steps = Generator[Call, Json, Result]


class MemsyncError(Exception):
    """A refusal.  code: as in the docs of memsync's errors.  error: the object with further fields."""

    def __init__(self, status: int, code: str, message: str, error: Json) -> None:
        super().__init__(f"{message} ({status} {code})")
        self.status, self.code, self.error = status, code, error

    @property
    def is_conflict(self) -> bool:
        """Whether an item had another version than was expected."""
        return self.code == "STATE_VERSION_CONFLICT"


class Client:
    """One end user's data.  url and api_key default to MEMSYNC_URL and MEMSYNC_API_KEY.

    tenant_id: a namespace within the key's tenant, with end users of its own; by default the tenant itself.
    """

    def __init__(
        self,
        user_id: str,
        *,
        tenant_id: str | None = None,
        url: str | None = None,
        api_key: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self.user_id, self.tenant_id = user_id, tenant_id
        key = api_key or os.environ["MEMSYNC_API_KEY"]
        self._options: Json = {
            "base_url": url or os.environ["MEMSYNC_URL"],
            "headers": {"X-API-Key": key},
            "timeout": timeout,
            "verify": httpx.create_ssl_context(),
        }
        self._client = httpx.Client(**self._options)
        # An asynchronous client belongs to the event loop that opened its connections.
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}

    def run(self, steps: Steps[Result]) -> Result:
        """Carry out an operation.  Raises MemsyncError."""
        answer: Json | MemsyncError | None = None
        try:
            while True:
                call = _advance(steps, answer)
                answer = _answer(self._client.send(self._request(self._client, call)))
        except StopIteration as done:
            result: Result = done.value
            return result

    async def arun(self, steps: Steps[Result]) -> Result:
        """Carry out an operation without blocking.  Raises MemsyncError."""
        client = self._client_of(asyncio.get_running_loop())
        answer: Json | MemsyncError | None = None
        try:
            while True:
                call = _advance(steps, answer)
                answer = _answer(await client.send(self._request(client, call)))
        except StopIteration as done:
            result: Result = done.value
            return result

    def close(self) -> None:
        """Close the connections of blocking calls."""
        self._client.close()

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _client_of(self, loop: asyncio.AbstractEventLoop) -> httpx.AsyncClient:
        if loop not in self._clients:
            self._clients = {one: client for one, client in self._clients.items() if not one.is_closed()}
            self._clients[loop] = httpx.AsyncClient(**self._options)
        return self._clients[loop]

    def _request(self, client: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
        owner = {"user_id": self.user_id} | ({} if self.tenant_id is None else {"tenant_id": self.tenant_id})
        return client.build_request("POST", call.path, json=owner | dict(call.body))


def _advance(steps: Steps[Any], answer: Json | MemsyncError | None) -> Call:
    """The next call of an operation, after the answer to the last one.  Raises StopIteration with its result."""
    if isinstance(answer, MemsyncError):
        return steps.throw(answer)
    return next(steps) if answer is None else steps.send(answer)


def _answer(response: httpx.Response) -> Json | MemsyncError:
    if response.is_success:
        answer: Json = response.json()
        return answer
    try:
        error = response.json()["error"]
        return MemsyncError(response.status_code, error["code"], error["message"], error)
    except (ValueError, KeyError, TypeError):
        return MemsyncError(response.status_code, "HTTP", response.reason_phrase, {})


# -- framework state ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """Operations on the framework state of one source."""

    source: str

    def get(self, namespace: Sequence[str], key: str) -> Steps[Json | None]:
        answer = yield self._call("get", namespace=list(namespace), key=key)
        item: Json | None = answer["item"]
        return item

    def put(self, namespace: Sequence[str], key: str, value: Json, **options: Any) -> Steps[Json]:
        """options: fields of the route, such as ``index``, ``ttl_seconds`` and ``if_version``."""
        answer = yield self._call("put", namespace=list(namespace), key=key, value=value, **options)
        item: Json = answer["item"]
        return item

    def change(self, puts: Sequence[Json] = (), deletes: Sequence[Json] = ()) -> Steps[list[Json]]:
        """Put and delete items, in batches of 100; each batch is done whole or not at all.  Returns the put items."""
        items: list[Json] = []
        for some in _chunks(puts):
            answer = yield self._call("batch", puts=some)
            items += answer["items"]
        for some in _chunks(deletes):
            yield self._call("batch", deletes=some)
        return items

    def swap(self, puts: Sequence[Json], deletes: Sequence[Json]) -> Steps[list[Json]]:
        """As ``change``, of at most 100 items in one batch."""
        answer = yield self._call("batch", puts=list(puts), deletes=list(deletes))
        items: list[Json] = answer["items"]
        return items

    def find(self, prefix: Sequence[str] = (), **options: Any) -> Steps[list[Json]]:
        """One page of the items below a namespace.  options: such as ``filter``, ``order``, ``limit``, ``offset``."""
        answer = yield self._call("list", namespace_prefix=list(prefix), **options)
        items: list[Json] = answer["items"]
        return items

    def find_all(self, prefix: Sequence[str] = (), **options: Any) -> Steps[list[Json]]:
        """All items below a namespace, oldest first."""
        found: list[Json] = []
        while True:
            more = yield from self.find(prefix, order="created_at", limit=PAGE, offset=len(found), **options)
            found += more
            if len(more) < PAGE:
                return found

    def search(self, query: str, prefix: Sequence[str] = (), **options: Any) -> Steps[list[Json]]:
        answer = yield self._call("search", query=query, namespace_prefix=list(prefix), **options)
        items: list[Json] = answer["items"]
        return items

    def namespaces(self, **options: Any) -> Steps[list[list[str]]]:
        """All namespaces that have items, sorted.  options: such as ``prefix`` and ``suffix``."""
        names: list[list[str]] = []
        while True:
            answer = yield self._call("namespaces", limit=MOST_LISTED, offset=len(names), **options)
            names += answer["namespaces"]
            if len(names) >= answer["total"]:
                return names

    def delete(self, namespace: Sequence[str], keys: Sequence[str] | None = None) -> Steps[int]:
        """Delete keys of a namespace, or all of it; returns how many there were."""
        which = {} if keys is None else {"keys": list(keys)}
        answer = yield self._call("delete", namespace=list(namespace), **which)
        return len(answer["deleted_ids"])

    def delete_below(self, prefix: Sequence[str], **options: Any) -> Steps[int]:
        """Delete the items in a namespace and below it; returns how many there were."""
        count = 0
        while some := (yield from self.find(prefix, limit=PAGE, **options)):
            yield from self.change(deletes=[place_of(item) for item in some])
            count += len(some)
        return count

    def _call(self, what: str, **fields: Any) -> Call:
        return Call(f"/v1/state/{what}", {"source": self.source} | fields)


def place_of(item: Mapping[str, Any]) -> Json:
    """Namespace and key of an item."""
    return {"namespace": item["namespace"], "key": item["key"]}


def _chunks(items: Sequence[Json]) -> Iterator[list[Json]]:
    for start in range(0, len(items), PAGE):
        yield list(items[start : start + PAGE])


# -- conversation history ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class History:
    """Operations on the turns of a session.  extract: also extract memories from what the user says."""

    session_id: str
    source: str
    extract: bool = False

    def turns(self, latest: int = 0) -> Steps[list[Json]]:
        """The latest turns, oldest first; 0: all."""
        answer = yield self._call("list", limit=min(latest, MOST_TURNS))
        turns: list[Json] = answer["items"]
        return turns

    def append(self, turns: Sequence[Json]) -> Steps[None]:
        """Each turn has ``role``, ``content`` and a ``payload`` that comes back as it is."""
        for some in _chunks(turns):
            yield self._call("append", turns=some, extract=self.extract)

    def delete(self, ids: Sequence[str]) -> Steps[list[str]]:
        """Delete turns by ID; returns the ids of those that were there."""
        answer = yield Call("/v1/history/delete", {"source": self.source, "ids": list(ids)})
        deleted: list[str] = answer["deleted_ids"]
        return deleted

    def clear(self) -> Steps[None]:
        yield self._call("delete")

    def _call(self, what: str, **fields: Any) -> Call:
        return Call(f"/v1/history/{what}", {"session_id": self.session_id, "source": self.source} | fields)


# -- memories ----------------------------------------------------------------------------------------------------------


def add_turn(text: str, **options: Any) -> Steps[Json]:
    """Extract memories from what was said and store them.  options: such as ``role``, ``session_id``, ``metadata``."""
    return (yield Call("/v1/memory/add_turn", {"text": text} | options))


def find_memories(query: str, *, limit: int) -> Steps[list[Json]]:
    """The memories that answer a query, best first, with ``memory_id``, ``raw_text``, ``score`` and ``metadata``."""
    answer = yield Call("/v1/memory/query", {"prompt": query, "k": limit})
    memories: list[Json] = answer["memories"]
    return memories


def recall_context(query: str, *, limit: int) -> Steps[str]:
    """The memories that answer a query, as text for a prompt; empty if there are none."""
    answer = yield Call("/v1/memory/recall", {"prompt": query, "k": limit})
    context: str = answer["context"]
    return context
