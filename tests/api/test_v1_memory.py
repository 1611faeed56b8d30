"""The plane whose requests name tenant and user themselves: one turn in, a block for a prompt out, and the list."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.adapters.embedders.fake import FakeEmbedder
from apps.api.views import ApiView
from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.ingest.models import TurnReceipt
from apps.memories.models import Memory
from apps.projects.scope import Environment
from apps.tenants.models import EndUser
from tests.api.conftest import Caller
from tests.architecture import canaries

pytestmark = pytest.mark.django_db(databases="__all__")

FACT = "I live in Lisbon and work as a nurse."
ALICE = {"tenant_id": "acme", "user_id": "alice"}


def turn(caller: Caller, text: str = FACT, **fields: Any) -> Any:
    response = caller("POST", "/v1/memory/add_turn", ALICE | {"text": text} | fields)
    assert response.status_code == 201, response.content
    return response.json()  # type: ignore[attr-defined]  # Django's test client adds it


def listed(caller: Caller, owner: str = "acme/alice", query: str = "", **meta: str) -> Any:
    response = caller.client.get(f"/v1/memory/{owner}/list{query}", headers={"X-API-Key": caller.key}, **meta)
    assert response.status_code == 200, response.content
    return response.json()


def receipts(tenant: OpenedTenant) -> int:
    with tenant_transaction(tenant.scope):
        return TurnReceipt.objects.within(tenant.scope).count()


def people(tenant: OpenedTenant) -> int:
    with tenant_transaction(tenant.scope):
        return EndUser.objects.within(tenant.scope).count()


# -- one turn in -------------------------------------------------------------------------------------------------------


def test_turn_of_the_user_becomes_memories(alice: Caller) -> None:
    receipt = turn(alice, role="user", metadata={"channel": "sms", "list": [1], "write_origin": "me"}, session_id="s1")

    assert (receipt["status"], receipt["processing_status"]) == ("processing", "completed")
    assert (receipt["memory_id"], receipt["embed_mode"], receipt["already_exists"]) == (None, "none", False)
    assert receipt["request_id"].startswith("req_")
    memories = listed(alice)["memories"]
    assert {memory["memory_id"] for memory in memories} == set(receipt["memory_ids"])
    for memory in memories:
        assert memory["source"] == "chat"
        assert memory["metadata"] == {"channel": "sms", "write_origin": "turn-extraction", "turn_role": "user"}


@pytest.mark.parametrize(
    "said",
    [
        {"role": "assistant"},
        {"role": "Tool"},
        {"role": "developer"},
        {"text": f"Assistant: {FACT}"},
        {"speaker": "bot@7f3a"},
        {"metadata": {"role": "system"}},
    ],
)
def test_turn_of_somebody_else_is_passed_over(said: dict[str, Any], alice: Caller) -> None:
    receipt = turn(alice, **said)

    assert (receipt["status"], receipt["processing_status"]) == ("ok", "skipped_non_user_turn")
    assert (receipt["request_id"], receipt["already_exists"]) == (None, False)
    assert listed(alice) == {"memories": [], "total": 0}


@pytest.mark.parametrize(
    "said",
    [
        {"role": "human"},
        {"role": "user", "speaker": "bot@7f3a"},
        {"text": f"customer: {FACT}", "speaker": "assistant"},
        {"speaker": "caller@9", "metadata": {"role": "assistant"}},
        {"speaker": "3f2a9b", "metadata": {"role": "user"}},
        {"metadata": {"role": "narrator"}},
        {"metadata": {"role": 5}},
    ],
)
def test_first_that_tells_whose_turn_it_is_decides(said: dict[str, Any], alice: Caller) -> None:
    assert turn(alice, **said)["processing_status"] == "completed"
    assert all("customer" not in memory["raw_text"] for memory in listed(alice)["memories"])


@pytest.mark.parametrize("text", ["ok", "hello there", "123 456", "🙂🙂", "thanks!"])
def test_filler_is_passed_over(text: str, alice: Caller) -> None:
    receipt = turn(alice, text)

    assert (receipt["status"], receipt["processing_status"]) == ("ok", "skipped_low_value")


def test_same_turn_again_is_a_replay(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"speaker": "user@abc", "occurred_at": "2026-05-05T14:22:00Z"}
    turn(alice, **said)

    again, later = turn(alice, **said), turn(alice, **said | {"occurred_at": "2026-05-05T14:23:00Z"})
    other = turn(alice, **said | {"user_id": "bob"})

    assert (again["status"], again["processing_status"]) == ("ok", "skipped_replay")
    assert (again["already_exists"], again["memory_ids"], again["request_id"]) == (True, [], None)
    assert later["processing_status"] == other["processing_status"] == "completed"
    in_a_month = datetime.now(UTC) + timedelta(days=30, minutes=1)
    monkeypatch.setattr(ApiView, "now", lambda view: in_a_month)
    assert turn(alice, **said)["already_exists"] is False


def test_receipts_that_are_over_are_swept(alice: Caller, acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    turn(alice)
    in_a_month = datetime.now(UTC) + timedelta(days=31)
    monkeypatch.setattr(ApiView, "now", lambda view: in_a_month)

    turn(alice, "My sister Ana moved to Porto in March.")

    assert receipts(acme) == 1


def test_hash_in_the_speakers_place_is_nobodys_name(alice: Caller) -> None:
    turn(alice, "I live in Lisbon.", speaker="3f2a9b17c0de4411")
    turn(alice, "I live in Porto.", speaker="88aa9b17c0de4412")

    assert [memory["raw_text"] for memory in listed(alice)["memories"]] == ["I live in Porto."]


def test_turn_that_is_passed_over_makes_nobody(alice: Caller, acme: OpenedTenant) -> None:
    turn(alice, "ok")

    assert (receipts(acme), people(acme)) == (0, 0)


@pytest.mark.django_db(databases="__all__", transaction=True)
def test_of_a_turn_nothing_is_kept_but_what_it_told(alice: Caller, superuser_url: str) -> None:
    words = [canaries.word(1), canaries.word(2)]
    turn(alice, f"Is there a {words[0]} around here? I live in {words[1].capitalize()}.", speaker=words[0])

    assert canaries.in_databases(superuser_url, words) == []


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"messages": [{"role": "user", "content": FACT}]}, "messages"),
        ({"text": ""}, "text"),
        ({"text": "   "}, "text"),
        ({"text": 5}, "text"),
        ({"text": FACT, "role": "narrator"}, "role"),
        ({"text": FACT, "role": 5}, "role"),
        ({"text": FACT, "occurred_at": "yesterday"}, "occurred_at"),
        ({"text": FACT, "metadata": []}, "metadata"),
        ({"text": FACT, "tenant_id": ""}, "tenant_id"),
        ({"text": FACT, "user_id": "a\x1fb"}, "user_id"),
        ({"text": FACT, "user_id": "a" * 257}, "user_id"),
        ({"text": FACT, "user_id": ["a"]}, "user_id"),
    ],
)
def test_bad_turn_is_refused_by_field(fields: dict[str, Any], field: str, alice: Caller) -> None:
    response: Any = alice("POST", "/v1/memory/add_turn", ALICE | fields)

    assert response.status_code == 422
    body = response.json()
    assert isinstance(body["detail"], str)
    assert body["detail"].startswith(f"{field}: ")
    assert body["detail"] == body["error"]["message"]


# -- a block out -------------------------------------------------------------------------------------------------------


def test_recall_is_ready_for_a_prompt(alice: Caller) -> None:
    alice.add("I live\nin Lisbon.")
    alice.add("I prefer oat milk in my coffee.")

    response: Any = alice("POST", "/v1/memory/recall", ALICE | {"prompt": "Where do I live and what do I prefer?"})

    assert response.status_code == 200
    body = response.json()
    lines = body["context"].splitlines()
    assert "- I live in Lisbon." in lines
    assert "- I prefer oat milk in my coffee." in lines
    headings = [line for line in lines if line and not line.startswith("- ")]
    assert headings
    assert all(heading.endswith(":") for heading in headings)
    assert {memory["value"] for memory in body["memories"]} == {"I live\nin Lisbon.", "I prefer oat milk in my coffee."}
    for memory in body["memories"]:
        assert memory["memory_id"].startswith("m_")
        assert memory["memory_id"] not in body["context"]
    assert body["used_fallback"] is False


def test_recall_of_nothing_is_empty(alice: Caller) -> None:
    response: Any = alice("POST", "/v1/memory/recall", ALICE | {"prompt": "Where do I live?"})

    assert (response.json()["context"], response.json()["memories"]) == ("", [])


def test_types_narrow_the_recall_and_unknown_ones_are_left_out(alice: Caller) -> None:
    alice.add("I live in Lisbon.")
    alice.add("I prefer oat milk in my coffee.")

    def types(*asked: str) -> set[str]:
        response: Any = alice("POST", "/v1/memory/recall", ALICE | {"prompt": "Lisbon oat milk", "types": list(asked)})
        return {memory["type"] for memory in response.json()["memories"]}

    assert types("Preference", "nonsense") == {"preference"}
    assert types("nonsense") == types() == {"fact", "preference"}
    assert types("status") == {"fact"}


def test_query_is_the_same_one_by_one(alice: Caller) -> None:
    for number in range(10):
        alice.add(f"Locker {number} holds volume {number} of the old atlas.")

    response: Any = alice("POST", "/v1/memory/query", ALICE | {"prompt": "the old atlas"})

    memories = response.json()["memories"]
    assert len(memories) == 8
    assert all(memory["raw_text"].startswith("Locker ") for memory in memories)
    assert [memory["score"] for memory in memories] == sorted((one["score"] for one in memories), reverse=True)


@pytest.mark.parametrize("route", ["recall", "query"])
def test_lowest_relevance_is_the_callers(route: str, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.recall.query_context.EMBEDDER", FakeEmbedder.id)
    alice.add("The old atlas stands in locker 4.")

    def found(lowest: float) -> list[Any]:
        asked = ALICE | {"prompt": "the old atlas", "min_relevance": lowest}
        response: Any = alice("POST", f"/v1/memory/{route}", asked)
        return list(response.json()["memories"])

    assert [0 <= memory["relevance"] <= 1 for memory in found(0)] == [True]
    assert found(1) == []


@pytest.mark.parametrize("route", ["recall", "query"])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"prompt": " "},
        {"prompt": "x", "k": "5"},
        {"prompt": "x", "user_id": " "},
        {"prompt": "x", "min_relevance": 2},
    ],
)
def test_bad_prompt_is_refused(route: str, fields: dict[str, Any], alice: Caller) -> None:
    assert alice("POST", f"/v1/memory/{route}", ALICE | fields).status_code == 422


# -- the list ----------------------------------------------------------------------------------------------------------


def test_list_is_newest_first_and_in_pages(alice: Caller) -> None:
    ids = [f"m_{alice.add(f'Locker {number} holds volume {number} of the atlas.')['id']}" for number in range(5)]

    def page(query: str) -> list[str]:
        found = listed(alice, query=query)
        assert found["total"] == 5
        return [memory["memory_id"] for memory in found["memories"]]

    assert page("") == page("?limit=0") == page("?limit=99999") == ids[::-1]
    assert page("?limit=2&offset=1") == [ids[3], ids[2]]
    assert page("?offset=99999") == []


@pytest.mark.parametrize("query", ["?limit=-1", "?limit=x", "?offset=1.5", "?limit="])
def test_page_that_is_no_number_is_refused(query: str, alice: Caller) -> None:
    response: Any = alice("GET", f"/v1/memory/acme/alice/list{query}")

    assert response.status_code == 422
    assert response.json()["error"]["details"][0]["loc"][0] == "query"


def test_list_leaves_out_what_recall_does(alice: Caller, acme: OpenedTenant) -> None:
    alice.add("I live in Lisbon.")
    moved = alice.add("I live in Porto.")
    gone = alice.add("The cat is called Rex.")
    with tenant_transaction(acme.scope):
        Memory.objects.within_tenant(acme.scope).filter(pk=gone["id"]).update(retention_status="soft_deleted")

    assert [memory["memory_id"] for memory in listed(alice)["memories"]] == [f"m_{moved['id']}"]


@pytest.mark.parametrize(
    ("sent", "owner"),
    [
        ("acme/alice", ("acme", "alice")),
        ("acme/a/b", ("acme", "a/b")),
        ("acme/a%2Fb", ("acme", "a/b")),
        ("a%2Fb/c", ("a/b", "c")),
        ("a%2Fb/c/d%2Fe", ("a/b", "c/d/e")),
        ("acme/list", ("acme", "list")),
        ("acme/m%C3%BCller%20x%25", ("acme", "müller x%")),
    ],
)
def test_path_is_split_before_it_is_decoded(sent: str, owner: tuple[str, str], alice: Caller) -> None:
    named = dict(zip(("tenant_id", "user_id"), owner, strict=True))
    turn(alice, "My dog is called Rex.", **named)
    raw = f"/v1/memory/{sent}/list?limit=1"

    assert listed(alice, sent, RAW_URI=raw)["total"] == 1
    assert listed(alice, sent, RAW_URI=f"http://host.example{raw}")["total"] == 1
    assert listed(alice, sent, RAW_URI=f"http://[::{raw}")["total"] == 1
    assert listed(alice, "acme/nobody", RAW_URI="/v1/memory/acme/nobody/list")["total"] == 0


@pytest.mark.parametrize("sent", ["x%2Fy", "acme/%FF", "acme/%00", "acme/%20", "acme/" + "a" * 257])
def test_path_that_names_nobody_is_refused(sent: str, alice: Caller) -> None:
    response: Any = alice.client.get(
        "/v1/memory/x/y/list", headers={"X-API-Key": alice.key}, RAW_URI=f"/v1/memory/{sent}/list"
    )

    assert response.status_code in {404, 422}
    assert response.json()["error"]["code"] in {"NOT_FOUND", "VALIDATION_ERROR"}


# -- who is meant ------------------------------------------------------------------------------------------------------


def test_tenants_own_name_means_its_plain_end_users(alice: Caller) -> None:
    memory = alice.add("I live in Lisbon.")

    assert [one["memory_id"] for one in listed(alice, "acme/alice")["memories"]] == [f"m_{memory['id']}"]
    turn(alice, "My dog is called Rex.")
    answer: Any = alice("POST", "/memory/query", {"query": "What is my dog called?"})
    assert answer.json()["memories"][0]["text"] == "My dog is called Rex."


def test_without_a_tenant_the_keys_own_is_meant(alice: Caller) -> None:
    alice.add("I live in Lisbon.")

    answer: Any = alice.as_user(None)("POST", "/v1/memory/query", {"user_id": "alice", "prompt": "Where do I live?"})

    assert [memory["raw_text"] for memory in answer.json()["memories"]] == ["I live in Lisbon."]


@pytest.mark.parametrize("namespace", ["default", "globex", "ACME", "acme ", "acme:alice"])
def test_other_strings_are_namespaces_of_their_own(
    namespace: str, alice: Caller, globex: OpenedTenant, acme: OpenedTenant
) -> None:
    stranger = Caller(globex.keys[Environment.PRODUCTION])
    stranger.add("I live in Madrid.")
    alice.add("I live in Lisbon.")

    turn(alice, "I live in Porto.", tenant_id=namespace)

    def texts(caller: Caller, owner: str) -> list[str]:
        return [memory["raw_text"] for memory in listed(caller, owner)["memories"]]

    assert texts(alice, f"{namespace}/alice") == ["I live in Porto."]
    assert texts(alice, "acme/alice") == ["I live in Lisbon."]
    assert texts(stranger, "globex/alice") == ["I live in Madrid."]
    assert texts(stranger, "acme/alice") == []


def test_body_goes_before_the_header(alice: Caller) -> None:
    turn(alice.as_user("bob"))

    assert listed(alice, "acme/alice")["total"] > 0
    assert listed(alice, "acme/bob")["total"] == 0


def test_no_header_is_needed(alice: Caller) -> None:
    assert turn(alice.as_user(None))["processing_status"] == "completed"


def test_reading_of_a_stranger_makes_nobody(alice: Caller, acme: OpenedTenant) -> None:
    listed(alice, "acme/stranger")
    alice("POST", "/v1/memory/recall", {"tenant_id": "x", "user_id": "y", "prompt": "Who?"})

    assert people(acme) == 0
