"""The published client, sync and async, against a server of threads.

`make` gives a test either client in turn: `make()` is alice's, with the production key of the tenant acme.
"""

import asyncio
import inspect
import ssl
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from memorysync import AsyncMemorySyncClient, MemorySyncClient
from memorysync.control_plane import AsyncControlPlaneClient, ControlPlaneClient

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from apps.recall import read_log


@pytest.fixture(autouse=True, scope="session")
def _static_root() -> None:
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # or whitenoise warns about it


@pytest.fixture(autouse=True, scope="module")
def _certificates_are_read_once() -> Iterator[None]:
    """Each client reads a bundle of 150 again, and the async ones live for one call; nothing here speaks TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(autouse=True)
def _accesses_are_not_counted_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer's thread would write after the test has ended."""
    monkeypatch.setattr(read_log, "record_recall", lambda scope, memory_ids, **_: None)


class Sync:
    """Calls a sync client."""

    def __init__(self, kind: Callable[..., Any], *args: Any, **options: Any) -> None:
        self.client = kind(*args, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self.client, name)
        return method

    def close(self) -> None:
        self.client.close()


class Async:
    """Calls an async client, one event loop for each call."""

    def __init__(self, kind: Callable[..., Any], *args: Any, **options: Any) -> None:
        self.made = partial(kind, *args, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            async with self.made() as client:
                answer = getattr(client, name)(*args, **kwargs)
                return await answer if inspect.isawaitable(answer) else answer

        return lambda *args, **kwargs: asyncio.run(call(*args, **kwargs))

    def close(self) -> None:
        pass


ASYNC = {MemorySyncClient: AsyncMemorySyncClient, ControlPlaneClient: AsyncControlPlaneClient}
Make = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def published(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes a client of the (sync) class given, or its async counterpart."""
    made: list[Any] = []

    def client(kind: Any, *args: Any, **options: Any) -> Any:
        made.append(Sync(kind, *args, **options) if request.param == "sync" else Async(ASYNC[kind], *args, **options))
        return made[-1]

    yield client
    for one in made:
        one.close()


@pytest.fixture
def make(published: Make, live_server: Any, acme: OpenedTenant) -> Make:
    """A client of acme's production key for alice, unless told otherwise."""

    def client(key: str = acme.keys[Environment.PRODUCTION], end_user_id: str | None = "alice", **options: Any) -> Any:
        return published(MemorySyncClient, key, live_server.url, end_user_id=end_user_id, **options)

    return client


def refused(kind: type[Exception], call: Callable[[], Any]) -> Any:
    """What was raised, once it has been found to carry the id of its request."""
    with pytest.raises(kind) as caught:
        call()
    error: Any = caught.value
    assert type(error) is kind
    assert error.response["request_id"] == error.request_id
    assert len(error.request_id) == 32
    return error
