"""/v1/memory/{ns}/{profile}: typed memories of a profile, over HTTP."""

from typing import Any

import pytest
from django.utils import timezone

from apps.adapters.embedders.fake import FakeEmbedder
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.core.scoping import tenant_transaction
from apps.memories.indexing_mode import set_profile
from apps.outbox.tasks import drain
from apps.projects.models import Space
from apps.tenants.models import Profile
from tests.api.conftest import Caller
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

HERE = "/v1/memory/shop/alice"
VEGAN = {
    "type": "fact",
    "topic_key": "user.diet",
    "summary": "vegan since 2026",
    "content": {"diet": "vegan"},
    "keywords": "food preference",
    "source": "cursor",
    "session_id": "s-1",
}
VEGETARIAN = VEGAN | {"summary": "vegetarian since 2024", "content": {"diet": "vegetarian"}}


def write(caller: Caller, *memories: Any, at: str = HERE) -> Any:
    response = caller("POST", f"{at}/memories", {"memories": list(memories)})
    assert response.status_code == 201, response.content
    assert response["Memoturn-Txid"] == str(response.json()["txid"])
    return response.json()


def asked(caller: Caller, path: str, body: Any = None, *, method: str = "POST", status: int = 200) -> Any:
    response = caller(method, f"{HERE}{path}", body)
    assert response.status_code == status, response.content
    return response.json() if response.content else None


def test_the_running_example_of_the_seed(alice: Caller) -> None:
    (first,) = write(alice, VEGETARIAN)["results"]
    (second,) = write(alice, VEGAN)["results"]

    assert second["superseded"] == [first["id"]]
    old = asked(alice, f"/memories/{first['id']}", method="GET")
    assert (old["superseded_by"], old["supersedes"]) == (second["id"], [])
    assert old["superseded_at"] >= old["created_at"]
    new = asked(alice, f"/memories/{second['id']}", method="GET")
    assert new == {
        "id": second["id"],
        "type": "fact",
        "topic_key": "user.diet",
        "summary": "vegan since 2026",
        "content": {"diet": "vegan"},
        "keywords": "food preference",
        "session_id": "s-1",
        "source": "cursor",
        "created_at": new["created_at"],
        "expires_at": None,
        "superseded_by": None,
        "superseded_at": None,
        "supersedes": [first["id"]],
    }


def test_recall_and_ask(alice: Caller) -> None:
    write(alice, VEGETARIAN, VEGAN)

    (hit,) = asked(alice, "/recall", {"query": "food", "topic_key": "user.diet"})["memories"]
    assert (hit["summary"], hit["channels"]) == ("vegan since 2026", ["topic", "keyword"])
    assert hit["score"] == pytest.approx(3 / 61)
    answer = asked(alice, "/ask", {"question": "Since when am I vegan?"})
    assert answer["sources"] == [hit["id"]]
    assert "vegan" in answer["answer"]


