"""Exports for people: asked for, watched, and taken by a link that is shown once and works once."""

import re
from dataclasses import replace
from typing import Any

import orjson
import pytest
from django.test import Client

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import get_project
from apps.tenants.models import Role
from apps.transfers.exports import services
from apps.transfers.exports.filters import ExportFilters
from apps.transfers.models.exports import ExportReach, Format
from tests.api.test_exports import finish
from tests.makers import make_project, make_scope
from tests.web.people import Person, kept_in_sessions, make_person, say
from tests.web.test_memory_pages import counted, older_in
from tests.web.test_pages import BIKE, KEY, SWITCH, now, text_of

pytestmark = pytest.mark.django_db(databases="__all__")

PAGE = "/app/t/acme/exports"
IN = "environment=production"
AT_MOST = {"": 14, "/{}": 15}


@pytest.fixture
def browser(owner: Person) -> Client:
    return owner.show_factor(ago=1)


def start(browser: Client, **form: Any) -> str:
    """The id of the export."""
    answer = browser.post(f"{PAGE}/new?{IN}", {"format": "jsonl", **form})
    assert answer.status_code == 302, text_of(answer)
    (public_id,) = re.findall(r"exp_\w+", answer["Location"])
    return str(public_id)


def take(browser: Client, public_id: str) -> Any:
    """The answer to the link that is shown."""
    shown = browser.post(f"{PAGE}/{public_id}/link?{IN}").content.decode()
    (address,) = set(re.findall(r"http://testserver(/exports/[^\"<]+)", shown))
    return Client().get(address)


def texts_of(file: Any) -> set[str]:
    return {orjson.loads(line)["text"] for line in b"".join(file.streaming_content).splitlines()}


# -- asking ----------------------------------------------------------------------------------------------------------


def test_export_is_asked_for_watched_and_taken_once(
    browser: Client, owner: Person, acme: OpenedTenant, alice_scope: Scope
) -> None:
    say(alice_scope, KEY, SWITCH)
    assert "No exports from production" in text_of(browser.get(f"{PAGE}?{IN}"))

    public_id = start(browser)
    waiting = browser.get(f"{PAGE}/{public_id}?{IN}").content.decode()
    finish(acme)
    ready = browser.get(f"{PAGE}/{public_id}?{IN}").content.decode()
    shown = browser.post(f"{PAGE}/{public_id}/link?{IN}")

    assert "data-live" in waiting
    assert "data-live" not in ready
    assert "http-equiv" not in ready
    (address,) = set(re.findall(r"http://testserver(/exports/[^\"<]+)", shown.content.decode()))
    assert "no-store" in shown["Cache-Control"]
    assert texts_of(Client().get(address)) == {KEY, SWITCH}
    assert Client().get(address).status_code == 404
    token = address.rsplit("/", 1)[1]
    assert token not in browser.get(f"{PAGE}/{public_id}?{IN}").content.decode()
    assert not any(token in one for one in kept_in_sessions())
    assert "1 download" in text_of(browser.get(f"{PAGE}/{public_id}?{IN}"))
    with tenant_transaction(acme.scope):
        rows = AuditEvent.objects.filter(action__startswith="export.").order_by("id").values_list("actor", "action")
        assert [action for actor, action in rows if actor == f"account:{owner.user.pk}"] == [
            "export.create", "export.end", "export.link", "export.download",
        ]  # fmt: skip


FILTERS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "words": ({"q": "KEY flower"}, {KEY}),
    "end user": ({"user_id": "alice"}, {KEY, SWITCH}),
    "stranger": ({"user_id": "nobody"}, set()),
    "source": ({"source": "notes"}, {BIKE}),
    "days": ({"date_from": "1990-01-01", "date_to": "1990-01-02"}, set()),
    "today": ({"date_from": "TODAY", "date_to": "TODAY"}, {KEY, SWITCH, BIKE}),
    "summaries": ({"is_summary": "true"}, set()),
    "no summaries": ({"is_summary": "false"}, {KEY, SWITCH, BIKE}),
}


@pytest.mark.parametrize("name", FILTERS)
def test_only_what_passes_the_filters_is_in_the_file(
    name: str, browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    form, expected = FILTERS[name]
    moment = now()
    say(alice_scope, KEY, SWITCH, now=moment)
    bob = make_scope(acme, "bob", now=moment)
    remember(bob, [Proposal(text=Plaintext(BIKE), importance=0.9, source="notes")], now=moment)

    today = moment.date().isoformat()
    public_id = start(browser, **{key: today if value == "TODAY" else value for key, value in form.items()})
    finish(acme)

    assert texts_of(take(browser, public_id)) == expected


def test_words_and_names_stand_in_no_address_and_are_shown_to_those_who_may_see_exports(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    answer = browser.post(f"{PAGE}/new?{IN}", {"format": "csv", "q": "flower pot", "user_id": "alice"})

    assert "flower" not in answer["Location"]
    shown = text_of(browser.get(answer["Location"]))
    assert "Words flower pot" in shown
    assert "End user alice" in shown
    assert "words flower pot" in text_of(browser.get(f"{PAGE}?{IN}"))


def test_export_is_of_the_environment_and_the_project_that_were_chosen(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    public = make_project(acme.scope, "Garden")
    in_garden = replace(alice_scope, project_id=get_project(acme.scope, public).pk)
    say(replace(alice_scope, project_id=acme.project.pk), SWITCH)
    say(in_garden, KEY)
    say(make_scope(acme, "alice", environment=Environment.STAGING, now=now()), BIKE)

    public_id = start(browser, project=public)
    finish(acme)

    assert "Project Garden" in text_of(browser.get(f"{PAGE}/{public_id}?{IN}"))
    assert texts_of(take(browser, public_id)) == {KEY}
    assert browser.get(f"{PAGE}/{public_id}?environment=staging").status_code == 404
    assert browser.post(f"{PAGE}/new?{IN}", {"format": "csv", "project": "proj_absent"}).status_code == 404


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"format": "xlsx"}, "Select a valid choice"),
        ({"date_from": "soon"}, "Enter a valid date"),
        ({"date_from": "2026-02-02", "date_to": "2026-02-01"}, "From is after To"),
        ({"date_to": "9999-12-31"}, "less than or equal to 9000-12-31"),
        ({"date_from": "1969-12-31"}, "greater than or equal to 1970-01-01"),
        ({"source": "x" * 65}, "at most 64 characters"),
    ],
)
def test_what_cannot_be_asked_for_is_said(form: dict[str, str], said: str, browser: Client, acme: OpenedTenant) -> None:
    answer = browser.post(f"{PAGE}/new?{IN}", {"format": "jsonl"} | form)

    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert services.list_exports(acme.scope, limit=5) == ([], 0)


