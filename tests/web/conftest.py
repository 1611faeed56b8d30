"""Two tenants, their people, and what is remembered of one end user."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings

from apps.apikeys.onboarding import Opened
from apps.projects.scope import Scope
from tests.makers import make_scope
from tests.web.people import Person, make_person


@pytest.fixture(autouse=True, scope="session")
def _static_root() -> None:
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # or whitenoise warns about it


@pytest.fixture
def alice_scope(acme: Opened) -> Scope:
    """At work in the space of the end user alice, by the real clock."""
    return make_scope(acme, "alice", now=datetime.now(UTC))


@pytest.fixture
def owner(acme: Opened) -> Person:
    return make_person(acme.tenant)