@pytest.mark.parametrize("is_sealed", [False, True], ids=["searchable", "sealed"])
def test_question_is_answered_by_what_is_relevant_or_under_its_topic(
    is_sealed: bool, alice: Caller, acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.recall.query_context.EMBEDDER", FakeEmbedder.id)  # as if relevance were fitted on it
    write(alice, VEGAN)
    if is_sealed:
        with tenant_transaction(acme.scope):
            space = Space.objects.within(acme.scope).get()
        set_profile(acme.scope.in_spaces(space.ref), space.id, Profile.SEALED, now=timezone.now())
    drain()

    planet = asked(alice, "/ask", {"question": "Which planet is the largest?"})
    word = asked(alice, "/ask", {"question": "Since when am I vegan?"})
    topic = asked(alice, "/ask", {"question": "What do I eat?"})

    assert (planet["answer"], planet["sources"], len(planet["memories"])) == (None, [], 1)
    assert word["answer"] == topic["answer"] == "vegan since 2026."


def test_an_unknown_profile_is_empty_and_stays_unknown(alice: Caller) -> None:
    assert asked(alice, "/recall", {"query": "food"}) == {"memories": [], "txid": 0}
    assert asked(alice, "/ask", {"question": "food?"}) == {"answer": None, "sources": [], "memories": [], "txid": 0}
    assert asked(alice, "/sessions", method="GET") == {"sessions": []}
    response = alice("POST", f"{HERE}/recall", {"query": "food"}, Memoturn_Min_Txid="1")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_sessions_turns_and_their_end(alice: Caller) -> None:
    task = {"type": "task", "summary": "call back", "content": {}, "session_id": "s-1"}
    made = write(alice, VEGAN, task)["results"]
    assert asked(alice, "/sessions/s-1/turns", {"role": "user", "content": "Hello."}, status=201)["seq"] > 0
    assert [one["content"] for one in asked(alice, "/sessions/s-1/turns", method="GET")["turns"]] == ["Hello."]
    assert [one["id"] for one in asked(alice, "/sessions", method="GET")["sessions"]] == ["s-1"]

    asked(alice, "/sessions/s-1", method="DELETE", status=204)

    assert asked(alice, f"/memories/{made[1]['id']}", method="GET", status=404)["code"] == "not_found"
    assert asked(alice, f"/memories/{made[0]['id']}", method="GET")["session_id"] == "s-1"
    assert asked(alice, "/sessions/s-1/turns", method="GET")["turns"]
    asked(alice, "/sessions/s-1?turns=true", method="DELETE", status=204)
    assert asked(alice, "/sessions/s-1/turns", method="GET") == {"turns": []}
    asked(alice, "/sessions/chat%2F7/turns", {"role": "user", "content": "Hello."}, status=201)
    assert asked(alice, "/sessions", method="GET")["sessions"][0]["id"] == "chat/7"


def test_extraction_with_and_without_a_trace(alice: Caller) -> None:
    body = {"turns": [{"role": "user", "content": "I am allergic to peanuts."}], "dry_run": True}
    proposed = asked(alice, "/extract", body)["proposed"]
    assert proposed[0]["summary"] == "I am allergic to peanuts."
    assert asked(alice, "/recall", {"query": "peanuts"})["txid"] == 0

    made = asked(alice, "/extract", body | {"dry_run": False}, status=201)
    again = asked(alice, "/extract", body | {"dry_run": False}, status=201)

    assert [one["status"] for one in made["results"]] == ["created"]
    assert [one["status"] for one in again["results"]] == ["duplicate"]
    assert again["txid"] == made["txid"]


def test_an_erasure_waits_for_a_person(alice: Caller) -> None:
    first, second = write(alice, VEGETARIAN, VEGAN)["results"]
    chain = asked(alice, "/erasures", {"topic_key": "user.diet", "type": "fact"}, status=202)
    assert chain.pop("txid") > 0

    assert chain["status"] == "pending"
    assert sorted(chain["memory_ids"]) == sorted([first["id"], second["id"]])
    assert asked(alice, f"/erasures/{chain['erasure_id']}", method="GET") == chain
    assert asked(alice, "/erasures", method="GET")["erasures"] == [chain]
    assert asked(alice, f"/memories/{first['id']}", method="GET")


def test_a_key_deletes_nothing(alice: Caller) -> None:
    (made,) = write(alice, VEGAN)["results"]

    refused = asked(alice, f"/memories/{made['id']}", method="DELETE", status=403)

    assert refused["code"] == "forbidden"
    assert "step-up" in refused["error"]
    assert asked(alice, f"/memories/{made['id']}", method="GET")


def test_profiles_of_a_namespace_are_listed_for_a_key_that_may(alice: Caller, acme: OpenedTenant) -> None:
    write(alice, VEGAN)
    write(alice, VEGAN, at="/v1/memory/other/bob")
    write(alice, VEGAN, at="/v1/memory/shop/bob")
    assert alice("GET", "/v1/memory/shop").status_code == 403

    key = make_api_key(acme.scope, scopes=[*DEFAULT, "exports:read"]).text
    response = Caller(key)("GET", "/v1/memory/shop")

    assert response.json() == {"profiles": [{"profile": "bob"}, {"profile": "alice"}]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"memories": []}, "must not be empty"),
        ({"memories": [VEGAN | {"type": "event"}]}, "only a fact or an instruction"),
        ({"memories": [VEGAN | {"ttl": 5}]}, "only a task"),
        ({"memories": [VEGAN | {"summary": "  "}]}, "must not be blank"),
        ({"memories": [VEGAN | {"embedding": []}]}, "1 to 4096 numbers"),
        ({"memories": [VEGAN | {"embedding": [True, 1]}]}, "1 to 4096 numbers"),
        ({"memories": [VEGAN | {"type": "preference"}]}, "must be one of"),
        ({"memories": [VEGAN | {"colour": "red"}]}, "colour"),
        ({"memories": [{"type": "fact", "summary": "no content"}]}, "content"),
        ({"memories": [{"type": "event", "summary": f"event {n}", "content": n} for n in range(1001)]}, "1000"),
    ],
)
def test_one_bad_memory_refuses_the_batch(alice: Caller, body: Any, message: str) -> None:
    refused = asked(alice, "/memories", body, status=400)

    assert refused["code"] == "invalid_request"
    assert message in str(refused)
    assert asked(alice, "/recall", {"query": "vegan"})["txid"] == 0


