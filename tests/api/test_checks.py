"""The system checks: each fails on the setting it guards, and names the fix."""

from typing import Any

import pytest

from apps.api.checks import check_settings


def found(settings: Any, name: str, value: Any) -> list[str | None]:
    setattr(settings, name, value)
    errors = check_settings(None)
    assert all(error.hint for error in errors)
    return [error.id for error in errors]


def test_settings_of_the_product_pass() -> None:
    assert check_settings(None) == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("RATE_LIMIT_TIER", "gold", "memsync.E101"),
        ("APPEND_SLASH", True, "memsync.E102"),
        ("MIDDLEWARE", ["django.middleware.common.CommonMiddleware"], "memsync.E103"),
        ("REST_FRAMEWORK", {"DEFAULT_PERMISSION_CLASSES": []}, "memsync.E104"),
    ],
)
def test_setting_that_would_do_harm_is_found(name: str, value: Any, expected: str, settings: Any) -> None:
    assert found(settings, name, value) == [expected]
