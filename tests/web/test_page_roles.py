"""Every page of a tenant, asked by every role: whoever may is served and nobody else, and no form is taken from another
site.  Routes are taken from the URL conf, so that a new page is asked too."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from apps.apikeys.onboarding import Opened
from apps.tenants.grants import GRANTS
from apps.tenants.members import MAY_DELETE, MAY_READ
from apps.tenants.models import Role
from apps.web import urls
from apps.web.needs import DELETING, Need
from tests.web.people import Person, make_person

pytestmark = pytest.mark.django_db(databases="__all__")

TOO_LOW = "Your role in this tenant does not allow that"
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
    if view.need == Need.OWNER:
        return role == Role.OWNER
    return role in (MAY_DELETE if view.need in DELETING else MAY_READ)


@pytest.mark.parametrize("role", Role.values)
def test_role_is_shown_what_it_may_see_and_nothing_else(role: str, acme: Opened) -> None:
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
