"""Which role may do what: every route of people, asked by everybody."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.accounts.models import BearerSession
from apps.api import connectors
from apps.api.permissions import PERSON
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.tenants.grants import GRANTED, GRANTS
from apps.tenants.models import Role
from apps.tenants.services import set_policy
from tests import once
from tests.api.conftest import Caller, Refusal
from tests.api.people import OF_PEOPLE, PersonRow, bearer, caller_of, make_caller, make_fresh_caller
from tests.api.test_access import TABLE
from tests.makers import make_api_key
from tests.web.people import make_person

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

# Routes of both: the rows of keys stand in test_access.py.
SHARED = tuple(
    PersonRow(
        route=row.route,
        method=row.method,
        permission=row.permission,
        status=404 if row.route.endswith("<str:profile>/audit") else row.status,  # there is no such profile
        body=row.body,
        is_fresh=row.route.endswith(("/download-url", "/rotate-secret"))
        or (row.route.endswith("/policy") and row.method != "GET")
        or (row.method, row.route) in (("POST", "/org/webhooks"), ("PUT", "/v1/retention")),
        destroys=(row.method, row.route) == ("PUT", "/v1/retention")
        or (row.route.endswith("/policy") and row.method != "GET"),
    )
    for row in TABLE
    if row.permission in GRANTED
)
STUBS = tuple(
    PersonRow(route=f"/{route}", method="GET", permission=permission, status=200)
    for route, permission in connectors.OF_PEOPLE.items()
)
EVERY = (*OF_PEOPLE, *SHARED, *STUBS)
ABSENT = str(2**53 - 1)
every_row = pytest.mark.parametrize("row", EVERY, ids=str)
of_people = pytest.mark.parametrize("row", OF_PEOPLE, ids=str)
fresh_rows = pytest.mark.parametrize("row", [row for row in EVERY if row.is_fresh], ids=str)


def ask(row: PersonRow, caller: Caller, thing: object = ABSENT) -> Any:
    return caller(row.method, re.sub(r"<\w+:\w+>", str(thing), row.route), row.body)


def refused(response: Any) -> tuple[int, str]:
    return response.status_code, Refusal.of(response).code


def same(response: Any) -> bytes:
    return re.sub(rb'"request_id":"\w+"', b"", response.content)


@pytest.fixture(scope="module")
def of_each_role(cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[dict[str, Caller]]:
    with once.taken_back():
        yield {role: make_fresh_caller(cast[0].tenant, role, email=f"{role}@all.example") for role in Role.values}


@every_row
@pytest.mark.parametrize("role", Role.values)
def test_role_is_served_what_it_was_granted_and_nothing_else(
    row: PersonRow, role: str, of_each_role: dict[str, Caller]
) -> None:
    answer = ask(row, of_each_role[role])

    if row.permission == PERSON or row.permission in GRANTS[role]:
        assert answer.status_code == row.status, answer.content
    else:
        assert refused(answer) == (403, "ROLE_TOO_LOW")


@of_people
def test_key_with_every_scope_is_refused(row: PersonRow, acme: OpenedTenant) -> None:
    key = make_api_key(acme.scope, scopes=sorted(PERMISSIONS)).text

    assert refused(ask(row, Caller(key))) == (403, "PERSON_REQUIRED")


@pytest.fixture(scope="module")
def browser(cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[Caller]:
    """Signed in to the pages."""
    with once.taken_back():
        caller = Caller(None, None)
        caller.client.force_login(make_person(cast[0].tenant, email="browser@all.example", factor=False).user)
        yield caller


@every_row
def test_nobody_browser_sessions_and_bad_tokens_are_refused(row: PersonRow, browser: Caller) -> None:
    assert browser.client.session.get("_auth_user_id")
    assert ask(row, Caller(None, None)).status_code == ask(row, browser).status_code == 401
    assert refused(ask(row, bearer("msa_" + "A" * 43))) == (401, "INVALID_TOKEN")


@pytest.fixture(scope="module")
def stranger(cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[Caller]:
    with once.taken_back():
        yield make_fresh_caller(cast[1].tenant, email="stranger@all.example")


@every_row
def test_person_of_no_tenant_and_of_another_see_nothing_of_this_one(row: PersonRow, stranger: Caller) -> None:
    if row.permission == PERSON:
        pytest.skip("about the person")

    answers = [ask(row, stranger.with_headers(X_Tenant_ID=name)) for name in ("acme", "nowhere")]

    assert {refused(one) for one in answers} == {(404, "TENANT_NOT_FOUND")}
    assert same(answers[0]) == same(answers[1])


def wanted(answer: Any) -> list[str]:
    """What is to be shown first."""
    assert refused(answer) == (403, "STEP_UP_REQUIRED")
    body = answer.json()
    requires: list[str] = body["requires"] if "requires" in body else body["error"]["requires"]
    return requires


@fresh_rows
def test_what_reveals_or_destroys_wants_who_has_a_second_factor_to_have_shown_it(
    row: PersonRow, acme: OpenedTenant
) -> None:
    stale = make_person(acme.tenant, email="stale@acme.example")
    caller = caller_of(stale)
    BearerSession.objects.update(proved_at=None)

    with_password = caller("POST", "/auth/step-up", {"password": stale.password})

    assert wanted(with_password) == ["second_factor", "step_up"]  # however right it is
    assert wanted(ask(row, caller)) == ["second_factor", "step_up"]
    BearerSession.objects.update(password_shown_at=datetime.now(UTC))  # from before there was a factor
    assert wanted(ask(row, caller)) == ["second_factor", "step_up"]


@fresh_rows
def test_of_who_has_none_the_password_shown_again_is_enough_for_what_destroys_nothing(
    row: PersonRow, acme: OpenedTenant
) -> None:
    bare = make_person(acme.tenant, email="bare@acme.example", factor=False)
    caller = caller_of(bare)
    needs_a_factor = ["second_factor", "step_up"]

    assert wanted(ask(row, caller)) == (needs_a_factor if row.destroys else ["password", "step_up"])
    assert caller("POST", "/auth/step-up", {"password": bare.password}).status_code == 204

    if row.destroys:
        assert wanted(ask(row, caller)) == needs_a_factor
    else:
        assert ask(row, caller).status_code == row.status
    set_policy(acme.tenant, require_second_factor="yes", actor="test", now=datetime.now(UTC))
    assert wanted(ask(row, caller)) == needs_a_factor


def test_head_is_asked_for_a_second_factor_as_get_is(acme: OpenedTenant) -> None:
    assert make_caller(acme.tenant)("HEAD", "/exports/exp_absent/download-url").status_code == 403


def test_routes_that_ask_for_a_second_factor_are_those_of_the_table(acme: OpenedTenant) -> None:
    caller = make_caller(acme.tenant)

    for row in EVERY:
        is_refused = ask(row, caller).status_code == 403 and row.status != 403
        assert is_refused == row.is_fresh, str(row)
        if row.route == "/auth/logout-all":
            caller = caller_of(make_person(acme.tenant, email="again@acme.example", factor=False))


def test_every_grant_belongs_to_a_role_and_none_is_about_memories() -> None:
    assert frozenset().union(*GRANTS.values()) == set(GRANTED)
    assert set(GRANTS) == set(Role.values)
    assert not any(name.startswith(("memory:", "history:", "state:")) for name in GRANTED)
