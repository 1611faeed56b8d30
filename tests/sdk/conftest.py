"""The published client, sync and async.

``make`` gives a test a client of the server in this process: ``make()`` is alice's, with the production key of the
tenant acme.  The sync client asks the server; then the async one must send the same requests, and make the same of the
same answers.  ``live`` gives a test either client in turn, on a connection to a server of threads.
"""

import asyncio
import inspect
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import httpx
import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from memorysync import AsyncMemorySyncClient, MemorySyncClient
from memorysync.control_plane import AsyncControlPlaneClient, ControlPlaneClient

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment

SERVER = "http://testserver"


@pytest.fixture(autouse=True, scope="module")
def _certificates_are_read_once() -> Iterator[None]:
    """Each client reads a bundle of 150 again, and the async ones live for one call; nothing here speaks TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


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


Exchange = tuple[httpx.Request, httpx.Response]


class Recording(httpx.BaseTransport):
    """The server in this process; ``exchanges``: what it was asked and answered."""

    def __init__(self) -> None:
        self.server = httpx.WSGITransport(app=handler())
        self.exchanges: list[Exchange] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        with _connections_stay_open():
            response = self.server.handle_request(request)
            response.read()
            response.close()
        self.exchanges.append((request, response))
        return _copied(response)


class Replaying(httpx.AsyncBaseTransport):
    """Answers the same requests as another transport did, in the same order, and no others."""

    def __init__(self, exchanges: list[Exchange]) -> None:
        self.left = list(exchanges)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        expected, response = self.left.pop(0)
        assert _sent(request) == _sent(expected), "the async client sends something else"
        return _copied(response)


@cache
def handler() -> Callable[..., Any]:
    django = WSGIHandler()

    def serve(environ: dict[str, Any], start_response: Any) -> Any:
        environ["PATH_INFO"] = environ["PATH_INFO"].encode().decode("latin-1")  # as servers hand it over
        return django(environ, start_response)

    return serve


@contextmanager
def _connections_stay_open() -> Iterator[None]:
    """As for Django's own test client: the test's transaction is theirs."""
    signals = (request_started, request_finished)
    for one in signals:
        one.disconnect(close_old_connections)
    try:
        yield
    finally:
        for one in signals:
            one.connect(close_old_connections)


def _sent(request: httpx.Request) -> tuple[Any, ...]:
    """What goes over the wire, whatever boundary was drawn for a form."""
    content, headers = request.content, dict(request.headers)
    if "boundary=" in (kind := headers.get("content-type", "")):
        boundary = kind.partition("boundary=")[2]
        content, headers["content-type"] = content.replace(boundary.encode(), b"boundary"), "multipart"
    return request.method, str(request.url), headers, content


def _copied(response: httpx.Response) -> httpx.Response:
    return httpx.Response(response.status_code, headers=response.headers, content=response.content)


class Twins:
    """Calls a sync client of the server in this process, then its async twin, which must do as it does."""

    def __init__(self, kind: Callable[..., Any], *args: Any, **options: Any) -> None:
        self.transport = Recording()
        self.client = kind(*args, transport=self.transport, **options)
        self.twin = partial(ASYNC[kind], *args, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.transport.exchanges.clear()
            answer = _outcome(partial(getattr(self.client, name), *args, **kwargs))
            transport = Replaying(self.transport.exchanges)
            of_twin = _outcome(partial(getattr(Async(self.twin, transport=transport), name), *args, **kwargs))
            if isinstance(of_twin, AssertionError):
                raise of_twin
            assert (type(of_twin), _told(of_twin)) == (type(answer), _told(answer))
            assert transport.left == [], "the async client sends less"
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    def close(self) -> None:
        self.client.close()


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:  # noqa: BLE001  (whatever it is, the twin has to raise the same)
        return error


def _told(answer: Any) -> Any:
    return (str(answer), vars(answer)) if isinstance(answer, Exception) else answer


ASYNC: dict[Any, Any] = {MemorySyncClient: AsyncMemorySyncClient, ControlPlaneClient: AsyncControlPlaneClient}
Make = Callable[..., Any]


@pytest.fixture
def published() -> Iterator[Make]:
    """Makes a client of the (sync) class given."""
    made: list[Twins] = []

    def client(kind: Any, *args: Any, **options: Any) -> Any:
        made.append(Twins(kind, *args, **options))
        return made[-1]

    yield client
    for one in made:
        one.close()


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    """Plain requests to the server in this process."""
    with httpx.Client(transport=Recording(), base_url=SERVER) as client:
        yield client


@pytest.fixture(params=["sync", "async"])
def live(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes a client of the (sync) class given, or its async counterpart, with a connection of its own."""
    made: list[Any] = []

    def client(kind: Any, *args: Any, **options: Any) -> Any:
        made.append(Sync(kind, *args, **options) if request.param == "sync" else Async(ASYNC[kind], *args, **options))
        return made[-1]

    yield client
    for one in made:
        one.close()


@pytest.fixture
def make(published: Make, acme: OpenedTenant) -> Make:
    """A client of acme's production key for alice, unless told otherwise."""

    def client(key: str = acme.keys[Environment.PRODUCTION], end_user_id: str | None = "alice", **options: Any) -> Any:
        return published(MemorySyncClient, key, SERVER, end_user_id=end_user_id, **options)

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
