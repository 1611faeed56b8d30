"""Every page of a tenant, asked by every role: only those who may are served, and no form is taken from another
site.  Routes are taken from the URL conf, so that a new page is asked too."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from apps.apikeys.offers import hand_out
from apps.apikeys.onboarding import OpenedTenant
from apps.breakglass.services import OPERATOR
from apps.breakglass.services import ask as ask_to_read
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import scope_in
from apps.retention.states import PrivacyKind
from apps.retention.subject_requests import open_request
from apps.tenants.grants import GRANTS
from apps.tenants.members import MAY_DELETE, MAY_READ
from apps.tenants.models import Role
from apps.transfers.exports.filters import ExportFilters
from apps.transfers.exports.services import start_export
from apps.transfers.models.exports import ExportReach, Format
from apps.web import urls
from apps.web.access import DELETING, OF_OPERATORS, AccessLevel
from apps.webhooks.deliveries import test as send_a_test
from apps.webhooks.services import create as create_webhook
from tests.web.people import Person, make_operator, make_person, say

pytestmark = pytest.mark.django_db(databases="__all__")

TOO_LOW = "Your role in this tenant does not allow this"
ABSENT = {"IntConverter": 2**53 - 1, "StringConverter": "absent"}


def pages() -> Iterator[tuple[URLPattern, str]]:
    """Of a tenant, with each of their methods."""
    for pattern in urls.urlpatterns:
        if str(pattern.pattern).startswith("t/"):
            yield from ((pattern, method) for method in pattern.callback.methods)


def address_of(pattern: URLPattern) -> str:
    """Of nothing that there is, in the tenant."""
    absent = {name: ABSENT[type(one).__name__] for name, one in pattern.pattern.converters.items()}
    return reverse(str(pattern.name), kwargs=absent | {"tenant": "acme"})


def may(role: str, pattern: URLPattern) -> bool:
    view = pattern.callback
    if view.grant:
        return view.grant in GRANTS[role]
    if view.need == AccessLevel.OWNER:
        return role == Role.OWNER
    return role in (MAY_DELETE if view.need in DELETING else MAY_READ)


@pytest.mark.parametrize("role", Role.values)
def test_role_is_shown_what_it_may_see_and_nothing_else(role: str, acme: OpenedTenant) -> None:
    client = make_person(acme.tenant, role).show_factor(ago=1)

    for pattern, method in pages():
        answer = client.generic(method, address_of(pattern), content_type="application/x-www-form-urlencoded")
        is_refused = answer.status_code == 403 and TOO_LOW in answer.content.decode()
        assert is_refused is not may(role, pattern), (role, method, pattern.name, answer.status_code)
        assert answer.status_code < 500, (method, pattern.name)


def test_form_of_another_site_is_refused_by_every_page(owner: Person) -> None:
    client = owner.show_factor(ago=1)
    client.handler.enforce_csrf_checks = True

    for pattern, method in pages():
        if method == "POST":
            answer = client.post(address_of(pattern))
            assert "did not come from this site" in answer.content.decode(), pattern.name


def test_method_that_a_page_does_not_name_is_refused(owner: Person) -> None:
    client = owner.show_factor(ago=1)
    named: dict[str, set[str]] = {}
    for pattern, method in pages():
        named.setdefault(address_of(pattern), set()).add(method)

    for address, methods in named.items():
        for method in {"GET", "POST", "PUT", "DELETE"} - methods:
            assert client.generic(method, address).status_code == 405, (method, address)


def test_nobody_is_shown_a_page_of_a_tenant() -> None:
    for pattern, method in pages():
        answer = Client().generic(method, address_of(pattern))
        assert answer.status_code == 302, pattern.name
        assert answer["Location"].startswith("/app/sign-in"), pattern.name


# -- back to where the button was ------------------------------------------------------------------------------------


def of_buttons() -> list[URLPattern]:
    """Those that take forms alone, and require a confirmed identity: to end a client's access, no one need confirm."""
    takes_forms = [one for one in urls.urlpatterns if one.callback.methods == ["POST"]]
    return [one for one in takes_forms if one.callback.need not in (AccessLevel.NOBODY, AccessLevel.PERSON)]


@pytest.fixture
def there(acme: OpenedTenant, alice_scope: Scope, owner: Person) -> dict[str, Any]:
    """What is in an address, of things that exist; of what has no page of its own, any number."""
    now = datetime.now(UTC)
    endpoint = create_webhook(
        acme.scope, name="a hook", url="https://hooks.example/x", wanted=["memory.created"], now=now
    ).row
    export = start_export(acme.scope, format_=Format.JSONL, reach=ExportReach.ALL, filters=ExportFilters(), now=now)
    ana = scope_in(acme.tenant, principal=Principal(kind=OPERATOR, id=make_operator("ana@operators.example").user.pk))
    offer = hand_out(ana, name="a bot", environment=Environment.STAGING, scopes=["memory:read"], days=30, now=now)
    grant = ask_to_read(ana, alice_scope.space.id, reason="Doubles since Tuesday.", ticket="OPS-17", now=now)
    memory_id = say(alice_scope, "The spare key lies under the flower pot.")[0]
    asked, _ = open_request(alice_scope, PrivacyKind.ACCESS, now=now)
    return {
        "tenant": "acme",
        "project_id": acme.project.public_id,
        "space_id": alice_scope.space.id,
        "memory_id": memory_id,
        "endpoint_id": endpoint.pk,
        "delivery_id": send_a_test(acme.scope, endpoint.pk, "memory.created", now=now).pk,
        "export_id": export.job.public_id,
        "grant_id": grant.pk,
        "request_id": asked.id,
        "candidate_id": 1,
        "offer_id": offer.pk,
    }


def test_who_confirms_for_a_button_comes_back_to_a_page(there: dict[str, Any], owner: Person) -> None:
    operator = make_operator("ben@operators.example")
    assert len(of_buttons()) > 15

    for pattern in of_buttons():
        person = replace(operator if pattern.callback.need in OF_OPERATORS else owner, client=Client())
        address = reverse(str(pattern.name), kwargs={name: there[name] for name in pattern.pattern.converters})
        asked = person.sign_in().post(f"{address}?environment=production")
        assert urlsplit(asked["Location"]).path == "/app/step-up", pattern.name
        assert "Nothing has been done yet" in person.client.get(asked["Location"]).content.decode(), pattern.name
        (back,) = parse_qs(urlsplit(asked["Location"]).query)["next"]
        assert address.startswith(back.removesuffix("?environment=production")), pattern.name
        page = person.show_factor(ago=1).get(back)
        assert page.status_code == 200, (pattern.name, back)
        if "/exports/" in address or "/privacy/" in address:
            assert "<button" in page.content.decode().split("<main")[1], pattern.name


def test_who_was_signed_out_comes_back_to_a_page(there: dict[str, Any]) -> None:
    address = f"/app/t/acme/exports/{there['export_id']}"

    asked = Client().post(f"{address}/cancel?environment=staging")

    assert parse_qs(urlsplit(asked["Location"]).query) == {"next": [f"{address}?environment=staging"]}
