"""The published client, sync and async, against a server of threads.

`make` gives a test either client in turn: `make()` is alice's, with the production key of the tenant acme.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from memorysync import AsyncMemorySyncClient, MemorySyncClient

from apps.apikeys.onboarding import Opened
from apps.projects.scope import Environment
from apps.recall import access


@pytest.fixture(autouse=True, scope="session")
def _static_root() -> None:
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # or whitenoise warns about it


@pytest.fixture(autouse=True)
def _accesses_are_not_counted_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer's thread would write after the test has ended."""
    monkeypatch.setattr(access, "note", lambda scope, memory_ids, **_: None)


class Sync:
    """Calls the sync client."""

    def __init__(self, key: str, url: str, **options: Any) -> None:
        self.client = MemorySyncClient(key, url, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self.client, name)
        return method

    def close(self) -> None:
        self.client.close()


class Async:
    """Calls the async client, one event loop for each call."""

    def __init__(self, key: str, url: str, **options: Any) -> None:
        self.made = (key, url, options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        key, url, options = self.made

        async def call(*args: Any, **kwargs: Any) -> Any:
            async with AsyncMemorySyncClient(key, url, **options) as client:
                answer = getattr(client, name)(*args, **kwargs)
                return await answer if inspect.isawaitable(answer) else answer

        return lambda *args, **kwargs: asyncio.run(call(*args, **kwargs))

    def close(self) -> None:
        pass


Make = Callable[..., Any]


@pytest.fixture(params=[Sync, Async], ids=["sync", "async"])
def make(request: pytest.FixtureRequest, live_server: Any, acme: Opened) -> Iterator[Make]:
    """A client of acme's production key for alice, unless told otherwise."""
    made: list[Any] = []

    def client(key: str = acme.keys[Environment.PRODUCTION], end_user_id: str | None = "alice", **options: Any) -> Any:
        made.append(request.param(key, live_server.url, end_user_id=end_user_id, **options))
        return made[-1]

    yield client
    for one in made:
        one.close()


def refused(kind: type[Exception], call: Callable[[], Any]) -> Any:
    """What was raised, once it has been found to carry the id of its request."""
    with pytest.raises(kind) as caught:
        call()
    error: Any = caught.value
    assert type(error) is kind
    assert error.response["request_id"] == error.request_id
    assert len(error.request_id) == 32
    return error
