"""POST /memory/summarize, GET /memory/clusters, and the summaries of clusters."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.api.memory.memory_output import MemoryOutput
from apps.api.memory.summarize import ClusterOutput
from apps.api.views import ApiView
from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory, MemoryVector
from apps.memories.services import expire
from apps.memories.spaces import find_end_user
from apps.outbox import handlers
from apps.summaries.services import ask_for_work
from apps.tenants.services import set_policy
from tests.api.conftest import Caller
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

CHOIR = [
    "Yesterday I sang with Omar in the old mill.",
    "Yesterday I rehearsed the Requiem with Lea Marti.",
    "Yesterday the choir of 40 voices went to Rome.",
    "Yesterday I bought a new score for the choir.",
]


def sing(caller: Caller, number: int, **fields: Any) -> int:
    memory = caller.add(CHOIR[number], tags=["choir"], **fields)
    assert memory["memory_type"] == "event"
    return int(memory["id"])


def summarize(caller: Caller, status: int = 201, **body: Any) -> Any:
    response = caller("POST", "/memory/summarize", body)
    assert response.status_code == status, response.content
    return response.json()


def clusters(caller: Caller) -> Any:
    response = caller("GET", "/memory/clusters")
    assert response.status_code == 200, response.content
    return response.json()


def found(caller: Caller, text: str, **body: Any) -> list[int]:
    response = caller("POST", "/memory/query", {"query": text, "k": 10} | body)
    return [memory["id"] for memory in response.json()["memories"]]


def work_off() -> None:
    while handlers.process_due_events(now=datetime.now(UTC) + timedelta(seconds=1)):
        pass


def retire(acme: OpenedTenant, memory_id: int) -> None:
    """As whatever takes a memory out of recall does, and nothing besides."""
    with tenant_transaction(acme.scope):
        Memory.objects.within_tenant(acme.scope).filter(pk=memory_id).update(retention_status="soft_deleted")
        MemoryVector.objects.within(acme.scope).filter(memory_id=memory_id).update(live=False)


# -- on request ------------------------------------------------------------------------------------------------------


def test_summary_is_a_memory_of_the_sources_sentences(alice: Caller) -> None:
    ids = [sing(alice, n) for n in range(3)]

    summary = summarize(alice, memory_ids=ids)

    assert summary.keys() == MemoryOutput().fields.keys()
    assert (summary["is_summary"], summary["memory_type"]) == (True, "summary")
    assert summary["text"] == summary["summary"] == "\n".join(CHOIR[:3])
    assert alice("GET", f"/memory/{summary['id']}").json()["text"] == summary["text"]
    edges = alice("GET", "/memory/knowledge/stats").json()["edges"]["by_type"]
    assert edges["summary_of"] == 3


def test_lossless_keeps_what_the_other_kind_leaves_out(alice: Caller) -> None:
    memory = alice.add("It was a fine day. Omar paid 40 euros for the boat.")

    short = summarize(alice, memory_ids=[memory["id"]])

    assert short["text"] == "Omar paid 40 euros for the boat."
    # Nothing could be left out, so there is nothing to sum up.
    assert summarize(alice, 200, memory_ids=[memory["id"]], lossless=True) == {
        "status": "skipped", "reason": "no_high_value_content", "memory_ids": [], "candidates_extracted": 0,
        "candidates_stored": 0, "decisions": [],
    }  # fmt: skip


def test_same_sources_give_the_same_summary(alice: Caller) -> None:
    ids = [sing(alice, n) for n in range(3)]

    first = summarize(alice, memory_ids=ids)
    again = summarize(alice, 200, memory_ids=ids[::-1])
    of_itself = summarize(alice, 200, memory_ids=[first["id"]])

    assert again["id"] == of_itself["id"] == first["id"]


def test_memory_of_somebody_else_is_not_found_and_nothing_is_written(alice: Caller) -> None:
    mine, theirs = sing(alice, 0), sing(alice.as_user("bob"), 1)

    foreign = alice("POST", "/memory/summarize", {"memory_ids": [mine, theirs]})
    absent = alice("POST", "/memory/summarize", {"memory_ids": [mine, 2**53]})
    of_nobody = alice.as_user("stranger")("POST", "/memory/summarize", {"memory_ids": [mine]})

    assert {answer.status_code for answer in (foreign, absent, of_nobody)} == {404}
    assert {answer.json()["error"]["code"] for answer in (foreign, absent, of_nobody)} == {"MEMORY_NOT_FOUND"}
    assert alice("GET", "/memory/knowledge/stats").json()["summaries"] == 0


@pytest.mark.parametrize("body", [{}, {"memory_ids": []}, {"memory_ids": ["1"]}, {"memory_ids": [0]},
                                  {"memory_ids": [1], "lossless": "yes"}])  # fmt: skip
def test_bad_request_is_refused(body: dict[str, Any], alice: Caller) -> None:
    summarize(alice, 422, **body)


# -- a summary does not outlive its sources ----------------------------------------------------------------------------


def test_source_that_goes_takes_its_summary_out_of_every_answer_at_once(alice: Caller, acme: OpenedTenant) -> None:
    ids = [sing(alice, n) for n in range(4)]
    summary = summarize(alice, memory_ids=ids)
    assert summary["id"] in found(alice, "the choir")

    retire(acme, ids[1])

    assert alice("GET", f"/memory/{summary['id']}").status_code == 404
    assert summary["id"] not in found(alice, "the choir")
    assert "Requiem" not in alice("POST", "/memory/compose", {"prompt_template": "the choir"}).content.decode()


def test_forgotten_source_is_in_no_answer_whatever_is_asked(alice: Caller, acme: OpenedTenant) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=datetime.now(UTC))
    ids = [sing(alice, n) for n in range(4)]
    summarize(alice, memory_ids=ids)
    work_off()
    deleter = replace(alice, key=make_api_key(acme.scope, scopes=["memory:*", "memory:delete"]).text)

    forgotten = deleter("DELETE", "/memory/forget", {"memory_ids": [ids[1]]})

    assert forgotten.json() == [ids[1]]
    for method, path, body in (
        ("POST", "/memory/query", {"query": "the choir and the Requiem", "k": 50}),
        ("POST", "/memory/compose", {"prompt_template": "the choir and the Requiem", "recall_k": 50}),
        ("POST", "/memory/synthesize", {"query": "the choir and the Requiem"}),
        ("POST", "/memory/search/routed", {"query": "list what happened with the Requiem"}),
        ("GET", "/memory/graph", None),
        ("GET", "/memory/intelligence", None),
        ("GET", "/memory/clusters", None),
    ):
        answer = alice(method, path, body)
        assert answer.status_code == 200
        assert b"with Lea Marti" not in answer.content, path
    export = alice("GET", "/memory/export")
    assert (export.status_code, b"Requiem" in b"".join(export)) == (200, False)
    stats = alice("GET", "/memory/knowledge/stats").json()
    assert (stats["total"], stats["summaries"]) == (3, 0)


def test_summary_is_made_anew_without_the_source_and_taken_away_with_too_few(alice: Caller, acme: OpenedTenant) -> None:
    ids = [sing(alice, n) for n in range(4)]
    summary = summarize(alice, memory_ids=ids)
    work_off()

    retire(acme, ids[1])
    ask_for_work(acme.scope, now=datetime.now(UTC))
    work_off()

    anew = alice("GET", f"/memory/{summary['id']}").json()
    assert anew["text"] == "\n".join(CHOIR[n] for n in (0, 2, 3))
    assert anew["embedded"]
    history = alice("GET", f"/memory/{summary['id']}/history").json()
    assert "Requiem" not in str(history)

    retire(acme, ids[2])
    ask_for_work(acme.scope, now=datetime.now(UTC))
    work_off()

    assert alice("GET", f"/memory/{summary['id']}").status_code == 404
    with tenant_transaction(acme.scope):
        row = Memory.objects.within_tenant(acme.scope).get(pk=summary["id"])
    assert row.retention_status == "soft_deleted"


def test_summary_ends_with_the_first_of_its_sources(
    alice: Caller, acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [sing(alice, 0, ttl_minutes=5), sing(alice, 1), sing(alice, 2)]
    summary = summarize(alice, memory_ids=ids)
    later = datetime.now(UTC) + timedelta(minutes=6)

    monkeypatch.setattr(ApiView, "now", lambda view: later)

    assert alice("GET", f"/memory/{summary['id']}").status_code == 404
    assert found(alice, "the choir") != []
    assert summary["id"] not in found(alice, "the choir")
    assert expire(acme.scope, now=later) == 2


# -- clusters ----------------------------------------------------------------------------------------------------------


def test_cluster_of_three_is_summed_up_and_the_summary_grows_in_place(alice: Caller) -> None:
    ids = [sing(alice, n) for n in range(3)]
    before = clusters(alice)
    work_off()
    (cluster,) = clusters(alice)["clusters"]

    assert cluster.keys() == ClusterOutput().fields.keys()
    assert (before["total"], before["clusters"][0]["summary_memory_id"]) == (1, None)
    assert (cluster["label"], cluster["extracted_type"], cluster["extracted_key"]) == ("tag:choir", "event", None)
    assert (cluster["size"], cluster["memory_ids"]) == (3, ids[::-1])
    summary = cluster["summary_memory_id"]
    assert alice("GET", f"/memory/{summary}").json()["text"] == "\n".join(CHOIR[:3])

    sing(alice, 3)
    work_off()

    (grown,) = clusters(alice)["clusters"]
    assert (grown["size"], grown["summary_memory_id"]) == (4, summary)
    assert alice("GET", f"/memory/{summary}").json()["text"] == "\n".join(CHOIR)


def test_what_may_have_many_values_makes_a_cluster_by_the_shared_part_of_its_key(alice: Caller) -> None:
    for food in ("nuts", "shellfish", "sesame"):
        alice.add(f"I am allergic to {food}.")
    alice.add("I live in Lisbon.")
    alice.add("I moved to Porto.")

    (cluster,) = clusters(alice)["clusters"]

    assert (cluster["label"], cluster["extracted_key"], cluster["size"]) == ("user.allergy", "user.allergy", 3)


def test_clusters_are_the_end_users_own(alice: Caller) -> None:
    for n in range(3):
        sing(alice, n)

    assert clusters(alice.as_user("bob")) == {"clusters": [], "total": 0}
    assert alice("GET", "/memory/clusters?limit=x").status_code == 422


@pytest.mark.parametrize("limit", [0, 1, 50, 51, 100, 101, 200, 5_000])
def test_limits_of_what_the_client_lists_are_taken_as_they_are_sent(alice: Caller, limit: int) -> None:
    for name in ("clusters", "intelligence", "graph", "decisions"):
        assert alice("GET", f"/memory/{name}?limit={limit}").status_code == 200, name


def test_safety_net_asks_for_what_was_missed_and_then_for_nothing(alice: Caller, acme: OpenedTenant) -> None:
    ids = [sing(alice, n) for n in range(4)]
    work_off()
    (cluster,) = clusters(alice)["clusters"]
    retire(acme, ids[0])

    ask_for_work(acme.scope, now=datetime.now(UTC))
    work_off()
    text = alice("GET", f"/memory/{cluster['summary_memory_id']}").json()["text"]
    ask_for_work(acme.scope, now=datetime.now(UTC))

    assert text == "\n".join(CHOIR[1:])
    assert handlers.process_due_events(now=datetime.now(UTC) + timedelta(seconds=1)) == 0


def test_sealed_space_has_clusters_and_summaries_too(alice: Caller, acme: OpenedTenant) -> None:
    first = sing(alice, 0)
    space = find_end_user(acme.scope, "alice")
    assert space is not None
    set_profile(acme.scope, space.id, "sealed", now=datetime.now(UTC))  # type: ignore[arg-type]  # a choice's value
    ids = [first, sing(alice, 1), sing(alice, 2)]
    work_off()

    (cluster,) = clusters(alice)["clusters"]

    assert sorted(cluster["memory_ids"]) == ids
    assert cluster["summary_memory_id"] in found(alice, "the choir")
    retire(acme, ids[0])
    assert cluster["summary_memory_id"] not in found(alice, "the choir")


# -- recall ------------------------------------------------------------------------------------------------------------


def test_summary_takes_no_place_of_its_sources_and_can_be_left_out(alice: Caller) -> None:
    ids = [sing(alice, n) for n in range(4)]
    work_off()
    summary = clusters(alice)["clusters"][0]["summary_memory_id"]

    assert set(found(alice, "the choir and the mill", k=4)) == set(ids)
    assert set(found(alice, "the choir and the mill", k=5)) == {*ids, summary}
    assert summary not in found(alice, "the choir and the mill", k=5, filters={"include_summaries": False})
