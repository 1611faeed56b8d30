"""Clients that people connect: what they reach, and what they do not."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from allauth.idp.oidc.models import Client as ClientRow
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.models import OAuthCode, OAuthGrant
from apps.accounts.services import start_over
from apps.adapters.instances import get_fetcher
from apps.adapters.senders.base import Fetched
from apps.apikeys import oauth
from apps.apikeys.models import ApiKey
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.services import TokenNotRotated, revoke, rotate
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment
from apps.tenants.members import change_member, give_role, take_role
from apps.tenants.models import EndUser, Role
from apps.tenants.services import suspend_tenant
from apps.web.oauth.urls import urlpatterns
from tests.api.conftest import Caller
from tests.mcp.oauth import BACK, ISSUER, RESOURCE, OAuthClient, answer_of
from tests.web.people import Person, make_person

pytestmark = pytest.mark.django_db(databases="__all__")

KEY = "The spare key lies under the blue flower pot."
MAY_NOT = "This token is of one end user"


@pytest.fixture(autouse=True)
def switched_on(settings: Any) -> None:
    settings.OAUTH_ISSUER = ISSUER
    settings.OAUTH_REGISTRATION = True


@pytest.fixture
def owner(acme: OpenedTenant) -> Person:
    person = make_person(acme.tenant)
    person.show_factor(ago=10)
    return person


@pytest.fixture
def client() -> OAuthClient:
    made = OAuthClient()
    assert made.register().status_code == 201
    return made


@pytest.fixture
def connected(client: OAuthClient, owner: Person) -> OAuthClient:
    return client.connect(owner)


def grant_of(client: OAuthClient) -> OAuthGrant:
    return OAuthGrant.objects.get(client_id=client.client_id)


def key_of(acme: OpenedTenant, client: OAuthClient) -> ApiKey:
    with tenant_transaction(acme.scope):
        return ApiKey.objects.within(acme.scope).get(kid=grant_of(client).kid)


def structured(response: Any) -> Any:
    assert response.status_code == 200, response.content
    result = response.json()["result"]
    assert not result.get("isError"), result
    return result["structuredContent"]


def refused(response: Any) -> None:
    assert response.status_code == 401, response.content
    assert response.json()["error"]["code"] == "INVALID_TOKEN"
    assert "resource_metadata=" in response["WWW-Authenticate"]


def test_these_are_all_addresses_for_clients_and_they_take_post_alone() -> None:
    assert {str(one.pattern) for one in urlpatterns} == {"register", "token", "revoke"}
    for one in urlpatterns:
        answer = Client().get(f"/oauth/{one.pattern}")
        assert (answer.status_code, answer["Allow"]) == (405, "POST")
        assert Client().post(f"/oauth/{one.pattern}", b"x" * 70_000, content_type="text/plain").status_code == 413


def test_requests_for_tokens_that_fail_are_limited(connected: OAuthClient) -> None:
    answers = [connected.renew("msor_wrong").status_code for _ in range(21)]

    assert answers == [400] * 20 + [429]
    assert connected.call().status_code == 200


# -- what it finds out ---------------------------------------------------------------------------------------------


def test_a_client_without_a_token_is_told_where_to_ask(client: OAuthClient) -> None:
    told = client.http.post("/v1/mcp", b"{}", content_type="application/json")

    assert told.status_code == 401
    metadata = f'resource_metadata="{ISSUER}/.well-known/oauth-protected-resource/v1/mcp"'
    assert told["WWW-Authenticate"] == f'Bearer {metadata}, scope="memory:read memory:add"'
    for path in ("/.well-known/oauth-protected-resource/v1/mcp", "/.well-known/oauth-protected-resource"):
        found = client.http.get(path).json()
        assert found["resource"] == RESOURCE
        assert found["authorization_servers"] == [ISSUER]
        assert found["scopes_supported"] == list(oauth.RIGHTS)
    assert client.http.get("/.well-known/oauth-protected-resource/mcp").json()["resource"] == f"{ISSUER}/mcp"
    for path in ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"):
        server = client.http.get(path).json()
        assert server["issuer"] == ISSUER
        assert server["code_challenge_methods_supported"] == ["S256"]
        assert server["grant_types_supported"] == ["authorization_code", "refresh_token"]
        assert server["registration_endpoint"] == f"{ISSUER}/oauth/register"
        assert server["client_id_metadata_document_supported"] is False


def test_without_the_setting_there_is_no_oauth(settings: Any, connected: OAuthClient, owner: Person) -> None:
    settings.OAUTH_ISSUER = ""

    assert connected.call().status_code == 401
    assert connected.call()["WWW-Authenticate"] == "Bearer"
    assert connected.renew().status_code == 404
    assert connected.register().status_code == 404
    assert owner.client.get(connected.address()).status_code == 404
    for path in ("oauth-protected-resource", "oauth-authorization-server", "openid-configuration"):
        assert connected.http.get(f"/.well-known/{path}").status_code == 404


# -- what it reaches -----------------------------------------------------------------------------------------------


def test_a_connected_client_uses_one_end_users_memories(acme: OpenedTenant, connected: OAuthClient) -> None:
    other = Caller(acme.keys[Environment.PRODUCTION], "bob")
    other.add("Bob's bicycle is green.")

    made = structured(connected.tool("add_memory", text=KEY))
    found = structured(connected.tool("search_memory", query="Where is the spare key?"))
    who = structured(connected.tool("whoami"))
    listed = structured(connected.tool("list_memories"))

    assert made["status"] == "created"
    assert [one["text"] for one in found["memories"]] == [KEY]
    assert [one["text"] for one in listed["memories"]] == [KEY]
    assert (who["tenant"], who["environment"], who["end_user"]) == ("acme", "production", "alice")
    assert who["scopes"] == ["history:read", "memory:add", "memory:read"]
    assert key_of(acme, connected).name == "Assistant"
    assert Caller(acme.keys[Environment.PRODUCTION], "alice")("GET", "/v1/memory/acme/alice/list").json()["total"] == 1


def test_it_reaches_no_other_end_user_project_or_environment(acme: OpenedTenant, connected: OAuthClient) -> None:
    said = {"name": "search_memory", "arguments": {"query": "bicycle"}}

    assert MAY_NOT in connected.call("tools/call", said, X_End_User_ID="bob").content.decode()
    assert structured(connected.call("tools/call", said, X_End_User_ID="alice"))["memories"] == []
    assert connected.call(X_Environment="staging").json()["error"]["code"] == "ENVIRONMENT_BEYOND_KEY"
    assert connected.call(X_Tenant_ID="globex").json()["error"]["code"] == "TENANT_MISMATCH"
    beyond = connected.call("tools/call", said, X_Project_ID="elsewhere").json()["result"]
    assert beyond["isError"]
    assert "PROJECT_BEYOND_KEY" in beyond["content"][0]["text"]


def test_a_token_of_another_tenants_person_reaches_nothing_here(
    acme: OpenedTenant, globex: OpenedTenant, connected: OAuthClient
) -> None:
    structured(connected.tool("add_memory", text=KEY))
    stranger = make_person(globex.tenant)
    stranger.show_factor(ago=10)
    theirs = OAuthClient().connect(stranger)
    assert structured(theirs.tool("search_memory", query="spare key"))["memories"] == []

    forged = OAuthClient()
    forged.register()
    page = forged.ask(stranger, given={"place": f"acme/{acme.project.public_id}"})

    assert page.status_code == 422
    assert OAuthCode.objects.filter(client_id=forged.client_id).count() == 0


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/memory/query"),
        ("POST", "/memory/add"),
        ("GET", "/v1/memory/acme/alice/list"),
        ("GET", "/v1/entities"),
        ("GET", "/org/projects"),
        ("GET", "/org/api-keys"),
        ("GET", "/auth/me"),
        ("POST", "/v1/mcp/typed"),
        ("POST", "/v1/mcp/graph"),
        ("POST", "/mcp"),
    ],
)
def test_a_token_is_refused_elsewhere(connected: OAuthClient, method: str, path: str) -> None:
    answer = connected.at(path, {} if method == "POST" else None, method, X_End_User_ID="alice")

    assert answer.status_code == 401, answer.content


def test_a_token_for_the_alias_is_of_the_alias_alone(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner, resource=f"{ISSUER}/mcp")
    assert client.exchange(code, resource=f"{ISSUER}/mcp").status_code == 200

    assert client.call().status_code == 401
    assert client.at("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}).status_code == 200


def test_a_client_that_lacks_a_right_is_told_which(connected: OAuthClient) -> None:
    answer = connected.tool("record_turn", role="user", text="Hello there.")

    assert answer.status_code == 403
    assert answer["WWW-Authenticate"] == (
        f'Bearer error="insufficient_scope", resource_metadata="{ISSUER}/.well-known/oauth-protected-resource/v1/mcp",'
        ' scope="memory:read memory:add history:read history:write"'
    )
    assert connected.call().status_code == 200


def test_a_token_in_an_address_is_refused(connected: OAuthClient) -> None:
    assert connected.http.post(f"/v1/mcp?access_token={connected.access}").status_code == 400
    assert connected.http.post(f"/v1/mcp?token={connected.access}").json()["error"]["code"] == "CREDENTIAL_IN_URL"


# -- what a person gives -------------------------------------------------------------------------------------------


def test_the_page_says_what_is_given(client: OAuthClient, owner: Person, acme: OpenedTenant) -> None:
    page = owner.client.get(client.address())
    text = " ".join(re.sub(r"<[^>]+>", " ", page.content.decode()).split())

    assert page.status_code == 200
    assert "Connect Assistant?" in text
    assert "assistant.example" in text
    assert f'value="acme/{acme.project.public_id}"' in page.content.decode()
    assert f'value="{owner.user.email}"' in page.content.decode()
    assert "Search and read memories" in text
    assert "Store turns of conversations" not in text  # it did not ask for that
    assert "form-action 'self' https://assistant.example;" in page["Content-Security-Policy"]


def test_the_answer_names_the_server_and_the_clients_state(client: OAuthClient, owner: Person) -> None:
    answer = client.ask(owner)

    assert answer["Location"].startswith(f"{BACK}?")
    assert answer_of(answer).keys() == {"code", "state", "iss"}
    assert answer_of(answer)["iss"] == [ISSUER]
    assert answer_of(answer)["state"] == ["s t&ate"]
    assert answer_of(owner.client.post(client.address(), {"deny": "1"})) == {
        "error": ["access_denied"], "state": ["s t&ate"], "iss": [ISSUER],
    }  # fmt: skip


def test_the_person_signs_in_and_confirms_who_they_are_first(client: OAuthClient, acme: OpenedTenant) -> None:
    person = make_person(acme.tenant)

    assert person.client.get(client.address())["Location"].startswith("/app/sign-in?next=%2Fapp%2Fconnect")
    person.show_factor()
    assert person.client.get(client.address())["Location"].startswith("/app/step-up?next=%2Fapp%2Fconnect")
    assert client.ask(person)["Location"].startswith("/app/step-up?next=%2Fapp%2Fconnect")
    assert OAuthCode.objects.count() == 0


def test_a_form_of_another_site_gives_nothing(client: OAuthClient, owner: Person, acme: OpenedTenant) -> None:
    strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
    strict.cookies = owner.client.cookies
    form = {"place": f"acme/{acme.project.public_id}", "environment": "production", "end_user": "alice"}

    assert strict.post(client.address(), form).status_code == 403
    assert OAuthCode.objects.count() == 0


@pytest.mark.parametrize(
    ("role", "given", "status"),
    [
        (Role.ADMIN, ["memory:add"], 302),
        (Role.DEVELOPER, ["memory:add"], 302),
        (Role.ANALYST, ["history:read"], 302),
        (Role.ANALYST, ["memory:add"], 422),
        (Role.BILLING, [], 403),
    ],
)
def test_a_person_gives_only_what_their_role_allows(
    client: OAuthClient, acme: OpenedTenant, owner: Person, role: str, given: list[str], status: int
) -> None:
    person = make_person(acme.tenant, role)
    person.show_factor(ago=10)

    assert client.ask(person, given={"scopes": given}).status_code == status


def test_a_right_that_the_client_did_not_ask_for_is_not_given(client: OAuthClient, owner: Person) -> None:
    assert client.ask(owner, given={"scopes": ["memory:update"]}).status_code == 422
    assert answer_of(client.ask(owner, scope="memory:read memory:delete"))["error"] == ["invalid_scope"]
    assert answer_of(client.ask(owner, scope="*"))["error"] == ["invalid_scope"]


# -- who may ask ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code token"}, "unauthorized_client"),
        ({"resource": "https://elsewhere.example/v1/mcp"}, "invalid_target"),
        ({"resource": ISSUER}, "invalid_target"),
    ],
)
def test_a_request_that_is_not_sound_goes_back_with_an_error(
    client: OAuthClient, owner: Person, changed: dict[str, Any], error: str
) -> None:
    for answer in (owner.client.get(client.address(**changed)), client.ask(owner, **changed)):
        assert answer_of(answer)["error"] == [error]
        assert answer_of(answer)["iss"] == [ISSUER]
    assert OAuthCode.objects.count() == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://evil.example/back"},
        {"redirect_uri": f"{BACK}/more"},
        {"redirect_uri": f"{BACK}?next=1"},
        {"redirect_uri": "https://assistant.example:444/back"},
        {"redirect_uri": "https://me@assistant.example/back"},
        {"redirect_uri": None},
        {"client_id": "nobody"},
        {"client_id": None},
    ],
)
def test_no_answer_is_sent_where_the_client_does_not_live(
    client: OAuthClient, owner: Person, changed: dict[str, Any]
) -> None:
    for answer in (owner.client.get(client.address(**changed)), client.ask(owner, **changed)):
        assert answer.status_code == 400
        assert "Location" not in answer
    assert OAuthCode.objects.count() == 0


def test_a_program_on_the_computer_may_listen_on_any_port(owner: Person) -> None:
    program = OAuthClient(back="http://127.0.0.1:1234/back")
    program.register()
    program.back = "http://127.0.0.1:5678/back"

    page = owner.client.get(program.address())

    assert "form-action 'self' http://127.0.0.1:5678;" in page["Content-Security-Policy"]
    assert program.exchange(program.code(owner)).status_code == 200
    assert owner.client.get(program.address(redirect_uri="http://127.0.0.1:5678/else")).status_code == 400


@pytest.mark.parametrize(
    "uri",
    ["http://assistant.example/back", "javascript:alert(1)", "data:text/html,x", "https://a.example/#x", "https:///x",
     "https://*.example/x", "//a.example", "https://a.example/\u00e9", "https://u:p@a.example/"],
)  # fmt: skip
def test_an_address_that_is_not_safe_is_not_registered(uri: str) -> None:
    answer = OAuthClient().register(redirect_uris=[uri])

    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_redirect_uri"


def test_registration_needs_its_setting_and_has_a_limit(settings: Any) -> None:
    assert [OAuthClient().register().status_code for _ in range(6)] == [201] * 5 + [429]
    settings.OAUTH_REGISTRATION = False
    assert OAuthClient().register().status_code == 403
    assert "registration_endpoint" not in OAuthClient().http.get("/.well-known/oauth-authorization-server").json()


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"redirect_uris": "x"}', b'{"redirect_uris": [1]}', b"\xff"])
def test_registration_refuses_what_is_no_client(body: bytes) -> None:
    answer = OAuthClient().http.post("/oauth/register", body, content_type="application/json")

    assert answer.status_code == 400, answer.content
    assert answer.json()["error"] in ("invalid_client_metadata", "invalid_redirect_uri")


def test_a_client_with_a_secret_needs_it(owner: Person) -> None:
    client = OAuthClient()
    made = client.register(token_endpoint_auth_method="client_secret_post").json()
    code = client.code(owner)

    assert client.exchange(code).json()["error"] == "invalid_client"
    assert client.exchange(code, client_secret="wrong").json()["error"] == "invalid_client"
    assert client.exchange(code, client_secret=made["client_secret"]).status_code == 200
    assert client.renew().json()["error"] == "invalid_client"


def test_an_operator_adds_lists_and_removes_clients(settings: Any, owner: Person, capsys: Any) -> None:
    settings.OAUTH_REGISTRATION = False
    call_command("oauth", "add", "Desk", "--redirect-uri", BACK, "--secret", "--json")
    made = json.loads(capsys.readouterr().out)
    client = OAuthClient(client_id=made["client_id"])
    code = client.code(owner)
    assert client.exchange(code).json()["error"] == "invalid_client"
    assert client.exchange(code, client_secret=made["client_secret"]).status_code == 200
    assert client.call().status_code == 200

    call_command("oauth", "list", "--json")
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["origin"], listed["redirect_uris"]) == ("Desk", "an operator", [BACK])
    call_command("oauth", "remove", made["client_id"])

    refused(client.call())
    with pytest.raises(CommandError, match="no such client"):
        call_command("oauth", "remove", made["client_id"])
    with pytest.raises(CommandError, match="redirect_uris"):
        call_command("oauth", "add", "Desk", "--redirect-uri", "http://assistant.example/")
    actions = AuditEvent.objects.filter(target=f"oauth_client:{made['client_id']}").values_list("action", flat=True)
    assert list(actions.order_by("id")) == ["oauth_client.add", "oauth_client.remove"]


def test_a_client_that_no_one_uses_is_forgotten(connected: OAuthClient) -> None:
    unused = OAuthClient()
    unused.register()
    ClientRow.objects.update(created_at=_now() - timedelta(days=31))

    OAuthClient().register()

    assert ClientRow.objects.filter(pk=connected.client_id).exists()
    assert not ClientRow.objects.filter(pk=unused.client_id).exists()


# -- documents of clients ------------------------------------------------------------------------------------------

DOCUMENT = "https://assistant.example/client.json"


@pytest.fixture
def document(settings: Any) -> dict[str, Any]:
    """What the client's address answers."""
    settings.OAUTH_CLIENT_DOCUMENTS = True
    settings.CONNECTOR_FETCHER = {"BACKEND": "apps.adapters.senders.fake.FakeSender", "OPTIONS": {}}
    said = {"client_id": DOCUMENT, "client_name": "Assistant", "redirect_uris": [BACK]}
    fetcher: Any = get_fetcher()
    fetcher.page = lambda _: Fetched(status=200, headers={}, body=json.dumps(said).encode())
    return said


