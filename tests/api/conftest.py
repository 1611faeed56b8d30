"""A caller of the API, in this process."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment


def _whole(streamed: Any) -> Any:
    """A streamed answer as one piece, to be looked at like any other."""
    response: Any = HttpResponse(streamed.getvalue(), status=streamed.status_code, headers=dict(streamed.headers))
    response.json = lambda: json.loads(response.content)
    return response


@dataclass(frozen=True)
class Caller:
    """Requests with one key for one end user; either may be None."""

    key: str | None
    end_user: str | None = "alice"
    headers: dict[str, str] = field(default_factory=dict)
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        """body: bytes as they are; anything else as JSON; None for no body and no content type."""
        sent = {"X-API-Key": self.key, "X-End-User-ID": self.end_user} | self.headers
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        content_type = sent.pop("Content-Type", "" if body is None else "application/json")
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        response = self.client.generic(
            method,
            path,
            data,
            content_type=content_type or "",
            headers={name: value for name, value in sent.items() if value is not None},
        )
        return _whole(response) if response.streaming else response

    def as_user(self, end_user: str | None) -> "Caller":
        return replace(self, end_user=end_user)

    def with_headers(self, **headers: str) -> "Caller":
        return replace(self, headers=self.headers | {name.replace("_", "-"): value for name, value in headers.items()})

    def add(self, text: str, **fields: Any) -> Any:
        """Remembered whole; the answer's body."""
        response = self("POST", "/memory/add", {"text": text, "importance": 0.6} | fields)
        assert response.status_code == 201, response.content
        return response.json()


@dataclass(frozen=True)
class Refusal:
    """An error, in whichever envelope: ``plain``, that of ``profiles``, or that of ``mem0``'s clients."""

    envelope: str
    code: str
    message: str
    details: list[dict[str, Any]]

    @classmethod
    def of(cls, response: Any) -> "Refusal":
        body = response.json()
        error = body.get("error")
        if error is None:
            return cls("mem0", body["code"], body["detail"], body.get("details", []))
        if isinstance(error, str):
            return cls("profiles", body["reason"], error, body.get("details", []))
        return cls("plain", error["code"], error["message"], error.get("details", []))


@pytest.fixture
def alice(acme: OpenedTenant) -> Caller:
    """The end user alice of the tenant acme, in production."""
    return Caller(acme.keys[Environment.PRODUCTION])


@pytest.fixture
def call_with() -> Callable[..., Caller]:
    return Caller
