"""Settings of recall that mean nothing are refused before anything starts."""

from typing import Any

import pytest

from apps.recall.checks import check_legs, check_reranked_profiles

CHECKS = (check_legs, check_reranked_profiles)


def refusals() -> list[str]:
    return [str(error.id) for check in CHECKS for error in check(None)]


def test_the_defaults_pass() -> None:
    assert refusals() == []


@pytest.mark.parametrize(
    ("name", "value", "refusal"),
    [
        ("RECALL_LEGS", [], "memsync.E020"),
        ("RECALL_LEGS", ["dense", "psychic"], "memsync.E020"),
        ("RERANKER_PROFILES", ["best"], "memsync.E021"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(settings: Any, name: str, value: Any, refusal: str) -> None:
    setattr(settings, name, value)

    assert refusals() == [refusal]
