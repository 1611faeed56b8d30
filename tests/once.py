"""What a module makes once.  The two tenants, where hundreds of tests look at them::

    cast, acme, globex = once.cast, once.acme, once.globex

All of the module happens in transactions then, so none of its tests may want real ones.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.db import transaction

from apps.apikeys.onboarding import OpenedTenant
from apps.crypto import key_cache
from apps.memories import integrity
from apps.recall import read_log
from tests.makers import make_tenant


@contextmanager
def taken_back() -> Iterator[None]:
    """What happens inside is undone afterwards; so a test undoes its own, inside of that of its module."""
    with ExitStack() as around:
        patch = around.enter_context(pytest.MonkeyPatch.context())  # as for tests: no thread writes what is read here
        patch.setattr(read_log, "EVERY_SECONDS", 86_400.0)
        patch.setattr(read_log, "_waiting", {})
        patch.setattr(integrity, "EVERY_SECONDS", 86_400.0)
        around.callback(key_cache.forget_all)
        for alias in ("default", "keyring"):
            around.enter_context(transaction.atomic(using=alias))
            around.callback(transaction.set_rollback, True, using=alias)
        yield


@pytest.fixture(scope="module")
def cast(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[OpenedTenant, OpenedTenant]]:
    with django_db_blocker.unblock(), taken_back():
        yield make_tenant("acme"), make_tenant("globex")


@pytest.fixture
def acme(cast: tuple[OpenedTenant, OpenedTenant]) -> OpenedTenant:
    return cast[0]


@pytest.fixture
def globex(cast: tuple[OpenedTenant, OpenedTenant]) -> OpenedTenant:
    return cast[1]
