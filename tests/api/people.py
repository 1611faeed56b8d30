"""People who call the API: who they are, their tokens, and the routes that are for them and for no API key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.api.permissions import PERSON
from apps.tenants.models import Role, Tenant
from tests.api.conftest import Caller
from tests.web.people import Person, make_person


@dataclass(frozen=True, kw_only=True)
class PersonRow:
    """What one route answers to one method asked by an owner who has just signed in."""

    route: str
    method: str
    permission: str
    status: int
    body: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.route}"


OF_PEOPLE = (
    PersonRow(route="/auth/logout-all", method="POST", permission=PERSON, status=204),
    PersonRow(route="/auth/me", method="GET", permission=PERSON, status=200),
    PersonRow(route="/auth/step-up", method="POST", permission=PERSON, body={"code": "000000"}, status=401),
    PersonRow(route="/auth/sessions", method="GET", permission=PERSON, status=200),
    PersonRow(route="/auth/sessions/<int:session_id>/revoke", method="POST", permission=PERSON, status=404),
)


def sign_in(person: Person) -> dict[str, Any]:
    """The body of the answer."""
    body = {"email": person.user.email, "password": person.password}
    answer = Caller(None, None)("POST", "/auth/login", body)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    if found["mfa_required"]:
        code = {"mfa_token": found["mfa_token"], "code": person.code()}
        answer = Caller(None, None)("POST", "/auth/mfa/complete", code)
        assert answer.status_code == 200, answer.content
        found = answer.json()
    return found


def bearer(token: str, **headers: str) -> Caller:
    return Caller(None, None).with_headers(Authorization=f"Bearer {token}", **headers)


def caller_of(person: Person) -> Caller:
    return bearer(sign_in(person)["tokens"]["access_token"])


def make_fresh_caller(tenant: Tenant, role: str = Role.OWNER, *, email: str = "") -> Caller:
    """Somebody who has just signed in with a second factor."""
    return caller_of(make_person(tenant, role, email=email))


def make_caller(tenant: Tenant, role: str = Role.OWNER, *, email: str = "") -> Caller:
    """Somebody without a second factor, who has just signed in."""
    return caller_of(make_person(tenant, role, email=email, factor=False))
