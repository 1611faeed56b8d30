"""The fourteen tools, the resources and the prompt of /v1/mcp."""

import re
from typing import Any

import pytest

from apps.api.mcp.catalogue import DATA
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.projects.scope import Environment
from tests.api.conftest import Caller
from tests.api.test_quota import limit, used
from tests.makers import make_api_key
from tests.mcp.conftest import META, MODERN, McpCaller, refused

pytestmark = pytest.mark.django_db(databases="__all__")

KEY = "The spare key lies under the blue flower pot."
URL_CAPABLE = {"elicitation": {"url": {}}}


def text_of(result: Any) -> str:
    (block,) = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


def done(result: Any) -> Any:
    assert result["isError"] is False, result
    return result["structuredContent"]


@pytest.fixture
def bob(acme: OpenedTenant) -> McpCaller:
    return McpCaller(Caller(acme.keys[Environment.PRODUCTION], "bob"))


def test_what_is_added_is_found_and_told_as_data(mcp: McpCaller) -> None:
    added = mcp.tool("add_memory", text=KEY, tags=["home"])

    found = mcp.tool("search_memory", query="Where is the spare key?", limit=1)

    (memory_id,) = done(added)["memory_ids"]
    (memory,) = done(found)["memories"]
    assert (memory["id"], memory["text"], memory["tags"]) == (memory_id, KEY, ["home"])
    assert re.fullmatch(rf"- {memory_id} \(\d\.\d\d\): {re.escape(KEY)}\n\n{re.escape(DATA)}", text_of(found))


def test_a_whole_number_may_have_a_point(mcp: McpCaller) -> None:
    for text in (KEY, "The bus leaves at ten."):
        mcp.tool("add_memory", text=text, tags=["home"])

    assert len(done(mcp.tool("search_memory", query="Where is the spare key?", limit=1.0))["memories"]) == 1
    assert len(done(mcp.tool("list_memories", limit=1.0))["memories"]) == 1


@pytest.mark.parametrize(
    ("client", "source"),
    [({"name": "cursor"}, "cursor"), ({"name": "\x07"}, "mcp"), ({}, "mcp"), ("x", "mcp"), (None, "mcp")],
)
def test_a_memory_has_its_client_as_its_source(mcp: McpCaller, alice: Caller, client: Any, source: str) -> None:
    meta = {**META, "io.modelcontextprotocol/clientInfo": client} if client is not None else META
    params = {"name": "add_memory", "arguments": {"text": KEY}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}

    added = mcp.raw(body, Mcp_Method="tools/call", Mcp_Name="add_memory").json()["result"]

    memory_id = done(added)["memory_ids"][0].removeprefix("m_")
    assert alice("GET", f"/memory/{memory_id}").json()["source"] == source


def test_small_talk_is_skipped_with_its_reason(mcp: McpCaller) -> None:
    added = mcp.tool("add_memory", text="ok thanks!")

    assert done(added)["status"] == "skipped"
    assert text_of(added).startswith("Not stored: ")


def test_a_search_is_narrowed_by_type_and_time(mcp: McpCaller) -> None:
    mcp.tool("add_memory", text="I am allergic to hazelnuts.")

    assert done(mcp.tool("search_memory", query="allergy", types=["event"]))["memories"] == []
    assert done(mcp.tool("search_memory", query="allergy", until="2001-01-01"))["memories"] == []
    assert text_of(mcp.tool("search_memory", query="allergy", as_of="2001-01-01")) == "No memories match."
    assert len(done(mcp.tool("search_memory", query="allergy"))["memories"]) == 1


def test_memories_are_listed_read_labelled_and_related(mcp: McpCaller, alice: Caller) -> None:
    first, second = alice.add(KEY), alice.add("The boiler room key hangs behind the kitchen door.")
    edge = {"to_memory_id": second["id"], "relationship_type": "supports"}
    assert alice("POST", f"/memory/{first['id']}/relations", edge).status_code == 201
    one, other = f"m_{first['id']}", f"m_{second['id']}"

    listed = done(mcp.tool("list_memories", limit=1))
    assert ([memory["id"] for memory in listed["memories"]], listed["total"]) == ([other], 2)
    assert done(mcp.tool("get_memory", id=one))["text"] == KEY
    changed = done(mcp.tool("update_memory", id=one, tags=["keys"], importance=0.9))
    assert (changed["tags"], changed["importance"]) == (["keys"], 0.9)
    (related,) = done(mcp.tool("get_related_memories", id=one))["related"]
    assert related == {"id": other, "relationship_type": "supports", "direction": "outgoing", "text": second["text"]}
    assert done(mcp.tool("get_related_memories", id=other, relationship_types=["caused_by"]))["related"] == []


