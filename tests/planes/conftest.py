"""Clients of the server in this process, each of one profile."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests.planes.profile_client import ProfileClient
from tests.sdk.conftest import Recording, handler

Connect = Callable[..., ProfileClient]


@pytest.fixture
def connect(acme: OpenedTenant) -> Iterator[Connect]:
    """Makes a client: of the profile alice in the namespace home, with acme's key, unless asked for another.

    with_threads: whose connections to the database are their own, outside of a test's transaction.
    """
    made: list[ProfileClient] = []

    def client(
        profile: str = "alice",
        namespace: str = "home",
        *,
        key: str | None = acme.keys[Environment.PRODUCTION],
        with_threads: bool = False,
        **options: Any,
    ) -> ProfileClient:
        transport = httpx.WSGITransport(app=handler()) if with_threads else Recording()
        made.append(ProfileClient(namespace, profile, key=key, transport=transport, **options))
        return made[-1]

    yield client
    for one in made:
        one.close()


@pytest.fixture
def alice(connect: Connect) -> ProfileClient:
    return connect()
