"""GET /v1/types, and what a type of the tenant's own does to the other routes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.memories.phrase_rules import PhraseRule
from apps.memory_types import change_worker
from apps.memory_types.models import TypeChange
from apps.memory_types.type_changes import Definition, commit, plan_addition, plan_sunset
from apps.projects.scope import Scope
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(databases="__all__")

MEDICINE = "I take 20 mg of lisinopril every morning."


def finish(change: TypeChange) -> None:
    change_worker.work(change.pk, seconds=60, clock=lambda: datetime.now(UTC) + timedelta(minutes=1))


def add_medication(scope: Scope) -> None:
    told = PhraseRule(name="doses", type="", sources=(), words=("# mg",))
    definition = Definition(parent="fact", slot="own", half_life_days=30, ttl=timedelta(days=90))
    finish(commit(scope, plan_addition(scope, "medication", definition, (told,)), now=datetime.now(UTC)))


def types(caller: Caller) -> dict[str, Any]:
    response: Any = caller("GET", "/v1/types")
    assert response.status_code == 200, response.content
    return {one["name"]: one for one in response.json()["types"]}


def test_the_registry_has_the_built_in_types_and_then_the_tenants_own(alice: Caller, acme: OpenedTenant) -> None:
    add_medication(acme.scope)

    found = types(alice)

    assert next(iter(found)) == "fact"
    assert list(found)[-1] == "medication"
    assert found["preference"] == {
        "name": "preference", "built_in": True, "slot": "claim", "half_life_days": 90.0, "prior": 0.2,
        "ttl_seconds": None, "parent": None, "replaced_by": None, "fields": [],
    }  # fmt: skip
    assert found["medication"] == {
        "name": "medication", "built_in": False, "slot": "own.medication", "half_life_days": 30.0, "prior": 0.15,
        "ttl_seconds": 7_776_000, "parent": "fact", "replaced_by": None, "fields": [],
    }  # fmt: skip


def test_a_type_is_in_the_ontology_and_another_tenant_sees_nothing_of_it(
    alice: Caller, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    add_medication(globex.scope)
    assert "medication" not in types(alice)

    add_medication(acme.scope)

    assert alice("GET", "/memory/ontology").json()["custom_content_types"] == ["medication"]  # type: ignore[attr-defined]


def test_recall_by_type_knows_the_tenants_own_and_what_they_were_given_up_for(
    alice: Caller, acme: OpenedTenant
) -> None:
    added = alice.add(MEDICINE)
    add_medication(acme.scope)

    def found(*names: str) -> list[str]:
        body = {"tenant_id": "acme", "user_id": "alice", "prompt": "what do I take?", "types": list(names)}
        return [one["memory_id"] for one in alice("POST", "/v1/memory/recall", body).json()["memories"]]  # type: ignore[attr-defined]

    assert found("medication") == [f"m_{added['id']}"]
    assert found("fact") == []

    finish(commit(acme.scope, plan_sunset(acme.scope, "medication", "fact"), now=datetime.now(UTC)))

    assert found("medication") == found("fact") == [f"m_{added['id']}"]
    assert types(alice)["medication"]["replaced_by"] == "fact"
