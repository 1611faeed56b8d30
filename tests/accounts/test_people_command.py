"""`memsync people`: who signs in, as what, and starting a user over."""

import io
import json
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command
from django.http import HttpRequest

from apps.accounts import enrolment
from apps.accounts.models import User
from apps.accounts.services import EmailAddressRefused, FullNameRefused
from apps.accounts.session_store import SessionStore
from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.tenants.members import reach_of
from tests.web.people import make_person

pytestmark = pytest.mark.django_db(databases="__all__")


def say(*arguments: str) -> str:
    out = io.StringIO()
    call_command("people", *arguments, stdout=out)
    return out.getvalue()


def say_json(*arguments: str) -> Any:
    return json.loads(say(*arguments, "--json"))


def test_person_is_added_with_a_password_that_is_shown_once(acme: OpenedTenant) -> None:
    added = say_json("add", "Carol@Example.com", "--role", "admin")

    person = authenticate(username="carol@example.com", password=added["password"])
    assert isinstance(person, User)
    assert not person.is_staff
    assert [(reach.tenant.name, reach.role) for reach in reach_of(person.pk)] == [("acme", "admin")]
    assert say_json("add", "carol@example.com", "--role", "analyst")["password"] is None
    assert [reach.role for reach in reach_of(person.pk)] == ["analyst"]
    with tenant_transaction(acme.tenant):
        rows = AuditEvent.objects.filter(action__in=("member.add", "member.role")).order_by("id")
        assert [(row.action, row.target, row.reason) for row in rows] == [
            ("member.add", f"account:{person.pk}", "role=admin"),
            ("member.role", f"account:{person.pk}", "role=analyst"),
        ]


@pytest.mark.parametrize("address", ["carol", "carol@", "@example.com", "carol @example.com", ""])
def test_what_is_no_address_is_refused(address: str, acme: OpenedTenant) -> None:
    with pytest.raises(CommandError, match=str(EmailAddressRefused())):
        say("add", address, "--role", "admin")

    assert say_json("list") == []


def test_name_that_is_too_long_is_refused(acme: OpenedTenant) -> None:
    with pytest.raises(CommandError, match=str(FullNameRefused())):
        say("add", "carol@example.com", "--role", "admin", "--full-name", "x" * 201)


def test_people_are_listed_with_their_roles_and_factors(acme: OpenedTenant, globex: OpenedTenant) -> None:
    say("add", "carol@example.com", "--role", "owner", "--tenant", "acme")
    say("add", "zoe@example.com", "--role", "owner", "--tenant", "globex")

    (listed,) = say_json("list", "--tenant", "acme")

    assert (listed["email"], listed["role"], listed["factors"]) == ("carol@example.com", "owner", [])
    assert "zoe" not in say("list", "--tenant", "acme")


def test_person_who_is_removed_reaches_nothing(acme: OpenedTenant) -> None:
    say("add", "carol@example.com", "--role", "owner")
    say("add", "dave@example.com", "--role", "billing")

    say("remove", "dave@example.com")

    assert reach_of(User.objects.get(email="dave@example.com").pk) == []
    with pytest.raises(CommandError, match="needs at least one owner"):
        say("remove", "carol@example.com")


def test_person_who_is_started_over_gets_another_password(acme: OpenedTenant) -> None:
    before = say_json("add", "carol@example.com", "--role", "owner")["password"]

    after = say_json("reset", "carol@example.com")["password"]

    assert authenticate(username="carol@example.com", password=before) is None
    assert authenticate(username="carol@example.com", password=after) is not None
    assert AuditEvent.objects.filter(action="account.reset").count() == 1


def test_code_comes_with_the_account_and_another_ends_it(acme: OpenedTenant) -> None:
    first = say_json("add", "carol@example.com", "--role", "owner")["enrolment_code"]
    person, request = User.objects.get(email="carol@example.com"), HttpRequest()
    request.session = SessionStore()

    second = say_json("code", "carol@example.com")["enrolment_code"]

    assert [enrolment.accept_code(request, person, one) for one in (first, second)] == [False, True]
    third = say_json("reset", "carol@example.com")["enrolment_code"]
    assert [enrolment.accept_code(request, person, one) for one in (second, third)] == [False, True]
    assert AuditEvent.objects.filter(action="factor.code", target=f"account:{person.pk}").count() == 3
    assert third not in say("list")
    assert "works once" in say("code", "carol@example.com")


def test_code_is_for_nobody_who_has_a_second_factor(acme: OpenedTenant) -> None:
    owner = make_person(acme.tenant)

    with pytest.raises(CommandError, match="people reset"):
        say("code", owner.user.email)


def test_who_is_there_already_keeps_what_they_have_and_the_host_is_told(acme: OpenedTenant) -> None:
    User.objects.create_user("dave@example.com", "a password that somebody else knows")

    said = say("add", "dave@example.com", "--role", "admin")

    assert "they sign in as before" in said
    assert "people reset" in said


def test_nobody_is_removed_or_started_over_who_is_not_there(acme: OpenedTenant) -> None:
    for verb in ("remove", "reset", "code"):
        with pytest.raises(CommandError, match="There is no account with this address"):
            say(verb, "nobody@example.com")
