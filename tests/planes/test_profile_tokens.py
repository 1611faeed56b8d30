"""Tokens of a namespace and of a profile: read < write < admin, and nothing beyond their own."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from apps.api.urls import urlpatterns
from apps.api.views import ApiView, OpenView
from apps.apikeys import services
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT, PERMISSIONS
from apps.apikeys.services import TokenNotRotated
from apps.core.scoping import tenant_transaction
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.memories.spaces import find_person, name_in_namespace
from apps.projects.scope import Environment, Principal
from apps.tenants.models import Role
from tests import once
from tests.api.conftest import Caller
from tests.api.people import make_fresh_caller
from tests.api.test_access import TABLE
from tests.makers import make_api_key
from tests.planes.conftest import Connect
from tests.planes.profile_client import ProfileClient
from tests.planes.test_profile_plane import diet, put, refusal, summaries

pytestmark = pytest.mark.django_db(databases="__all__")

cast, acme, globex = once.cast, once.acme, once.globex

DENIED = (403, "forbidden")
RIGHTS = ("read", "write", "admin")


@pytest.fixture
def issuer(acme: OpenedTenant) -> services.Issued:
    """The key of which the owner has said that it may create tokens with any right."""
    named = ("audit:read", "retention:read", "retention:write", "exports:read", "tokens:write")
    return make_api_key(acme.scope, scopes=[*DEFAULT, *named])


@pytest.fixture
def alice(connect: Connect, issuer: services.Issued) -> ProfileClient:
    return connect(key=issuer.text)


def test_rights_grow_from_read_to_admin(connect: Connect, alice: ProfileClient) -> None:
    put(alice, diet("vegan"))
    read, write, admin = (connect(key=alice.profile_token(right)["token"]) for right in RIGHTS)

    for client in (read, write, admin):
        assert summaries(client.recall("vegan")) == ["vegan since 2024"]
        assert client.policy()["override"] is None
    assert refusal(lambda: read.ingest(diet("fish"))) == DENIED
    assert refusal(lambda: read.erase(topic_key="user.diet", type="fact")) == DENIED
    put(write, diet("fish"))
    assert write.erase(topic_key="user.diet", type="fact")["status"] == "pending"
    policy = {"memory": {"superseded_max_count": 5}}
    assert refusal(lambda: write.set_policy(policy)) == refusal(write.profile_audit) == DENIED
    assert refusal(lambda: write.profile_token("read")) == DENIED
    assert admin.set_policy(policy)["override"] == policy
    assert admin.profile_audit()["complete"]
    assert admin.profile_token("admin")["scope"] == "admin"


def test_token_of_a_namespace_reaches_its_profiles_and_no_other(connect: Connect, alice: ProfileClient) -> None:
    put(alice, diet("vegan"))
    token = alice.namespace_token("admin")["token"]
    others = [("bob", "work"), ("alice", "work"), ("alice", "acme"), ("nobody", "nowhere")]

    put(connect("bob", key=token), diet("fish"))

    assert sorted(connect(key=token).profiles()) == ["alice", "bob"]
    for profile, namespace in others:
        client = connect(profile, namespace, key=token)
        for call in (client.sessions, client.profiles, client.audit, client.policy, client.namespace_policy):
            assert refusal(call) == DENIED
        assert refusal(lambda client=client: client.ingest(diet("meat"))) == DENIED  # type: ignore[misc]
        assert refusal(lambda client=client: client.namespace_token("read")) == DENIED  # type: ignore[misc]


def test_token_of_a_profile_reaches_it_alone(connect: Connect, alice: ProfileClient) -> None:
    put(alice, diet("vegan"))
    put(connect("bob"), diet("fish"))
    token = alice.profile_token("admin")["token"]
    others = [("bob", "home"), ("alice", "work"), ("alice", "acme"), ("nobody", "home")]

    assert summaries(connect(key=token).recall("vegan")) == ["vegan since 2024"]
    for profile, namespace in others:
        client = connect(profile, namespace, key=token)
        assert refusal(client.sessions) == refusal(client.policy) == refusal(client.profile_audit) == DENIED
        assert refusal(lambda client=client: client.ingest(diet("meat"))) == DENIED  # type: ignore[misc]
    mine = connect(key=token)
    assert refusal(mine.profiles) == refusal(mine.audit) == refusal(mine.namespace_policy) == DENIED
    assert refusal(lambda: mine.namespace_token("read")) == DENIED


def test_token_of_a_plain_end_user_reaches_them_alone(connect: Connect, alice: ProfileClient) -> None:
    plain = connect(namespace="acme", key=alice._http.headers["X-API-Key"])
    put(plain, diet("vegan"))
    token = plain.profile_token("write")["token"]

    assert summaries(connect(namespace="acme", key=token).recall("vegan")) == ["vegan since 2024"]
    assert refusal(connect("bob", "acme", key=token).sessions) == DENIED
    assert refusal(connect(key=token).sessions) == DENIED
    assert refusal(lambda: plain.namespace_token("read")) == (400, "invalid_request")


ROUTES = {str(one.pattern): one.callback.view_class for one in urlpatterns}
OF_PROFILES = {route for route in ROUTES if route.startswith(("v1/memory/<str:ns>", "v1/namespaces/"))}
ROWS = [row for row in TABLE if not issubclass(ROUTES[row.route[1:]], OpenView)]


def test_tokens_are_taken_by_routes_of_profiles_alone() -> None:
    taking = {route for route, view in ROUTES.items() if view.confine is not ApiView.confine}

    assert taking == OF_PROFILES | {
        "v1/mcp",
        "mcp",
    }  # these take the tokens of connected clients: tests/mcp/test_oauth.py
    assert all(issubclass(view, ApiView) for view in ROUTES.values())


@pytest.mark.parametrize("right", RIGHTS)
def test_every_other_route_refuses_tokens(alice: ProfileClient, acme: OpenedTenant, right: str) -> None:
    callers = [
        Caller(alice.namespace_token(right)["token"], end_user="alice"),
        Caller(alice.profile_token(right)["token"], end_user="alice"),
    ]
    tried = set()

    for row in ROWS:
        if row.route[1:] in OF_PROFILES:
            continue
        # Of each argument the one that exists for a key of the tenant, where there is one: 403 comes before 404.
        path = row.route.replace("<int:", "<").replace("<str:", "<").replace("<path:", "<")
        path = "".join(part if index % 2 == 0 else "1" for index, part in enumerate(path.replace(">", "<").split("<")))
        for caller in callers:
            response = caller(row.method, path)
            assert response.status_code == 403, (row, response.content)
            assert "BEYOND_TOKEN" in response.content.decode(), row
        tried.add(row.route)

    assert len(tried) > 80


def test_every_route_of_another_profile_refuses_tokens(alice: ProfileClient) -> None:
    callers = [
        Caller(alice.namespace_token("admin")["token"], end_user=None),
        Caller(alice.profile_token("admin")["token"], end_user=None),
    ]
    tried = 0

    for route in OF_PROFILES:
        for method in ROUTES[route].permissions:
            path = "/" + route.replace("<str:ns>", "work").replace("<str:profile>", "alice")
            for part in ("public_id", "session_id", "erasure_id"):
                path = path.replace(f"<str:{part}>", "x")
            for caller in callers:
                response = caller(method, path.replace("<int:token_id>", "1"))
                assert (response.status_code, response.json()["reason"]) == (403, "BEYOND_TOKEN"), (method, path)
                assert response["Memoturn-Txid"] == "0"
                tried += 1

    assert tried > 2 * 30


def test_token_may_do_no_more_than_the_key_that_creates_it(connect: Connect, acme: OpenedTenant) -> None:
    some = connect(key=make_api_key(acme.scope, scopes=[*DEFAULT, "tokens:write"]).text)
    few = connect(key=make_api_key(acme.scope, scopes=["memory:read", "history:read", "tokens:write"]).text)

    assert some.profile_token("write")["scope"] == "write"
    assert refusal(lambda: some.profile_token("admin")) == DENIED
    assert few.namespace_token("read")["scope"] == "read"
    assert refusal(lambda: few.namespace_token("write")) == DENIED
    assert refusal(lambda: connect().profile_token("read")) == DENIED
    every = connect(key=make_api_key(acme.scope, scopes=["*"]).text)
    assert refusal(lambda: every.profile_token("read")) == DENIED, "no wildcard creates credentials"
    assert "tokens:write" in PERMISSIONS


def test_token_ends_in_an_hour_unless_told_and_never_after_its_creator(
    connect: Connect, alice: ProfileClient, acme: OpenedTenant
) -> None:
    brief = connect(
        key=make_api_key(acme.scope, scopes=[*DEFAULT, "tokens:write"], expires_in=timedelta(minutes=5)).text
    )

    lasts = [
        one["expires_at"] - one["created_at"]
        for one in (
            alice.profile_token("read"),
            alice.profile_token("read", expires_in=60),
            brief.profile_token("read", expires_in=86_400),
        )
    ]

    assert lasts[:2] == [3_600_000, 60_000]
    assert lasts[2] <= 300_000


@pytest.mark.parametrize(
    "body",
    [{}, {"scope": "owner"}, {"scope": "read", "expires_in": 59}, {"scope": "read", "expires_in": 1e9},
     {"scope": "read", "colour": 1}],
    ids=str,
)  # fmt: skip
def test_token_that_cannot_be_is_refused(alice: ProfileClient, body: Any) -> None:
    for path in ("/tokens", "/v1/namespaces/home/tokens"):
        answer = alice.request("POST", path, body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_tokens_are_listed_without_their_text_and_revoked(connect: Connect, alice: ProfileClient) -> None:
    of_profile, of_namespace = alice.profile_token("write"), alice.namespace_token("read")
    text = of_profile.pop("token")
    client = connect(key=text)
    put(client, diet("vegan"))

    listed = alice.request("GET", "/tokens").json()["tokens"]
    assert [(one["id"], one["scope"], one["status"]) for one in listed] == [(of_profile["id"], "write", "active")]
    assert listed[0]["last_used_at"] is not None
    assert [one["id"] for one in alice.request("GET", "/v1/namespaces/home/tokens").json()["tokens"]] == [
        of_namespace["id"]
    ]
    assert connect("bob").request("GET", "/tokens").status_code == 403
    assert alice.request("DELETE", f"/tokens/{of_namespace['id']}").status_code == 404
    assert alice.request("DELETE", f"/tokens/{of_profile['id']}").status_code == 204

    assert refusal(client.sessions) == DENIED
    assert alice.request("DELETE", f"/tokens/{of_profile['id']}").status_code == 409
    assert alice.request("GET", "/tokens").json()["tokens"][0]["status"] == "revoked"


def test_tokens_end_with_the_key_that_created_them(
    connect: Connect, alice: ProfileClient, acme: OpenedTenant, issuer: services.Issued
) -> None:
    first = connect(key=alice.namespace_token("admin")["token"])
    second = connect(key=first.profile_token("admin")["token"])
    third = connect(key=second.profile_token("read")["token"])
    other = connect(key=make_api_key(acme.scope, scopes=[*DEFAULT, "tokens:write"]).text).profile_token("read")
    assert third.sessions() == []

    services.revoke(acme.scope, issuer.key.pk, now=datetime.now(UTC))

    for client in (first, second, third):
        assert refusal(client.sessions) == DENIED
    assert connect(key=other["token"]).sessions() == []


def test_key_that_is_replaced_at_once_takes_its_tokens_along(
    connect: Connect, alice: ProfileClient, acme: OpenedTenant, issuer: services.Issued
) -> None:
    client = connect(key=alice.profile_token("read")["token"])

    services.rotate(acme.scope, issuer.key.pk, grace=timedelta(0), now=datetime.now(UTC))

    assert refusal(client.sessions) == DENIED


def test_token_is_not_rotated_into_a_key_of_the_tenant(alice: ProfileClient, acme: OpenedTenant) -> None:
    made = alice.profile_token("read")

    with pytest.raises(TokenNotRotated):
        services.rotate(acme.scope, made["id"], now=datetime.now(UTC))


def test_row_of_a_token_cannot_be_widened_in_the_database(
    connect: Connect, alice: ProfileClient, acme: OpenedTenant
) -> None:
    made = alice.profile_token("read")
    client = connect(key=made["token"])
    assert client.sessions() == []

    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        cursor.execute("update apikeys_apikey set profile_id = null where id = %s", [made["id"]])

    assert refusal(client.sessions) == (401, "unauthorized")


def test_token_reaches_no_later_profile_of_the_name(connect: Connect, alice: ProfileClient, acme: OpenedTenant) -> None:
    put(alice, diet("vegan"))
    client = connect(key=alice.profile_token("write")["token"])
    person = find_person(acme.scope, name_in_namespace(acme.scope, "home", "alice"))
    assert person is not None
    start_erasure(
        acme.scope,
        Target.end_user(person),
        authorised=Authorisation(principal=Principal(kind="account", id=1), method="test"),
        now=datetime.now(UTC),
    )

    put(alice, diet("fish"))

    assert refusal(lambda: client.recall("fish")) == refusal(lambda: client.ingest(diet("meat"))) == DENIED


def test_tokens_work_in_the_environment_of_the_key_that_created_them(connect: Connect, acme: OpenedTenant) -> None:
    key = make_api_key(acme.scope, scopes=[*DEFAULT, "tokens:write"], environment=Environment.STAGING).text
    staging = connect(key=key)
    put(staging, diet("vegan"))
    token = staging.profile_token("read")["token"]

    assert token.startswith("ms_test_")
    assert summaries(connect(key=token).recall("vegan")) == ["vegan since 2024"]
    assert refusal(lambda: connect(key=token, headers={"X-Environment": "production"}).sessions()) == DENIED


def test_other_tenants_tokens_are_not_there(connect: Connect, alice: ProfileClient, globex: OpenedTenant) -> None:
    made = alice.profile_token("read")
    named = [*DEFAULT, "tokens:write"]
    theirs = connect(key=make_api_key(globex.scope, scopes=named).text)

    assert theirs.request("GET", "/tokens").json() == {"tokens": []}
    assert theirs.request("DELETE", f"/tokens/{made['id']}").status_code == 404
    assert theirs.profile_token("read")["id"] != made["id"]


def test_person_creates_tokens_with_the_permission_for_keys_after_a_step_up(
    connect: Connect, alice: ProfileClient, acme: OpenedTenant
) -> None:
    put(alice, diet("vegan"))
    address = "/v1/memory/home/alice/tokens"
    owner = make_fresh_caller(acme.tenant)
    developer = make_fresh_caller(acme.tenant, Role.DEVELOPER, email="dev@acme.example")
    analyst = make_fresh_caller(acme.tenant, Role.ANALYST, email="ana@acme.example")

    made = owner("POST", address, {"scope": "admin"})
    assert made.status_code == 201, made.content
    assert connect(key=made.json()["token"]).profile_audit()["complete"]
    assert developer("POST", address, {"scope": "write"}).status_code == 201
    beyond = developer("POST", address, {"scope": "admin"})
    assert (beyond.status_code, beyond.json()["reason"]) == (403, "SCOPES_BEYOND_ROLE")
    assert analyst("POST", address, {"scope": "read"}).status_code == 403
    assert len(owner("GET", address).json()["tokens"]) == 2
    assert owner("DELETE", f"{address}/{made.json()['id']}").status_code == 204
    assert refusal(connect(key=made.json()["token"]).sessions) == DENIED
