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
    """What one route answers to one method asked by an owner, of nothing that there is.

    is_fresh: who they are was shown in the last ten minutes: with a second factor, or, of who has none, the password.
    destroys: and a password is not enough.
    """

    route: str
    method: str
    permission: str
    status: int
    body: Mapping[str, Any] | None = None
    is_fresh: bool = False
    destroys: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.route}"


OF_PEOPLE = (
    PersonRow(route="/auth/logout-all", method="POST", permission=PERSON, status=204),
    PersonRow(route="/auth/me", method="GET", permission=PERSON, status=200),
    PersonRow(route="/auth/step-up", method="POST", permission=PERSON, body={"code": "000000"}, status=401),
    PersonRow(route="/auth/sessions", method="GET", permission=PERSON, status=200),
    PersonRow(route="/auth/sessions/<int:session_id>/revoke", method="POST", permission=PERSON, status=404),
    PersonRow(route="/organizations", method="GET", permission=PERSON, status=200),
    PersonRow(route="/organizations", method="POST", permission=PERSON, body={"name": "Another"}, status=403),
    PersonRow(route="/org/projects", method="POST", permission="projects:write", body={"name": "Another"}, status=201),
    PersonRow(
        route="/org/projects/<str:project_id>",
        method="PATCH",
        permission="projects:write",
        body={"name": "Another"},
        status=404,
    ),
    PersonRow(
        route="/org/projects/<str:project_id>",
        method="DELETE",
        permission="projects:write",
        status=404,
        is_fresh=True,
    ),
    PersonRow(route="/org/projects/<str:project_id>/archive", method="POST", permission="projects:write", status=404),
    PersonRow(route="/org/projects/<str:project_id>/unarchive", method="POST", permission="projects:write", status=404),
    PersonRow(route="/org/api-keys", method="GET", permission="api_keys:read", status=200),
    PersonRow(
        route="/org/api-keys",
        method="POST",
        permission="api_keys:write",
        body={"name": "Another"},
        status=201,
        is_fresh=True,
    ),
    PersonRow(
        route="/org/api-keys/bulk-revoke",
        method="POST",
        permission="api_keys:write",
        body={"key_ids": [2**53 - 1]},
        status=200,
    ),
    PersonRow(route="/org/api-keys/<int:key_id>", method="DELETE", permission="api_keys:write", status=404),
    PersonRow(
        route="/org/api-keys/<int:key_id>/rotate",
        method="POST",
        permission="api_keys:write",
        body={},
        status=404,
        is_fresh=True,
    ),
    PersonRow(route="/org/api-keys/<int:key_id>/test", method="POST", permission="api_keys:read", status=404),
    PersonRow(route="/org/usage", method="GET", permission="usage:read", status=200),
    PersonRow(route="/org/team/members", method="GET", permission="team:read", status=200),
    PersonRow(
        route="/org/team/members/<int:user_id>",
        method="PATCH",
        permission="team:write",
        body={"status": "suspended"},
        status=404,
        is_fresh=True,
        destroys=True,
    ),
    PersonRow(
        route="/org/team/members/<int:user_id>",
        method="DELETE",
        permission="team:write",
        status=404,
        is_fresh=True,
        destroys=True,
    ),
    PersonRow(route="/org/tenant-settings", method="GET", permission="settings:read", status=200),
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
    """A user who has just signed in with a second factor."""
    return caller_of(make_person(tenant, role, email=email))


def make_caller(tenant: Tenant, role: str = Role.OWNER, *, email: str = "") -> Caller:
    """A user without a second factor, who has just signed in."""
    return caller_of(make_person(tenant, role, email=email, factor=False))