def test_a_client_is_known_by_its_document(document: dict[str, Any], owner: Person, settings: Any) -> None:
    client = OAuthClient(client_id=DOCUMENT).connect(owner)
    fetcher: Any = get_fetcher()

    assert client.call().status_code == 200
    assert client.renew().status_code == 200
    assert [one.url for one in fetcher.sent] == [DOCUMENT]  # read once, and not by the token endpoint
    settings.OAUTH_CLIENT_DOCUMENTS = False
    assert client.renew().json()["error"] == "invalid_client"
    assert owner.client.get(client.address()).status_code == 400


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "https://other.example/client.json"},
        {"redirect_uris": ["http://assistant.example/back"]},
        {"redirect_uris": []},
        {"redirect_uris": ["https://other.example/back"]},
    ],
)
def test_a_document_that_is_not_the_clients_own_is_refused(
    document: dict[str, Any], owner: Person, changed: dict[str, Any]
) -> None:
    document.update(changed)

    assert owner.client.get(OAuthClient(client_id=DOCUMENT).address()).status_code == 400


@pytest.mark.parametrize("client_id", ["https://localhost/client.json", "http://assistant.example/client.json"])
def test_no_document_is_read_from_inside(document: dict[str, Any], owner: Person, client_id: str) -> None:
    document["client_id"] = client_id

    assert owner.client.get(OAuthClient(client_id=client_id).address()).status_code == 400


