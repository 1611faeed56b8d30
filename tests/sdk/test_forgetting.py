"""Forgetting with the published client, where the tenant lets keys retire."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from memorysync import AuthError, ForgetFilters, MemorySyncError, NotFoundError

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.tenants.services import set_policy
from tests import once
from tests.makers import make_api_key
from tests.sdk.conftest import Make, refused

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

TEXT = "The spare key lies under the blue flower pot."
BUS = "The bus to the airport leaves at ten past six."


@pytest.fixture
def deleter(make: Make, acme: OpenedTenant) -> Callable[..., Any]:
    """Clients with a key that may delete, in a tenant whose owner allows it."""
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=datetime.now(UTC))
    key = make_api_key(acme.scope, scopes=list(PERMISSIONS)).text
    return lambda **options: make(key, **options)


def test_forget_answers_the_ids_and_they_are_gone_everywhere(deleter: Callable[..., Any]) -> None:
    client = deleter()
    gone, kept = client.add(TEXT, importance=0.7), client.add(BUS, importance=0.7)

    assert client.forget(memory_ids=[gone.id, 2**52], reason="asked for") == [gone.id]

    refused(NotFoundError, lambda: client.get(gone.id))
    refused(NotFoundError, lambda: client.history(gone.id))
    for method in ("query", "retrieve"):
        assert gone.id not in [hit.id for hit in getattr(client, method)("Where is the spare key?", k=50).memories]
    assert [row["id"] for row in client.export_all().memories] == [kept.id]
    assert client.forget(memory_ids=[gone.id]) == []


def test_forget_by_filter_needs_every_tag_and_a_dry_run_changes_nothing(deleter: Callable[..., Any]) -> None:
    client = deleter()
    both = client.add(TEXT, importance=0.7, tags=["home", "keys"])
    one = client.add(BUS, importance=0.7, tags=["home"])

    asked = client.forget(filters=ForgetFilters(tags=["home", "keys"]), dry_run=True)
    there = client.get(both.id).text
    gone = client.forget(filters={"tags": ["home", "keys"]})

    assert (asked, there, gone) == ([both.id], TEXT, [both.id])
    assert client.get(one.id).text == BUS


def test_forget_reaches_nobody_elses(deleter: Callable[..., Any]) -> None:
    memory = deleter().add(TEXT, importance=0.7)

    assert deleter(end_user_id="bob").forget(memory_ids=[memory.id]) == []
    assert deleter().get(memory.id).text == TEXT


def test_unknown_filter_is_refused(deleter: Callable[..., Any]) -> None:
    error = refused_of_any_kind(lambda: deleter().forget(filters={"colour": "blue"}))

    assert error.status_code == 422


def test_without_the_policy_the_answer_names_the_way_to_ask(make: Make) -> None:
    client = make()
    memory = client.add(TEXT, importance=0.7)

    error = refused(AuthError, lambda: client.forget(filters={"source": "chat"}, dry_run=True))

    assert error.response["error"]["alternatives"] == ["POST /memory/forget-requests"]
    assert client.get(memory.id).text == TEXT


def test_purge_is_refused_before_anything_is_sent(make: Make) -> None:
    with pytest.raises(MemorySyncError):
        make().purge_user()


def refused_of_any_kind(call: Callable[[], Any]) -> Any:
    with pytest.raises(MemorySyncError) as caught:
        call()
    return caught.value
