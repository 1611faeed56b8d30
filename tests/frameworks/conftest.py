"""Clients of a running server for the adapters of frameworks, each of an end user of its own."""

import asyncio
import gc
import signal
import warnings
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from memsync_adapters import Client
from tests.frameworks.judges import WaitFor
from tests.running import Up
from tests.sdk.conftest import SERVER, Recording

MakeClient = Callable[..., Client]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, prepared_home: Path) -> Iterator[Up]:
    up = Up(tmp_path_factory.mktemp("frameworks") / "home", prepared=prepared_home)
    yield up
    up.stop(signal.SIGTERM)


@pytest.fixture(scope="module", autouse=True)
def _connections_that_nobody_closes() -> Iterator[None]:
    """Of event loops that frameworks run in threads, and of adapters that have no way to close them."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def clients(served: Up, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Client]]:
    """The clients that a test made."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("MEMSYNC_URL", served.ready["url"])
    monkeypatch.setenv("MEMSYNC_API_KEY", served.ready["keys"]["production"])
    made: list[Client] = []
    yield made
    for one in made:
        one.close()


@pytest.fixture
def make_client(clients: list[Client]) -> MakeClient:
    """Makes clients, each of a new end user, or of the one named."""

    def make(user_id: str = "", **options: Any) -> Client:
        clients.append(Client(user_id or f"user-{uuid4().hex}", **options))
        return clients[-1]

    return make


@pytest.fixture
def client(make_client: MakeClient) -> Client:
    return make_client()


@pytest.fixture
def of_acme(acme: OpenedTenant) -> Iterator[Client]:
    """A client of the server in this process, for alice of the tenant acme."""
    client = Client("alice", url=SERVER, api_key=acme.keys[Environment.PRODUCTION])
    client.close()
    client._client = httpx.Client(**client._options, transport=Recording())
    yield client
    client.close()


@pytest.fixture
def wait_for(clients: list[Client]) -> WaitFor:
    """Runs a coroutine to its end, and closes the connections of its event loop."""

    async def closing(work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await work
        finally:
            for one in clients:
                await one.aclose()

    return lambda work: asyncio.run(closing(work))
