"""The ways in of an assistant that a person connects with OAuth, with a canary wherever either can put text.

Left out, being plain by design and said to be so: a client's name and its redirect addresses.
"""

import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from oauthlib.oauth2 import WebApplicationClient

from tests.canaries.doors import NAME, Visitor
from tests.canaries.mcp_doors import VERSION, request_of
from tests.canaries.people import owner_of

BACK = "https://assistant.example/back"


def connect_an_assistant(visitor: Visitor) -> None:
    """Register, ask the owner, take tokens, add and search a memory, and end access; each of it wrongly as well."""
    take, owner = visitor.family.take, owner_of(visitor)
    registered = _register(visitor, redirect_uris=[BACK], software_id=take("software id"))
    assert registered.status_code == 201, registered.text
    _register(visitor, redirect_uris=[take("redirect address")], **{take(NAME): take("client metadata")})
    client_id, verifier = registered.json()["client_id"], take("verifier") + take("verifier")
    code = _allowed(visitor, client_id, verifier)
    for wrong in ("code", "client_id", "client_secret", "code_verifier", "resource", "grant_type"):
        _token(visitor, **{"code": "wrong", "client_id": client_id} | {wrong: take(f"wrong {wrong}")})
    granted = _token(visitor, code=code, client_id=client_id, code_verifier=verifier)
    assert granted.status_code == 200, granted.text
    token = granted.json()["access_token"]
    kept = _tool(visitor, token, "add_memory", text=f"My loom {take('text of a connection')} is in the attic.")
    assert kept.json()["result"]["isError"] is False, kept.text
    _tool(visitor, token, "search_memory", query=f"where is my {take('query of a connection')}?")
    _tool(visitor, take("wrong token"), "search_memory", query=take("query without a right"))
    visitor.call("POST", "/oauth/token", data={"grant_type": "refresh_token", "refresh_token": take("wrong refresh")})
    visitor.call("POST", "/oauth/revoke", data={"token": take("revoked token"), "client_id": client_id})
    owner.get(f"/app/connect?{urlencode(_asked(take('client'), verifier, state=take('state')))}")
    owner.get(f"/app/connect?{urlencode(_asked(client_id, verifier, scope=take('scope')))}")
    visitor.http.get(f"/app/connect?{urlencode(_asked(client_id, verifier, state=take('state of a stranger')))}")
    owner.get("/app/account")


def _register(visitor: Visitor, **metadata: Any) -> Any:
    body = {"client_name": "Assistant", "token_endpoint_auth_method": "none"} | metadata
    return visitor.call("POST", "/oauth/register", json=body)


def _asked(client_id: str, verifier: str, **changed: str) -> dict[str, str]:
    challenge = WebApplicationClient(client_id).create_code_challenge(verifier, "S256")
    return {
        "response_type": "code", "client_id": client_id, "redirect_uri": BACK, "scope": "memory:read memory:add",
        "code_challenge": challenge, "code_challenge_method": "S256",
    } | changed  # fmt: skip


def _allowed(visitor: Visitor, client_id: str, verifier: str) -> str:
    """The code that the client gets when the owner allows it.  Its address has the client's own state, as it must."""
    take, owner = visitor.family.take, owner_of(visitor)
    asked = _asked(client_id, verifier, state=take("state"), login_hint=take("login hint"))
    address = f"/app/connect?{urlencode(asked)}"
    place = re.search(r'value="([a-z]+/proj_\w+)"', owner.get(address).text)
    assert place, "no project is offered"
    form = {"place": place[1], "environment": "production", "end_user": take("end user of a connection"),
            "scopes": "memory:add"}  # fmt: skip
    owner.post(address, **form | {"place": take("wrong place"), "scopes": take("wrong right")})
    answer = owner.submit(address, **form)
    assert answer.status_code == 302, answer.status_code
    (code,) = parse_qs(urlsplit(answer.headers["Location"]).query)["code"]
    return code


def _token(visitor: Visitor, **form: str) -> Any:
    return visitor.call("POST", "/oauth/token", data={"grant_type": "authorization_code", "redirect_uri": BACK} | form)


def _tool(visitor: Visitor, token: str, name: str, **arguments: Any) -> Any:
    headers = {"Authorization": f"Bearer {token}", "MCP-Protocol-Version": VERSION,
               "Accept": "application/json, text/event-stream"}  # fmt: skip
    call = request_of("tools/call", {"name": name, "arguments": arguments})
    return visitor.note(visitor.http.post("/v1/mcp", json=call, headers=headers))