def test_five_at_a_time_and_then_the_page_says_so(browser: Client) -> None:
    for _ in range(5):
        start(browser)

    answer = browser.post(f"{PAGE}/new?{IN}", {"format": "jsonl"})

    assert answer.status_code == 422
    assert "Five exports of this environment are in progress" in answer.content.decode()


# -- stopping, repeating, linking ------------------------------------------------------------------------------------


def test_export_is_stopped_and_made_anew(browser: Client, acme: OpenedTenant, alice_scope: Scope) -> None:
    say(alice_scope, KEY)
    public_id = start(browser)

    browser.post(f"{PAGE}/{public_id}/cancel?{IN}")
    assert "cancelled" in text_of(browser.get(f"{PAGE}/{public_id}?{IN}"))
    assert browser.post(f"{PAGE}/{public_id}/link?{IN}").status_code == 409
    browser.post(f"{PAGE}/{public_id}/repeat?{IN}")
    finish(acme)

    assert texts_of(take(browser, public_id)) == {KEY}
    again = browser.post(f"{PAGE}/{public_id}/repeat?{IN}")
    assert "only one that failed" in text_of(browser.get(again["Location"]))
    late = browser.post(f"{PAGE}/{public_id}/cancel?{IN}")
    assert "The export had ended already" in text_of(browser.get(late["Location"]))


def test_link_wants_a_step_up_and_looking_at_its_page_makes_none(owner: Person, acme: OpenedTenant) -> None:
    client = owner.show_factor(ago=1)
    public_id = start(client)
    finish(acme)

    asked = client.get(f"{PAGE}/{public_id}/link?{IN}")
    stale = owner.show_factor()

    assert "Create a download link?" in text_of(asked)
    assert "/file/" not in asked.content.decode()
    assert stale.get(f"{PAGE}/{public_id}/link?{IN}")["Location"].startswith("/app/step-up")
    assert stale.post(f"{PAGE}/{public_id}/link?{IN}")["Location"].startswith("/app/step-up")


def test_analysts_export_and_developers_do_not(acme: OpenedTenant) -> None:
    analyst = make_person(acme.tenant, Role.ANALYST).show_factor(ago=1)
    public_id = start(analyst)
    finish(acme)

    assert take(analyst, public_id).status_code == 200
    developer = make_person(acme.tenant, Role.DEVELOPER).show_factor(ago=1)
    assert developer.get(f"{PAGE}/{public_id}?{IN}").status_code == 403


def test_exports_of_another_tenant_look_absent(browser: Client, globex: OpenedTenant) -> None:
    theirs = services.start_export(
        globex.scope,
        format_=Format.JSONL,
        reach=ExportReach.ALL,
        filters=ExportFilters(),
        now=now(),
    ).job.public_id

    assert browser.get(f"{PAGE}/{theirs}?{IN}").status_code == 404
    for deed in ("cancel", "repeat", "link"):
        assert browser.post(f"{PAGE}/{theirs}/{deed}?{IN}").status_code == 404, deed
    assert theirs not in browser.get(f"{PAGE}?{IN}").content.decode()


def test_past_exports_come_in_pages(monkeypatch: pytest.MonkeyPatch, browser: Client, acme: OpenedTenant) -> None:
    monkeypatch.setattr("apps.web.exports.PAGE", 2)
    ids = [start(browser) for _ in range(3)]

    first = browser.get(f"{PAGE}?{IN}")
    second = browser.get(f"{PAGE}?{older_in(first)}")

    assert re.findall(r"exp_\w+", first.content.decode()) == [ids[2], ids[1]]
    assert re.findall(r"exp_\w+", second.content.decode()) == [ids[0]]


@pytest.mark.parametrize("page", AT_MOST)
def test_statements_of_a_page_are_few_and_do_not_grow(page: str, browser: Client) -> None:
    address = f"{PAGE}{page.format(start(browser))}?{IN}"
    browser.get(address)
    for _ in range(3):
        start(browser)

    with counted() as count:
        browser.get(address)

    assert count() <= AT_MOST[page]
