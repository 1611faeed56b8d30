"""The published client on real connections to a server of threads."""

from typing import Any

import httpx
import pytest
from memorysync import BulkAddItem, MemorySyncClient, NotFoundError

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests.sdk.conftest import Make, refused

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)

TEXT = "The spare key lies under the blue flower pot."


def test_both_clients_on_a_connection_of_their_own(live: Make, live_server: Any, acme: OpenedTenant) -> None:
    client = live(MemorySyncClient, acme.keys[Environment.PRODUCTION], live_server.url, end_user_id="alice")

    memory = client.add(TEXT, importance=0.7, metadata={"n": [1, "é"]})
    many = client.bulk_add([BulkAddItem(text=f"Box {n} is on shelf {n + 10}.", importance=0.7) for n in range(20)])
    file = client.upload(b"The boiler room key hangs behind the kitchen door.", filename="keys.txt")

    assert client.get(memory.id).metadata == {"n": [1, "é"]}
    assert (many.created, file.text[:19]) == (20, "The boiler room key")
    assert [one.id for one in client.query("Where is the spare key?", k=1).memories] == [memory.id]
    assert len(client.export_all().memories) == 22
    assert refused(NotFoundError, lambda: client.get(2**53)).status_code == 404


def test_delete_carries_a_body_and_the_connection_lives_on(live_server: Any, acme: OpenedTenant) -> None:
    headers = {"X-API-Key": acme.keys[Environment.PRODUCTION], "X-End-User-ID": "alice"}
    with httpx.Client(base_url=live_server.url, headers=headers) as client:
        refused = client.request("DELETE", "/memory/forget", json={"memory_ids": list(range(10_000))})
        oversized = client.post("/memory/add", json={"text": "a" * 9_000_000})
        after = client.get("/health")

    assert (refused.status_code, oversized.status_code, after.status_code) == (403, 413, 200)


def test_body_in_chunks_is_refused_rather_than_lost(live_server: Any, acme: OpenedTenant) -> None:
    headers = {"X-API-Key": acme.keys[Environment.PRODUCTION], "X-End-User-ID": "alice"}
    with httpx.Client(base_url=live_server.url, headers=headers) as client:
        response = client.post("/memory/add", content=iter([b'{"text": "', b'hello"}']))

    assert response.status_code == 411


def test_health_asks_for_no_key(live_server: Any) -> None:
    assert httpx.get(f"{live_server.url}/health").json()["status"] == "ok"
