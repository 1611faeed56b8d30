"""Callers of mem0's routes in this process: ``ana`` may what keys may by default, ``admin`` also names people and
deletes."""

from dataclasses import dataclass
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.projects.scope import Environment
from apps.tenants.services import set_policy
from tests.api.conftest import Caller
from tests.makers import NOW, make_api_key


@dataclass
class Mem0Caller:
    """Sends what mem0's clients send; every answer has the status that the test expects."""

    caller: Caller

    def __call__(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        response = self.caller(method, path, body)
        assert response.status_code == status, response.content
        return response.json()  # type: ignore[attr-defined]

    def add(self, text: str, status: int = 200, **fields: Any) -> Any:
        body = {"messages": [{"role": "user", "content": text}], "infer": False, **fields}
        return self("POST", "/v3/memories/add/", body, status)

    def added(self, text: str, **fields: Any) -> str:
        """The ID of the one memory stored."""
        (one,) = self.add(text, **fields)["results"]
        return str(one["id"])

    def search(self, query: str, status: int = 200, **fields: Any) -> Any:
        body = {"query": query, **fields}
        return self("POST", "/v3/memories/search/", body, status)

    def listed(self, filters: Any, status: int = 200, query: str = "", **fields: Any) -> Any:
        return self("POST", f"/v3/memories/{query}", {"filters": filters, **fields}, status)

    def texts(self, filters: Any, **fields: Any) -> list[str]:
        return sorted(one["memory"] for one in self.listed(filters, **fields)["results"])

    def get(self, memory_id: str, status: int = 200) -> Any:
        return self("GET", f"/v1/memories/{memory_id}/", status=status)


def caller_with(key: str) -> Mem0Caller:
    return Mem0Caller(Caller(None, None, {"Authorization": f"Token {key}"}))


@pytest.fixture
def ana(acme: OpenedTenant) -> Mem0Caller:
    return caller_with(acme.keys[Environment.PRODUCTION])


@pytest.fixture
def admin(acme: OpenedTenant) -> Mem0Caller:
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=NOW)
    return caller_with(make_api_key(acme.scope, scopes=[*DEFAULT, "memory:delete", "exports:read"]).text)