def test_facts_are_recorded_asked_for_and_contradicted(mcp: McpCaller) -> None:
    made = done(mcp.tool("record_fact", subject="user", predicate="works_at", object="Acme"))
    assert made["status"] == "recorded"

    (fact,) = done(mcp.tool("query_facts", subject="user", predicate="works_at"))["facts"]

    assert (fact["id"], fact["object"]) == (made["memory_id"], "Acme")
    assert done(mcp.tool("query_facts", subject="user", at="2001-01-01"))["facts"] == []
    assert done(mcp.tool("find_contradictions"))["contradictions"] == []


def test_people_are_listed(mcp: McpCaller) -> None:
    mcp.tool("add_memory", text="My sister Priya lives in Ghent.")

    names = {one["name"] for one in done(mcp.tool("list_entities"))["entities"]}

    assert "Priya" in names
    assert done(mcp.tool("list_entities", q="Priya"))["entities"][0]["name"] == "Priya"


def test_turns_are_stored_and_read(acme: OpenedTenant) -> None:
    key = make_api_key(acme.scope, scopes=[*DEFAULT, "history:read", "history:write"]).text
    mcp = McpCaller(Caller(key))

    assert len(done(mcp.tool("record_turn", role="user", text="I live in Lisbon."))["turn_ids"]) == 1
    mcp.tool("record_turn", role="assistant", text="How nice!", session_id="s1")

    turns = done(mcp.tool("list_recent_turns"))["turns"]
    assert [one["content"] for one in turns] == ["I live in Lisbon.", "How nice!"]
    assert [one["session_id"] for one in done(mcp.tool("list_recent_turns", session_id="s1"))["turns"]] == ["s1"]


def test_whoami_tells_the_key_and_the_end_user(mcp: McpCaller) -> None:
    said = done(mcp.tool("whoami"))

    assert (said["tenant"], said["environment"], said["end_user"]) == ("acme", "production", "alice")
    assert (said["can_delete"], "memory:read" in said["scopes"]) == (False, True)


def test_a_refusal_of_a_route_is_told_to_the_model(mcp: McpCaller, acme: OpenedTenant) -> None:
    absent = mcp.tool("get_memory", id="m_999999")
    blind = McpCaller(Caller(make_api_key(acme.scope, scopes=["memory:read"]).text)).tool("add_memory", text=KEY)
    nobody = McpCaller(Caller(acme.keys[Environment.PRODUCTION], None))
    told = [nobody.tool("search_memory", query="x"), nobody.tool("list_memories"),
            nobody.tool("record_turn", role="user", text="x")]  # fmt: skip

    assert (absent["isError"], "NOT_FOUND" in text_of(absent)) == (True, True)
    assert (blind["isError"], "memory:add" in text_of(blind)) == (True, True)
    assert [(one["isError"], "X-End-User-ID" in text_of(one)) for one in told] == [(True, True)] * 3


def test_another_end_user_and_another_tenant_reach_nothing(
    mcp: McpCaller, bob: McpCaller, globex: OpenedTenant, alice: Caller
) -> None:
    memory_id = f"m_{alice.add(KEY)['id']}"
    stranger = McpCaller(Caller(globex.keys[Environment.PRODUCTION]))

    for other in (bob, stranger):
        assert done(other.tool("search_memory", query=KEY))["memories"] == []
        assert done(other.tool("list_memories"))["memories"] == []
        for tool in ("get_memory", "get_related_memories", "delete_memory", "update_memory"):
            arguments = {"tags": ["x"]} if tool == "update_memory" else {}
            answer = other.tool(tool, id=memory_id, **arguments)
            assert answer["isError"] is True, tool
            assert KEY not in str(answer)
        response = other.send("resources/read", {"uri": f"memsync://memories/{memory_id}"})
        refused(response, 400, -32602)
        assert KEY.encode() not in response.content


def test_a_person_confirms_a_deletion(mcp: McpCaller, alice: Caller) -> None:
    memory_id = f"m_{alice.add(KEY)['id']}"

    told = mcp.tool("delete_memory", id=memory_id)

    assert told["isError"] is True
    assert told["structuredContent"]["url"] == "http://testserver/app/t/acme/requests"
    assert done(mcp.tool("get_memory", id=memory_id))["text"] == KEY
    assert alice("GET", "/memory/forget-requests").json()["requests"][0]["status"] == "pending"


def test_nobody_is_asked_to_delete_a_memory_that_is_not_there(mcp: McpCaller, alice: Caller) -> None:
    answer = mcp.tool("delete_memory", id="m_999999")

    assert (answer["isError"], "MEMORY_NOT_FOUND" in text_of(answer)) == (True, True)
    assert alice("GET", "/memory/forget-requests").json()["requests"] == []


