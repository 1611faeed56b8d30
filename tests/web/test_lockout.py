"""Guessing: it is slowed down where it comes from, and locks no one else out."""

import json
from typing import Any

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.conf import settings
from django.core import signing
from django.test import Client

from apps.apikeys.models import RateWindow
from apps.apikeys.onboarding import OpenedTenant
from tests.web.people import SIGN_IN, Person, give_code, give_password, make_person, to_page

pytestmark = pytest.mark.django_db(databases="__all__")

COOKIE = settings.DEVICE_COOKIE_NAME
THERE, HERE = "198.51.100.7", "127.0.0.1"


def elsewhere(person: Person, address: str = THERE) -> Person:
    """The same person at a browser that knows nothing."""
    return Person(person.user, person.password, Client(REMOTE_ADDR=address), person.seed)


def guess(email: str, times: int, *, address: str = THERE) -> list[int]:
    client = Client(REMOTE_ADDR=address)
    return [client.post(SIGN_IN, {"login": email, "password": "wrong"}).status_code for _ in range(times)]


def signs_in(person: Person) -> bool:
    """As far as the second factor."""
    answer = give_password(person)
    return answer.status_code == 302 and to_page(answer) == "/app/sign-in/code"


@pytest.fixture
def known(owner: Person) -> Person:
    """The owner at a browser in which they have signed in before, and out again."""
    give_password(owner)
    assert to_page(give_code(owner)) == "/app/"
    assert to_page(owner.client.post("/app/sign-out")) == SIGN_IN
    return owner


# -- whom it keeps out -----------------------------------------------------------------------------------------------


def test_two_hundred_wrong_passwords_for_a_name_keep_its_owner_in(known: Person) -> None:
    answers = guess(known.user.email, 200, address=HERE)

    assert answers.count(429) == 190
    assert guess(known.user.email, 1, address=HERE) == [429]
    assert signs_in(known)  # from the same address, by the cookie
    assert signs_in(elsewhere(known))  # a new browser somewhere else
    assert guess(f" {known.user.email.upper()} ", 1, address=HERE) == [429]  # another spelling is the same name


def test_guesses_from_many_addresses_slow_an_unknown_browser_down_and_stop_nobody(known: Person) -> None:
    for number in range(100):
        guess(known.user.email, 2, address=f"203.0.{number}.9")

    stranger = elsewhere(known)
    assert give_password(stranger, "wrong").status_code == 200
    slow = give_password(stranger)
    assert slow.status_code == 429
    assert 0 < int(slow["Retry-After"]) <= 120
    assert signs_in(elsewhere(known, "192.0.2.77"))  # the first attempt of an address is not delayed
    assert signs_in(known)


def test_address_that_guesses_at_many_names_stops_there_and_a_known_browser_passes(
    known: Person, acme: OpenedTenant
) -> None:
    bob = make_person(acme.tenant, "admin")
    answers = [guess(f"nobody{number}@example.org", 1, address=HERE)[0] for number in range(30)]

    assert answers.count(429) == 10
    assert give_password(elsewhere(bob, HERE)).status_code == 429
    assert signs_in(elsewhere(bob))
    assert signs_in(known)


def test_ipv6_address_is_its_whole_network(owner: Person) -> None:
    answers = [guess(owner.user.email, 1, address=f"2001:db8:1:2::{number:x}")[0] for number in range(1, 15)]

    assert answers.count(429) == 4
    assert signs_in(elsewhere(owner, "2001:db8:1:3::1"))


def test_right_passwords_are_not_counted(owner: Person) -> None:
    assert all(signs_in(elsewhere(owner)) for _ in range(25))


def test_passkey_passes_a_lock_of_the_name_and_on_a_known_browser_one_of_the_address(known: Person) -> None:
    def passkey(client: Client) -> Any:
        return client.post("/app/sign-in/passkey", {"credential": "{}"})

    guess(known.user.email, 200)
    assert passkey(Client(REMOTE_ADDR="192.0.2.77")).status_code == 302  # no passkey: refused, and not for guessing
    for number in range(30):
        guess(f"nobody{number}@example.org", 1, address=HERE)

    assert passkey(Client()).status_code == 429
    assert passkey(known.client).status_code == 302


