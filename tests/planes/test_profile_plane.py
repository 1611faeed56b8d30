"""The whole life of a profile of typed memories, as a client sees it that knows the contract and not the server."""

import json
import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.api.views import ApiView
from apps.apikeys import rate_limits
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.apikeys.rate_limits import RateCeiling
from apps.outbox.tasks import drain
from apps.projects.scope import Environment
from apps.tenants.services import set_policy
from tests import once
from tests.api.conftest import Caller
from tests.makers import make_api_key
from tests.planes.conftest import Connect
from tests.planes.profile_client import ProfileClient, ProfileError, Recalled

pytestmark = pytest.mark.django_db(databases="__all__")

cast, acme, globex = once.cast, once.acme, once.globex

DAY_MS = 86_400_000
PUBLISHED = {"vegetarian": "mem_6b71bce8b8f80e570dc5c4b37b5dd782", "vegan": "mem_9ba542e1e57fea3f1d1f1a052ebef27f"}
RECORD = {
    *("id", "type", "topic_key", "summary", "content", "keywords", "session_id", "source"),
    *("created_at", "expires_at", "superseded_by", "superseded_at"),
}
SIDE = [1.0, 0.0, 0.0, 0.0]
NEAR = [0.9, 0.1, 0.0, 0.0]
ACROSS = [0.0, 0.0, 1.0, 0.0]

CHANNELS: tuple[dict[str, Any], ...] = ({"query": "since"}, {"topic_key": "user.diet"}, {"embedding": SIDE})

Memory = dict[str, Any]


def diet(kind: str, **fields: Any) -> Memory:
    """The contract's running example."""
    return {
        "type": "fact",
        "topic_key": "user.diet",
        "summary": f"{kind} since 2024",
        "content": {"diet": kind},
    } | fields


def event(summary: str, **fields: Any) -> Memory:
    return {"type": "event", "summary": summary, "content": {"text": summary}} | fields


def task(summary: str, **fields: Any) -> Memory:
    return {"type": "task", "summary": summary, "content": {"text": summary}} | fields


def put(profile: ProfileClient, *memories: Memory) -> list[str]:
    """The ids of memories that are new."""
    results = profile.ingest(*memories)["results"]
    assert {one["status"] for one in results} == {"created"}
    return [one["id"] for one in results]


def kept(profile: ProfileClient, memory_id: str) -> Memory:
    found = profile.get(memory_id)
    assert found is not None
    return found


def summaries(answer: Recalled) -> list[str]:
    return [one["summary"] for one in answer["memories"]]


def ids(answer: Recalled) -> list[str]:
    return [one["id"] for one in answer["memories"]]


def refusal(call: Callable[[], Any]) -> tuple[int, str | None]:
    with pytest.raises(ProfileError) as caught:
        call()
    assert caught.value.message
    return caught.value.status, caught.value.code


INVALID = (400, "invalid_request")


# -- addresses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "0", "9lives", "a-b_c", "x_1-2_3"])
def test_names_of_lower_letters_digits_hyphens_and_underscores_are_addresses(connect: Connect, name: str) -> None:
    assert connect(profile=name).ingest(diet("vegan"))["results"][0]["status"] == "created"
    assert connect(namespace=name).ingest(diet("vegan"))["results"][0]["status"] == "created"


@pytest.mark.parametrize("name", ["Alice", "-alice", "_alice", "a--b", "al ice", "zoë", "a.b", "a@b"])
def test_other_names_are_refused(connect: Connect, name: str) -> None:
    assert refusal(lambda: connect(profile=name).ingest(diet("vegan"))) == INVALID
    assert refusal(lambda: connect(namespace=name).ingest(diet("vegan"))) == INVALID
    assert refusal(lambda: connect(profile=name).recall("diet")) == INVALID


def test_profiles_namespaces_and_tenants_hold_memories_of_their_own(
    connect: Connect, alice: ProfileClient, globex: OpenedTenant
) -> None:
    (old,) = put(alice, diet("vegan"))
    others = [
        connect("bob"),
        connect(namespace="work"),
        connect(key=globex.keys[Environment.PRODUCTION]),
        connect(key=globex.keys[Environment.PRODUCTION], profile="bob"),
    ]

    for other in others:
        assert other.get(old) is None
        assert other.recall("vegan")["memories"] == []
        (result,) = other.ingest(diet("omnivore"))["results"]
        assert (result["status"], result["superseded"]) == ("created", [])

    assert kept(alice, old)["superseded_by"] is None
    assert summaries(alice.recall(topic_key="user.diet")) == ["vegan since 2024"]


def test_reading_an_unknown_profile_finds_nothing_and_creates_nothing(connect: Connect, acme: OpenedTenant) -> None:
    nobody = connect("nobody")
    key = make_api_key(acme.scope, scopes=[*DEFAULT, "exports:read"]).text

    assert nobody.recall("anything") == {"memories": [], "txid": 0}
    assert nobody.recall("anything", min_txid=0) == {"memories": [], "txid": 0}
    assert refusal(lambda: nobody.recall("anything", min_txid=1))[0] == 404
    assert nobody.get(PUBLISHED["vegan"]) is None
    assert nobody.sessions() == []
    assert nobody.erasures() == []
    assert nobody.erasure("ers_0") is None

    assert "nobody" not in connect(key=key).profiles()


def test_first_ingest_creates_the_profile_and_the_namespace_lists_it(connect: Connect, acme: OpenedTenant) -> None:
    put(connect("bob"), diet("vegan"))
    put(connect("carol"), diet("vegan"))
    put(connect("dan", namespace="work"), diet("vegan"))
    key = make_api_key(acme.scope, scopes=[*DEFAULT, "exports:read"]).text

    assert sorted(connect(key=key).profiles()) == ["bob", "carol"]
    assert connect(namespace="work", key=key).profiles() == ["dan"]
    assert connect(namespace="empty", key=key).profiles() == []
    assert refusal(connect().profiles) == (403, "forbidden")


# -- records -----------------------------------------------------------------------------------------------------------


def test_record_has_every_field_as_it_was_sent(alice: ProfileClient) -> None:
    before = int(time.time() * 1000)
    (memory_id,) = put(alice, diet("vegan", keywords="food preference", session_id="s-1", source="cursor"))

    found = kept(alice, memory_id)

    assert re.fullmatch("mem_[0-9a-f]{32}", memory_id)
    assert found.keys() >= RECORD
    assert before <= found.pop("created_at") <= int(time.time() * 1000)
    assert {name: found[name] for name in RECORD - {"created_at"}} == {
        "id": memory_id,
        "type": "fact",
        "topic_key": "user.diet",
        "summary": "vegan since 2024",
        "content": {"diet": "vegan"},
        "keywords": "food preference",
        "session_id": "s-1",
        "source": "cursor",
        "expires_at": None,
        "superseded_by": None,
        "superseded_at": None,
    }
    assert found["supersedes"] == []


def test_what_is_optional_is_empty_or_null_in_the_record(alice: ProfileClient) -> None:
    (memory_id,) = put(alice, event("moved house"))

    found = kept(alice, memory_id)

    assert found["keywords"] == ""
    assert found["topic_key"] is found["session_id"] is found["source"] is found["expires_at"] is None


