"""Step-up: what counts as having shown a moment ago who one is, and that leave to do one thing is leave for one."""

import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory

from apps.accounts import stepup
from apps.accounts.models import Assertion
from apps.accounts.session_store import SessionStore
from apps.accounts.stepup import AssertionRefused, StepUpRequired, StepUpSpent, issue_assertion, use_assertion
from apps.apikeys.onboarding import OpenedTenant
from apps.core.clock import database_time
from tests import once
from tests.web.people import OF_WHOM, RECORDS, Person, make_person

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

WHAT: dict[str, Any] = {"action": "memories.delete", "target": "acme/1", "count": 3}


def asked(person: Person, *records: dict[str, Any]) -> HttpRequest:
    """A request in a session of this person in which these authentications were noted."""
    client = person.sign_in()
    request: HttpRequest = RequestFactory().post("/app/")
    request.session = SessionStore(client.session.session_key)
    request.user = person.user
    request.session[RECORDS], request.session[OF_WHOM] = list(records), str(person.user.pk)
    return request


def record(person: Person, *, ago: float = 10.0, **changed: Any) -> dict[str, Any]:
    """A good one, of this long ago by the database's clock."""
    at = database_time().timestamp() - ago
    good = {"method": "mfa", "type": "totp", "id": person.factor().pk, "at": at, "reauthenticated": True}
    return good | changed


def counts(request: HttpRequest) -> bool:
    return stepup.find_step_up(request) is not None


# -- what counts -----------------------------------------------------------------------------------------------------


def test_code_of_an_authenticator_counts(owner: Person) -> None:
    found = stepup.require_step_up(asked(owner, record(owner, ago=41)))

    assert found.method == "totp"
    assert 41 <= found.age_seconds < 43


@pytest.mark.parametrize(("ago", "expected"), [(0, True), (299, True), (301, False), (86_400, False)])
def test_it_holds_for_five_minutes_by_the_databases_clock(owner: Person, ago: float, expected: bool) -> None:
    assert counts(asked(owner, record(owner, ago=ago))) is expected


@pytest.mark.parametrize(("ahead", "expected"), [(4, True), (7, False), (3600, False)])
def test_what_is_said_to_come_from_the_future_does_not_count(owner: Person, ahead: float, expected: bool) -> None:
    assert counts(asked(owner, record(owner, ago=-ahead))) is expected


@pytest.mark.parametrize(
    "changed",
    [
        {"type": "recovery_codes"},
        {"method": "password"},
        {"method": "socialaccount"},
        {"type": None},
        {"type": ["totp"]},
        {"reauthenticated": None},
        {"reauthenticated": "yes"},
        {"at": None},
        {"at": "now"},
        {"at": True},
        {"at": math.inf},
        {"at": math.nan},
        {"id": 0},
        {"id": None},
    ],
    ids=repr,
)
def test_anything_else_does_not_count(owner: Person, changed: dict[str, Any]) -> None:
    assert not counts(asked(owner, record(owner) | changed))


def test_nothing_noted_is_a_refusal(owner: Person) -> None:
    assert not counts(asked(owner))
    with pytest.raises(StepUpRequired):
        stepup.require_step_up(asked(owner))


def test_signing_in_with_a_factor_is_no_step_up(owner: Person) -> None:
    signed_in = {name: value for name, value in record(owner).items() if name != "reauthenticated"}

    assert not counts(asked(owner, signed_in))


def test_factor_that_was_taken_away_counts_no_more(owner: Person) -> None:
    request = asked(owner, record(owner))
    assert counts(request)

    owner.factor().delete()

    assert not counts(request)


def test_somebody_elses_factor_does_not_count(owner: Person, globex: OpenedTenant) -> None:
    stranger = make_person(globex.tenant)

    assert not counts(asked(owner, record(owner, id=stranger.factor().pk)))


def test_records_of_another_person_in_the_same_session_do_not_count(owner: Person, globex: OpenedTenant) -> None:
    request = asked(owner, record(owner))
    request.session[OF_WHOM] = str(make_person(globex.tenant).user.pk)

    assert not counts(request)


def test_person_who_was_switched_off_steps_up_no_more(owner: Person) -> None:
    request = asked(owner, record(owner))
    request.user.is_active = False

    assert not counts(request)


def test_session_that_nobody_opened_properly_does_not_count(owner: Person) -> None:
    request = asked(owner, record(owner))
    del request.session["name"]

    assert not counts(request)


def test_person_with_nothing_to_show_is_refused(acme: OpenedTenant) -> None:
    person = make_person(acme.tenant, "admin", factor=False)
    request = asked(person, {"method": "password", "at": time.time(), "reauthenticated": True})

    assert not counts(request)
    assert stepup.find_password(request) is not None  # enough to add the first factor, and for nothing else