def test_guessing_codes_with_the_password_does_not_lock_the_owner_out(known: Person) -> None:
    thief = elsewhere(known)
    give_password(thief)
    assert 429 in [give_code(thief, f"00000{number}").status_code for number in range(7)]

    assert signs_in(known)
    assert to_page(give_code(known, known.code(steps=1))) == "/app/"


def test_api_counts_the_name_where_it_is_guessed(acme: OpenedTenant) -> None:
    ann = make_person(acme.tenant, factor=False)

    def login(password: str, address: str) -> int:
        body = json.dumps({"email": ann.user.email, "password": password})
        client = Client(REMOTE_ADDR=address)
        return client.post("/auth/login", body, content_type="application/json").status_code

    assert [login("wrong", THERE) for _ in range(12)].count(429) == 2
    assert login(ann.password, THERE) == 429
    assert login(ann.password, HERE) == 200


# -- what a known browser is -----------------------------------------------------------------------------------------


def test_browser_is_known_after_the_second_factor_and_not_before(owner: Person) -> None:
    give_password(owner)
    assert COOKIE not in owner.client.cookies

    give_code(owner)

    cookie = owner.client.cookies[COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "Lax", "/", "")
    assert owner.user.email not in cookie.value
    assert owner.password not in cookie.value


def test_known_browser_has_a_limit_of_its_own(known: Person) -> None:
    wrong = [give_password(known, "wrong").status_code for _ in range(25)]

    assert wrong.count(429) == 5  # ten as a known browser, ten more as any
    assert signs_in(elsewhere(known))


def known_cookie_of(person: Person) -> str:
    give_password(person)
    give_code(person)
    value: str = person.client.cookies[COOKIE].value
    return value


def test_cookie_is_good_for_its_account_alone_and_cannot_be_made(known: Person, acme: OpenedTenant) -> None:
    bob = make_person(acme.tenant, "admin")
    theirs, mine = known_cookie_of(bob), known.client.cookies[COOKIE].value
    entry = [known.user.pk, "x" * 22, known.user.password_mark().hex()]
    with_another_key = signing.dumps([entry], key="another", salt="memsync.devices")
    for_another_use = signing.dumps([entry], salt="another")
    guess(known.user.email, 200, address=HERE)

    for cookie in (theirs, with_another_key, for_another_use, mine[:-2], mine.replace(":", ".", 1), "", "x"):
        thief = elsewhere(known, HERE)
        thief.client.cookies[COOKIE] = cookie
        assert give_password(thief).status_code == 429, cookie
    thief.client.cookies[COOKIE] = mine
    assert signs_in(thief)


def test_new_password_ends_what_was_known(known: Person) -> None:
    known.user.set_password("another password altogether")
    known.user.save()
    guess(known.user.email, 200, address=HERE)

    assert give_password(known, "another password altogether").status_code == 429


def test_one_browser_knows_several_accounts(known: Person, acme: OpenedTenant) -> None:
    bob = make_person(acme.tenant, "admin")
    mine = Person(bob.user, bob.password, known.client, bob.seed)
    known_cookie_of(mine)
    known.client.post("/app/sign-out")
    for person in (known, bob):
        guess(person.user.email, 200, address=HERE)

    assert signs_in(known)
    assert signs_in(mine)


def test_what_was_typed_for_a_name_is_in_no_counter(known: Person) -> None:
    guess("hunter2hunter2", 1)
    guess(known.user.email, 1)

    kept = " ".join(RateWindow.objects.values_list("caller", flat=True))
    assert kept
    for typed in ("hunter2", known.user.email, THERE):
        assert typed not in kept


def test_recovery_code_makes_a_browser_known_too(owner: Person) -> None:
    one, *_ = RecoveryCodes.activate(owner.user).get_unused_codes()
    give_password(owner)

    assert to_page(give_code(owner, one)) == "/app/"

    assert COOKIE in owner.client.cookies
