"""Retention for people: what holds and by whose word, what goes next, making it stricter, and legal holds."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.erasure import legal_holds
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.policies.models import Level
from apps.policies.retention import KEEP, AgeFrom, in_force, set_policy
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import get_project
from apps.retention.retention_sweep import sweep
from apps.tenants.models import Role
from tests import once
from tests.makers import make_project, make_scope
from tests.web.people import Person, make_person, say
from tests.web.test_memory_pages import counted
from tests.web.test_pages import KEY, SWITCH, assertion_in, now, status_of, text_of

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

PAGE = "/app/t/acme/retention"
AT_MOST = {PAGE: 15, f"{PAGE}/next": 15, f"{PAGE}/holds": 14}


@pytest.fixture
def browser(owner: Person) -> Client:
    return owner.show_factor(ago=1)


def holds_now(scope: Scope, rule: str = "active_days", **of: Any) -> int | None:
    return in_force(scope, **({"project_id": None} | of))[rule].value


# -- what holds ------------------------------------------------------------------------------------------------------


def test_each_levels_word_is_shown_and_the_strictest_wins(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    public_id = make_project(acme.scope, "Garden")
    set_policy(acme.scope, Level.TENANT, 0, {"active_days": 60}, now=now())
    project = get_project(acme.scope, public_id)
    set_policy(acme.scope, Level.PROJECT, project.pk, {"active_days": 20, "grace_days": 3}, now=now())
    set_policy(acme.scope, Level.SPACE, alice_scope.space.id, {"active_days": 40}, now=now())

    tenant = text_of(browser.get(PAGE))
    narrow = text_of(browser.get(f"{PAGE}?project={public_id}&space={alice_scope.space.id}"))
    person = text_of(browser.get(f"{PAGE}?space={alice_scope.space.id}"))

    assert "Memories are deleted 60 days after they were last said or recalled." in tenant
    assert "60 days set for the tenant" in tenant
    assert "Garden project active for: 20 days · recoverable for: 3 days" in tenant
    assert "alice end user active for: 40 days" in tenant
    assert "20 days set for the project" in narrow
    assert "40 days set for the end user" in person
    assert "7 days the default" in person


def test_end_user_is_found_without_standing_in_an_address(browser: Client, alice_scope: Scope) -> None:
    found = browser.post(PAGE, {"end_user": "alice", "environment": "production"})
    strange = browser.post(PAGE, {"end_user": "bob", "environment": "production"})

    assert found["Location"] == f"{PAGE}?space={alice_scope.space.id}"
    assert "No end user in production has this ID" in text_of(strange)
    assert 'value="bob"' in strange.content.decode()


def test_end_user_is_found_in_the_environment_that_the_form_names(browser: Client, acme: OpenedTenant) -> None:
    staging = make_scope(acme, "alice", environment=Environment.STAGING, now=now())

    found = browser.post(PAGE, {"end_user": "alice", "environment": "staging"})

    assert '<select id="environment" name="environment">' in browser.get(PAGE).content.decode()
    assert found["Location"] == f"{PAGE}?space={staging.space.id}"


def test_projects_and_spaces_of_another_tenant_look_absent(browser: Client, globex: OpenedTenant) -> None:
    theirs = make_scope(globex, "zoe", now=now())

    for query in (f"project={globex.project.public_id}", f"space={theirs.space.id}", "project=no", f"space={2**62}"):
        for page in (PAGE, f"{PAGE}/change"):
            assert browser.get(f"{page}?{query}&level=tenant&active_days=3").status_code == 404, query


# -- making it stricter ----------------------------------------------------------------------------------------------


def test_stricter_policy_is_shown_before_it_holds_and_holds_after(
    browser: Client, owner: Person, acme: OpenedTenant, alice_scope: Scope
) -> None:
    (old,) = say(alice_scope, KEY, now=now() - timedelta(days=30))
    (new,) = say(alice_scope, SWITCH)
    change = f"{PAGE}/change?level=tenant&active_days=10&task_ttl_seconds=2&task_ttl_seconds_unit=hours"

    shown = browser.get(change)
    text = text_of(shown)
    assert "1 more memory is removed by the next run" in text
    assert "Memories are deleted 10 days after they were last said or recalled." in text
    assert "Active for 90 days 10 days stricter" in text
    assert "Tasks last at most no limit 2 hours stricter" in text
    assert holds_now(acme.scope) == 90
    assert changes_of(acme.scope) == []

    done = browser.post(change, {"assertion": assertion_in(shown)})

    assert done["Location"].startswith(PAGE)
    assert (holds_now(acme.scope), holds_now(acme.scope, "task_ttl_seconds")) == (10, 7_200)
    assert changes_of(acme.scope) == [(f"account:{owner.user.pk}", "retention.tighten")] * 2
    sweep(acme.scope, now=now())
    assert (status_of(alice_scope, old), status_of(alice_scope, new)) == ("soft_deleted", "active")


def changes_of(scope: Scope) -> list[tuple[str, str]]:
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(action__startswith="retention.").order_by("id")
        return [(row.actor, row.action) for row in rows]


def test_policy_of_a_project_and_of_a_person_holds_there_alone(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    public_id = make_project(acme.scope, "Garden")
    for query in (f"project={public_id}&level=project", f"space={alice_scope.space.id}&level=space"):
        change = f"{PAGE}/change?{query}&active_days=9"
        browser.post(change, {"assertion": assertion_in(browser.get(change))})
        browser.post("/app/step-up")
        browser = renewed(browser)

    assert holds_now(acme.scope) == 90
    assert holds_now(acme.scope, project_id=get_project(acme.scope, public_id).pk) == 9
    assert holds_now(acme.scope, space_ids=[alice_scope.space.id]) == 9


def renewed(browser: Client) -> Client:
    """Stepped up again: one step-up carries one such change."""
    session = browser.session
    records = session["account_authentication_methods"]
    records.append(records[-1] | {"at": records[-1]["at"] + 0.5})
    session["account_authentication_methods"] = records
    session.save()
    return browser


def test_refused_change_keeps_what_was_typed(browser: Client, acme: OpenedTenant) -> None:
    typed = "level=tenant&active_days=0&event_max_age_seconds=5&event_max_age_seconds_unit=hours"

    shown = browser.get(f"{PAGE}/change?{typed}", follow=True).content.decode()

    assert re.search(r'name="active_days"[^>]* value="0"', shown)
    assert re.search(r'name="event_max_age_seconds"[^>]* value="5"', shown)
    assert "<option selected>hours</option>" in shown


def test_a_change_that_only_moves_dates_forward_says_so_and_counts_the_purge(
    browser: Client, alice_scope: Scope
) -> None:
    say(alice_scope, KEY, now=now() - timedelta(days=61, hours=12))

    text = text_of(browser.get(f"{PAGE}/change?level=tenant&active_days=63"))

    assert "Memories are removed earlier than now" in text
    assert "deleted 0 0 1 1 permanently deleted 0 0 0 1" in text


def test_an_owner_keeps_memories_for_longer_and_for_good(
    browser: Client, owner: Person, acme: OpenedTenant, alice_scope: Scope
) -> None:
    (old,) = say(alice_scope, KEY, now=now() - timedelta(days=100))
    change = f"{PAGE}/change?level=tenant&active_days=&active_days_unit=keep&active_from=stored"

    shown = browser.get(change)
    text = text_of(shown)
    assert "Memories are kept for good" in text
    assert "Active for 90 days for good looser Counted from last said or recalled stored stricter" in text
    assert "1 fewer memory is removed within 30 days" in text
    browser.post(change, {"assertion": assertion_in(shown)})

    assert (holds_now(acme.scope), holds_now(acme.scope, "active_from")) == (KEEP, AgeFrom.STORED)
    assert changes_of(acme.scope) == [
        (f"account:{owner.user.pk}", "retention.loosen"), (f"account:{owner.user.pk}", "retention.tighten"),
    ]  # fmt: skip
    sweep(acme.scope, now=now())
    assert status_of(alice_scope, old) == "active"
    assert "Memories are kept for good" in text_of(browser.get(PAGE))


def test_an_admin_shortens_and_only_an_owner_lengthens(acme: OpenedTenant) -> None:
    admin = make_person(acme.tenant, Role.ADMIN).show_factor(ago=1)

    page = admin.get(PAGE)
    answer = admin.get(f"{PAGE}/change?level=tenant&active_days_unit=keep")

    assert "Shorten retention" in text_of(page)
    assert b'value="keep"' not in page.content
    assert "Active for: 90 days in force. You can shorten it; only an owner" in text_of(admin.get(answer["Location"]))
    assert holds_now(acme.scope) == 90


def test_what_a_wider_level_makes_void_is_refused_with_the_level_to_change(browser: Client, alice_scope: Scope) -> None:
    answer = browser.get(f"{PAGE}/change?space={alice_scope.space.id}&level=space&active_days=91")

    assert "Active for: 90 days, the default, applies anyway" in text_of(browser.get(answer["Location"]))


REFUSED = {
    "active_days=0": "Active for is a whole number between 1 day and 36,500 days",
    "grace_days=8": "Recoverable for is a whole number between",
    "grace_days=keep": "Recoverable for is a whole number between",
    "active_days=soon": "Active for is a whole number between",
    "active_days=-1": "Active for is a whole number between",
    "active_from=birth": "Counted from is not a valid choice",
    "event_max_age_seconds=30": "Events last at most is a whole number between 1 minute and",
    "": "Fill in at least one rule",
}


@pytest.mark.parametrize("query", REFUSED)
def test_senseless_policies_are_refused_with_a_sentence(query: str, browser: Client, acme: OpenedTenant) -> None:
    answer = browser.get(f"{PAGE}/change?level=tenant&{query}")

    assert REFUSED[query] in text_of(browser.get(answer["Location"]))
    assert holds_now(acme.scope) == 90


def test_level_that_was_not_named_is_refused(browser: Client) -> None:
    for level in ("project", "space", "memory", "default", ""):
        assert browser.get(f"{PAGE}/change?level={level}&active_days=9").status_code == 422


def test_leave_is_for_exactly_the_rules_that_were_shown(browser: Client, acme: OpenedTenant) -> None:
    nonce = assertion_in(browser.get(f"{PAGE}/change?level=tenant&active_days=10"))

    other = browser.post(f"{PAGE}/change?level=tenant&active_days=1", {"assertion": nonce})
    none = browser.post(f"{PAGE}/change?level=tenant&active_days=10")

    assert (other.status_code, none.status_code) == (403, 403)
    assert holds_now(acme.scope) == 90


def test_without_a_step_up_nothing_is_changed(owner: Person) -> None:
    answer = owner.show_factor().get(f"{PAGE}/change?level=tenant&active_days=10")

    assert answer["Location"].startswith("/app/step-up?next=%2Fapp%2Ft%2Facme%2Fretention%2Fchange%3Flevel")


def test_readers_are_shown_no_form(acme: OpenedTenant) -> None:
    reader = make_person(acme.tenant, Role.DEVELOPER).show_factor(ago=1)

    assert "Shorten retention" not in text_of(reader.get(PAGE))


# -- what goes next --------------------------------------------------------------------------------------------------


def test_preview_says_what_goes_when_why_and_by_whose_word(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    (first,) = say(alice_scope, KEY, now=now() - timedelta(days=80))
    remember(alice_scope, [Proposal(text=Plaintext(SWITCH), importance=0.9, ttl_minutes=60)], now=now())
    say(make_scope(acme, "al", environment=Environment.STAGING, now=now()), KEY, now=now() - timedelta(days=80))

    month = text_of(browser.get(f"{PAGE}/next?environment=production&days=30"))
    week = text_of(browser.get(f"{PAGE}/next?environment=production&days=7"))
    nothing = text_of(browser.get(f"{PAGE}/next?environment=development"))

    day = (now() + timedelta(days=10)).strftime("%-d %b %Y")
    assert re.search(rf"{day} 1 deleted .*? active for 90 days this deployment IDs {first}\b", month), month
    assert "its own time limit the memory itself" in week
    in_an_hour = now() + timedelta(hours=1)
    first_day = "today" if in_an_hour.date() == now().date() else in_an_hour.strftime("on %-d %b %Y")
    said = f"3 memories of this tenant are due for removal within 30 days, the first {first_day}"
    assert said in text_of(browser.get(PAGE))
    assert str(day) not in week
    assert "Nothing is due within 30 days" in nothing


def test_notice_of_what_goes_within_a_week_stands_on_the_first_page(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    say(alice_scope, KEY, now=now() - timedelta(days=85))
    say(make_scope(acme, "al", environment=Environment.STAGING, now=now()), KEY, now=now() - timedelta(days=80))
    assert "within a week" not in text_of(browser.get("/app/t/acme"))

    sweep(acme.scope, now=now())

    day = (now() + timedelta(days=5)).strftime("%-d %b %Y")
    said = f"1 memory is due for removal within a week, the first on {day}, unless it is used before."
    assert said in text_of(browser.get("/app/t/acme?environment=production"))
    assert "within a week" not in text_of(browser.get("/app/t/acme?environment=staging"))
    assert said in text_of(browser.get(PAGE))


def test_what_a_hold_keeps_is_counted_apart(browser: Client, acme: OpenedTenant, alice_scope: Scope) -> None:
    say(alice_scope, KEY, now=now() - timedelta(days=100))
    legal_holds.hold(acme.scope, Level.SPACE, alice_scope.space.id, case="2026-117", now=now())

    shown = text_of(browser.get(f"{PAGE}/next?environment=production"))

    assert "1 overdue, protected by a legal hold" in shown


def test_holds_are_shown_and_their_cases_to_those_who_may_delete(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    assert "No legal holds" in text_of(browser.get(f"{PAGE}/holds"))
    row = legal_holds.hold(acme.scope, Level.SPACE, alice_scope.space.id, case="2026-117", now=now())
    legal_holds.hold(acme.scope, Level.TENANT, 0, case="2026-118", now=now())
    legal_holds.lift(acme.scope, row.pk, now=now())
    reader = make_person(acme.tenant, Role.ANALYST).show_factor()

    seen, read = text_of(browser.get(f"{PAGE}/holds")), text_of(reader.get(f"{PAGE}/holds"))

    assert re.search(r"The whole tenant in force .*? case 2026-118", seen)
    assert re.search(r"alice lifted .*? case 2026-117", seen)
    assert "The whole tenant in force" in read
    assert "2026-118" not in read


@pytest.mark.parametrize("page", AT_MOST)
def test_statements_of_a_page_are_few_and_do_not_grow(page: str, browser: Client, acme: OpenedTenant) -> None:
    browser.get(page)
    for number in range(4):
        bob = make_scope(acme, f"bob-{number}", now=now())
        set_policy(acme.scope, Level.SPACE, bob.space.id, {"active_days": 5}, now=now())
        legal_holds.hold(acme.scope, Level.SPACE, bob.space.id, case=f"c{number}", now=now())
        project = get_project(acme.scope, make_project(acme.scope, f"project {number}"))
        set_policy(acme.scope, Level.PROJECT, project.pk, {"active_days": 5}, now=now())

    with counted() as count:
        browser.get(page)

    assert count() <= AT_MOST[page]
