"""The tools of /v1/mcp/typed: typed memories in profiles."""

from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.projects.scope import Environment
from tests.api.conftest import Caller
from tests.makers import make_api_key
from tests.mcp.conftest import McpCaller, refused
from tests.mcp.test_tools import done, text_of

pytestmark = pytest.mark.django_db(databases="__all__")

ALICE = {"namespace": "home", "profile": "alice"}
DIET = {"type": "fact", "topic_key": "user.diet", "summary": "vegan since 2026", "content": {"diet": "vegan"}}


@pytest.fixture
def typed(acme: OpenedTenant) -> McpCaller:
    scopes = [*DEFAULT, "history:read", "history:write", "exports:read", "audit:read", "retention:read",
              "retention:write"]  # fmt: skip
    return McpCaller(Caller(make_api_key(acme.scope, scopes=scopes).text, None), "/v1/mcp/typed")


def ingest(typed: McpCaller, *memories: dict[str, Any]) -> list[str]:
    found = done(typed.tool("memory_ingest", **ALICE, memories=list(memories)))
    return [one["id"] for one in found["results"]]


def test_seventeen_tools_are_listed(typed: McpCaller) -> None:
    assert len(typed.result("tools/list")["tools"]) == 17


def test_what_is_ingested_is_recalled_answered_and_replaced(typed: McpCaller) -> None:
    (first,) = ingest(typed, DIET)
    second = done(typed.tool("memory_ingest", **ALICE, memories=[DIET | {"content": {"diet": "none"}}]))

    assert second["results"][0]["superseded"] == [first]
    assert [one["id"] for one in done(typed.tool("memory_recall", **ALICE, topic_key="user.diet"))["memories"]] == [
        second["results"][0]["id"]
    ]
    assert "vegan since 2026" in text_of(typed.tool("memory_ask", **ALICE, question="Is she vegan?"))
    proposed = typed.tool(
        "memory_extract", **ALICE, turns=[{"role": "user", "content": "I am allergic to peanuts."}], dry_run=True
    )
    assert "peanuts" in str(done(proposed))


def test_without_content_the_summary_is_it(typed: McpCaller) -> None:
    (memory_id,) = ingest(typed, {"type": "event", "summary": "Moved to Ghent."})

    found = done(typed.tool("memory_get", **ALICE, memory_id=memory_id))

    assert (found["found"], found["memory"]["content"]) == (True, {"summary": "Moved to Ghent."})
    assert done(typed.tool("memory_get", **ALICE, memory_id="mem_0"))["found"] is False


def test_a_session_is_appended_to_read_searched_and_ended(typed: McpCaller) -> None:
    ingest(typed, DIET)
    named = ALICE | {"session_id": "s-1"}
    done(typed.tool("memory_append", **named, role="user", content="The boiler is loud."))

    assert [one["content"] for one in done(typed.tool("memory_window", **named))["turns"]] == ["The boiler is loud."]
    assert [one["id"] for one in done(typed.tool("memory_sessions_list", **ALICE))["sessions"]] == ["s-1"]
    assert "The boiler is loud." in text_of(typed.tool("memory_search", **ALICE, query="boiler"))
    assert done(typed.tool("memory_profiles_list", namespace="home"))["profiles"][0]["profile"] == "alice"
    assert done(typed.tool("memory_session_end", **named, drop_turns=True)) == {"ended": True}
    assert done(typed.tool("memory_window", **named))["turns"] == []


@pytest.mark.parametrize("session", ["chat/7", "a//b/", "100%2F", "../up", "?x=1#y"])
def test_a_session_has_one_name_whatever_is_in_it(session: str, typed: McpCaller) -> None:
    task = {"type": "task", "summary": "Call the plumber."}
    ingest(typed, task | {"session_id": session})
    named = ALICE | {"session_id": session}

    done(typed.tool("memory_append", **named, role="user", content="The boiler is loud."))

    assert [one["id"] for one in done(typed.tool("memory_sessions_list", **ALICE))["sessions"]] == [session]
    assert [one["content"] for one in done(typed.tool("memory_window", **named))["turns"]] == ["The boiler is loud."]
    done(typed.tool("memory_session_end", **named))
    assert done(typed.tool("memory_recall", **ALICE, query="plumber"))["memories"] == []


def test_a_session_of_several_lines_is_refused(typed: McpCaller) -> None:
    arguments = ALICE | {"session_id": "a\nb", "role": "user", "content": "The boiler is loud."}

    response = typed.send("tools/call", {"name": "memory_append", "arguments": arguments})

    refused(response, 400, -32602)


def test_a_person_confirms_an_erasure_and_no_key_forgets(typed: McpCaller) -> None:
    (memory_id,) = ingest(typed, DIET)

    forgotten = typed.tool("memory_forget", **ALICE, memory_id=memory_id)
    asked = done(typed.tool("memory_erase", **ALICE, memory_id=memory_id))
    status = done(typed.tool("memory_erasure_status", **ALICE, erasure_id=asked["erasure_id"]))

    assert (forgotten["isError"], "STEP_UP_REQUIRED" in text_of(forgotten)) == (True, True)
    assert status["status"] == "pending"


def test_policies_and_the_audit_trail_of_a_namespace(typed: McpCaller) -> None:
    ingest(typed, DIET)
    stricter = {"memory": {"event_max_age_secs": 864_000}}

    done(typed.tool("policy_set", **ALICE, policy=stricter))

    assert done(typed.tool("policy_get", **ALICE))["effective"]["memory"]["event_max_age_secs"] == 864_000
    assert "POLICY_NOT_SET" in text_of(typed.tool("policy_get", namespace="home"))
    # Events get their number when they are committed; tests/planes/test_profile_audit.py reads them.
    page = done(typed.tool("audit_query", namespace="home", limit=5, cursor=1, action="memory."))
    assert (page["events"], page["complete"]) == ([], True)


def test_names_cannot_lead_to_another_route(typed: McpCaller, globex: OpenedTenant) -> None:
    ingest(typed, DIET)
    for name in ("../../memory", "home/alice", "a b", "..", "%2e%2e"):
        arguments = {"namespace": "home", "profile": name, "query": "diet"}
        refused(typed.send("tools/call", {"name": "memory_recall", "arguments": arguments}), 400, -32602)
        answer = typed.tool("memory_get", **ALICE, memory_id=f"{name}/x")
        assert answer.get("structuredContent", {"found": False})["found"] is False, name
    stranger = McpCaller(Caller(globex.keys[Environment.PRODUCTION], None), "/v1/mcp/typed")
    assert done(stranger.tool("memory_recall", **ALICE, query="vegan"))["memories"] == []
    refused(typed.send("tools/call", {"name": "memory_recall", "arguments": {"query": "x"}}), 400, -32602)
