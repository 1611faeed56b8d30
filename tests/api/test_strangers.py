"""Every route that wants a key, asked with good ones that do not reach the memory: foreign and absent look the same."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponse

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import ScopedQuerySet
from apps.memories.models import Memory, MemoryQuerySet
from apps.projects.scope import Environment
from tests import once
from tests.api import test_access
from tests.api.conftest import Caller
from tests.api.test_access import BY_NAME, CLOSED, IN_THEIR_OWN, TEXT, Row, _ask, _seen, every_closed_row
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex
shown = test_access.shown

Answers = Mapping[str, HttpResponse]  # by who asked
Strangers = Mapping[str, Callable[[OpenedTenant, OpenedTenant], Caller]]
STRANGERS: Strangers = {
    "another tenant": lambda acme, globex: Caller(globex.keys[Environment.PRODUCTION]),
    "another end user": lambda acme, globex: Caller(acme.keys[Environment.PRODUCTION], "bob"),
    "staging": lambda acme, globex: Caller(acme.keys[Environment.STAGING]),
    "development and staging": lambda acme, globex: Caller(
        make_api_key(acme.scope, environment=Environment.DEVELOPMENT, other_environments=[Environment.STAGING]).text
    ),
}


@pytest.fixture(scope="module")
def strangers(request: pytest.FixtureRequest, cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[dict[str, Caller]]:
    """The parameter: whether they have memories of their own."""
    callers = {who: caller_of(*cast) for who, caller_of in STRANGERS.items()}
    with once.taken_back():
        if request.param:
            for caller in callers.values():
                caller.add("Something else altogether about the weather in spring.")
        yield callers


@pytest.fixture(scope="module")
def without(strangers: dict[str, Caller]) -> Mapping[str, Answers]:
    """What each row answers them while there is no memory of alice's yet."""
    answers = {}
    for row in CLOSED:
        with once.taken_back():
            answers[str(row)] = {who: _ask(row, stranger, 2**53 - 1) for who, stranger in strangers.items()}
        cache.clear()
    return answers


@pytest.fixture(scope="module")
def memory(without: Mapping[str, Answers], cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[Any]:
    """Alice's, added once all has been asked without it."""
    with once.taken_back():
        yield Caller(cast[0].keys[Environment.PRODUCTION]).add(TEXT)


WITH_NOTHING, WITH_THEIR_OWN = pytest.param(False, id="with nothing"), pytest.param(True, id="with their own")


@every_closed_row
@pytest.mark.parametrize("strangers", [WITH_NOTHING, WITH_THEIR_OWN], indirect=True)
def test_stranger_changes_nothing_and_sees_no_more_than_if_the_memory_did_not_exist(
    row: Row,
    strangers: dict[str, Caller],
    without: Mapping[str, Answers],
    memory: Any,
    shown: Any,
    alice: Caller,
    request: pytest.FixtureRequest,
) -> None:
    have_their_own = request.node.callspec.params["strangers"]

    for who, stranger in strangers.items():
        response = _ask(row, stranger, memory["id"])

        if str(row) in IN_THEIR_OWN and have_their_own and who != "another tenant":
            assert response.status_code == IN_THEIR_OWN[str(row)], (who, response.content)
            assert TEXT.encode() not in response.content, who
            continue
        assert response.status_code == row.stranger, (who, response.content)
        if row.permission != "memory:add":  # a key that may add does so in a space of its own
            assert _seen(response, row.varying) == _seen(without[str(row)][who], row.varying), who
            assert TEXT.encode() not in response.content, who
    assert alice("GET", f"/memory/{memory['id']}").json() == shown


# Routes whose memories come from a queryset; those that recall are statements of their own, and each condition of those
# is taken out in tests/isolation/test_filters.py, every wall in tests/isolation/test_isolation.py.
BY_QUERYSET = [
    BY_NAME["GET /memory/intelligence"],
    BY_NAME["GET /memory/export"],
    BY_NAME["GET /memory/graph"],
    BY_NAME["GET /memory/<int:memory_id>/history"],
    BY_NAME["PATCH /memory/<int:memory_id>"],
    BY_NAME["POST /memory/<int:memory_id>/feedback"],
    BY_NAME["POST /memory/batch-update"],
    BY_NAME["GET /v1/entities"],
    BY_NAME["GET /v1/facts/query"],
    BY_NAME["GET /v1/memory/<str:tenant_id>/<path:user_id>/list"],
]


@pytest.mark.parametrize("row", BY_QUERYSET, ids=str)
@pytest.mark.parametrize("strangers", [WITH_THEIR_OWN], indirect=True)
def test_row_security_and_keys_hold_where_the_filters_of_querysets_are_gone(
    row: Row, strangers: dict[str, Caller], memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfiltered: list[type] = []

    def everything(rows: Any, scope: object) -> Any:
        unfiltered.append(rows.model)
        return rows.all()

    for kind in (ScopedQuerySet, MemoryQuerySet):
        monkeypatch.setattr(kind, "within", everything)

    for who, stranger in strangers.items():
        response = _ask(row, stranger, memory["id"])

        assert TEXT.encode() not in response.content, who
        assert who != "another tenant" or response.status_code == row.stranger
    assert Memory in unfiltered, "the route asks for no memories by a queryset any more: choose another"
