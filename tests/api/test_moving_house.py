"""An export of one tenant, imported into another, and exported again."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.projects.scope import Environment
from apps.transfers.imports import import_worker, payload
from apps.transfers.models.imports import ImportJob
from tests.api.conftest import Caller
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

# platform_metadata: when it was processed, and for how many minutes from then it stays.
OF_THIS_INSTANCE = (
    "id", "client_ref", "user_id", "superseded_by", "superseded_at", "created_at", "updated_at", "embedded",
    "platform_metadata", "source_confidence", "extractor_confidence",
    "retention_expires_at",
)  # fmt: skip
BOUNDARY = "a-line-that-no-file-holds"


def exported(caller: Caller) -> list[dict[str, Any]]:
    response = caller("GET", "/memory/export")
    assert response.status_code == 200
    memories: list[dict[str, Any]] = response.json()["memories"]
    return memories


def bring_in(caller: Caller, tenant: OpenedTenant, content: bytes) -> Any:
    """The import's job, when it is over."""
    parts = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="export.json"\r\n'
        "Content-Type: application/json\r\n\r\n"
    ).encode()
    body = parts + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    response = caller("POST", "/imports", body, Content_Type=f"multipart/form-data; boundary={BOUNDARY}")
    assert response.status_code in (200, 201, 202), response.content
    with tenant_transaction(tenant.scope):
        job_id = ImportJob.objects.within(tenant.scope).order_by("-pk").values_list("pk", flat=True)[0]
    import_worker.work(tenant.scope.tenant_id, job_id, seconds=60, clock=lambda: datetime.now(UTC))
    return caller("GET", f"/imports/{response.json()['id']}").json()