@pytest.mark.parametrize(
    "content",
    [{}, [], [1, "two", None], "plain", 17, -0.5, True, {"a": {"b": [{"c": "ü 漢 😀"}]}}, {"": " "}, {"n": 2**53}],
    ids=repr,
)
def test_content_is_any_json_and_comes_back_as_it_was(alice: ProfileClient, content: Any) -> None:
    (memory_id,) = put(alice, event("something happened", content=content))

    assert kept(alice, memory_id)["content"] == content


HOSTILE = {
    "a number beyond 64 bits": f'{{"n": {2**70}}}',
    "a number beyond floats": '{"n": 1e999}',
    "not a number": '{"n": NaN}',
    "half a pair": '{"s": "\\ud800"}',
    "half a pair in a key": '{"\\ud800": 1}',
    "a NUL": '{"s": "a\\u0000b"}',
    "a key twice": '{"a": 1, "a": 2}',
    "two hundred levels": "[" * 200 + "]" * 200,
    "thousands of levels": "[" * 5000 + "]" * 5000,
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_content_that_is_hard_to_store_is_refused_or_comes_back(alice: ProfileClient, content: str) -> None:
    body = b'{"memories": [{"type": "event", "summary": "odd", "content": %s}]}' % content.encode()

    answer = alice.request("POST", "/memories", body)

    if answer.status_code == 201:
        found = kept(alice, answer.json()["results"][0]["id"])
        assert found["content"] == json.loads(content)
    else:
        assert (answer.status_code, answer.json()["code"]) == INVALID


@pytest.mark.parametrize("memory_id", ["1", "mem_", "mem_" + "0" * 31, "mem_" + "g" * 32, "ü", "a\x00b", "..", "%"])
def test_id_that_is_none_is_not_found(alice: ProfileClient, memory_id: str) -> None:
    put(alice, diet("vegan"))

    assert alice.get(memory_id) is None


@pytest.mark.parametrize(
    "bad",
    [
        diet("vegan", type="belief"),
        diet("vegan", type=None),
        {"topic_key": "user.diet", "summary": "vegan", "content": {}},
        {"type": "fact", "content": {}},
        diet("vegan", summary=""),
        diet("vegan", summary=" \t\n"),
        diet("vegan", summary=3),
        {"type": "fact", "summary": "vegan"},
        event("moved", topic_key="user.home"),
        task("call", topic_key="user.calls"),
        diet("vegan", embedding=[]),
        diet("vegan", embedding="near"),
        diet("vegan", embedding=["1.0", "x"]),
        diet("vegan", embedding=[0.0, 0.0]),
        diet("vegan", embedding=[1e200, 1e200]),
        diet("vegan", ttl=60),
        event("moved", ttl=60),
        {"type": "instruction", "summary": "be brief", "content": {}, "ttl": 60},
        task("call", ttl="soon"),
        diet("vegan", keywords=["food"]),
    ],
    ids=lambda bad: json.dumps(bad)[:60],
)
def test_one_bad_memory_fails_the_whole_batch_and_nothing_is_written(connect: Connect, bad: Memory) -> None:
    profile = connect("newcomer")
    good = [event("before"), event("after")]

    assert refusal(lambda: profile.ingest(good[0], bad, good[1])) == INVALID

    assert profile.recall("before after", include_superseded=True) == {"memories": [], "txid": 0}


@pytest.mark.parametrize("body", [{}, {"memories": None}, {"memories": {}}, {"memories": ["vegan"]}, [], b"{", b""])
def test_body_that_is_no_batch_is_refused(alice: ProfileClient, body: Any) -> None:
    answer = alice.request("POST", "/memories", body)

    assert (answer.status_code, answer.json()["code"]) == INVALID


# -- identity ----------------------------------------------------------------------------------------------------------


def test_memory_has_the_same_id_in_every_order_of_its_keys(alice: ProfileClient) -> None:
    one = {"b": [{"y": 1, "x": {"q": 1, "p": 2}}], "a": "ä"}
    other = {"a": "ä", "b": [{"x": {"p": 2, "q": 1}, "y": 1}]}
    (memory_id,) = put(alice, diet("vegan", content=one))

    (result,) = alice.ingest(diet("vegan", content=other))["results"]

    assert result == {"id": memory_id, "status": "duplicate", "superseded": []}


@pytest.mark.parametrize(
    "fields",
    [
        {"summary": "eats no animals"},
        {"keywords": "food"},
        {"source": "cursor"},
        {"session_id": "s-2"},
        {"embedding": SIDE},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_surrounds_a_memory_is_no_part_of_its_identity(alice: ProfileClient, fields: Memory) -> None:
    (memory_id,) = put(alice, diet("vegan"))
    before = kept(alice, memory_id)

    (result,) = alice.ingest(diet("vegan", **fields))["results"]

    assert (result["id"], result["status"]) == (memory_id, "duplicate")
    assert kept(alice, memory_id) == before


def test_ttl_is_no_part_of_the_identity_of_a_task(alice: ProfileClient) -> None:
    (memory_id,) = put(alice, task("call the bank", ttl=60))

    (result,) = alice.ingest(task("call the bank", ttl=600))["results"]

    assert (result["id"], result["status"]) == (memory_id, "duplicate")


def test_type_topic_and_content_are_the_identity(alice: ProfileClient) -> None:
    base = {"type": "fact", "topic_key": "a.b", "summary": "s", "content": {"x": 1}}
    variants = [
        base,
        base | {"type": "instruction"},
        base | {"topic_key": "a.c"},
        {name: value for name, value in base.items() if name != "topic_key"},
        base | {"content": {"x": "1"}},
        base | {"content": {"x": [1]}},
        base | {"content": [["x", 1]]},
        {"type": "event", "summary": "s", "content": {"x": 1}},
        {"type": "task", "summary": "s", "content": {"x": 1}},
    ]

    assert len(set(put(alice, *variants))) == len(variants)


def test_ids_are_keyed_so_that_nobody_confirms_a_guess_by_hashing_it(
    connect: Connect, alice: ProfileClient, globex: OpenedTenant
) -> None:
    first = put(alice, diet("vegetarian")) + put(alice, diet("vegan"))
    theirs = connect(key=globex.keys[Environment.PRODUCTION])
    second = put(theirs, diet("vegetarian")) + put(theirs, diet("vegan"))

    assert not {*first, *second} & {*PUBLISHED.values()}
    assert not {*first} & {*second}
    assert [one["id"] for one in alice.ingest(diet("vegetarian"))["results"]] == first[:1]


# -- supersession ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["fact", "instruction"])
def test_newer_memory_of_a_topic_supersedes_the_older(alice: ProfileClient, kind: str) -> None:
    first = alice.ingest(diet("vegetarian", type=kind))
    second = alice.ingest(diet("vegan", type=kind))
    old, new = first["results"][0]["id"], second["results"][0]["id"]

    assert first["results"] == [{"id": old, "status": "created", "superseded": []}]
    assert second["results"] == [{"id": new, "status": "created", "superseded": [old]}]
    assert second["txid"] > first["txid"] > 0
    assert summaries(alice.recall(topic_key="user.diet")) == ["vegan since 2024"]
    assert kept(alice, old)["superseded_by"] == new
    assert kept(alice, old)["superseded_at"] >= kept(alice, old)["created_at"]
    assert kept(alice, new)["supersedes"] == [old]


def test_facts_and_instructions_of_one_topic_stand_side_by_side(alice: ProfileClient) -> None:
    fact, instruction = put(alice, diet("vegan"), diet("vegan", type="instruction"))

    assert kept(alice, fact)["superseded_by"] is kept(alice, instruction)["superseded_by"] is None
    assert {*ids(alice.recall(topic_key="user.diet"))} == {fact, instruction}


def test_facts_without_a_topic_and_events_and_tasks_accumulate(alice: ProfileClient) -> None:
    loose = [{"type": "fact", "summary": f"likes {what}", "content": {"likes": what}} for what in ("tea", "coffee")]
    events = [event("ordered the tasting menu"), event("ordered the soup")]
    tasks = [task("follow up on refund 88"), task("follow up on refund 89")]

    results = alice.ingest(*loose, *events, *tasks)["results"]

    assert [(one["status"], one["superseded"]) for one in results] == [("created", [])] * 6
    assert all(kept(alice, one["id"])["superseded_by"] is None for one in results)


def test_same_event_again_is_a_duplicate(alice: ProfileClient) -> None:
    (memory_id,) = put(alice, event("deployed"))

    assert alice.ingest(event("deployed"))["results"] == [{"id": memory_id, "status": "duplicate", "superseded": []}]


def test_chain_of_three_is_seen_from_both_ends(alice: ProfileClient) -> None:
    first, second, third = (put(alice, diet(kind))[0] for kind in ("omnivore", "vegetarian", "vegan"))

    assert [kept(alice, one)["superseded_by"] for one in (first, second, third)] == [second, third, None]
    assert [kept(alice, one)["supersedes"] for one in (first, second, third)] == [[], [first], [second]]
    assert [kept(alice, one)["superseded_at"] is None for one in (first, second, third)] == [False, False, True]


def test_memory_that_is_said_again_after_it_was_superseded_is_revived(alice: ProfileClient) -> None:
    old = put(alice, diet("vegetarian", source="cursor", keywords="food", embedding=SIDE))[0]
    new = put(alice, diet("vegan", embedding=SIDE))[0]
    before = kept(alice, old)

    (result,) = alice.ingest(diet("vegetarian", source="other", keywords="else", summary="again"))["results"]

    assert result == {"id": old, "status": "revived", "superseded": [new]}
    changed = {"superseded_by": None, "superseded_at": None, "supersedes": [new]}
    assert kept(alice, old) == before | changed
    assert kept(alice, new)["superseded_by"] == old
    for channel in CHANNELS:
        assert ids(alice.recall(**channel)) == [old]


def test_first_of_three_revived_leaves_no_ring(alice: ProfileClient) -> None:
    first, second, third = (put(alice, diet(kind))[0] for kind in ("omnivore", "vegetarian", "vegan"))

    (result,) = alice.ingest(diet("omnivore"))["results"]

    assert (result["status"], result["superseded"]) == ("revived", [third])
    assert [kept(alice, one)["superseded_by"] for one in (first, second, third)] == [None, third, first]
    assert [kept(alice, one)["supersedes"] for one in (first, second, third)] == [[third], [], [second]]
    assert ids(alice.recall(topic_key="user.diet")) == [first]


def test_each_later_memory_of_a_batch_supersedes_the_one_before_on_its_topic(alice: ProfileClient) -> None:
    (stored,) = put(alice, diet("omnivore"))

    results = alice.ingest(diet("vegetarian"), event("moved"), diet("vegan"), diet("fruitarian"))["results"]

    first, _, second, third = (one["id"] for one in results)
    assert [one["superseded"] for one in results] == [[stored], [], [first], [second]]
    assert [kept(alice, one)["superseded_by"] for one in (stored, first, second, third)] == [
        first,
        second,
        third,
        None,
    ]


def test_memory_twice_in_a_batch_is_a_duplicate_even_where_another_came_between(alice: ProfileClient) -> None:
    results = alice.ingest(diet("vegan"), diet("vegan"), diet("omnivore"), diet("vegan"))["results"]

    assert [one["status"] for one in results] == ["created", "duplicate", "created", "duplicate"]
    assert results[2]["superseded"] == [results[0]["id"]]
    assert kept(alice, results[2]["id"])["superseded_by"] is None


def test_batch_may_revive_one_after_the_other(alice: ProfileClient) -> None:
    first, second = (put(alice, diet(kind))[0] for kind in ("vegetarian", "vegan"))

    results = alice.ingest(diet("vegetarian"), diet("vegan"), diet("vegetarian"), diet("omnivore"))["results"]

    third = results[3]["id"]
    assert [one["status"] for one in results] == ["revived", "revived", "duplicate", "created"]
    assert [one["superseded"] for one in results] == [[second], [first], [], [second]]
    assert [kept(alice, one)["superseded_by"] for one in (first, second, third)] == [second, third, None]


@pytest.mark.parametrize("key", ["User.Diet", "user.diet ", "user.diét", "user.die\u0301t", "user", "user.diet.now"])
def test_topics_are_the_same_only_where_they_are_equal(alice: ProfileClient, key: str) -> None:
    put(alice, diet("vegetarian"), diet("vegan", topic_key="user.diét" if key != "user.diét" else "user.die\u0301t"))

    (result,) = alice.ingest(diet("omnivore", topic_key=key))["results"]

    assert (result["status"], result["superseded"]) == ("created", [])
    assert summaries(alice.recall(topic_key=key)) == ["omnivore since 2024"]


def test_contents_that_say_the_same_in_other_shapes_supersede_each_other(alice: ProfileClient) -> None:
    shapes = ["vegan", {"diet": "vegan"}, {"food": "vegan"}, ["vegan"], {"diet": "x" * 300}, {"diet": "x" * 300 + "y"}]

    results = alice.ingest(*(diet("vegan", content=shape) for shape in shapes))["results"]

    assert [one["status"] for one in results] == ["created"] * len(shapes)
    assert [one["superseded"] for one in results] == [[], *([one["id"]] for one in results[:-1])]


def test_batch_of_the_contract_tells_of_each_memory_in_order(alice: ProfileClient) -> None:
    put(alice, diet("vegan"))

    answer = alice.ingest(
        diet("vegan"),
        {"type": "event", "summary": "deployed v2 to prod", "content": {"version": "v2"}, "session_id": "s-417"},
        {"type": "task", "summary": "follow up on refund #88", "content": {}, "ttl": 86400},
    )

    assert [one["status"] for one in answer["results"]] == ["duplicate", "created", "created"]
    assert [kept(alice, one["id"])["type"] for one in answer["results"]] == ["fact", "event", "task"]
    assert alice.txid == answer["txid"]


def test_batch_holds_a_thousand_and_no_more(alice: ProfileClient) -> None:
    many = [event(f"step {number}") for number in range(1001)]

    assert refusal(lambda: alice.ingest(*many)) == INVALID
    assert alice.recall("step") == {"memories": [], "txid": 0}

    assert len(set(put(alice, *many[:1000]))) == 1000


# -- who wrote it ------------------------------------------------------------------------------------------------------


def test_first_source_sticks_and_supersession_ignores_it(alice: ProfileClient) -> None:
    old = put(alice, diet("vegetarian", source="cursor"))[0]
    alice.ingest(diet("vegetarian", source="claude-code"))
    result = alice.ingest(diet("vegan", source="claude-code"))["results"][0]

    assert kept(alice, old)["source"] == "cursor"
    assert result["superseded"] == [old]


def test_client_adds_its_source_only_where_a_memory_has_none(connect: Connect) -> None:
    labelled = connect(source="cursor")

    mine, theirs = put(labelled, event("mine"), event("theirs", source="claude-code"))

    assert (kept(labelled, mine)["source"], kept(labelled, theirs)["source"]) == ("cursor", "claude-code")


# -- recall ------------------------------------------------------------------------------------------------------------


def test_recall_needs_something_to_look_for(alice: ProfileClient) -> None:
    put(alice, diet("vegan"))

    assert refusal(lambda: alice.recall()) == INVALID
    assert refusal(lambda: alice.recall(types=["fact"], k=3)) == INVALID


def test_hit_is_a_record_with_its_score_and_channels(alice: ProfileClient) -> None:
    (memory_id,) = put(alice, diet("vegan", keywords="food preference"))

    answer = alice.recall(topic_key="user.diet")
    (hit,) = answer["memories"]

    assert RECORD | {"score", "channels"} <= hit.keys()
    assert hit["channels"] == ["topic"]
    assert hit["score"] == pytest.approx(2 / 61, abs=1e-6)
    found = kept(alice, memory_id)
    assert {name: hit[name] for name in RECORD} == {name: found[name] for name in RECORD}
    assert answer["txid"] == alice.txid


def test_words_of_the_summary_and_of_the_keywords_are_found_and_those_of_the_content_are_not(
    alice: ProfileClient,
) -> None:
    put(alice, event("booked a flight", keywords="lisbon portugal", content={"airline": "zephyrair"}))

    assert summaries(alice.recall("flight")) == ["booked a flight"]
    assert summaries(alice.recall("portugal")) == ["booked a flight"]
    assert alice.recall("zephyrair")["memories"] == []


def test_score_of_topic_and_keyword_at_rank_one_is_the_published_one(alice: ProfileClient) -> None:
    put(alice, diet("vegan", keywords="food"), event("watched a film"))

    hit = alice.recall("vegan food", topic_key="user.diet")["memories"][0]

    assert hit["channels"] == ["topic", "keyword"]
    assert hit["score"] == pytest.approx(2 / 61 + 1 / 61, abs=1e-6)
    assert round(hit["score"], 5) == 0.04918


def test_topic_weighs_twice_as_much_as_words(alice: ProfileClient) -> None:
    put(alice, diet("vegan", summary="eats plants", keywords="vegan"), event("vegan vegan vegan"))

    first, second = alice.recall("vegan", topic_key="user.diet")["memories"]

    assert (first["channels"], second["channels"]) == (["topic", "keyword"], ["keyword"])
    assert first["score"] > 2 * second["score"] - 1e-6
    assert {round(first["score"] - 2 / 61, 6), round(second["score"], 6)} == {round(1 / 61, 6), round(1 / 62, 6)}


def test_topic_channel_has_the_newest_first(alice: ProfileClient) -> None:
    old = put(alice, diet("vegetarian"))[0]
    new = put(alice, diet("vegan", type="instruction"))[0]

    hits = alice.recall(topic_key="user.diet")["memories"]

    assert [one["id"] for one in hits] == [new, old]
    assert [one["score"] for one in hits] == pytest.approx([2 / 61, 2 / 62], abs=1e-6)


def test_vectors_rank_by_their_angle(alice: ProfileClient) -> None:
    far, near, same = put(
        alice,
        event("far", embedding=ACROSS),
        event("near", embedding=NEAR),
        event("same", embedding=[2.0, 0.0, 0.0, 0.0]),
    )

    hits = alice.recall(embedding=SIDE)["memories"]

    assert [one["id"] for one in hits] == [same, near, far]
    assert [one["channels"] for one in hits] == [["vector"]] * 3
    assert [one["score"] for one in hits] == pytest.approx([1 / 61, 1 / 62, 1 / 63], abs=1e-6)


def test_three_channels_are_named_in_their_order(alice: ProfileClient) -> None:
    put(alice, diet("vegan", embedding=SIDE))

    (hit,) = alice.recall("vegan", topic_key="user.diet", embedding=SIDE)["memories"]

    assert hit["channels"] == ["topic", "keyword", "vector"]
    assert hit["score"] == pytest.approx(4 / 61, abs=1e-6)


def test_of_equal_scores_the_newer_comes_first(alice: ProfileClient) -> None:
    by_word = put(alice, event("pineapple"))[0]
    by_vector = put(alice, event("unrelated", embedding=SIDE))[0]

    hits = alice.recall("pineapple", embedding=SIDE)["memories"]

    assert hits[0]["score"] == hits[1]["score"]
    assert [one["id"] for one in hits] == [by_vector, by_word]


@pytest.mark.parametrize("channel", [{"query": "deploy"}, {"embedding": SIDE}], ids=["words", "vector"])
def test_sixty_loud_events_do_not_starve_one_quiet_fact(alice: ProfileClient, channel: Memory) -> None:
    loud = [event(f"deploy deploy deploy {number}", embedding=SIDE, source="ci") for number in range(60)]
    quiet = {
        "type": "fact",
        "summary": "there was also once a deploy among many other things that were said",
        "content": {"quiet": True},
        "embedding": ACROSS,
        "source": "cursor",
        "session_id": "s-9",
    }
    quiet_id = put(alice, *loud, quiet)[-1]

    assert ids(alice.recall(**channel, k=2, types=["fact"])) == [quiet_id]
    assert ids(alice.recall(**channel, k=2, source="cursor")) == [quiet_id]
    assert ids(alice.recall(**channel, k=2, session_id="s-9")) == [quiet_id]
    assert len(alice.recall(**channel, k=2)["memories"]) == 2


def test_sixty_loud_events_do_not_starve_one_task(alice: ProfileClient) -> None:
    loud = [event(f"deploy deploy deploy {number}") for number in range(60)]
    quiet = put(alice, *loud, task("some day look at the deploy of the other system again"))[-1]

    assert ids(alice.recall("deploy", types=["task"])) == [quiet]


def test_superseded_memories_do_not_starve_the_current_one(alice: ProfileClient) -> None:
    current = [put(alice, *(diet(f"diet {number}", embedding=SIDE) for number in range(60)))[-1]]

    assert ids(alice.recall("diet", k=1)) == current
    assert ids(alice.recall(topic_key="user.diet", k=1)) == current
    assert ids(alice.recall(embedding=SIDE, k=1)) == current


def test_filters_apply_in_every_channel(alice: ProfileClient) -> None:
    put(
        alice,
        diet("vegan", embedding=SIDE, source="cursor", session_id="s-1"),
        diet("vegan", type="instruction", embedding=SIDE, source="other", session_id="s-2"),
    )

    for channel in CHANNELS:
        assert [one["type"] for one in alice.recall(**channel, types=["fact"])["memories"]] == ["fact"]
        assert [one["source"] for one in alice.recall(**channel, source="other")["memories"]] == ["other"]
        assert [one["session_id"] for one in alice.recall(**channel, session_id="s-2")["memories"]] == ["s-2"]
        assert alice.recall(**channel, types=["fact"], source="other")["memories"] == []
        assert alice.recall(**channel, source="nobody")["memories"] == []
        assert alice.recall(**channel, types=[])["memories"] == []
        assert len(alice.recall(**channel, types=["fact", "instruction"])["memories"]) == 2


def test_type_that_does_not_exist_is_refused_as_a_filter(alice: ProfileClient) -> None:
    assert refusal(lambda: alice.recall("vegan", types=["belief"])) == INVALID


def test_hits_are_eight_unless_asked_for_more_or_fewer(alice: ProfileClient) -> None:
    put(alice, *(event(f"walk {number}") for number in range(12)))

    counts = [
        len(alice.recall("walk", **options)["memories"]) for options in ({}, *({"k": k} for k in (0, -3, 3, 5000)))
    ]

    assert counts == [8, 1, 1, 3, 12]


def test_superseded_memories_are_recalled_only_where_they_are_asked_for(alice: ProfileClient) -> None:
    old = put(alice, diet("vegetarian", embedding=SIDE))[0]
    new = put(alice, diet("vegan", embedding=SIDE))[0]

    for channel in CHANNELS:
        assert ids(alice.recall(**channel)) == [new]
        hits = alice.recall(**channel, include_superseded=True)["memories"]
        assert {one["id"]: one["superseded_by"] for one in hits} == {old: new, new: None}


@pytest.mark.parametrize(
    "query",
    [
        "vegan -diet",
        "NOT vegan",
        "vegan AND nothing",
        '"vegan',
        "summary:vegan",
        "vegan*",
        "(vegan",
        "vegan & !x",
        "^vegan",
    ],
)
def test_operators_in_a_query_are_plain_words(alice: ProfileClient, query: str) -> None:
    put(alice, diet("vegan"))

    assert summaries(alice.recall(query)) == ["vegan since 2024"]


@pytest.mark.parametrize("query", ["2024", "v2", "yesterday", "TODAY", "88", "refund-88", "Zoë", "REFUND"])
def test_any_word_of_a_summary_finds_it(alice: ProfileClient, query: str) -> None:
    put(alice, event("Zoë said yesterday and today in 2024: the v2 of refund #88 is here"), event("unrelated matters"))

    assert len(alice.recall(query)["memories"]) == 1


def test_server_makes_vectors_of_its_own_for_what_came_without_except_tasks(alice: ProfileClient) -> None:
    put(alice, event("deployed the shop"), task("look at the shop"), event("moved", embedding=SIDE))

    drain()

    hits = alice.recall("shop")["memories"]
    assert {one["type"]: one["channels"] for one in hits} == {"event": ["keyword", "vector"], "task": ["keyword"]}


@pytest.mark.parametrize("query", ["!!! ???", "***", " - "])
def test_query_without_words_finds_nothing_by_words(alice: ProfileClient, query: str) -> None:
    put(alice, diet("vegan"))

    assert alice.recall(query)["memories"] == []
    assert [one["channels"] for one in alice.recall(query, topic_key="user.diet")["memories"]] == [["topic"]]


def test_words_that_match_nothing_are_not_padded(alice: ProfileClient) -> None:
    put(alice, diet("vegan"))

    assert alice.recall("xylophone")["memories"] == []
    assert alice.recall(topic_key="user.name")["memories"] == []


def test_vector_of_another_length_leaves_the_other_channels(alice: ProfileClient) -> None:
    put(alice, diet("vegan", embedding=SIDE))
    put(alice, event("vegan fair", embedding=[1.0, 0.0, 0.0]))

    hits = alice.recall("vegan", embedding=[1.0, 0.0])["memories"]

    assert len(hits) == 2
    assert [one["channels"] for one in hits] == [["keyword"]] * 2
    assert alice.recall(embedding=[1.0, 0.0])["memories"] == []


def test_tasks_are_found_by_words_and_never_by_vector(alice: ProfileClient) -> None:
    (memory_id,) = put(alice, task("call the bank", embedding=SIDE))

    assert alice.recall(embedding=SIDE)["memories"] == []
    assert [one["channels"] for one in alice.recall("bank", embedding=SIDE)["memories"]] == [["keyword"]]
    assert ids(alice.recall("bank")) == [memory_id]


# -- tasks -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fields", "lifetime"), [({}, DAY_MS), ({"ttl": 600}, 600_000), ({"ttl": 1}, 1_000)])
def test_task_lives_as_long_as_it_says_and_else_a_day(alice: ProfileClient, fields: Memory, lifetime: int) -> None:
    (memory_id,) = put(alice, task("call the bank", **fields))

    found = kept(alice, memory_id)

    assert found["expires_at"] - found["created_at"] == lifetime


def test_task_of_no_time_is_taken_and_has_expired(alice: ProfileClient) -> None:
    (memory_id,) = put(alice, task("call the bank", ttl=0))

    assert alice.recall("bank", include_superseded=True)["memories"] == []
    assert alice.get(memory_id) is None, "it is swept as it expires"


def test_task_that_has_expired_is_not_recalled_but_lives_again_when_it_is_said_again(
    alice: ProfileClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    (memory_id,) = put(alice, task("call the bank", ttl=60))
    assert ids(alice.recall("bank")) == [memory_id]

    monkeypatch.setattr(ApiView, "now", lambda self: timezone.now() + timedelta(seconds=61))

    assert alice.recall("bank")["memories"] == []
    assert alice.recall("bank", include_superseded=True)["memories"] == []
    (result,) = alice.ingest(task("call the bank"))["results"]
    assert (result["id"], result["status"]) == (memory_id, "created")
    assert ids(alice.recall("bank")) == [memory_id]


# -- sessions and turns ------------------------------------------------------------------------------------------------


def test_sessions_are_listed_with_the_most_recently_active_first(alice: ProfileClient) -> None:
    put(alice, event("one", session_id="s-1"))
    put(alice, event("two", session_id="s-2"))
    put(alice, event("three", session_id="s-1"))
    put(alice, event("four"))

    listed = alice.sessions()

    assert [one["id"] for one in listed] == ["s-1", "s-2"]
    assert all(one["last_active_at"] >= one["created_at"] > 1_700_000_000_000 for one in listed)
    assert listed[0]["last_active_at"] > listed[0]["created_at"]
    assert [one["id"] for one in alice.sessions(limit=1)] == ["s-1"]


def test_turns_are_numbered_and_the_last_of_them_are_read(alice: ProfileClient) -> None:
    said = [("user", "What is on today?"), ("assistant", "A walk – and a call."), ("user", "Thanks 😀")]

    numbers = [alice.append_turn("s-1", role, content) for role, content in said]
    alice.append_turn("s-2", "user", "Elsewhere")

    assert numbers == sorted({*numbers})
    assert [(one["role"], one["content"]) for one in alice.turns("s-1")] == said
    assert [one["seq"] for one in alice.turns("s-1", last=2)] == numbers[1:]
    assert [one["content"] for one in alice.turns("s-2")] == ["Elsewhere"]
    assert alice.turns("s-3") == []


def test_turns_of_one_profile_are_not_those_of_another(connect: Connect, alice: ProfileClient) -> None:
    alice.append_turn("s-1", "user", "Mine")

    assert connect("bob").turns("s-1") == []
    assert connect(namespace="work").turns("s-1") == []


def test_end_of_a_session_takes_its_tasks_and_nothing_else(alice: ProfileClient) -> None:
    fact, happened, mine, theirs = put(
        alice,
        diet("vegan", session_id="s-1"),
        event("ordered", session_id="s-1"),
        task("call the bank", session_id="s-1"),
        task("call the office", session_id="s-2"),
    )
    alice.append_turn("s-1", "user", "Hello")

    alice.end_session("s-1")

    assert alice.get(mine) is None
    assert ids(alice.recall("call")) == [theirs]
    assert kept(alice, fact)["session_id"] == kept(alice, happened)["session_id"] == "s-1"
    assert len(alice.turns("s-1")) == 1

    alice.end_session("s-1", turns=True)

    assert alice.turns("s-1") == []
    assert kept(alice, theirs)["session_id"] == "s-2"


def test_session_of_tasks_alone_is_gone_when_it_has_ended(alice: ProfileClient) -> None:
    put(alice, task("call the bank", session_id="s-1"), task("call the office", session_id="s-2"))

    alice.end_session("s-1")

    assert [one["id"] for one in alice.sessions()] == ["s-2"]


# -- extraction and answers --------------------------------------------------------------------------------------------

SAID = [{"role": "user", "content": "I am allergic to peanuts."}, {"role": "assistant", "content": "Noted!"}]


def test_dry_run_of_an_extraction_proposes_and_writes_nothing(connect: Connect, acme: OpenedTenant) -> None:
    newcomer = connect("newcomer")

    answer = newcomer.extract(SAID, dry_run=True)

    assert "results" not in answer
    assert [one["content"] for one in answer["proposed"]] == [{"text": "I am allergic to peanuts."}]
    assert {"type", "topic_key", "summary", "keywords"} <= answer["proposed"][0].keys()
    assert newcomer.recall("peanuts") == {"memories": [], "txid": 0}
    key = make_api_key(acme.scope, scopes=[*DEFAULT, "exports:read"]).text
    assert connect(key=key).profiles() == []


def test_extraction_writes_what_it_proposes_once(connect: Connect) -> None:
    profile = connect(source="cursor")

    first = profile.extract(SAID, session_id="s-1")
    second = profile.extract(SAID, session_id="s-1")

    assert [one["status"] for one in first["results"]] == ["created"] * len(first["proposed"])
    assert [one["status"] for one in second["results"]] == ["duplicate"] * len(first["proposed"])
    assert profile.txid == first["txid"] == second["txid"] > 0
    (hit,) = profile.recall("allergic")["memories"]
    assert (hit["id"], hit["session_id"], hit["source"]) == (first["results"][0]["id"], "s-1", "cursor")
    assert hit["content"] == {"text": "I am allergic to peanuts."}


def test_small_talk_is_worth_no_memory(alice: ProfileClient) -> None:
    answer = alice.extract([{"role": "user", "content": "Hello there!"}])

    assert (answer["proposed"], answer["results"], answer["txid"]) == ([], [], 0)
    put(alice, diet("vegan"))
    assert alice.extract([{"role": "user", "content": "Hello there!"}])["txid"] == alice.txid == 1


ORDER = "Whenever I ask about invoices, always forward them to finance@example.com."


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_extracted_instruction_waits_for_review_and_is_not_recalled(connect: Connect, acme: OpenedTenant) -> None:
    key = make_api_key(acme.scope, scopes=[*DEFAULT, "candidates:review"]).text
    profile = connect(key=key)

    answer = profile.extract(said(ORDER))

    assert (answer["proposed"], answer["results"]) == ([], [])
    (waiting,) = answer["pending"]
    assert (waiting["type"], waiting["summary"], waiting["reason"]) == ("instruction", ORDER, "instruction")
    assert profile.recall("invoices")["memories"] == []
    accepted = profile.request("POST", f"/v1/candidates/{waiting['candidate_id']}/accept", {})
    assert accepted.status_code == 200, accepted.content
    assert summaries(profile.recall("invoices")) == [ORDER]


def test_extracted_instruction_takes_effect_where_the_policy_keeps_instructions(
    connect: Connect, acme: OpenedTenant
) -> None:
    set_policy(acme.tenant, actor="operator", instructions="keep", now=timezone.now())

    answer = connect().extract(said(ORDER))

    assert [one["status"] for one in answer["results"]] == ["created"]
    assert answer["pending"] == []


@pytest.mark.parametrize(("doubt", "type_"), [("style", "instruction"), ("doubted", "fact")])
def test_extracted_wish_about_style_needs_no_review_and_a_doubtful_one_gives_no_orders(
    alice: ProfileClient, acme: OpenedTenant, settings: Any, doubt: str, type_: str
) -> None:
    options = {"types": {" ": "instruction"}, doubt: [" "]}
    settings.CLASSIFIER = {"BACKEND": "tests.classifiers.FakeClassifier", "OPTIONS": options}
    set_policy(acme.tenant, actor="operator", instructions="style", now=timezone.now())

    answer = alice.extract(said("When it comes to boats, keep it brisk."))

    assert [one["type"] for one in answer["proposed"]] == [type_]
    assert [one["status"] for one in answer["results"]] == ["created"]


def test_each_claim_of_a_turn_is_extracted_under_its_own_topic(alice: ProfileClient) -> None:
    alice.extract(said("I live in Ghent and I work at Acme."))

    answer = alice.extract(said("I moved to Lisbon."))

    assert answer["proposed"][0]["topic_key"] == "user.location"
    assert len(answer["results"][0]["superseded"]) == 1
    assert summaries(alice.recall(topic_key="user.location")) == ["I moved to Lisbon."]
    assert summaries(alice.recall(topic_key="user.employer")) == ["I work at Acme"]


def test_turn_that_says_more_than_its_claims_is_extracted_whole(alice: ProfileClient) -> None:
    text = "I live in Ghent, work at Acme and hate my boss."

    (proposed,) = alice.extract(said(text))["proposed"]

    assert (proposed["summary"], proposed["topic_key"]) == (text, None)


# -- pinned memories ---------------------------------------------------------------------------------------------------


def home(city: str) -> Memory:
    return {"type": "fact", "topic_key": "user.location", "summary": f"lives in {city}", "content": {"city": city}}


@pytest.fixture
def reviewer(acme: OpenedTenant) -> Caller:
    return Caller(make_api_key(acme.scope, scopes=[*DEFAULT, "candidates:review"]).text)


@pytest.fixture
def pinned(connect: Connect, reviewer: Caller) -> ProfileClient:
    """Alice without a namespace, of whom a reviewer has pinned where she lives."""
    pin(reviewer, reviewer.add("I live in Ghent.")["id"])
    return connect("alice", "acme")


def pin(reviewer: Caller, memory_id: int) -> None:
    assert reviewer("PATCH", f"/memory/{memory_id}", {"pinned": True}).status_code == 200


def test_key_without_review_replaces_no_pinned_memory(pinned: ProfileClient) -> None:
    answer = pinned.request("POST", "/memories", {"memories": [diet("vegan"), home("Lisbon")]})

    assert answer.status_code == 403
    assert (answer.json()["code"], answer.json()["reason"]) == ("forbidden", "INSUFFICIENT_SCOPE")
    assert summaries(pinned.recall(topic_key="user.location")) == ["I live in Ghent."]
    assert summaries(pinned.recall(topic_key="user.diet")) == []


def test_key_with_review_replaces_a_pinned_memory(pinned: ProfileClient, connect: Connect, reviewer: Caller) -> None:
    (result,) = connect("alice", "acme", key=reviewer.key).ingest(home("Lisbon"))["results"]

    assert len(result["superseded"]) == 1
    assert summaries(pinned.recall(topic_key="user.location")) == ["lives in Lisbon"]


def test_extraction_that_would_replace_a_pinned_memory_waits_for_review(pinned: ProfileClient) -> None:
    answer = pinned.extract(said("I moved to Lisbon."))

    assert [one["reason"] for one in answer["pending"]] == ["less_trusted"]
    assert answer["results"] == []
    assert summaries(pinned.recall(topic_key="user.location")) == ["I live in Ghent."]


def test_checkpoint_is_not_named_by_a_number(alice: ProfileClient) -> None:
    put(alice, diet("vegan"))

    refused = alice.request("POST", "/checkpoints", {"name": "0"})

    assert (refused.status_code, refused.json()["reason"]) == (400, "CHECKPOINT_NAME_IS_NUMBER")
    assert alice.request("POST", "/checkpoints", {"name": "v0"}).status_code == 201


@pytest.mark.parametrize("dry_run", [True, False])
def test_key_without_review_rewinds_past_no_pinned_memory(pinned: ProfileClient, *, dry_run: bool) -> None:
    answer = pinned.request("POST", "/rewind", {"to": "0", "dry_run": dry_run})

    assert (answer.status_code, answer.json()["reason"]) == (403, "INSUFFICIENT_SCOPE")
    assert summaries(pinned.recall(topic_key="user.location")) == ["I live in Ghent."]


def test_key_with_review_rewinds_past_a_pinned_memory(
    pinned: ProfileClient, connect: Connect, reviewer: Caller
) -> None:
    answer = connect("alice", "acme", key=reviewer.key).request("POST", "/rewind", {"to": "0"})

    assert len(answer.json()["ended"]) == 1
    assert pinned.recall(topic_key="user.location")["memories"] == []


def test_question_is_answered_from_memories_and_names_them(alice: ProfileClient) -> None:
    spare = event("The spare key lies under the blue flower pot.", source="notes")
    bus = event("The bus to the airport leaves at ten past six.", source="timetable")
    spare_id, _ = put(alice, spare, bus)

    answer = alice.ask("Where is the spare key?")

    assert answer["answer"] is not None
    assert "flower pot" in answer["answer"]
    assert answer["sources"] == [spare_id]
    assert answer["memories"][0]["id"] == spare_id
    assert answer["txid"] == alice.txid
    assert alice.ask("Where is the spare key?", source="timetable")["sources"] == []


def test_question_about_nothing_that_is_known_has_no_answer(connect: Connect, alice: ProfileClient) -> None:
    put(alice, diet("vegan"))

    assert connect("nobody").ask("Anything?") == {"answer": None, "sources": [], "memories": [], "txid": 0}
    nothing = alice.ask("xylophone?")
    assert (nothing["answer"], nothing["sources"], nothing["memories"]) == (None, [], [])
    assert alice.ask("vegan?", types=["task"])["answer"] is None


# -- erasure -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        {},
        {"memory_id": PUBLISHED["vegan"], "session_id": "s-1"},
        {"memory_id": PUBLISHED["vegan"], "topic_key": "user.diet", "type": "fact"},
        {"topic_key": "user.diet"},
        {"topic_key": "user.diet", "type": "event"},
        {"type": "fact"},
        {"memory_id": PUBLISHED["vegan"], "turns": True},
    ],
    ids=str,
)
def test_erasure_has_exactly_one_target(alice: ProfileClient, target: Memory) -> None:
    put(alice, diet("vegan"))

    assert refusal(lambda: alice.erase(**target)) == INVALID


def test_erasure_of_what_is_not_there_is_not_found(connect: Connect, alice: ProfileClient) -> None:
    (memory_id,) = put(alice, diet("vegan"))
    put(connect("bob"), diet("omnivore"))

    assert refusal(lambda: alice.erase(memory_id=PUBLISHED["vegan"])) == (404, "not_found")
    assert refusal(lambda: alice.erase(topic_key="user.diet", type="instruction")) == (404, "not_found")
    assert refusal(lambda: alice.erase(session_id="s-1")) == (404, "not_found")
    assert refusal(lambda: connect("bob").erase(memory_id=memory_id)) == (404, "not_found")
    assert refusal(lambda: connect("nobody").erase(memory_id=memory_id))[0] == 404


def test_erasures_wait_and_are_listed_newest_first_in_their_profile_alone(
    connect: Connect, alice: ProfileClient
) -> None:
    old, new = (put(alice, diet(kind))[0] for kind in ("vegetarian", "vegan"))
    (happened,) = put(alice, event("ordered", session_id="s-1"))

    answer = alice.request("POST", "/erasures", {"memory_id": new})
    one, chain, session = answer.json(), alice.erase(topic_key="user.diet", type="fact"), alice.erase(session_id="s-1")
    txids = [coupon.pop("txid") for coupon in (one, chain, session)]

    assert answer.status_code == 202
    assert txids == [alice.txid] * 3
    assert re.fullmatch("ers_[0-9a-z]+", one["erasure_id"])
    assert [coupon["status"] for coupon in (one, chain, session)] == ["pending"] * 3
    assert one["grace_until"] > one["requested_at"] > 1_700_000_000_000
    assert [sorted(coupon["memory_ids"]) for coupon in (one, chain, session)] == [[new], sorted([old, new]), [happened]]
    assert alice.erasures() == [session, chain, one]
    assert alice.erasure(chain["erasure_id"]) == chain
    assert alice.erasure("ers_0") is None
    assert connect("bob").erasures() == connect(namespace="work").erasures() == []
    put(connect("bob"), diet("vegan"))
    assert connect("bob").erasures() == []
    assert connect("bob").erasure(chain["erasure_id"]) is None
    assert summaries(alice.recall(topic_key="user.diet")) == ["vegan since 2024"], "nothing is erased by a key"


# -- what keys may not do ----------------------------------------------------------------------------------------------


def test_key_forgets_nothing(alice: ProfileClient) -> None:
    (memory_id,) = put(alice, diet("vegan"))

    assert refusal(lambda: alice.forget(memory_id)) == (403, "forbidden")
    assert refusal(lambda: alice.forget(PUBLISHED["vegan"])) == (403, "forbidden"), "whether it exists or not"

    assert summaries(alice.recall("vegan")) == ["vegan since 2024"]


def test_where_the_owner_lets_keys_delete_only_the_memory_itself_goes(connect: Connect, acme: OpenedTenant) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=timezone.now())
    profile = connect(key=make_api_key(acme.scope, scopes=[*DEFAULT, "memory:delete"]).text)
    old, new = (put(profile, diet(kind, embedding=SIDE))[0] for kind in ("vegetarian", "vegan"))

    assert (profile.forget(new), profile.forget(new), profile.forget(PUBLISHED["vegan"])) == (True, False, False)

    assert profile.get(new) is None
    assert profile.recall("vegan")["txid"] == profile.txid
    assert kept(profile, old)["superseded_at"] is not None
    for channel in CHANNELS:
        assert profile.recall(**channel)["memories"] == []
        assert ids(profile.recall(**channel, include_superseded=True)) == [old]


def test_keys_do_what_they_are_for(connect: Connect, acme: OpenedTenant) -> None:
    reader = connect(key=make_api_key(acme.scope, scopes=["memory:read"]).text)
    writer = connect(key=make_api_key(acme.scope, scopes=["memory:add"]).text)

    assert refusal(lambda: reader.ingest(diet("vegan"))) == (403, "forbidden")
    (memory_id,) = put(writer, diet("vegan"))
    assert refusal(lambda: writer.recall("vegan")) == (403, "forbidden")
    assert refusal(lambda: reader.erase(memory_id=memory_id)) == (403, "forbidden")
    assert ids(reader.recall("vegan")) == [memory_id]


# -- errors, limits and headers ----------------------------------------------------------------------------------------


def test_every_refusal_has_the_same_two_fields(connect: Connect, alice: ProfileClient) -> None:
    answers = {
        "unauthorized": connect(key="nonsense").request("POST", "/recall", {"query": "x"}),
        "invalid_request": alice.request("POST", "/recall", {}),
        "not_found": alice.request("GET", f"/memories/{PUBLISHED['vegan']}"),
        "branch_not_found": alice.request("POST", "/recall", {"query": "x"}, headers={"Memoturn-Branch": "draft"}),
        "forbidden": alice.request("GET", "/v1/memory/home"),
    }

    assert {code: answer.json()["code"] for code, answer in answers.items()} == {code: code for code in answers}
    assert [answer.status_code for answer in answers.values()] == [401, 400, 404, 404, 403]
    assert all(isinstance(answer.json()["error"], str) and answer.json()["error"] for answer in answers.values())


def test_request_without_a_key_is_refused(connect: Connect) -> None:
    assert refusal(lambda: connect(key=None).ingest(diet("vegan"))) == (401, "unauthorized")


def test_error_does_not_repeat_what_was_sent(alice: ProfileClient) -> None:
    answer = alice.request("POST", "/memories", {"memories": [diet("vegan", summary="zanzibar", type="zanzibar")]})

    assert answer.status_code == 400
    assert "zanzibar" not in answer.text


def test_method_that_an_address_does_not_have_is_refused_in_the_same_form(alice: ProfileClient) -> None:
    answer = alice.request("PUT", "/memories", {"memories": [diet("vegan")]})

    assert answer.status_code == 405
    assert {"error", "code"} <= answer.json().keys()


def test_too_many_requests_are_asked_to_wait(alice: ProfileClient, settings: Any, monkeypatch: Any) -> None:
    settings.RATE_LIMIT_TIER = "free"
    monkeypatch.setitem(rate_limits.TIERS, "free", (RateCeiling(60, 2),))

    answers = [alice.request("GET", "/sessions") for _ in range(4)]

    assert (answers[-1].status_code, answers[-1].json()["code"]) == (429, "overloaded")
    assert int(answers[-1].headers["Retry-After"]) >= 1


def test_body_that_is_too_large_is_refused(alice: ProfileClient) -> None:
    answer = alice.request("POST", "/memories", b'{"memories": "' + b"x" * (33 << 20) + b'"}')

    assert answer.status_code == 413


def test_every_answer_names_the_transaction(alice: ProfileClient) -> None:
    ingested = alice.ingest(diet("vegan", session_id="s-1"))
    memory_id, txid = ingested["results"][0]["id"], str(ingested["txid"])

    answers = [
        alice.request("POST", "/recall", {"query": "vegan"}),
        alice.request("GET", f"/memories/{memory_id}"),
        alice.request("GET", "/sessions"),
        alice.request("GET", "/erasures"),
        alice.request("GET", f"/memories/{PUBLISHED['vegan']}"),
        alice.request("POST", "/ask", {"question": "vegan?"}),
        alice.request("POST", "/erasures", {"memory_id": memory_id}),
        alice.request("GET", "/sessions/s-1/turns"),
    ]

    assert [answer.headers["Memoturn-Txid"] for answer in answers] == [txid] * len(answers)


def test_refusal_names_the_transaction_to_those_who_may_ask(connect: Connect, alice: ProfileClient) -> None:
    txid = str(alice.ingest(diet("vegan"))["txid"])

    answers = [
        alice.request("POST", "/recall", {}),
        alice.request("POST", "/memories", {"memories": []}),
        alice.request("POST", "/recall", {"query": "x"}, headers={"Memoturn-Min-Txid": "x"}),
        alice.request("POST", "/recall", {"query": "x"}, headers={"Memoturn-Min-Txid": "999"}),
    ]
    others = [
        alice.request("POST", "/recall", {"query": "x"}, headers={"X-Project-ID": "proj_none"}),
        alice.request("GET", "/v1/memory/home"),
        connect(key="nonsense").request("POST", "/recall", {"query": "x"}),
        connect("Alice").request("POST", "/recall", {"query": "x"}),
        connect("nobody").request("POST", "/recall", {}),
    ]

    assert [(answer.status_code, answer.headers["Memoturn-Txid"]) for answer in answers] == [
        *[(400, txid)] * 3,
        (503, txid),
    ]
    assert [(answer.status_code, answer.headers["Memoturn-Txid"]) for answer in others] == [
        (404, "0"),
        (403, "0"),
        (401, "0"),
        (400, "0"),
        (400, "0"),
    ]


def test_answer_to_a_change_names_its_transaction(alice: ProfileClient) -> None:
    put(alice, task("call the bank", session_id="s-1"))

    appended = alice.request("POST", "/sessions/s-1/turns", {"role": "user", "content": "Hello"})
    ended = alice.request("DELETE", "/sessions/s-1")

    assert int(appended.headers["Memoturn-Txid"]) > 0
    assert int(ended.headers["Memoturn-Txid"]) == alice.recall("bank")["txid"]
    assert int(ended.headers["Memoturn-Txid"]) > int(appended.headers["Memoturn-Txid"])


def test_answer_to_a_duplicate_is_no_older_than_its_first_write(alice: ProfileClient) -> None:
    first = alice.ingest(diet("vegan"))["txid"]

    assert alice.ingest(diet("vegan"))["txid"] >= first
    assert alice.recall("vegan")["txid"] >= first


def test_what_was_written_is_read_by_who_asks_for_its_transaction(alice: ProfileClient) -> None:
    answer = alice.ingest(diet("vegan"))
    memory_id = answer["results"][0]["id"]

    assert ids(alice.recall("vegan", min_txid=answer["txid"])) == [memory_id]
    assert alice.get(memory_id, min_txid=answer["txid"]) is not None


@pytest.mark.parametrize(
    "headers",
    [
        {"Memoturn-Consistency": "primary"},
        {"Memoturn-Consistency": "cached"},
        {"Memoturn-Durability": "durable"},
        {"Memoturn-Branch": "main"},
    ],
    ids=str,
)
def test_headers_of_the_contract_are_taken(alice: ProfileClient, headers: dict[str, str]) -> None:
    written = alice.request("POST", "/memories", {"memories": [diet("vegan")]}, headers=headers)
    read = alice.request("POST", "/recall", {"query": "vegan"}, headers=headers)

    assert (written.status_code, read.status_code) == (201, 200)
    assert len(read.json()["memories"]) == 1