# -- codes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": "x" * 50}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_request"),
        ({"redirect_uri": "https://assistant.example/other"}, "invalid_request"),
        ({"redirect_uri": None}, "invalid_request"),
        ({"code": "x" * 30}, "invalid_grant"),
        ({"client_id": None}, "invalid_client"),
        ({"resource": "https://elsewhere.example/"}, "invalid_target"),
        ({"grant_type": "password", "username": "a", "password": "b"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
    ],
)
def test_a_code_is_of_one_request(client: OAuthClient, owner: Person, changed: dict[str, Any], error: str) -> None:
    answer = client.exchange(**{"code": client.code(owner)} | changed)

    assert answer.status_code in (400, 401), answer.content
    assert answer.json()["error"] == error
    assert OAuthGrant.objects.count() == 0


def test_a_code_of_another_client_is_refused(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    thief = OAuthClient(verifier=client.verifier)
    thief.register()

    assert thief.exchange(code).json()["error"] == "invalid_grant"
    assert client.exchange(code).status_code == 200


def test_a_code_works_once_and_its_second_use_ends_access(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    assert client.exchange(code).status_code == 200
    assert client.call().status_code == 200

    assert client.exchange(code).json()["error"] == "invalid_grant"
    refused(client.call())


def test_a_code_lasts_a_minute(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    OAuthCode.objects.update(expires_at=datetime.now(UTC) - timedelta(seconds=1))

    assert client.exchange(code).json()["error"] == "invalid_grant"


def test_a_code_is_worthless_once_its_person_lost_their_role(
    client: OAuthClient, owner: Person, acme: OpenedTenant
) -> None:
    analyst = make_person(acme.tenant, Role.DEVELOPER)
    analyst.show_factor(ago=10)
    code = client.code(analyst)
    take_role(acme.tenant, analyst.user.pk, actor="command:0", now=_now())

    assert client.exchange(code).json()["error"] == "invalid_grant"
    assert OAuthGrant.objects.count() == 0


# -- tokens --------------------------------------------------------------------------------------------------------


def test_tokens_are_stored_as_digests_and_their_answer_is_not_cached(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    answer = client.exchange(code)
    row = grant_of(client)

    assert answer["Cache-Control"] == "no-store"
    assert answer.json().keys() == {"access_token", "refresh_token", "expires_in", "token_type", "scope"}
    assert answer.json()["scope"] == "memory:read memory:add history:read"
    assert client.access.encode() not in bytes(row.access)
    assert bytes(row.access) == oauth._digest(client.access)
    assert bytes(OAuthCode.objects.get().digest) == oauth._digest(code)


def test_a_refresh_replaces_both_tokens(connected: OAuthClient) -> None:
    before = connected.access, connected.refresh
    assert connected.renew().status_code == 200

    assert connected.call().status_code == 200
    assert {connected.access, connected.refresh}.isdisjoint(before)
    connected.access = before[0]
    refused(connected.call())


def test_a_spent_refresh_token_ends_access(connected: OAuthClient, acme: OpenedTenant) -> None:
    spent = connected.refresh
    connected.renew()

    assert connected.renew(spent).json()["error"] == "invalid_grant"
    refused(connected.call())
    assert connected.renew().json()["error"] == "invalid_grant"
    assert key_of(acme, connected).revoked_at is not None


def test_a_refresh_token_of_another_client_is_refused(connected: OAuthClient) -> None:
    thief = OAuthClient()
    thief.register()

    assert thief.renew(connected.refresh).json()["error"] == "invalid_grant"
    assert connected.renew().status_code == 200


def test_an_access_token_lasts_an_hour_and_a_grant_ninety_days(connected: OAuthClient) -> None:
    OAuthGrant.objects.update(access_expires_at=datetime.now(UTC))
    refused(connected.call())
    assert connected.renew().status_code == 200
    assert connected.call().status_code == 200

    OAuthGrant.objects.update(expires_at=datetime.now(UTC))
    refused(connected.call())
    assert connected.renew().json()["error"] == "invalid_grant"


def test_a_client_ends_its_own_access_and_no_other(connected: OAuthClient) -> None:
    thief = OAuthClient()
    thief.register()
    stolen = thief.http.post("/oauth/revoke", {"token": connected.access, "client_id": thief.client_id})
    assert (stolen.status_code, connected.call().status_code) == (200, 200)

    ended = connected.http.post("/oauth/revoke", {"token": connected.refresh, "client_id": connected.client_id})

    assert ended.status_code == 200
    refused(connected.call())


# -- when it ends --------------------------------------------------------------------------------------------------


def _now() -> datetime:
    return datetime.now(UTC)


ENDS: dict[str, Any] = {
    "the member is removed": lambda acme, person, client: take_role(
        acme.tenant, person.user.pk, actor="command:0", now=_now()
    ),
    "the member is suspended": lambda acme, person, client: change_member(
        acme.tenant, person.user.pk, by=Role.OWNER, is_suspended=True, actor="command:0", now=_now()
    ),
    "the member may no longer read": lambda acme, person, client: change_member(
        acme.tenant, person.user.pk, by=Role.OWNER, role=Role.BILLING, actor="command:0", now=_now()
    ),
    "the tenant is suspended": lambda acme, person, client: suspend_tenant(acme.tenant, actor="command:0", now=_now()),
    "the account is reset": lambda acme, person, client: start_over(person.user, actor="command:0", now=_now()),
    "the account is disabled": lambda acme, person, client: type(person.user).objects.update(is_active=False),
    "the key is revoked": lambda acme, person, client: revoke(acme.scope, key_of(acme, client).pk, now=_now()),
    "the row of the key is changed": lambda acme, person, client: _change_key(acme, client),
}


def _change_key(acme: OpenedTenant, client: OAuthClient) -> None:
    with tenant_transaction(acme.scope):
        ApiKey.objects.within(acme.scope).filter(kid=grant_of(client).kid).update(end_user_id=1)


@pytest.mark.parametrize("end", ENDS)
def test_access_ends_at_once(client: OAuthClient, owner: Person, acme: OpenedTenant, end: str) -> None:
    person = make_person(acme.tenant, Role.ADMIN)
    person.show_factor(ago=10)
    client.connect(person)
    assert client.call().status_code == 200

    ENDS[end](acme, person, client)

    assert client.call().status_code in (401, 403)
    assert client.tool("search_memory", query="spare key").status_code in (401, 403)
    if end != "the member may no longer read":
        refused(client.call())
        assert client.renew().json()["error"] == "invalid_grant"


def test_a_member_who_comes_back_connects_again(client: OAuthClient, owner: Person, acme: OpenedTenant) -> None:
    person = make_person(acme.tenant, Role.ADMIN)
    person.show_factor(ago=10)
    client.connect(person)
    take_role(acme.tenant, person.user.pk, actor="command:0", now=_now())
    give_role(acme.tenant, person.user.pk, Role.ADMIN, actor="command:0", now=_now())

    refused(client.call())


def test_a_lower_role_lowers_what_the_client_may_do(client: OAuthClient, owner: Person, acme: OpenedTenant) -> None:
    person = make_person(acme.tenant, Role.DEVELOPER)
    person.show_factor(ago=10)
    client.connect(person)
    change_member(acme.tenant, person.user.pk, by=Role.OWNER, role=Role.ANALYST, actor="command:0", now=_now())

    assert structured(client.tool("whoami"))["scopes"] == ["history:read", "memory:read"]
    assert client.tool("add_memory", text=KEY).status_code == 403


def test_the_key_of_a_client_is_not_rotated_into_another(acme: OpenedTenant, connected: OAuthClient) -> None:
    with pytest.raises(TokenNotRotated):
        rotate(acme.scope, key_of(acme, connected).pk, now=_now())


def test_an_erased_end_user_is_reached_no_more(connected: OAuthClient, acme: OpenedTenant) -> None:
    with tenant_transaction(acme.scope):
        EndUser.objects.within(acme.scope).filter(pk=key_of(acme, connected).end_user_id).delete()

    found = connected.tool("search_memory", query="spare key").json()["result"]

    assert found["isError"]
    assert "was erased" in found["content"][0]["text"]


def test_a_key_of_the_tenant_is_no_token_and_a_token_no_key(connected: OAuthClient, acme: OpenedTenant) -> None:
    """What stands in the row of the key helps nobody: its text was never handed out."""
    key = key_of(acme, connected)
    for text in (f"{key.prefix}_{'0' * 49}", connected.refresh, oauth.ACCESS + "x" * 43):
        assert OAuthClient(access=text).call().status_code == 401
        assert Caller(text, "alice")("POST", "/memory/query", {"query": "key"}).status_code == 401


def test_a_person_sees_and_ends_what_they_gave(connected: OAuthClient, owner: Person, acme: OpenedTenant) -> None:
    stranger = make_person(acme.tenant, Role.ADMIN)
    stranger.show_factor(ago=10)
    address = f"/app/account/clients/{grant_of(connected).pk}/end"

    page = owner.client.get("/app/account/clients").content.decode()
    assert "Assistant" in page
    assert "memory:read, memory:add, history:read" in page
    assert "Assistant" not in stranger.client.get("/app/account/clients").content.decode()
    assert stranger.client.post(address).status_code == 404
    assert connected.call().status_code == 200

    assert owner.client.post(address).status_code == 302

    refused(connected.call())
    assert "Assistant" not in owner.client.get("/app/account/clients").content.decode()
    assert owner.client.post(address).status_code == 404
    who = f"account:{owner.user.pk}"
    with tenant_transaction(acme.scope):
        events = AuditEvent.objects.filter(target=f"api_key:{key_of(acme, connected).pk}")
        actions = set(events.values_list("action", "actor"))
    assert actions == {("api_key.issue", who), ("api_key.revoke", who)}


def test_owners_see_and_revoke_it_among_the_keys(connected: OAuthClient, owner: Person, acme: OpenedTenant) -> None:
    key = key_of(acme, connected)
    listed = owner.client.get("/app/t/acme/keys").content.decode()
    page = owner.client.get(f"/app/t/acme/keys/{key.pk}").content.decode()

    assert "connected client" in listed
    assert owner.user.email in page
    assert "Rotate" not in page
    owner.client.post("/app/t/acme/keys/revoke", {"id": key.pk, "sure": "1"})
    refused(connected.call())
