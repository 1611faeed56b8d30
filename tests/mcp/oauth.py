"""A client of OAuth in this process, and a person who answers it."""

import json
import re
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.test import Client
from oauthlib.oauth2 import WebApplicationClient

from tests.mcp.conftest import META, MODERN, PATH
from tests.web.people import Person

ISSUER = "http://testserver"
RESOURCE = ISSUER + PATH
BACK = "https://assistant.example/back"
CONNECT = "/app/connect"


def challenge_of(verifier: str) -> str:
    return str(WebApplicationClient("").create_code_challenge(verifier, "S256"))


@dataclass
class OAuthClient:
    """Registers itself, asks a person, and calls tools."""

    client_id: str = ""
    back: str = BACK
    name: str = "Assistant"
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(40))
    http: Client = field(default_factory=lambda: Client(raise_request_exception=False))
    access: str = ""
    refresh: str = ""

    def register(self, **metadata: Any) -> Any:
        body = {"client_name": self.name, "redirect_uris": [self.back], "token_endpoint_auth_method": "none"} | metadata
        made = self.http.post("/oauth/register", json.dumps(body), content_type="application/json")
        if made.status_code == 201:
            self.client_id = made.json()["client_id"]
        return made

    def address(self, **changed: Any) -> str:
        """Of the page where a person answers; changed: parameters, None for none."""
        asked = {
            "response_type": "code", "client_id": self.client_id, "redirect_uri": self.back, "state": "s t&ate",
            "scope": "memory:read memory:add history:read", "code_challenge": challenge_of(self.verifier),
            "code_challenge_method": "S256", "resource": RESOURCE,
        }  # fmt: skip
        return f"{CONNECT}?{urlencode({name: value for name, value in (asked | changed).items() if value is not None})}"

    def ask(self, person: Person, *, given: dict[str, Any] | None = None, **changed: Any) -> Any:
        """What the person's browser is answered when they allow it.  given: fields of the form that differ."""
        address = self.address(**changed)
        offered = re.search(r'value="([a-z]+/proj_\w+)"', person.client.get(address).content.decode())
        form = {
            "place": offered[1] if offered else "", "environment": "production", "end_user": "alice",
            "scopes": ["memory:add", "history:read"],
        }  # fmt: skip
        return person.client.post(address, form | (given or {}))

    def code(self, person: Person, **more: Any) -> str:
        (code,) = answer_of(self.ask(person, **more))["code"]
        return code

    def exchange(self, code: str, **changed: Any) -> Any:
        form = {
            "grant_type": "authorization_code", "code": code, "client_id": self.client_id, "redirect_uri": self.back,
            "code_verifier": self.verifier, "resource": RESOURCE,
        }  # fmt: skip
        return self._tokens(form | changed)

    def renew(self, refresh: str = "", **changed: Any) -> Any:
        form = {
            "grant_type": "refresh_token", "refresh_token": refresh or self.refresh, "client_id": self.client_id,
            "resource": RESOURCE,
        }  # fmt: skip
        return self._tokens(form | changed)

    def connect(self, person: Person, **more: Any) -> "OAuthClient":
        self.client_id or self.register()
        assert self.exchange(self.code(person, **more)).status_code == 200
        return self

    def call(self, method: str = "tools/list", params: dict[str, Any] | None = None, **headers: str) -> Any:
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": (params or {}) | {"_meta": META}}
        named = {"Mcp-Name": params["name"]} if params and "name" in params else {}
        return self.at(PATH, body, **{"MCP-Protocol-Version": MODERN, "Mcp-Method": method} | named | headers)

    def tool(self, name: str, **arguments: Any) -> Any:
        return self.call("tools/call", {"name": name, "arguments": arguments})

    def at(self, path: str, body: Any = None, method: str = "POST", **headers: str) -> Any:
        """With the access token, anywhere."""
        sent = {"Authorization": f"Bearer {self.access}"} | {one.replace("_", "-"): it for one, it in headers.items()}
        data = b"" if body is None else json.dumps(body).encode()
        return self.http.generic(method, path, data, content_type="application/json" if data else "", headers=sent)

    def _tokens(self, form: dict[str, Any]) -> Any:
        answer = self.http.post("/oauth/token", {name: value for name, value in form.items() if value is not None})
        if answer.status_code == 200:
            self.access, self.refresh = answer.json()["access_token"], answer.json()["refresh_token"]
        return answer


def answer_of(response: Any) -> dict[str, list[str]]:
    """What a redirect to the client says."""
    assert response.status_code == 302, response.content
    return parse_qs(urlsplit(response["Location"]).query)
