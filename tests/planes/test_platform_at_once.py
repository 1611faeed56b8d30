"""One memory of an agent platform that several requests change at the same time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import httpx
import pytest
from django.db import connections

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests.sdk.conftest import SERVER, handler

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

ROUNDS = 6


@pytest.mark.parametrize("is_patch", [False, True], ids=["save", "change"])
def test_changes_of_different_fields_at_once_all_stay(acme: OpenedTenant, *, is_patch: bool) -> None:
    headers = {"X-API-Key": acme.keys[Environment.PRODUCTION], "X-End-User-ID": "alice"}
    with httpx.Client(transport=httpx.WSGITransport(app=handler()), base_url=SERVER, headers=headers) as client:
        made = client.post("/api/v1/memories", json={"key": "diet", "value": "vegan"}).json()["data"]
        for number in range(ROUNDS):
            wanted = {"summary": f"summary {number}", "tags": [f"tag {number}"], "importance": 1 + number,
                      "category": f"category {number}"}  # fmt: skip
            barrier = Barrier(len(wanted))

            def change(fields: dict[str, Any], barrier: Barrier = barrier) -> int:
                try:
                    barrier.wait(timeout=30)
                    if is_patch:
                        return client.patch(f"/api/v1/memories/{made['id']}", json=fields).status_code
                    return client.post("/api/v1/memories", json={"key": "diet", "value": "vegan"} | fields).status_code
                finally:
                    connections.close_all()

            with ThreadPoolExecutor(len(wanted)) as pool:
                statuses = list(pool.map(change, [{name: value} for name, value in wanted.items()]))

            now = client.get(f"/api/v1/memories/{made['id']}").json()["data"]
            assert statuses == [200] * len(wanted)
            assert {name: now[name] for name in wanted} == wanted
