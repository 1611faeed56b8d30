"""Settings of recall that mean nothing are refused before anything starts."""

from typing import Any

import pytest

from apps.recall.checks import check_legs, check_numbers, check_reranked_profiles

CHECKS = (check_legs, check_reranked_profiles, check_numbers)


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
        ("RERANKER_TEXTS", 0, "memsync.E024"),
        ("RERANKER_SECONDS", 0.0, "memsync.E024"),
        ("RECALL_CONCURRENCY", -1, "memsync.E022"),
        ("RECALL_MIN_RELEVANCE", -0.1, "memsync.E023"),
        ("RECALL_MIN_RELEVANCE", 1.1, "memsync.E023"),
        ("RECALL_MIN_RELEVANCE", float("nan"), "memsync.E023"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(settings: Any, name: str, value: Any, refusal: str) -> None:
    setattr(settings, name, value)

    assert refusals() == [refusal]


def test_no_limit_is_a_limit_of_none(settings: Any) -> None:
    settings.RECALL_CONCURRENCY = settings.RECALL_MIN_RELEVANCE = 0

    assert refusals() == []
