"""The small version of ``python -m benchmarks isolation``: with no filter at all, what is found is one's own."""

from typing import Any

import psycopg
import pytest
from django.db import connections

from benchmarks import isolation
from tests.makers import NOW

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


@pytest.fixture
def everything(superuser_url: str) -> Any:
    """A cursor that row-level security does not hold."""
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(f"{superuser_url.rsplit('/', 1)[0]}/{name}") as connection, connection.cursor() as cursor:
        yield cursor


def test_without_any_filter_words_and_vectors_of_others_do_not_match(everything: Any) -> None:
    found = isolation.run(everything, tenants=4, texts=100, hits=5_000, pairs=2_000, queries=40, now=NOW)

    assert found["lexical"]["hits"] >= 5_000
    assert found["lexical"]["foreign"] == 0
    assert found["lexical"]["expected_foreign_by_chance"] < 1e-9
    assert abs(found["vectors"]["mean"]) < 0.02
    assert found["dense"]["own_share"] > 0.9


def test_without_keys_of_its_own_a_space_would_find_what_others_said(
    everything: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    askers = isolation.open_askers(2, isolation.sentences(20), now=NOW)
    lucky = [isolation.Asker(asker.scope, askers[0].cipher) for asker in askers]

    found = isolation.lexical(everything, lucky, isolation.sentences(20), hits=200)

    assert found["foreign"] > 0
    assert isolation.cosines(lucky, isolation.sentences(20))["mean"] > 0.99
