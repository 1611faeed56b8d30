"""GET /health: says which part does not work, and always answers."""

from typing import Any

import pytest
from django.db import OperationalError

from apps.adapters.kms.fake import FakeKms
from apps.api import health
from apps.apikeys.onboarding import OpenedTenant
from apps.crypto import inspection
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(databases="__all__")
PARTS = ("db", "vector_db", "cache", "keyring")


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_keyring_works", {})


def answer() -> Any:
    response = Caller(None)("GET", "/health")
    assert response.status_code == 200
    return response.json()


def test_healthy_server_says_so_of_each_part(acme: OpenedTenant) -> None:
    assert answer() == {"status": "ok", **dict.fromkeys(PARTS, "healthy")}


def down(*arguments: Any, **options: Any) -> Any:
    raise OperationalError


def unusable() -> FakeKms:
    provider = FakeKms()
    provider.down = True
    return provider


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        pytest.param("_samples", down, id="database"),
        pytest.param("get_kms", unusable, id="provider down"),
        pytest.param("get_kms", lambda: FakeKms(seed="another"), id="another provider"),
    ],
)
def test_keyring_that_cannot_be_used_is_unhealthy(
    name: str, broken: Any, acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, name, broken)

    said = answer()

    assert (said["status"], [part for part in PARTS if said[part] == "unhealthy"]) == ("degraded", ["keyring"])


def test_key_provider_is_not_asked_with_every_request(acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    answer()
    monkeypatch.setattr(inspection, "get_kms", pytest.fail)

    assert answer()["keyring"] == "healthy"
