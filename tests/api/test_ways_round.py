"""A key with every wildcard has no memory deleted: by no policy, time limit, import, nor by what it was made of."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.http import HttpResponse

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.retention.retention_sweep import sweep
from tests import once
from tests.api.conftest import Caller
from tests.api.test_imports import finish, jsonl
from tests.forms import form
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

TEXT = "The spare key lies under the blue flower pot."
ALLERGY = "I am allergic to peanuts."
MINE = {"tenant_id": "acme", "user_id": "alice"}
SOON = "2026-01-01T00:00:00Z"  # past already
STRICT = {"level": "tenant", "active_days": 1, "grace_days": 0, "superseded_max_age_seconds": 60}
PEOPLES = (401, 403, 404, 405, 409)  # what a key is answered that asks for what is a person's

Try = Callable[[Caller, int], HttpResponse]


def imported(record: dict[str, Any]) -> Try:
    def bring(wild: Caller, memory_id: int) -> HttpResponse:
        body, content_type = form(jsonl([{"text": TEXT, "importance": 0.6} | record]), "memories.jsonl")
        return wild("POST", "/imports", body, Content_Type=content_type)

    return bring


def asked(method: str, path: str, body: Any = None) -> Try:
    return lambda wild, memory_id: wild(method, path.format(memory_id), body)


REFUSED: dict[str, Try] = {
    "a policy of the tenant": asked("PUT", "/v1/retention", STRICT),
    "a policy of a project": asked("PUT", "/v1/retention", STRICT | {"level": "project"}),
    "a policy of a space": asked("PUT", "/v1/retention", STRICT | {"level": "space"}),
    "another method": asked("PATCH", "/v1/retention", STRICT),
    "a delete": asked("DELETE", "/memory/{}"),
    "a delete of some": lambda wild, one: wild("DELETE", "/memory/forget", {"memory_ids": [one]}),
    "a delete of all": asked("DELETE", "/memory/user/purge"),
    "a request of the end user": asked("POST", "/v1/privacy/requests", {"type": "delete"}),
    "a project with what is in it": asked("DELETE", "/org/projects/default"),
    "an end": asked("PATCH", "/memory/{}", {"expires_at": SOON}),
    "a time limit": asked("PATCH", "/memory/{}", {"ttl_minutes": 1}),
    "a date": asked("PATCH", "/memory/{}", {"retention_expires_at": SOON}),
    "a status": asked("PATCH", "/memory/{}", {"retention_status": "soft_deleted"}),
    "an end of many": lambda wild, one: wild(
        "POST", "/memory/batch-update", {"updates": [{"memory_id": one, "expires_at": SOON}]}
    ),
}
TAKEN: dict[str, Try] = {
    "said again for a minute": asked("POST", "/memory/add", {"text": TEXT, "importance": 0.6, "ttl_minutes": 1}),
    "said again among many": asked(
        "POST", "/memory/bulk-add", {"items": [{"text": TEXT, "importance": 0.6, "ttl_minutes": 1}]}
    ),
    "imported with an end": imported({"expires_at": SOON}),
    "imported with a time limit": imported({"ttl_minutes": 1}),
    "imported as archived": imported({"retention_status": "archived", "extracted_type": "fact"}),
    "imported as replaced": imported({"validity": "superseded", "extracted_type": "fact"}),
    "a request to forget": lambda wild, one: wild("POST", "/memory/forget-requests", {"memory_ids": [one]}),
    "worth nothing": asked("PATCH", "/memory/{}", {"importance": 0.0}),
    "found useless": asked("POST", "/memory/{}/feedback", {"signal": "negative"}),
    "what it was made of": asked(
        "POST", "/v1/history/delete", MINE | {"session_id": "s1", "delete_derived_facts": True}
    ),
    "the state that it was made of": asked(
        "POST", "/v1/state/delete", MINE | {"namespace": ["n"], "delete_derived_facts": True}
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def wild(cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[Caller]:
    with once.taken_back():
        yield Caller(make_api_key(cast[0].scope, scopes=["*", "memory:*"]).text)


@pytest.fixture(scope="module")
def memory_id(wild: Caller) -> Iterator[int]:
    """One that was said; beside it one that a turn, and one that an item of state was made into."""
    with once.taken_back():
        yield _said(wild)


def _said(wild: Caller) -> int:
    turn = {"role": "user", "content": ALLERGY}
    wild("POST", "/v1/history/append", MINE | {"session_id": "s1", "turns": [turn], "extract": True})
    state = {"namespace": ["n"], "key": "k", "value": {"n": 1}, "text": "I live in Lisbon.", "extract": True}
    wild("POST", "/v1/state/put", MINE | state)
    return int(wild.add(TEXT)["id"])


def standing(opened: OpenedTenant) -> dict[int, tuple[str, datetime | None]]:
    with tenant_transaction(opened.scope):
        rows = Memory.objects.within_tenant(opened.scope).order_by("pk")
        return {pk: (status, end) for pk, status, end in rows.values_list("pk", "retention_status", "expires_at")}


@pytest.mark.parametrize("way", [*REFUSED, *TAKEN])
def test_no_way_round_deletes_a_memory(way: str, acme: OpenedTenant, wild: Caller, memory_id: int) -> None:
    before = standing(acme)
    assert len(before) == 3

    answer = (REFUSED | TAKEN)[way](wild, memory_id)
    finish(acme)

    assert answer.status_code in ((*PEOPLES, 422) if way in REFUSED else (200, 201, 202, 207)), answer.content
    for later in (timedelta(hours=1), timedelta(days=8), timedelta(days=80)):
        sweep(acme.scope, now=datetime.now(UTC) + later)
    assert {pk: standing(acme)[pk] for pk in before} == before
    assert wild("GET", f"/memory/{memory_id}").status_code == 200
