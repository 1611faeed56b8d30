"""Clients of the server in this process, each of one profile."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from apps.recall import read_log
from tests.planes.profile_client import ProfileClient
from tests.sdk.conftest import Recording, handler

Connect = Callable[..., ProfileClient]


@pytest.fixture(autouse=True, scope="session")
def _static_root() -> None:
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # or whitenoise warns about it


@pytest.fixture(autouse=True)
def _accesses_are_not_counted_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer's thread would write after the test has ended."""
    monkeypatch.setattr(read_log, "record_recall", lambda scope, memory_ids, **_: None)


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
