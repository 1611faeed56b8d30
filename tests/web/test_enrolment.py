"""The first passkey or authenticator: what it takes beside a password, and what a stolen password is worth without."""

import re
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from apps.accounts import enrolment, second_factors
from apps.accounts.models import EnrolmentCode
from apps.accounts.services import start_over
from apps.apikeys.models import RateWindow
from apps.apikeys.onboarding import OpenedTenant
from tests.web.people import Person, code_of, enrol, give_password, make_person, note, text, to_page

pytestmark = pytest.mark.django_db(databases="__all__")

HERE, UP = "/app/sign-in", "/app/sign-up"
NEW = {"email": "new@initech.example", "password": "correct horse battery", "organization": "Initech & Söhne"}
ADD = "/app/account/authenticator/add"


def try_code(person: Person, code: str, password: str | None = None) -> Any:
    data = {"password": password or person.password, "code": code, "next": ADD}
    return person.client.post("/app/step-up", data)


def test_first_authenticator_is_added_with_the_password_and_the_code_of_the_account(acme: OpenedTenant) -> None:
    person = make_person(acme.tenant, "admin", factor=False)
    give_password(person)
    assert to_page(person.client.get(ADD)) == "/app/step-up"

    seed = enrol(person, person.enrolment_code.lower().replace("-", " "))

    page = person.client.get("/app/account/recovery-codes").content.decode()
    codes = re.findall(r"<code>(\d{8})</code>", page)
    assert len(codes) == 10
    assert "****" not in str(codes)
    assert person.client.get("/app/t/acme").status_code == 200
    again = text(person.client.get("/app/account/recovery-codes"))
    assert "cannot be shown again" in again
    assert not re.findall(r"<code>", again)
    assert to_page(person.client.get("/app/t/acme/spaces/1/memories/1/delete")) == "/app/step-up"  # adding is none
    assert Person(person.user, "", person.client, seed).code()
    assert not EnrolmentCode.objects.filter(user=person.user).exists()


def test_stolen_password_of_somebody_without_a_factor_adds_none_and_opens_nothing(
    acme: OpenedTenant, globex: OpenedTenant, owner: Person
) -> None:
    """L1: the password was enough to enrol an authenticator of the thief's own, and then to read and delete."""
    victim = make_person(acme.tenant, "admin", factor=False)
    thief = Person(victim.user, victim.password, Client())
    give_password(thief)
    others = make_person(globex.tenant, factor=False)
    asked = text(thief.client.get(f"/app/step-up?next={ADD}"))

    assert 'name="code"' in asked
    for code in ("", "0" * 20, EnrolmentCode.objects.get(user=victim.user).digest.hex(), others.enrolment_code):
        assert try_code(thief, code).status_code == 422, code
    RateWindow.objects.all().delete()
    assert thief.client.post("/app/step-up", {"password": victim.password, "next": ADD}).status_code == 422
    session = thief.client.session
    session["enrolment"] = "00" * 32  # as of another user's code, or of none
    session.save()
    note(thief.client, victim.user, [{"method": "password", "at": time.time(), "reauthenticated": True}])
    for path in (ADD, "/app/account/passkeys/add"):
        for answer in (thief.client.get(path), thief.client.post(path, {"code": "000000"})):
            assert to_page(answer) == "/app/step-up"
    assert to_page(thief.client.get("/app/t/acme")) == "/app/account"
    assert second_factors.factors_of(victim.user.pk) == []


def test_code_without_the_password_adds_nothing(acme: OpenedTenant) -> None:
    person = make_person(acme.tenant, "admin", factor=False)
    give_password(person)

    assert try_code(person, person.enrolment_code, "not the password").status_code == 422
    assert to_page(person.client.get(ADD)) == "/app/step-up"
    assert EnrolmentCode.objects.filter(user=person.user).exists()


@pytest.mark.parametrize("end", ["expired", "replaced", "reset"])
def test_code_that_is_over_adds_nothing_also_where_it_was_shown_before(end: str, acme: OpenedTenant) -> None:
    person, now = make_person(acme.tenant, "admin", factor=False), datetime.now(UTC)
    give_password(person)
    assert try_code(person, person.enrolment_code).status_code == 302
    assert person.client.get(ADD).status_code == 200

    if end == "expired":
        EnrolmentCode.objects.update(expires_at=now)
    elif end == "replaced":
        enrolment.give_code(person.user, actor="command:0", now=now)
    else:
        start_over(person.user, actor="command:0", now=now)

    assert to_page(person.client.get(ADD)) in ("/app/step-up", HERE)
    if end != "reset":  # which ends the session and the password too
        assert try_code(person, person.enrolment_code).status_code == 422


def test_code_adds_one_factor_of_two_who_show_it_at_once(acme: OpenedTenant) -> None:
    person = make_person(acme.tenant, "admin", factor=False)
    thief = Person(person.user, person.password, Client(), enrolment_code=person.enrolment_code)
    for one in (person, thief):
        give_password(one)
        assert try_code(one, one.enrolment_code).status_code == 302
    (seed,) = re.findall(r'class="seed">([A-Z2-7 ]+)<', text(thief.client.get(ADD)))
    enrol(person, person.enrolment_code)

    answer = thief.client.post(ADD, {"code": code_of(seed.replace(" ", ""))})

    assert to_page(answer) in ("/app/step-up", "/app/account/authenticator/remove")
    assert len(second_factors.factors_of(person.user.pk)) == 2  # one authenticator, and its recovery codes


def test_sign_up_enrols_in_the_same_browser_without_typing_the_code(settings: Any) -> None:
    settings.SIGNUP = True
    client = Client()
    client.post(UP, NEW)
    client.post(HERE, {"login": NEW["email"], "password": NEW["password"]})
    add = "/app/account/authenticator/add"

    assert "One-time code" not in text(client.get(f"/app/step-up?next={add}"))
    assert to_page(client.post("/app/step-up", {"password": NEW["password"], "next": add})) == add
    assert client.get(add).status_code == 200
    elsewhere = Client()
    elsewhere.post(HERE, {"login": NEW["email"], "password": NEW["password"]})
    assert elsewhere.post("/app/step-up", {"password": NEW["password"], "next": add}).status_code == 422