@pytest.mark.parametrize("path", ["Shop/alice", "shop--x/alice", "shop/ali--ce", "shop/-a", f"{'a' * 65}/b"])
def test_names_have_their_form(alice: Caller, path: str) -> None:
    response = alice("POST", f"/v1/memory/{path}/recall", {"query": "x"})
    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Memoturn-Min-Txid": "abc"}, 400),
        ({"Memoturn-Consistency": "eventual"}, 400),
        ({"Memoturn-Durability": "none"}, 400),
        ({"Memoturn-Branch": "draft"}, 404),
        ({"Memoturn-Min-Txid": "99"}, 503),
        ({"Memoturn-Min-Txid": "1", "Memoturn-Consistency": "cached", "Memoturn-Durability": "durable"}, 200),
    ],
)
def test_headers_of_consistency(alice: Caller, headers: dict[str, str], status: int) -> None:
    write(alice, VEGAN)
    assert alice("POST", f"{HERE}/recall", {"query": "vegan"}, **headers).status_code == status


def test_the_same_memories_are_read_on_the_other_routes(alice: Caller) -> None:
    write(alice, VEGAN)
    body = {"tenant_id": "shop", "user_id": "alice", "prompt": "food preference"}
    found = alice("POST", "/v1/memory/recall", body).json()
    assert "vegan since 2026" in str(found)


def test_a_checkpoint_is_rewound_to(alice: Caller) -> None:
    (first,) = write(alice, VEGETARIAN)["results"]
    named = asked(alice, "/checkpoints", {"name": "before"}, status=201)
    (second,) = write(alice, VEGAN)["results"]

    planned = asked(alice, "/rewind", {"to": "before", "dry_run": True})
    done = asked(alice, "/rewind", {"to": "before"})

    assert (planned["restored"], planned["ended"]) == ([first["id"]], [second["id"]])
    assert (done["restored"], done["ended"]) == ([first["id"]], [second["id"]])
    assert asked(alice, "/checkpoints", method="GET") == {"checkpoints": [named]}
    (hit,) = asked(alice, "/recall", {"topic_key": "user.diet"})["memories"]
    assert (hit["id"], hit["superseded_by"]) == (first["id"], None)
    assert asked(alice, "/checkpoints", {"name": "before"}, status=409)["code"] == "conflict"
    assert asked(alice, "/rewind", {"to": "nowhere"}, status=404)["code"] == "not_found"
    assert asked(alice, "/rewind", {"to": str(done["before"])})["restored"] == [second["id"]]


# --- branches ---------------------------------------------------------------------------------------------------------


def branched(alice: Caller, name: str = "try", **more: Any) -> Any:
    return asked(alice, "/branches", {"name": name, **more}, status=201)