def as_elsewhere(memories: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what belongs to one instance: ids become places in the list, and times go."""
    places = {memory["id"]: place for place, memory in enumerate(memories)}
    told = []
    for memory in memories:
        one = {name: value for name, value in memory.items() if name not in OF_THIS_INSTANCE}
        one["edges"] = sorted(
            (
                edge["relationship_type"],
                places[edge["from_memory_id"]],
                places[edge["to_memory_id"]],
                edge["confidence"],
                json.dumps(edge["metadata"], sort_keys=True),
                edge["automatic"],
            )
            for edge in memory["edges"]
        )
        told.append(one)
    return told


def test_relations_come_along_between_batches(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "BATCH_RECORDS", 2)
    here = Caller(acme.keys[Environment.PRODUCTION])
    ids = [here.add(f"Locker {n} holds volume {n} of the old atlas.")["id"] for n in range(5)]
    for one, other in ((ids[0], ids[4]), (ids[3], ids[0]), (ids[1], ids[2])):
        here("POST", f"/memory/{one}/relations", {"to_memory_id": other, "relationship_type": "supports"})
    there = Caller(globex.keys[Environment.PRODUCTION], "alice")

    bring_in(there, globex, here("GET", "/memory/export").content)

    moved = as_elsewhere(exported(there))
    assert moved == as_elsewhere(exported(here))
    stated = [edge[:3] for memory in moved for edge in memory["edges"] if not edge[5]]
    assert sorted(stated) == [("supports", 0, 4), ("supports", 1, 2), ("supports", 3, 0)]


def test_export_imported_elsewhere_and_exported_again_is_the_same(acme: OpenedTenant, globex: OpenedTenant) -> None:
    here = Caller(acme.keys[Environment.PRODUCTION])
    there = Caller(globex.keys[Environment.PRODUCTION], "alice")
    here.add("The spare key lies under the blue flower pot.", tags=["home", "keys"], source="notes", session_id="s1",
             metadata={"n": [1, 2.5, None, "é\x00"], "speaker": "Marta"})  # fmt: skip
    here.add("I live in Lisbon.")
    here.add("I live in Porto.", event_type="told")
    here.add("I prefer tea without sugar, and I met Ana on 3 May 2025.", importance=0.2, ttl_minutes=600)
    one, other = exported(here)[0]["id"], exported(here)[-1]["id"]
    body = {"to_memory_id": other, "relationship_type": "supports", "confidence": 0.5, "metadata": {"why": "é"}}
    assert here("POST", f"/memory/{one}/relations", body).status_code == 201
    back = {"to_memory_id": one, "relationship_type": "references"}
    assert here("POST", f"/memory/{other}/relations", back).status_code == 201

    job = bring_in(there, globex, here("GET", "/memory/export").content)

    assert (job["status"], job["rejected"], job["skipped"]) == ("completed", 0, 0), job
    assert as_elsewhere(exported(there)) == as_elsewhere(exported(here))


def test_typed_memories_and_those_of_agent_platforms_move_whole(acme: OpenedTenant, globex: OpenedTenant) -> None:
    here = Caller(acme.keys[Environment.PRODUCTION])
    there = Caller(globex.keys[Environment.PRODUCTION], "alice")
    stated = [
        {"type": "fact", "topic_key": "user.diet", "summary": "vegetarian", "content": {"diet": "vegetarian"}},
        {
            "type": "fact",
            "topic_key": "user.diet",
            "summary": "vegan",
            "content": {"diet": "vegan"},
            "keywords": "food",
        },
        {"type": "event", "summary": "deployed", "content": [1, {"b": None, "a": 2.5}], "keywords": "release"},
        {"type": "event", "summary": "deployed", "content": "v2"},
    ]
    assert here("POST", "/v1/memory/acme/alice/memories", {"memories": stated}).status_code == 201
    saved = {
        "key": "home", "value": "The blue house.", "summary": "Home", "category": "places", "workspaceId": "w-1",
        "messageIds": ["m-1"], "assets": [{"url": "https://example.com/a.png", "size": 4111111111111111}],
    }  # fmt: skip
    assert here("POST", "/api/v1/memories", saved).status_code == 201
    export = here("GET", "/memory/export").content

    job = bring_in(there, globex, export)
    again = bring_in(there, globex, export)

    assert (job["created"], job["rejected"], job["skipped"]) == (5, 0, 0), job
    assert (again["created"], again["already_imported"]) == (0, 5)
    assert as_elsewhere(exported(there)) == as_elsewhere(exported(here))
    restated = there("POST", "/v1/memory/globex/alice/memories", {"memories": stated[1:]}).json()["results"]
    assert [one["status"] for one in restated] == ["duplicate"] * 3
    (place,) = there("GET", "/api/v1/memories?workspaceId=w-1").json()["data"]["items"]
    assert [place[name] for name in ("key", "value", "summary", "category", "messageIds")] == [
        "home", "The blue house.", "Home", "places", ["m-1"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        1,
        {"value": 1, "category": "x", "created_at": "2026-01-01T00:00:00Z"},
        {"value": "x", "category": "x", "created_at": "then"},
        {"value": "x", "category": "x", "created_at": "2026-01-01T00:00:00Z", "other": 1},
    ],
    ids=["no object", "value", "time", "unknown"],
)
def test_content_that_no_agent_platform_wrote_is_rejected(acme: OpenedTenant, content: Any) -> None:
    record = {"text": "x y z", "extracted_type": "fact", "content": content, "platform": {"category": "x"}}

    job = bring_in(Caller(acme.keys[Environment.PRODUCTION]), acme, json.dumps({"memories": [record]}).encode())

    assert (job["created"], job["rejected"]) == (0, 1)


def test_forbidden_content_of_a_typed_memory_is_not_imported(acme: OpenedTenant) -> None:
    record = {"text": "a card", "extracted_type": "fact", "content": {"card": "4111 1111 1111 1111"}}

    job = bring_in(Caller(acme.keys[Environment.PRODUCTION]), acme, json.dumps({"memories": [record]}).encode())

    assert (job["created"], job["skipped"]) == (0, 1)


def test_pins_and_instructions_move_with_a_reviewer(acme: OpenedTenant, globex: OpenedTenant) -> None:
    here = Caller(acme.keys[Environment.PRODUCTION])
    here.add("Always answer me in German.", importance=0.8)
    here.add("I live in Lisbon.")
    with tenant_transaction(acme.scope):
        Memory.objects.within_tenant(acme.scope).update(pinned=True)
    reviewing = make_api_key(globex.scope, scopes=[*DEFAULT, "candidates:review"]).text

    export = here("GET", "/memory/export").content
    by_anybody = bring_in(Caller(globex.keys[Environment.STAGING], "alice"), globex, export)
    job = bring_in(Caller(reviewing, "alice"), globex, export)

    assert (by_anybody["created"], by_anybody["pending_review"], len(by_anybody["errors"])) == (1, 1, 1)
    assert (job["created"], job["pending_review"], job["errors"]) == (2, 0, [])
    assert as_elsewhere(exported(Caller(reviewing))) == as_elsewhere(exported(here))
