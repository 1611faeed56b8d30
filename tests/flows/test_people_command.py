"""`memsync people`: who signs in, as what, and starting somebody over."""

import io
import json
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.apikeys.onboarding import Opened
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.tenants.members import reach_of

pytestmark = pytest.mark.django_db(databases="__all__")


def say(*arguments: str) -> str:
    out = io.StringIO()
    call_command("people", *arguments, stdout=out)
    return out.getvalue()


def say_json(*arguments: str) -> Any:
    return json.loads(say(*arguments, "--json"))


def test_person_is_added_with_a_password_that_is_shown_once(acme: Opened) -> None:
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


def test_people_are_listed_with_their_roles_and_factors(acme: Opened, globex: Opened) -> None:
    say("add", "carol@example.com", "--role", "owner", "--tenant", "acme")
    say("add", "zoe@example.com", "--role", "owner", "--tenant", "globex")

    (listed,) = say_json("list", "--tenant", "acme")

    assert (listed["email"], listed["role"], listed["factors"]) == ("carol@example.com", "owner", [])
    assert "zoe" not in say("list", "--tenant", "acme")


def test_person_who_is_removed_reaches_nothing(acme: Opened) -> None:
    say("add", "carol@example.com", "--role", "owner")
    say("add", "dave@example.com", "--role", "billing")

    say("remove", "dave@example.com")

    assert reach_of(User.objects.get(email="dave@example.com").pk) == []
    with pytest.raises(CommandError, match="keeps one owner"):
        say("remove", "carol@example.com")


def test_person_who_is_started_over_gets_another_password(acme: Opened) -> None:
    before = say_json("add", "carol@example.com", "--role", "owner")["password"]

    after = say_json("reset", "carol@example.com")["password"]

    assert authenticate(username="carol@example.com", password=before) is None
    assert authenticate(username="carol@example.com", password=after) is not None
    assert AuditEvent.objects.filter(action="account.reset").count() == 1


def test_nobody_is_removed_or_started_over_who_is_not_there(acme: Opened) -> None:
    for verb in ("remove", "reset"):
        with pytest.raises(CommandError, match="Nobody with this address"):
            say(verb, "nobody@example.com")