def test_a_client_that_shows_addresses_asks_its_user_and_calls_again(mcp: McpCaller, alice: Caller) -> None:
    memory_id = alice.add(KEY)["id"]
    asked = delete(mcp, memory_id)
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"]["confirm"]["params"]["mode"] == "url"

    waiting = delete(mcp, memory_id, requestState=asked["requestState"])
    assert waiting["resultType"] == "input_required"
    request_id = alice("GET", "/memory/forget-requests").json()["requests"][0]["id"]
    assert alice("POST", f"/memory/forget-requests/{request_id}/cancel").status_code == 200
    ended = delete(mcp, memory_id, requestState=waiting["requestState"])

    assert (ended["isError"], "cancelled" in text_of(ended)) == (True, True)


@pytest.mark.parametrize("state", ["x", "a:b:c", 7])
def test_a_state_that_is_not_of_the_server_is_refused(mcp: McpCaller, alice: Caller, state: Any) -> None:
    response = sent(mcp, alice.add(KEY)["id"], requestState=state)

    refused(response, 400, -32602)


def test_a_state_is_of_one_memory_and_one_tenant(mcp: McpCaller, alice: Caller, globex: OpenedTenant) -> None:
    memory_id = alice.add(KEY)["id"]
    state = delete(mcp, memory_id)["requestState"]
    other = alice.add("The boiler room key hangs behind the kitchen door.")["id"]

    refused(sent(mcp, other, requestState=state), 400, -32602)
    stranger = McpCaller(Caller(globex.keys[Environment.PRODUCTION]))
    refused(sent(stranger, memory_id, requestState=state), 400, -32602)


def test_the_profile_and_a_memory_are_resources(mcp: McpCaller, alice: Caller) -> None:
    memory_id = alice.add("I am allergic to hazelnuts.")["id"]

    listed = [one["uri"] for one in mcp.result("resources/list")["resources"]]
    templates = [one["uriTemplate"] for one in mcp.result("resources/templates/list")["resourceTemplates"]]
    profile = mcp.result("resources/read", {"uri": "memsync://profile"})
    memory = mcp.result("resources/read", {"uri": f"memsync://memories/m_{memory_id}"})

    assert (listed, templates) == (["memsync://profile"], ["memsync://memories/{id}"])
    assert (profile["cacheScope"], profile["ttlMs"]) == ("private", 0)
    assert "hazelnuts" in profile["contents"][0]["text"]
    assert DATA in profile["contents"][0]["text"]
    assert memory["contents"][0]["mimeType"] == "application/json"
    for uri in (
        "memsync://memories/x",
        "memsync://memories/m_1/2",
        "file:///etc/passwd",
        "memsync://memories/m_999999",
    ):
        refused(mcp.send("resources/read", {"uri": uri}), 400, -32602)


def test_a_prompt_brings_what_is_known_about_a_topic(mcp: McpCaller, alice: Caller) -> None:
    alice.add("I am allergic to hazelnuts.")

    got = mcp.result("prompts/get", {"name": "recall", "arguments": {"topic": "food"}})

    assert [one["name"] for one in mcp.result("prompts/list")["prompts"]] == ["recall"]
    assert "hazelnuts" in got["messages"][0]["content"]["text"]
    for arguments in ({}, {"topic": 7}, {"topic": "x", "other": "y"}):
        refused(mcp.send("prompts/get", {"name": "recall", "arguments": arguments}), 400, -32602)


def test_a_call_counts_once_and_a_used_up_quota_is_told(mcp: McpCaller, alice: Caller, acme: OpenedTenant) -> None:
    limit(acme, "strict", 1)

    first, second = mcp.tool("search_memory", query="x"), mcp.tool("search_memory", query="x")

    assert (first["isError"], second["isError"]) == (False, True)
    assert "QUOTA_EXCEEDED" in text_of(second)
    assert used(alice) == {"adds": 0, "retrievals": 1}


@pytest.mark.parametrize("tool", ["add_memory", "search_memory", "record_turn", "list_recent_turns", "record_fact"])
def test_a_quota_that_is_used_up_silently_looks_like_success(acme: OpenedTenant, tool: str) -> None:
    key = make_api_key(acme.scope, scopes=[*DEFAULT, "history:read", "history:write"]).text
    arguments = {
        "add_memory": {"text": KEY},
        "search_memory": {"query": "x"},
        "record_turn": {"role": "user", "text": "x"},
        "record_fact": {"subject": "user", "predicate": "works_at", "object": "Acme"},
    }
    limit(acme, "silent", 0)

    assert McpCaller(Caller(key)).tool(tool, **arguments.get(tool, {}))["isError"] is False


def sent(mcp: McpCaller, memory_id: int, **params: Any) -> Any:
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": URL_CAPABLE}  # fmt: skip
    asked = {"name": "delete_memory", "arguments": {"id": f"m_{memory_id}"}, "_meta": meta} | params
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": asked}
    return mcp.raw(body, Mcp_Method="tools/call", Mcp_Name="delete_memory")


def delete(mcp: McpCaller, memory_id: int, **params: Any) -> Any:
    response = sent(mcp, memory_id, **params)
    assert response.status_code == 200, response.content
    return response.json()["result"]
