"""Any route, with any id: no answer holds what is another's, and what is another's looks as if it were not there.

The routes and their bodies come from the API's own description, so that a new one is called as soon as it is described.
Every field that takes text of a caller holds a word that no other caller has.

ISOLATION_CALLS=20000 pytest tests/isolation/test_any_route.py -s      the large version; prints what it did
"""

import json
import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
import yaml
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.test import Client

from apps.apikeys.permissions import PERMISSIONS
from apps.memories.models import MemoryQuerySet
from apps.projects.scope import Environment
from tests.makers import make_api_key, make_tenant

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

CALLS: Final = int(os.environ.get("ISOLATION_CALLS", "300"))
DESCRIPTION: Final = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"
ABSENT: Final = 2**53 - 1
WITH_ONE_MEMORY: Final = ("memory_id", "to_memory_id", "winning_memory_id")


@dataclass(slots=True)
class Somebody:
    """An end user of a tenant in an environment.  ids: by the name that a path or a body has for them."""

    tenant: str
    environment: Environment
    person: str
    key: str
    word: str
    ids: dict[str, list[Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{self.tenant}/{self.environment}/{self.person}"


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    body: Any


class Api:
    """Calls as any caller.  Each call comes from an address of its own, so that none is throttled."""

    def __init__(self) -> None:
        self.client = Client(raise_request_exception=True)
        self.calls = 0

    def call(self, who: Somebody, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        self.calls += 1
        response: HttpResponseBase = self.client.generic(
            method,
            path,
            b"" if body is None else json.dumps(body).encode(),
            content_type="application/json" if body is not None else "",
            headers={"X-API-Key": who.key, "X-End-User-ID": who.person, "X-Request-ID": "isolation"},
            REMOTE_ADDR=str(IPv4Address(self.calls)),
        )
        if isinstance(response, StreamingHttpResponse):
            return response.status_code, b"".join(response)  # type: ignore[arg-type]
        assert isinstance(response, HttpResponse)
        return response.status_code, response.content

    def said(self, who: Somebody, method: str, path: str, body: Any = None) -> Any:
        status, content = self.call(who, method, path, body)
        assert status < 300, (who, method, path, content)
        return json.loads(content)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.setattr("rest_framework.views.APIView.throttle_classes", ())
    return Api()


def operations() -> list[Operation]:
    """Every operation that takes JSON or nothing, with an example of its body."""
    found = []
    for path, methods in yaml.safe_load(DESCRIPTION.read_text())["paths"].items():
        for method, described in methods.items():
            if not isinstance(described, dict) or "responses" not in described:
                continue
            content = described.get("requestBody", {}).get("content", {})
            examples = content.get("application/json", {}).get("examples", {})
            if not content or examples:
                body = next((one["value"] for one in examples.values()), None)
                found.append(Operation(method.upper(), path, body))
    return found


def assemble(api: Api) -> list[Somebody]:
    everybody = []
    for tenant in ("acme", "globex"):
        opened = make_tenant(tenant)
        for environment in (Environment.PRODUCTION, Environment.STAGING):
            scopes = sorted(PERMISSIONS.keys() - {"audit:read"})
            key = make_api_key(opened.scope, environment=environment, scopes=scopes).text
            for person in ("alice", "bob"):
                word = f"zq{tenant}{environment.value}{person}"
                everybody.append(Somebody(tenant, environment, person, key, word))
    for one in everybody:
        settle(api, one)
    return everybody


def settle(api: Api, who: Somebody) -> None:
    """Something of theirs in every place, with their word in it."""
    texts = [f"The {who.word} box number {n} is kept on shelf {n}." for n in range(3)]
    texts += [f"I live in {who.word.title()}ville.", f"I live in {who.word.title()}burg."]
    texts += [f"My manager is {who.word.title()}."]
    added = [api.said(who, "POST", "/memory/add", {"text": text, "importance": 0.8}) for text in texts]
    memories = [memory_id for one in added for memory_id in one["memory_ids"]]
    first, second, *_ = memories
    edge = api.said(
        who,
        "POST",
        f"/memory/{first}/relations",
        {"to_memory_id": second, "relationship_type": "supports", "metadata": {"why": who.word}},
    )
    api.said(who, "POST", f"/memory/{first}/feedback", {"signal": "positive", "comment": f"So says {who.word}."})
    asked = api.said(who, "POST", "/memory/forget-requests", {"memory_ids": [second], "reason": f"As {who.word} said."})
    named = {"tenant_id": who.tenant, "user_id": who.person}
    turns = [{"role": "user", "content": f"My cat is called {who.word}.", "seq": 0}]
    api.said(who, "POST", "/v1/history/append", {**named, "session_id": "s1", "turns": turns})
    state = {**named, "namespace": ["users", "alice"], "key": "profile", "value": {"tone": who.word}}
    api.said(who, "POST", "/v1/state/put", state)
    typed = {"type": "fact", "topic_key": "a.b", "summary": f"{who.word} again", "content": {"is": who.word}}
    profile = f"/v1/memory/{who.tenant}/{who.person}"
    stated = api.said(who, "POST", f"{profile}/memories", {"memories": [typed]})["results"]
    erasure = api.said(who, "POST", f"{profile}/erasures", {"memory_id": stated[0]["id"]})
    branch = api.said(who, "POST", f"{profile}/branches", {"name": who.word.lower()})
    shared = api.said(who, "POST", "/api/v1/memories", {"key": "word", "value": f"{who.word} at last."})
    said = {"messages": [{"role": "user", "content": f"The {who.word} ferry leaves at noon."}], "infer": False}
    mem0 = api.said(who, "POST", "/v3/memories/add/", said | {"user_id": who.person})
    summary = api.said(who, "POST", "/memory/summarize", {"memory_ids": memories[:3], "lossless": True})
    page = {"external_id": f"wiki/{who.word}", "title": who.word, "text": f"The {who.word} boiler is in the cellar."}
    stored = api.said(who, "PUT", "/v1/objects", page)
    entities = api.said(who, "GET", "/v1/entities")["entities"]
    decisions = api.said(who, "GET", "/memory/decisions")["decisions"]
    who.ids = {
        "memory_id": [*memories, *([summary["summary_id"]] if summary.get("summary_id") else [])],
        "edge_id": [next(value for name, value in edge.items() if name in ("edge_id", "id", "relation_id"))],
        "request_id": [next(value for name, value in asked.items() if name in ("id", "request_id"))],
        "decision_id": [one.get("decision_id", one.get("id")) for one in decisions],
        "entity_id": [one["id"] for one in entities],
        "with_entity_id": [entities[-1]["id"]],
        "job_id": ["imp_000000000000000000000000"],
        "public_id": [stated[0]["id"]],
        "erasure_id": [erasure["erasure_id"]],
        "branch": [branch["name"]],
        "platform_id": [shared["data"]["id"]],
        "mem0_id": [mem0["results"][0]["id"]],
        "event_id": [mem0["event_id"]],
        "session_id": ["s1"],
        "object_id": [stored["id"]],
    }


def filled(operation: Operation, whose: Mapping[str, list[Any]], user: str, tenant: str) -> tuple[str, Any]:
    """The path and the body of the operation with these ids."""

    def value(name: str, usual: Any) -> Any:
        if name in WITH_ONE_MEMORY:
            return whose["memory_id"][-1 if name.startswith("to_") else 0]
        if name == "memory_ids":
            return whose["memory_id"][: max(1, len(usual))]
        if name in whose:
            return whose[name][0] if whose[name] else f"dec_{ABSENT}"
        if name in ("user_id", "tenant_id", "profile", "ns"):
            return user if name in ("user_id", "profile") else tenant
        return changed(usual)

    def changed(body: Any) -> Any:
        if isinstance(body, dict):
            return {name: value(name, each) for name, each in body.items()}
        return [changed(each) for each in body] if isinstance(body, list) else body

    path = operation.path
    for name in [*whose, "user_id", "tenant_id", "profile", "ns"]:
        path = path.replace(f"{{{name}}}", str(value(name, None)))
    return path, changed(operation.body)


def nobody_s() -> dict[str, list[Any]]:
    return {
        "memory_id": [ABSENT, ABSENT - 1, ABSENT - 2],
        "edge_id": [ABSENT],
        "request_id": [ABSENT],
        "decision_id": [f"dec_{ABSENT}"],
        "entity_id": [ABSENT],
        "with_entity_id": [ABSENT],
        "job_id": ["imp_0"],
        "public_id": ["mem_0"],
        "erasure_id": ["ers_0"],
        "branch": ["none"],
        "platform_id": [str(UUID(int=ABSENT))],
        "mem0_id": [str(UUID(int=ABSENT))],
        "event_id": [str(UUID(int=ABSENT))],
        "session_id": ["s0"],
        "object_id": [ABSENT],
    }


def told(content: bytes) -> str:
    """The code of a refusal; nothing else of it may reveal what exists."""
    try:
        return str(json.loads(content)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return ""


def view(api: Api, who: Somebody) -> Iterator[tuple[str, bytes]]:
    """All that they can see of what they have."""
    named = {"tenant_id": who.tenant, "user_id": who.person}
    for memory_id in who.ids["memory_id"]:
        yield f"history of {memory_id}", api.call(who, "GET", f"/memory/{memory_id}/history")[1]
        yield f"relations of {memory_id}", api.call(who, "GET", f"/memory/{memory_id}/relations")[1]
    yield "requests", api.call(who, "GET", f"/memory/forget-requests/{who.ids['request_id'][0]}")[1]
    yield "entities", api.call(who, "GET", "/v1/entities")[1]
    yield "branches", api.call(who, "GET", f"/v1/memory/{who.tenant}/{who.person}/branches")[1]
    yield "objects", api.call(who, "GET", "/v1/objects")[1]
    yield "decisions", api.call(who, "GET", "/memory/decisions")[1]
    yield "turns", api.call(who, "POST", "/v1/history/list", {**named, "session_id": "s1"})[1]
    yield "state", api.call(who, "POST", "/v1/state/list", {**named, "namespace_prefix": ["users"]})[1]


def attack(api: Api, everybody: list[Somebody], calls: int) -> Counter[str]:
    """Each call by one caller, with another's ids or with their own."""
    drawn = random.Random(20_261_121)
    every = operations()
    done: Counter[str] = Counter()
    for number in range(calls):
        operation = every[number % len(every)]
        who, other = drawn.choice(everybody[1:]), everybody[0]
        whose = drawn.choice((other, other, who, drawn.choice(everybody)))
        is_by_id = "{mem0_id}" in operation.path or "{event_id}" in operation.path  # these IDs name the end user, too
        is_named = (
            is_by_id or "user_id" in str(operation.body) or "{user_id}" in operation.path or "{ns}" in operation.path
        )
        # Callers who may name the first of them do not, since none is to change what is theirs.
        may_name = (who.tenant, who.environment) == (other.tenant, other.environment)
        named = who.person if may_name else whose.person
        ids = who.ids if is_by_id and may_name else whose.ids
        path, body = filled(operation, ids, named, drawn.choice((whose.tenant, who.tenant)))
        status, content = api.call(who, operation.method, path, body)
        done[f"{operation.method} {operation.path}"] += 1
        done[f"status {status}"] += 1
        assert status < 500, (who, operation, content)
        for one in everybody:
            # A key speaks for every end user of its tenant and environment: this plane names them in the body.
            may_see = one is who or (is_named and (one.tenant, one.environment) == (who.tenant, who.environment))
            if not may_see:
                assert one.word.encode() not in content, f"{operation} tells {who} what is {one}'s"
        absent, sent = filled(operation, nobody_s(), whose.person, whose.tenant)
        # Everybody has a session of the same name: of it, their own is summarized.
        is_their_own = operation.path == "/v1/sessions/summarize"
        if whose is not who and not (is_named or is_their_own) and (absent, sent) != (path, body):
            again, nothing = api.call(who, operation.method, absent, sent)
            # What was asked for before is answered with 200 instead of 201.
            seen = [(one if one >= 300 else 200, told(said)) for one, said in ((status, content), (again, nothing))]
            assert seen[0] == seen[1], f"{operation}: {who} can tell {whose}'s from none"
    return done


def test_no_route_tells_or_changes_what_is_another_s(api: Api) -> None:
    everybody = assemble(api)
    before = dict(view(api, everybody[0]))
    for content in before.values():
        assert all(one.word.encode() not in content for one in everybody[1:])

    done = attack(api, everybody, CALLS)

    assert dict(view(api, everybody[0])) == before
    print(f"\n{api.calls} calls of {len(operations())} operations: {dict(done)}")  # noqa: T201
    assert sum(done[f"status {status}"] for status in (200, 201, 202, 207)) > CALLS // 10


def test_a_service_that_forgets_whose_space_it_is_is_found_out(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    everybody = assemble(api)
    monkeypatch.setattr(MemoryQuerySet, "within", lambda rows, scope: rows.filter(tenant_id=scope.tenant_id))

    with pytest.raises((AssertionError, KeyError)):
        attack(api, everybody, CALLS)