def test_a_branch_is_addressed_by_a_header_or_a_parameter(alice: Caller) -> None:
    (first,) = write(alice, VEGETARIAN)["results"]
    made = branched(alice, ttl=3_600)
    assert (made["name"], made["expires_at"] - made["created_at"]) == ("try", 3_600_000)

    response = alice("POST", f"{HERE}/memories", {"memories": [VEGAN]}, Memoturn_Branch="try")
    assert response.status_code == 201, response.content
    (second,) = response.json()["results"]

    assert second["superseded"] == [first["id"]]
    (hit,) = asked(alice, "/recall?branch=try", {"topic_key": "user.diet"})["memories"]
    assert hit["id"] == second["id"]
    (hit,) = asked(alice, "/recall", {"topic_key": "user.diet"})["memories"]
    assert hit["id"] == first["id"]
    assert asked(alice, f"/memories/{second['id']}?branch=main", method="GET", status=404)["code"] == "not_found"
    main, other = asked(alice, "/branches", method="GET")["branches"]
    assert (main["name"], main["txid"], main["expires_at"]) == ("main", made["txid"], None)
    assert other == made | {"txid": response.json()["txid"]}


def test_every_route_of_a_profile_works_in_a_branch(alice: Caller) -> None:
    write(alice, VEGETARIAN)
    branched(alice)
    turn = {"role": "user", "content": "I am allergic to peanuts."}
    (kept,) = write(alice, VEGAN, at=f"{HERE}")["results"]
    (own,) = asked(alice, "/memories?branch=try", {"memories": [VEGAN | {"content": "own"}]}, status=201)["results"]

    found = asked(alice, f"/memories/{own['id']}?branch=try", method="GET")
    assert (found["content"], len(found["supersedes"])) == ("own", 1)
    answer = asked(alice, "/ask?branch=try", {"question": "Since when am I vegan?"})
    assert answer["sources"] == [own["id"]]
    extracted = asked(alice, "/extract?branch=try", {"turns": [turn]}, status=201)
    assert extracted["results"]
    assert asked(alice, "/extract?branch=try", {"turns": [turn], "dry_run": True})["proposed"]
    asked(alice, "/sessions/s-9/turns?branch=try", turn, status=201)
    turns = asked(alice, "/sessions/s-9/turns?last=5&branch=try", method="GET")["turns"]
    assert [one["content"] for one in turns] == [turn["content"]]
    assert asked(alice, "/sessions/s-9/turns", method="GET") == {"turns": []}
    sessions = asked(alice, "/sessions?branch=try&limit=9", method="GET")["sessions"]
    assert {one["id"] for one in sessions} == {"s-1", "s-9"}
    asked(alice, "/sessions/s-9?branch=try", method="DELETE", status=204)
    asked(alice, "/checkpoints?branch=try", {"name": "own"}, status=201)
    assert asked(alice, "/rewind?branch=try", {"to": "own", "dry_run": True})["restored"] == []
    assert asked(alice, "/rewind?branch=try", {"to": "1"})["ended"]
    erasure = asked(alice, "/erasures?branch=try", {"topic_key": "user.diet", "type": "fact"}, status=202)
    assert own["id"] in erasure["memory_ids"]
    txid = erasure.pop("txid")
    assert asked(alice, f"/erasures/{erasure['erasure_id']}?branch=try", method="GET") == erasure
    assert txid > 0
    assert asked(alice, "/erasures", method="GET") == {"erasures": []}
    assert asked(alice, f"/memories/{kept['id']}", method="GET")["superseded_by"] is None


def test_a_branch_from_a_checkpoint_or_a_change(alice: Caller) -> None:
    (first,) = write(alice, VEGETARIAN)["results"]
    named = asked(alice, "/checkpoints", {"name": "before"}, status=201)
    write(alice, VEGAN)

    for name, at in (("one", "before"), ("two", str(named["txid"]))):
        branched(alice, name, **{"from": at})
        (hit,) = asked(alice, f"/recall?branch={name}", {"topic_key": "user.diet"})["memories"]
        assert hit["id"] == first["id"]
    assert asked(alice, "/branches", {"name": "three", "from": "nowhere"}, status=404)["code"] == "not_found"