def test_password_adds_no_second_factor_beside_a_first(owner: Person) -> None:
    request = asked(owner, {"method": "password", "at": time.time(), "reauthenticated": True})

    assert stepup.find_password(request) is None


# -- leave for one thing ---------------------------------------------------------------------------------------------


def test_leave_is_good_once(owner: Person) -> None:
    request = asked(owner, record(owner, ago=41))
    nonce = issue_assertion(request, **WHAT)

    assert 41 <= use_assertion(request, nonce, **WHAT).age_seconds < 43
    with pytest.raises(AssertionRefused):
        use_assertion(request, nonce, **WHAT)


@pytest.mark.parametrize(
    "changed", [{"action": "tenant.erase"}, {"target": "acme/2"}, {"count": 4}, {"target": "acme", "action": "x"}]
)
def test_leave_is_for_exactly_what_was_shown(owner: Person, changed: dict[str, Any]) -> None:
    request = asked(owner, record(owner))
    nonce = issue_assertion(request, **WHAT)

    with pytest.raises(AssertionRefused):
        use_assertion(request, nonce, **WHAT | changed)
    assert use_assertion(request, nonce, **WHAT)


@pytest.mark.parametrize("change", [str.upper, lambda nonce: nonce + "A", lambda _: "", lambda _: "x" * 43])
def test_another_nonce_is_refused(owner: Person, change: Callable[[str], str]) -> None:
    request = asked(owner, record(owner))
    nonce = issue_assertion(request, **WHAT)

    with pytest.raises(AssertionRefused):
        use_assertion(request, change(nonce), **WHAT)


def test_one_step_up_carries_one_deed(owner: Person) -> None:
    request = asked(owner, record(owner))
    first, second = issue_assertion(request, **WHAT), issue_assertion(request, **WHAT)
    use_assertion(request, first, **WHAT)

    with pytest.raises(StepUpSpent):
        use_assertion(request, second, **WHAT)
    with pytest.raises(StepUpSpent):
        issue_assertion(request, **WHAT)


def test_leave_given_after_a_new_step_up_is_good_again(owner: Person) -> None:
    request = asked(owner, record(owner, ago=60))
    use_assertion(request, issue_assertion(request, **WHAT), **WHAT)

    request.session[RECORDS] = [*request.session[RECORDS], record(owner, ago=1)]

    assert use_assertion(request, issue_assertion(request, **WHAT), **WHAT).age_seconds < 5


def test_leave_ends_with_the_step_up(owner: Person) -> None:
    request = asked(owner, record(owner, ago=290))
    nonce = issue_assertion(request, **WHAT)

    request.session[RECORDS] = [record(owner, ago=301)]

    with pytest.raises(StepUpRequired):
        use_assertion(request, nonce, **WHAT)


def test_leave_itself_ends_after_five_minutes(owner: Person) -> None:
    request = asked(owner, record(owner))
    nonce = issue_assertion(request, **WHAT)
    given = Assertion.objects.get()
    assert 299 < (given.expires_at - given.created_at).total_seconds() < 301

    Assertion.objects.update(expires_at=given.created_at)

    with pytest.raises(AssertionRefused):
        use_assertion(request, nonce, **WHAT)


def test_leave_of_one_session_is_worth_nothing_in_another(owner: Person) -> None:
    here, there = asked(owner, record(owner)), asked(owner, record(owner, ago=20))
    assert here.session["name"] != there.session["name"]
    nonce = issue_assertion(here, **WHAT)

    with pytest.raises(AssertionRefused):
        use_assertion(there, nonce, **WHAT)


def test_leave_of_one_person_is_worth_nothing_to_another(owner: Person, acme: OpenedTenant) -> None:
    other = make_person(acme.tenant, "admin")
    mine, theirs = asked(owner, record(owner)), asked(other, record(other))
    theirs.session["name"] = mine.session["name"]
    nonce = issue_assertion(mine, **WHAT)

    with pytest.raises(AssertionRefused):
        use_assertion(theirs, nonce, **WHAT)


def test_no_leave_without_a_step_up(owner: Person) -> None:
    with pytest.raises(StepUpRequired):
        issue_assertion(asked(owner, record(owner, ago=301)), **WHAT)
    assert not Assertion.objects.exists()


def test_what_is_kept_of_it_cannot_be_used(owner: Person) -> None:
    request = asked(owner, record(owner))
    nonce = issue_assertion(request, **WHAT)
    kept = Assertion.objects.values_list("binding", "session").get()

    assert nonce.encode() not in b"".join(bytes(part) for part in kept)
    assert all(len(part) == 32 for part in kept)
