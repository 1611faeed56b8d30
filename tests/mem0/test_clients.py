"""mem0's published clients and its command line, on real connections.  They are in the group ``mem0``."""

import asyncio
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.tenants.services import set_policy
from tests.makers import NOW, make_api_key

os.environ["MEM0_TELEMETRY"] = "False"  # read when it is imported, as the next one is
os.environ.setdefault("MEM0_DIR", os.path.join(os.path.dirname(__file__), "..", "..", "build", "mem0"))
mem0 = pytest.importorskip("mem0", reason="needs the published clients: uv sync --group mem0")
mem0_exceptions = pytest.importorskip("mem0.exceptions")

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)

ANA = {"user_id": "ana"}
NUTS = "Ana is allergic to nuts."


class Client:
    """Calls one of the two clients; the async one in an event loop of its own for each call."""

    def __init__(self, kind: Any, key: str, url: str) -> None:
        self.kind, self.key, self.url = kind, key, url

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **options: Any) -> Any:
            is_async = self.kind is mem0.AsyncMemoryClient
            with ExitStack() as kept:  # the clients leave their connections open
                http = httpx.AsyncClient() if is_async else kept.enter_context(httpx.Client())
                try:
                    answer = getattr(self.kind(api_key=self.key, host=self.url, client=http), name)(*args, **options)
                    return await answer if inspect.isawaitable(answer) else answer
                finally:
                    if isinstance(http, httpx.AsyncClient):
                        await http.aclose()

        return lambda *args, **options: asyncio.run(call(*args, **options))


@pytest.fixture
def key(acme: OpenedTenant) -> str:
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=NOW)
    return make_api_key(acme.scope, scopes=[*DEFAULT, "memory:delete", "exports:read"]).text


@pytest.fixture(params=["MemoryClient", "AsyncMemoryClient"])
def client(request: pytest.FixtureRequest, live_server: Any, key: str) -> Client:
    return Client(getattr(mem0, request.param), key, live_server.url)


def test_every_route_of_a_client(client: Client) -> None:
    added = client.add(NUTS, user_id="ana", infer=False, metadata={"topic": "health"})
    memory_id = added["results"][0]["id"]
    tea = client.add([{"role": "user", "content": "Ana likes tea."}], filters=ANA, infer=False)["results"][0]["id"]

    (found, *_) = client.search("What is Ana allergic to?", filters=ANA)["results"]
    assert (found["id"], found["memory"], found["user_id"]) == (memory_id, NUTS, "ana")
    assert 0.1 <= found["score"] <= 1
    listed = client.get_all(filters=ANA, page=1, page_size=1)
    assert (listed["count"], [one["id"] for one in listed["results"]]) == (2, [tea])
    assert client.get(memory_id)["metadata"] == {"topic": "health"}
    changed = client.update(memory_id, text="Ana is allergic to peanuts.", metadata={"topic": "food"})
    assert changed["id"] == memory_id
    assert client.get(memory_id)["memory"] == "Ana is allergic to peanuts."
    assert [one["event"] for one in client.history(memory_id)] == ["ADD", "UPDATE"]
    client.batch_update([{"memory_id": tea, "text": "Ana likes green tea."}])
    assert client.get(tea)["memory"] == "Ana likes green tea."
    assert client.feedback(memory_id, "positive", "Just right.")["feedback"] == "POSITIVE"
    assert [(one["type"], one["name"]) for one in client.users()["results"]] == [("user", "ana")]

    assert "message" in client.delete(memory_id, delete_linked=True)
    with pytest.raises(mem0_exceptions.MemoryNotFoundError):
        client.get(memory_id)
    client.batch_delete([{"memory_id": tea}])
    client.add("Ana lives in Porto.", user_id="ana", infer=False)
    assert "message" in client.delete_all(user_id="ana")
    assert client.get_all(filters=ANA)["results"] == []
    client.add("The helper is polite.", agent_id="helper", infer=False)
    assert client.delete_users(agent_id="helper") == {"message": "Entity deleted successfully."}
    assert client.users()["count"] == 0


def test_filters_of_a_client(client: Client) -> None:
    client.add("Ana likes tea.", user_id="ana", infer=False, metadata={"kind": "drink"}, run_id="r1")
    client.add("Ana likes cake.", user_id="ana", infer=False, metadata={"kind": "food"})
    client.add("Bob likes tea.", user_id="bob", infer=False)

    def texts(filters: Any) -> list[str]:
        return sorted(one["memory"] for one in client.get_all(filters=filters)["results"])

    assert texts({"AND": [ANA, {"metadata": {"kind": "drink"}}]}) == ["Ana likes tea."]
    assert texts({"AND": [ANA, {"run_id": "r1"}]}) == ["Ana likes tea."]
    assert texts({"OR": [ANA, {"user_id": "bob"}]}) == ["Ana likes cake.", "Ana likes tea.", "Bob likes tea."]
    assert texts({"AND": [{"user_id": "*"}, {"keywords": {"icontains": "TEA"}}]}) == [
        "Ana likes tea.",
        "Bob likes tea.",
    ]
    assert texts({"AND": [ANA, {"NOT": {"text": {"contains": "tea"}}}]}) == ["Ana likes cake."]
    assert texts({"AND": [ANA, {"created_at": {"lt": "2020-01-01"}}]}) == []
    found = client.search("tea", filters={"user_id": {"in": ["ana", "bob"]}, "created_at": {"gte": "2020-01-01"}})
    assert {one["memory"] for one in found["results"]} == {"Ana likes tea.", "Bob likes tea."}
    for bad in ({"colour": "red"}, {"user_id": {"nin": ["ana"]}}, {"text": "Ana"}):
        with pytest.raises(mem0_exceptions.ValidationError):
            client.get_all(filters=bad)


def test_refusals_are_the_clients_own_errors(client: Client, acme: OpenedTenant) -> None:
    plain = Client(client.kind, make_api_key(acme.scope, scopes=list(DEFAULT)).text, client.url)
    memory_id = plain.add("Ana likes tea.", user_id="ana", infer=False)["results"][0]["id"]

    with pytest.raises(mem0_exceptions.AuthenticationError, match="memory:delete"):
        plain.delete(memory_id)
    with pytest.raises(mem0_exceptions.MemoryError, match="language model"):
        plain.create_memory_export(schema="{}", filters=ANA)
    with pytest.raises(ValueError, match="key"):
        Client(client.kind, "ms_live_0000000000000000", client.url).users()


def test_eight_commands_of_the_command_line(live_server: Any, key: str, tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "MEM0_API_KEY": key,
        "MEM0_BASE_URL": live_server.url,
        "MEM0_TELEMETRY": "false",
        "NO_COLOR": "1",
    }

    def run(*arguments: str) -> Any:
        command = [sys.executable, "-m", "mem0_cli", "--json", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return json.loads(done.stdout)

    assert run("status")["status"] == "success"
    added = run("add", NUTS, "--user-id", "ana", "--no-infer")["data"]
    memory_id = added[0]["id"]
    assert [one["memory"] for one in run("search", "What is Ana allergic to?", "-u", "ana")["data"]] == [NUTS]
    assert run("get", memory_id)["data"]["memory"] == NUTS
    run("update", memory_id, "Ana is allergic to peanuts.")
    assert [one["memory"] for one in run("list", "-u", "ana")["data"]] == ["Ana is allergic to peanuts."]
    assert run("entity", "list", "users")["data"]
    assert run("event", "list")["data"]
    run("delete", memory_id, "--force")
    assert run("list", "-u", "ana")["data"] == []
