"""Which key providers a deployment may start with, and what it says about the others."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.adapters.checks import check_kms
from apps.adapters.instances import get_kms
from apps.adapters.kms.vault import VaultTransit

LOCAL = {"BACKEND": "apps.adapters.kms.local.LocalKeyring", "OPTIONS": {"path": "/nonexistent/kek.json"}}
FAKE = {"BACKEND": "apps.adapters.kms.fake.FakeKms", "OPTIONS": {}}
VAULT = {"BACKEND": "apps.adapters.kms.vault.VaultTransit", "OPTIONS": {"key": "memsync", "url": "https://vault.test"}}


def found() -> list[str | None]:
    errors = check_kms(None)
    assert all(error.hint for error in errors)
    return [error.id for error in errors]


@pytest.mark.parametrize(
    ("debug", "allowed", "expected"),
    [(False, False, ["memsync.E010"]), (False, True, []), (True, False, []), (True, True, [])],
)
def test_key_in_a_file_is_for_those_who_say_so(settings: Any, debug: bool, allowed: bool, expected: list[str]) -> None:
    settings.KMS, settings.DEBUG, settings.ALLOW_LOCAL_KEK = LOCAL, debug, allowed

    assert found() == expected


def test_nothing_is_encrypted_under_a_file_that_nobody_allowed(settings: Any) -> None:
    """Web server and worker run no checks: they refuse too."""
    settings.KMS, settings.ALLOW_LOCAL_KEK = LOCAL, True
    get_kms()

    settings.ALLOW_LOCAL_KEK = False

    with pytest.raises(ImproperlyConfigured, match="ALLOW_LOCAL_KEK=1"):
        get_kms()


def test_key_service_needs_no_leave(settings: Any) -> None:
    settings.KMS, settings.ALLOW_LOCAL_KEK = VAULT, False

    assert found() == []
    assert isinstance(get_kms(), VaultTransit)


def test_provider_for_tests_is_found_in_production(settings: Any) -> None:
    settings.KMS, settings.DEBUG = FAKE, False
    assert found() == ["memsync.E011"]

    settings.DEBUG = True
    assert found() == []


@pytest.mark.parametrize(
    "kms",
    [
        {"BACKEND": "apps.adapters.kms.nothing.Here"},
        {**VAULT, "OPTIONS": {}},
        {**VAULT, "OPTIONS": {"key": "memsync", "colour": "red"}},
        {**VAULT, "OPTIONS": {"key": "memsync", "url": "http://vault.test"}},
        {"BACKEND": "apps.adapters.kms.aws.AwsKms", "OPTIONS": {"key_arn": "alias/memsync"}},
        {"BACKEND": "apps.adapters.kms.gcp.GoogleKms", "OPTIONS": {"key": "kek"}},
    ],
)
def test_provider_that_cannot_be_made_is_found(settings: Any, kms: dict[str, Any]) -> None:
    settings.KMS = kms

    assert found() == ["memsync.E012"]


def test_settings_of_the_tests_pass() -> None:
    assert found() == []