def test_a_branch_ends(alice: Caller) -> None:
    write(alice, VEGETARIAN)
    branched(alice)
    assert asked(alice, "/branches", {"name": "try"}, status=409)["code"] == "conflict"
    assert asked(alice, "/branches", {"name": "main"}, status=409)["code"] == "conflict"

    asked(alice, "/branches/try", method="DELETE", status=204)

    for path, method, body in (
        ("/recall?branch=try", "POST", {"query": "food"}),
        ("/memories?branch=try", "POST", {"memories": [VEGAN]}),
        ("/sessions/s-1/turns?branch=try", "POST", {"role": "user", "content": "Hello."}),
        ("/branches/try", "DELETE", None),
        ("/branches/%C3%A9", "DELETE", None),
    ):
        assert asked(alice, path, body, method=method, status=404)["code"] == "branch_not_found", path
    assert asked(alice, "/branches/main", method="DELETE", status=409)["reason"] == "BRANCH_IS_MAIN"
    (hit,) = asked(alice, "/recall", {"topic_key": "user.diet"})["memories"]
    assert hit["summary"] == VEGETARIAN["summary"]
    branched(alice)


def test_how_a_branch_may_be_named_and_addressed(alice: Caller) -> None:
    write(alice, VEGETARIAN)
    branched(alice)
    for name in ("", "A", "a--b", "-a", "é", "x" * 65, "~1"):
        assert asked(alice, "/branches", {"name": name}, status=400)["code"] == "invalid_request", name
    for ttl in (0, 59, 30 * 86_400 + 1, "a day"):
        assert asked(alice, "/branches", {"name": "more", "ttl": ttl}, status=400)["code"] == "invalid_request", ttl
    assert asked(alice, "/branches", {"name": "more", "form": "x"}, status=400)["code"] == "invalid_request"
    body = {"query": "food"}
    for headers, path, status in (
        ({"Memoturn_Branch": "try"}, "/recall?branch=try", 200),
        ({"Memoturn_Branch": "main"}, "/recall?branch=try", 400),
        ({"Memoturn_Branch": "other"}, "/recall", 404),
        ({"Memoturn_Branch": "~1"}, "/recall", 404),
        ({"Memoturn_Branch": "try"}, "/recall?brnch=try", 400),
    ):
        response = alice("POST", f"{HERE}{path}", body, **headers)
        assert response.status_code == status, (headers, path, response.content)
    assert alice("GET", f"{HERE}/branches", Memoturn_Branch="try").status_code == 400
    assert asked(alice, "/branches?branch=try", method="GET", status=400)["code"] == "invalid_request"
    assert asked(alice, "/branches?branch=main", {"name": "more"}, status=400)["code"] == "invalid_request"


def test_branches_of_an_unknown_profile(alice: Caller) -> None:
    assert asked(alice, "/branches", method="GET") == {"branches": []}
    assert asked(alice, "/branches", {"name": "try"}, status=404)["code"] == "not_found"
    assert asked(alice, "/recall?branch=try", {"query": "food"}, status=404)["code"] == "branch_not_found"


def test_other_routes_and_lists_know_the_profile_itself_alone(alice: Caller, acme: OpenedTenant) -> None:
    write(alice, VEGETARIAN)
    branched(alice)
    asked(alice, "/memories?branch=try", {"memories": [VEGAN]}, status=201)

    body = {"tenant_id": "shop", "user_id": "alice", "prompt": "food preference"}
    found = str(alice("POST", "/v1/memory/recall", body).json())
    assert "vegetarian since 2024" in found
    assert "vegan since 2026" not in found
    key = make_api_key(acme.scope, scopes=[*DEFAULT, "exports:read"]).text
    assert Caller(key)("GET", "/v1/memory/shop").json() == {"profiles": [{"profile": "alice"}]}
