"""The filter language of mem0's clients."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.api.mem0.filters import FilterMalformed, MemoryFacts, Owners, narrows, owners_of, read_filters

FACTS = MemoryFacts(
    id="00000000-0001-8000-8000-000000000007",
    text="Ana likes green Tea.",
    user_id="ana",
    agent_id="helper",
    app_id=None,
    run_id="r1",
    created_at=datetime(2026, 3, 5, 14, 30, tzinfo=UTC),
    updated_at=datetime(2026, 4, 1, tzinfo=UTC),
    timestamp=datetime(2026, 3, 1, tzinfo=UTC),
    expiration_date=None,
    categories=("food", "drinks"),
    metadata={"topic": "tea", "cups": 3, "hot": True, "with": ["milk", "honey"], "at": {"home": 1}},
)

ACCEPTED: list[Any] = [
    {"user_id": "ana"},
    {"user_id": "*"},
    {"user_id": {"eq": "ana"}},
    {"user_id": {"ne": "bob"}},
    {"user_id": {"in": ["bob", "ana"]}},
    {"user_id": {"in": ["*"]}},
    {"app_id": {"ne": "shop"}},
    {"app_id": {"ne": "*"}},
    {"user_id": "ana", "run_id": "r1"},
    {"AND": [{"user_id": "ana"}, {"agent_id": "helper"}]},
    {"OR": [{"user_id": "bob"}, {"run_id": "r1"}]},
    {"NOT": {"user_id": "bob"}},
    {"NOT": [{"user_id": "bob"}, {"user_id": "eve"}]},
    {"AND": [{"user_id": "ana"}, {"NOT": {"OR": [{"categories": "work"}, {"text": "x"}]}}]},
    {"created_at": {"gte": "2026-03-01", "lt": "2026-04-01"}},
    {"created_at": "2026-03-05"},
    {"created_at": {"gt": "2026-03-04", "lte": "2026-03-05"}},
    {"created_at": {"gte": "2026-03-05T14:30:00Z", "lte": "2026-03-05T15:30:00+01:00"}},
    {"created_at": {"in": ["2026-03-04", "2026-03-05"]}},
    {"created_at": {"ne": "2026-03-04"}},
    {"created_at": {"gte": 1_700_000_000}},
    {"updated_at": {"gt": "2026-03-31"}},
    {"timestamp": "2026-03-01"},
    {"expiration_date": {"ne": "2026-03-01"}},
    {"text": "Ana likes green Tea."},
    {"text": {"contains": "green"}},
    {"text": {"icontains": "GREEN"}},
    {"text": {"ne": "x"}},
    {"keywords": {"icontains": "tea"}},
    {"keywords": {"contains": "Tea"}},
    {"keywords_search": "tea"},
    {"categories": {"in": ["food", "work"]}},
    {"categories": {"contains": "drinks"}},
    {"categories": ["food"]},
    {"metadata": {"topic": "tea"}},
    {"metadata": {"topic": "tea", "cups": 3}},
    {"metadata": {"eq": {"cups": 3}}},
    {"metadata": {"ne": {"cups": 4}}},
    {"metadata": {"contains": {"with": "milk", "topic": "te"}}},
    {"metadata": {"at": {"home": 1}}},
    {"memory_ids": [FACTS.id, "other"]},
    {"memory_ids": {"in": [FACTS.id]}},
]
NOT_ACCEPTED: list[Any] = [
    {"user_id": "bob"},
    {"user_id": {"ne": "ana"}},
    {"user_id": {"in": ["bob"]}},
    {"app_id": "*"},
    {"AND": [{"user_id": "ana"}, {"agent_id": "other"}]},
    {"OR": [{"user_id": "bob"}, {"run_id": "r2"}]},
    {"NOT": {"user_id": "ana"}},
    {"NOT": [{"user_id": "bob"}, {"user_id": "ana"}]},
    {"created_at": {"gte": "2026-03-06"}},
    {"created_at": {"gt": "2026-03-05"}},
    {"created_at": {"lt": "2026-03-05"}},
    {"created_at": {"gte": "2026-03-01", "lt": "2026-03-05"}},
    {"created_at": {"ne": "2026-03-05"}},
    {"expiration_date": {"gte": "2026-01-01"}},
    {"text": {"contains": "GREEN"}},
    {"text": {"eq": "Ana"}},
    {"keywords": {"contains": "tea"}},
    {"categories": {"in": ["work"]}},
    {"categories": "work"},
    {"metadata": {"topic": "te"}},
    {"metadata": {"cups": True}},
    {"metadata": {"hot": 1}},
    {"metadata": {"absent": None}},
    {"metadata": {"ne": {"cups": 3}}},
    {"metadata": {"contains": {"with": "mil"}}},
    {"memory_ids": ["other"]},
]


@pytest.mark.parametrize("filters", ACCEPTED, ids=str)
def test_filters_that_accept(filters: Any) -> None:
    assert read_filters(filters).accepts(FACTS)


@pytest.mark.parametrize("filters", NOT_ACCEPTED, ids=str)
def test_filters_that_do_not(filters: Any) -> None:
    assert not read_filters(filters).accepts(FACTS)


MALFORMED: list[tuple[Any, str]] = [
    ([], "an object"),
    ({}, "an object"),
    ("user_id", "an object"),
    ({"colour": "red"}, "colour"),
    ({"and": [{"user_id": "ana"}]}, "there are: AND"),
    ({"user_id": {"nin": ["ana"]}}, "operators"),
    ({"user_id": {"gt": "ana"}}, "operators"),
    ({"user_id": {}}, "operator"),
    ({"user_id": ""}, "string"),
    ({"user_id": 7}, "string"),
    ({"user_id": None}, "string"),
    ({"user_id": ["ana"]}, "string"),
    ({"user_id": {"in": []}}, "list"),
    ({"user_id": {"in": "ana"}}, "list"),
    ({"user_id": {"in": ["a"] * 101}}, "100"),
    ({"AND": []}, "list"),
    ({"AND": {"user_id": "ana"}}, "list"),
    ({"OR": [[]]}, "an object"),
    ({"NOT": {}}, "an object"),
    ({"created_at": "yesterday"}, "ISO 8601"),
    ({"created_at": {"gte": True}}, "ISO 8601"),
    ({"created_at": {"gte": -1}}, "ISO 8601"),
    ({"created_at": {"gte": 1e300}}, "ISO 8601"),
    ({"created_at": {"contains": "2026"}}, "operators"),
    ({"categories": {"eq": "food"}}, "operators"),
    ({"metadata": "tea"}, "object"),
    ({"metadata": {"eq": "tea"}}, "object"),
    ({"keywords": {"eq": "tea"}}, "operators"),
    ({"memory_ids": "x"}, "list"),
    ({"memory_ids": [7]}, "string"),
    ({"OR": [{"user_id": str(number)} for number in range(101)]}, "100"),
]


@pytest.mark.parametrize(("filters", "said"), MALFORMED, ids=str)
def test_anything_else_is_refused(filters: Any, said: str) -> None:
    with pytest.raises(FilterMalformed) as caught:
        read_filters(filters)

    assert said in caught.value.message


def test_filters_are_nested_ten_deep_at_most() -> None:
    filters: Any = {"user_id": "ana"}
    for _ in range(9):
        filters = {"NOT": filters}

    assert not read_filters(filters).accepts(FACTS)
    with pytest.raises(FilterMalformed, match="10 deep"):
        read_filters({"NOT": filters})


NAMED: list[tuple[Any, Owners | None]] = [
    ({"user_id": "ana"}, Owners(users=frozenset({"ana"}))),
    ({"user_id": "*"}, Owners(users=frozenset({"*"}))),
    ({"user_id": {"in": ["ana", "bob"]}}, Owners(users=frozenset({"ana", "bob"}))),
    ({"agent_id": "helper"}, Owners(agents=frozenset({"helper"}))),
    ({"app_id": "shop"}, Owners(shared=True)),
    ({"run_id": "r1"}, Owners(shared=True)),
    ({"user_id": "ana", "agent_id": "helper"}, Owners(users=frozenset({"ana"}))),
    ({"AND": [{"run_id": "r1"}, {"agent_id": "helper"}]}, Owners(agents=frozenset({"helper"}))),
    ({"AND": [{"user_id": "*"}, {"user_id": "ana"}]}, Owners(users=frozenset({"ana"}))),
    (
        {"OR": [{"user_id": "ana"}, {"agent_id": "helper"}, {"run_id": "r1"}]},
        Owners(users=frozenset({"ana"}), agents=frozenset({"helper"}), shared=True),
    ),
    ({"AND": [{"user_id": "ana"}, {"OR": [{"text": "x"}, {"text": "y"}]}]}, Owners(users=frozenset({"ana"}))),
    ({"OR": [{"user_id": "ana"}, {"text": "x"}]}, None),
    ({"NOT": {"user_id": "ana"}}, None),
    ({"user_id": {"ne": "ana"}}, None),
    ({"text": "x"}, None),
]


@pytest.mark.parametrize(("filters", "owners"), NAMED, ids=[str(filters) for filters, _ in NAMED])
def test_whose_memories_can_match(filters: Any, owners: Owners | None) -> None:
    assert owners_of(read_filters(filters)) == owners


@pytest.mark.parametrize(
    ("filters", "is_narrower"),
    [
        ({"user_id": "ana"}, False),
        ({"OR": [{"user_id": "ana"}, {"agent_id": "helper"}]}, False),
        ({"user_id": "ana", "agent_id": "helper"}, True),
        ({"run_id": "r1"}, True),
        ({"AND": [{"user_id": "ana"}]}, False),
        ({"OR": [{"user_id": "ana"}, {"user_id": "bob", "text": "x"}]}, True),
    ],
    ids=str,
)
def test_whether_filters_ask_more_than_whose(filters: Any, is_narrower: bool) -> None:
    assert narrows(read_filters(filters)) == is_narrower


def test_a_memory_without_categories_and_metadata_has_none() -> None:
    bare = replace(FACTS, categories=(), metadata={})

    for filters in ({"categories": "food"}, {"metadata": {"topic": "tea"}}):
        assert not read_filters(filters).accepts(bare)
