"""The console's pages about memories: what they show, to whom, and how much they ask of the database."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.console import cached_counts, memory_list, space_list
from apps.console.charts import bars, rounded_up
from apps.console.ingest_statistics import KINDS, Day
from apps.console.memory_list import MemoryFilter, browse
from apps.console.svg_charts import GRAPH_HEIGHT, GRAPH_WIDTH, columns, spread
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest import review
from apps.ingest.candidates import Proposal
from apps.ingest.models import ReviewItem
from apps.ingest.review_storage import expire_candidates
from apps.ingest.services import remember
from apps.ingest.turns import Turn, take_turn
from apps.memories.feedback import give_feedback
from apps.memories.feedback_aggregation import Signal
from apps.memories.models import Memory
from apps.projects.scope import Environment, Scope
from apps.recall import read_log
from apps.retention.memory_selection import MemorySelection
from apps.retention.requests import ask
from apps.tenants.grants import GRANTS
from apps.tenants.members import give_role
from apps.tenants.models import Role
from apps.web import navigation
from apps.web.pages import POLICY
from tests import once
from tests.makers import make_scope
from tests.web.people import Person, make_person, say
from tests.web.test_pages import BIKE, KEY, SWITCH, address, now, text_of

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

TODAY = datetime.now(UTC).date()
ORDER = "Always answer me in Dutch."
SECRET = "My password is Tr0ub4dor-3-blue!"
OTHER_ORDER = "Never use emoji in your answers."


@pytest.fixture
def browser(owner: Person) -> Client:
    return owner.show_factor(ago=1)


def tell(scope: Scope, *texts: str, user: str = "alice") -> list[int]:
    """The candidates that these turns leave."""
    taken = [take_turn(scope, user, Turn(text=Plaintext(text), source="chat"), now=now()) for text in texts]
    return [taken_one.outcome.review_ids[0] for taken_one in taken if taken_one.outcome]


def page_names() -> dict[str, Callable[[Scope, int], list[Any]]]:
    """Every page about memories that a reader may open, and what its address needs."""
    return {
        "web_tenant": lambda scope, _: [scope.tenant.name],
        "web_spaces": lambda scope, _: [scope.tenant.name],
        "web_review": lambda scope, _: [scope.tenant.name],
        "web_memories": lambda scope, _: [scope.tenant.name, scope.space.id],
        "web_search": lambda scope, _: [scope.tenant.name, scope.space.id],
        "web_graph": lambda scope, _: [scope.tenant.name, scope.space.id],
        "web_memory": lambda scope, memory_id: [scope.tenant.name, scope.space.id, memory_id],
    }


PAGES = page_names()


def address_of(name: str, scope: Scope, memory_id: int, *, tenant: str = "") -> str:
    arguments = PAGES[name](scope, memory_id)
    return reverse(name, args=[tenant or arguments[0], *arguments[1:]])


def older_in(page: Any) -> str:
    """What the link to the next page asks for."""
    (found,) = re.findall(r'href="\?([^"]*before=\d+)"', page.content.decode().replace("&amp;", "&"))
    return str(found)


# -- who, and what is absent -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role.values)
def test_readers_read_and_billing_does_not(role: str, acme: OpenedTenant, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)
    person = make_person(acme.tenant, role).show_factor()

    for name in PAGES:
        answer = person.get(address_of(name, alice_scope, memory_id))

        assert answer.status_code == (403 if role == Role.BILLING else 200), name
        assert answer["Content-Security-Policy"] == POLICY, name
        assert "no-store" in answer["Cache-Control"], name
        if role == Role.BILLING:
            assert KEY not in answer.content.decode(), name


def test_strangers_and_those_without_a_second_factor_see_nothing(owner: Person, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)
    signed_in = owner.sign_in()

    for name in PAGES:
        page = address_of(name, alice_scope, memory_id)
        assert Client().get(page)["Location"].startswith("/app/sign-in"), name
        assert signed_in.get(page)["Location"].startswith("/app/step-up"), name


def test_what_is_another_tenants_looks_absent(browser: Client, globex: OpenedTenant) -> None:
    theirs = make_scope(globex, "zoe", now=now())
    (memory_id,) = say(theirs, SWITCH)

    for name in PAGES:
        foreign = browser.get(address_of(name, theirs, memory_id))
        below_ours = browser.get(address_of(name, theirs, memory_id, tenant="acme"))
        absent = browser.get(address_of(name, theirs, memory_id, tenant="nowhere"))

        assert foreign.status_code == absent.status_code == 404, name
        assert SWITCH not in below_ours.content.decode(), name
        assert below_ours.status_code == (200 if name in ("web_tenant", "web_spaces", "web_review") else 404), name
    posted = browser.post(address_of("web_search", theirs, memory_id, tenant="acme"), {"q": "attic"})
    assert posted.status_code == 404


def test_navigation_leads_where_the_role_may_go(acme: OpenedTenant) -> None:
    def places(role: str) -> list[str]:
        shown = make_person(acme.tenant, role).show_factor().get("/app/t/acme").content.decode()
        menu = shown[shown.index('class="places"') : shown.index("</nav>", shown.index('class="places"'))]
        return [" ".join(one.split()) for one in re.findall(r"</svg>([^<]+)</a>", menu)]

    everything = [place.label for place in navigation.PLACES]
    assert places(Role.OWNER) == places(Role.ADMIN) == everything
    for role in (Role.ANALYST, Role.DEVELOPER):
        granted = {place.label for place in navigation.PLACES if place.grant in GRANTS[role]}
        assert set(places(role)) == {"Overview", "People and spaces", "Review"} | granted


def test_other_tenants_of_a_person_are_one_click_away(owner: Person, globex: OpenedTenant) -> None:
    assert "globex" not in owner.show_factor().get("/app/t/acme").content.decode()

    give_role(globex.tenant, owner.user.pk, Role.ANALYST, actor="command:0", now=now())

    assert 'href="/app/t/globex"' in owner.client.get("/app/t/acme").content.decode()


def test_links_keep_the_environment(browser: Client, acme: OpenedTenant) -> None:
    say(make_scope(acme, "alice", environment=Environment.STAGING, now=now()), KEY)

    shown = browser.get("/app/t/acme").content.decode()

    assert 'href="/app/t/acme/spaces?environment=staging"' in shown
    assert 'href="/app/t/acme/requests"' in shown


def test_colours_are_chosen_kept_and_lead_back(browser: Client) -> None:
    here = "http://testserver/app/t/acme"
    chosen = browser.post("/app/colours", {"colours": "dark"}, headers={"referer": here})

    assert chosen["Location"] == here
    cookie = chosen.cookies[navigation.THEME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert 'data-colours="dark"' in browser.get("/app/t/acme").content.decode()
    elsewhere = browser.post("/app/colours", {"colours": "pink"}, headers={"referer": "https://evil.example/"})
    assert elsewhere["Location"] == "/app/"
    assert navigation.THEME not in elsewhere.cookies


# -- the overview ----------------------------------------------------------------------------------------------------


def test_overview_counts_by_type_standing_and_outcome(browser: Client, alice_scope: Scope, acme: OpenedTenant) -> None:
    remember(alice_scope, [Proposal(text=Plaintext("I live in Porto."))], now=now() - timedelta(days=40))
    for text in ("I live in Lisbon.", KEY, KEY, "ok thanks!"):
        remember(alice_scope, [Proposal(text=Plaintext(text))], now=now())
    say(make_scope(acme, "alice", environment=Environment.STAGING, now=now()), BIKE)
    tell(alice_scope, ORDER)

    shown = text_of(browser.get("/app/t/acme?environment=production"))

    with tenant_transaction(alice_scope):
        current = Memory.objects.within(alice_scope).filter(validity="current", retention_status="active").count()
    assert f"{current} current" in shown
    assert "1 replaced" in shown
    assert re.search(r"stored 2 duplicates 1 needs review 1 rejected 1", shown), shown
    assert "1 memory is uncertain or sensitive" in shown
    assert KEY in shown
    assert BIKE not in shown


def test_overview_counts_requests_to_forget_for_those_who_decide(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    (memory_id,) = say(alice_scope, KEY)
    ask(alice_scope, MemorySelection(memory_ids=(memory_id,)), now=now())

    assert "1 deletion request" in text_of(browser.get("/app/t/acme"))
    reader = make_person(acme.tenant, Role.ANALYST).show_factor()
    assert "deletion request" not in text_of(reader.get("/app/t/acme"))


def test_overview_shows_the_first_steps_where_nothing_is(browser: Client) -> None:
    shown = text_of(browser.get("/app/t/acme"))

    assert "Store your first memory" in shown
    assert "http://testserver" in shown
    assert "memsync key issue --tenant acme" in shown


def test_overview_begins_where_memories_are(browser: Client, acme: OpenedTenant) -> None:
    say(make_scope(acme, "alice", environment=Environment.DEVELOPMENT, now=now()), KEY)

    assert KEY in text_of(browser.get("/app/t/acme"))
    assert KEY not in text_of(browser.get("/app/t/acme?environment=production"))


def test_reading_on_the_overview_is_audited(browser: Client, owner: Person, alice_scope: Scope) -> None:
    say(alice_scope, KEY, SWITCH)

    browser.get("/app/t/acme")

    assert audited(alice_scope) == [(f"account:{owner.user.pk}", "memory.browse", "environment:production", 2)]


def audited(scope: Scope) -> list[tuple[str, str, str, int]]:
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(action__in=("memory.browse", "memory.recall", "candidate.read")).order_by("id")
        return [(row.actor, row.action, row.target, row.count) for row in rows]


# -- lists -----------------------------------------------------------------------------------------------------------


def test_tags_and_sessions_are_looked_for_without_standing_in_an_address(browser: Client, alice_scope: Scope) -> None:
    tagged = Proposal(text=Plaintext(KEY), importance=0.9, tags=("garden",), session_id="sess-77")
    remember(alice_scope, [tagged], now=now())
    say(alice_scope, SWITCH)

    for word in ({"tag": "garden"}, {"session": "sess-77"}, {"tag": "garden", "session": "sess-77"}):
        narrowed = browser.post(address(alice_scope), {"status": "current", **word})["Location"]
        assert "garden" not in narrowed
        assert "sess-77" not in narrowed
        shown = browser.get(narrowed)
        assert KEY in text_of(shown)
        assert SWITCH not in text_of(shown)
        assert "Delete all" not in text_of(shown)
    nothing = browser.post(address(alice_scope), {"tag": "kitchen"})["Location"]
    assert "No memories match these filters" in text_of(browser.get(nothing))
    assert browser.get(f"{address(alice_scope, '/delete')}?{narrowed.split('?')[1]}").status_code == 409


def test_hidden_filter_opens_in_its_own_space_alone(browser: Client, acme: OpenedTenant, alice_scope: Scope) -> None:
    bob = make_scope(acme, "bob", now=now())
    narrowed = browser.post(address(alice_scope), {"tag": "garden"})["Location"]

    assert browser.get(f"{address(bob)}?{narrowed.split('?')[1]}").status_code == 400
    assert browser.get(f"{address(alice_scope)}?with=AAAA").status_code == 400
    assert browser.get(f"{address(alice_scope)}?with=%C3%A9").status_code == 400


def test_list_as_of_a_day_shows_what_held_then(browser: Client, alice_scope: Scope) -> None:
    for text, ago in (("I live in Porto.", 40), ("I live in Lisbon.", 10)):
        remember(alice_scope, [Proposal(text=Plaintext(text))], now=now() - timedelta(days=ago))

    then, since, before = (
        text_of(browser.get(address(alice_scope, f"?as_of={TODAY - timedelta(days=ago)}"))) for ago in (20, 5, 60)
    )

    assert "Porto" in then
    assert "Lisbon" not in then
    assert "Lisbon" in since
    assert "Porto" not in since
    assert "No memories match" in before


def test_disputed_memories_are_listed_by_themselves(browser: Client, alice_scope: Scope) -> None:
    first, _ = say(alice_scope, KEY, SWITCH)
    with tenant_transaction(alice_scope):
        Memory.objects.within(alice_scope).filter(pk=first).update(validity="disputed")

    shown = text_of(browser.get(address(alice_scope, "?status=disputed")))

    assert KEY in shown
    assert SWITCH not in shown


def test_page_of_a_rare_filter_reads_so_many_rows_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, browser: Client, alice_scope: Scope
) -> None:
    monkeypatch.setattr(memory_list, "LOOKED_THROUGH", 4)
    remember(alice_scope, [Proposal(text=Plaintext(KEY), importance=0.9, source="notes")], now=now())
    say(alice_scope, *(f"The locker number {number} holds a red scarf." for number in range(6)))

    first = browser.get(address(alice_scope, "?source=notes"))
    older = older_in(first)
    second = browser.get(f"{address(alice_scope)}?{older}")

    assert "Older ones may" in text_of(first)
    assert KEY in text_of(second)
    found = browse(alice_scope, MemoryFilter(), limit=3, now=now())
    assert (len(found.memories), found.next_before) == (3, found.memories[-1].memory.id)


def test_spaces_come_in_pages_with_counts_and_the_last_memory(
    monkeypatch: pytest.MonkeyPatch, browser: Client, acme: OpenedTenant
) -> None:
    monkeypatch.setattr(space_list, "COUNTED", 2)
    for number in range(27):
        make_scope(acme, f"person-{number:02}", now=now())
    say(make_scope(acme, "person-26", now=now()), KEY, SWITCH, BIKE)

    first = browser.get("/app/t/acme/spaces?environment=production")
    older = older_in(first)
    second = text_of(browser.get(f"/app/t/acme/spaces?{older}"))

    assert "more than 2 current memories" in text_of(first)
    assert f"{now():%Y}" in text_of(first)
    assert "person-26" in text_of(first)
    assert "person-00" in second
    assert "person-26" not in second


# -- searching -------------------------------------------------------------------------------------------------------


def test_search_explains_each_answer_and_stands_in_no_address(
    browser: Client, owner: Person, alice_scope: Scope
) -> None:
    say(alice_scope, KEY, SWITCH, BIKE)

    shown = browser.post(address(alice_scope, "/search"), {"q": "Where is the spare key?"}, follow=True)
    read_log.flush()

    text = text_of(shown)
    assert KEY in text
    assert "meaning #1" in text
    for score, total in re.findall(r"Score ([\d.]+).*?sum ([\d.-]+)", text):
        assert float(score) == pytest.approx(float(total), abs=2e-4)
    parts = re.findall(r"semantic ([\d.]+)", text)
    assert parts
    ((again, status),) = shown.redirect_chain
    assert (status, "key" in again, KEY in text_of(browser.get(again))) == (302, False, True)
    assert (f"account:{owner.user.pk}", "memory.recall", f"space:{alice_scope.space.id}", 1) in audited(alice_scope)


def test_search_of_another_space_or_of_a_long_question_stands_in_no_address(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    say(alice_scope, KEY)
    theirs = make_scope(acme, "bob", now=now())
    hidden = browser.post(address(alice_scope, "/search"), {"q": "spare key"})["Location"].partition("?")[2]

    assert browser.get(f"{address(theirs, '/search')}?{hidden}").status_code == 400
    assert browser.post(address(alice_scope, "/search"), {"q": "ключ " * 400}).status_code == 200


def test_search_says_which_legs_ran_and_which_were_cut(browser: Client, alice_scope: Scope, settings: Any) -> None:
    say(alice_scope, KEY)
    ran = text_of(browser.post(address(alice_scope, "/search"), {"q": "spare key"}, follow=True))
    settings.RECALL_CACHE_SECONDS = 0
    settings.RECALL_BUDGET_MS = 0.000001

    cut = text_of(browser.post(address(alice_scope, "/search"), {"q": "spare key"}, follow=True))

    assert "timed out" not in ran
    assert "timed out" in cut


def test_search_as_of_a_day_answers_with_what_held_then(browser: Client, alice_scope: Scope) -> None:
    for text, ago in (("I live in Porto.", 40), ("I live in Lisbon.", 10)):
        remember(alice_scope, [Proposal(text=Plaintext(text))], now=now() - timedelta(days=ago))
    day = TODAY - timedelta(days=20)

    then = text_of(
        browser.post(address(alice_scope, "/search"), {"q": "Where do I live?", "as_of": str(day)}, follow=True)
    )
    today = text_of(browser.post(address(alice_scope, "/search"), {"q": "Where do I live?"}, follow=True))

    assert "Porto" in then
    assert "Lisbon" not in then
    assert "Lisbon" in today
    assert "Porto" not in today


def test_search_of_nothing_that_fits_says_so(browser: Client, alice_scope: Scope) -> None:
    assert "Search as an agent does" in text_of(browser.get(address(alice_scope, "/search")))
    assert "No results" in text_of(browser.post(address(alice_scope, "/search"), {"q": "Who won?"}, follow=True))


# -- one memory ------------------------------------------------------------------------------------------------------


def test_memory_is_shown_from_all_sides(browser: Client, alice_scope: Scope) -> None:
    remember(alice_scope, [Proposal(text=Plaintext("I live in Porto."))], now=now() - timedelta(days=40))
    lisbon = Proposal(text=Plaintext("I live in Lisbon."), source="chat", session_id="sess-77", tags=("home",))
    (outcome,) = remember(alice_scope, [lisbon], now=now() - timedelta(days=10))
    (memory_id,) = outcome.memory_ids
    give_feedback(alice_scope, memory_id, Signal.POSITIVE, comment=Plaintext("that helped"), now=now())

    shown = text_of(browser.get(address(alice_scope, f"/memories/{memory_id}")))

    for said in ("I live in Porto.", "2 versions", "sess-77", "home", "that helped", "1 positive", "384 dimensions",
                 "key version 1", "half-life", "created", "updated", "importance:", "Lisbon · place"):  # fmt: skip
        assert said in shown, said


def test_what_holds_in_part_and_what_is_doubted_say_so(browser: Client, alice_scope: Scope, settings: Any) -> None:
    changes = {"painted the shed": "painted green", "hardly leaks": "?roof of the shed leaks"}
    settings.CLASSIFIER = {"BACKEND": "tests.classifiers.FakeClassifier", "OPTIONS": {"changes": changes}}
    shed, blue, roof, doubt = (
        remember(alice_scope, [Proposal(text=Plaintext(said), importance=0.6)], now=now())[0].memory_ids[0]
        for said in (
            "The shed is painted green and the key to the shed is Maud's.",
            "We painted the shed and its key blue.",
            "The roof of the shed leaks badly.",
            "The roof of the shed hardly leaks.",
        )
    )

    in_part = browser.get(address_of("web_memory", alice_scope, shed)).content.decode()
    assert "The shed is … and the key to the shed is Maud&#x27;s." in in_part
    assert "“painted green” was true until" in in_part
    assert f"{blue}" in in_part
    doubted = browser.get(address_of("web_memory", alice_scope, roof)).content.decode()
    assert "possibly outdated" in doubted
    assert f"/{doubt}" in doubted
    listed = browser.get(address_of("web_memories", alice_scope, shed)).content.decode()
    assert "partly outdated" in listed
    assert "possibly outdated" in listed


def test_versions_of_a_memory_are_all_there_whichever_is_looked_at(browser: Client, alice_scope: Scope) -> None:
    ids = []
    for city, ago in (("Porto", 40), ("Lisbon", 30), ("Ghent", 20), ("Utrecht", 10)):
        said = [Proposal(text=Plaintext(f"I live in {city}."))]
        ids += remember(alice_scope, said, now=now() - timedelta(days=ago))[0].memory_ids

    for memory_id in ids:
        shown = text_of(browser.get(address(alice_scope, f"/memories/{memory_id}")))
        assert "4 versions" in shown
        assert shown.index("Porto") < shown.index("Ghent") or memory_id == ids[2]


def test_as_of_marks_the_version_that_held(browser: Client, alice_scope: Scope) -> None:
    for text, ago in (("I live in Porto.", 40), ("I live in Lisbon.", 10)):
        (outcome,) = remember(alice_scope, [Proposal(text=Plaintext(text))], now=now() - timedelta(days=ago))
    (memory_id,) = outcome.memory_ids
    page = address(alice_scope, f"/memories/{memory_id}")

    def held_on(ago: int) -> list[str]:
        shown = browser.get(f"{page}?as_of={TODAY - timedelta(days=ago)}").content.decode()
        return re.findall(r'<li class="held">.*?(Porto|Lisbon)', shown, re.DOTALL)

    assert held_on(20) == ["Porto"]
    assert held_on(5) == ["Lisbon"]
    assert held_on(60) == []
    assert browser.get(f"{page}?as_of=soon").status_code == 400


def test_vectors_keys_and_tokens_are_never_shown(browser: Client, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)
    with tenant_transaction(alice_scope):
        row = Memory.objects.within(alice_scope).select_related("vector").get(pk=memory_id)
        secrets = [bytes(row.text_ct), bytes(row.vector.embedding_ct), bytes(row.text_mac)]

    shown = browser.get(address(alice_scope, f"/memories/{memory_id}")).content

    for secret in secrets:
        assert secret.hex()[:24].encode() not in shown
        assert secret[:12] not in shown


# -- the picture -----------------------------------------------------------------------------------------------------


def test_graph_draws_who_is_named_and_how_they_stand(browser: Client, alice_scope: Scope) -> None:
    for text in ("My sister Ana teaches the violin in Porto.", "Ana works at Acme.", KEY):
        remember(alice_scope, [Proposal(text=Plaintext(text), importance=0.9)], now=now())

    drawn = browser.get(address(alice_scope, "/graph"))
    again = browser.get(address(alice_scope, "/graph"))
    memories = text_of(browser.get(address(alice_scope, "/graph?of=memories")))

    assert "Ana" in text_of(drawn)
    assert re.findall(r"<circle [^>]+>", drawn.content.decode()) == re.findall(
        r"<circle [^>]+>", again.content.decode()
    )
    assert f"/spaces/{alice_scope.space.id}/memories/" in drawn.content.decode()
    assert KEY in memories


def test_graph_is_bounded_and_shows_names_as_text(
    monkeypatch: pytest.MonkeyPatch, browser: Client, alice_scope: Scope
) -> None:
    monkeypatch.setattr("apps.web.graph.NODES", 2)
    say(alice_scope, "Remember <script>alert(1)</script> for me.", KEY, SWITCH)

    drawn = browser.get(address(alice_scope, "/graph?of=memories"))

    assert drawn.content.decode().count("<circle") == 2
    assert "there are more" in text_of(drawn)
    monkeypatch.setattr("apps.web.graph.NODES", 40)
    assert "<script>alert" not in browser.get(address(alice_scope, "/graph?of=memories")).content.decode()


# -- reviewing -------------------------------------------------------------------------------------------------------


def decide(browser: Client, **form: Any) -> Any:
    return browser.post("/app/t/acme/review/decide", {"environment": "production", **form})


def state_of(scope: Scope, candidate_id: int) -> tuple[str, bool]:
    """And whether what it said is still kept."""
    with tenant_transaction(scope):
        row = ReviewItem.objects.within(scope).get(pk=candidate_id)
        return row.state, row.content_ct is not None


def test_candidate_is_shown_with_its_reason_and_accepted(browser: Client, alice_scope: Scope) -> None:
    (candidate_id,) = tell(alice_scope, ORDER)

    waiting = text_of(browser.get("/app/t/acme/review"))
    done = decide(browser, accept=candidate_id)

    assert ORDER in waiting
    assert "it looks like an instruction" in waiting
    assert done["Location"] == "/app/t/acme/review?environment=production"
    assert state_of(alice_scope, candidate_id)[0] == "accepted"
    assert ORDER in text_of(browser.get(address(alice_scope)))


def test_candidate_is_worded_otherwise_and_accepted(browser: Client, alice_scope: Scope) -> None:
    (candidate_id,) = tell(alice_scope, ORDER)

    decide(browser, word=candidate_id, **{f"text-{candidate_id}": "Answer in Dutch when I write in Dutch."})

    shown = text_of(browser.get(address(alice_scope)))
    assert "Answer in Dutch when I write in Dutch." in shown
    assert ORDER not in shown


def test_blank_text_of_a_candidate_is_refused_and_shown_again(browser: Client, alice_scope: Scope) -> None:
    (candidate_id,) = tell(alice_scope, ORDER)

    refused = decide(browser, word=candidate_id, **{f"text-{candidate_id}": "  "})

    assert refused.status_code == 422
    assert f"Candidate {candidate_id}: the text is empty." in refused.content.decode()
    assert "<details open>" in refused.content.decode()
    assert state_of(alice_scope, candidate_id)[0] == "pending"


def test_refused_wording_of_a_candidate_is_shown_again_with_its_number(browser: Client, alice_scope: Scope) -> None:
    (candidate_id,) = tell(alice_scope, ORDER)

    refused = decide(browser, word=candidate_id, **{f"text-{candidate_id}": SECRET})

    assert refused.status_code == 422
    assert f"Candidate {candidate_id} was not decided" in refused.content.decode()
    assert f">{SECRET}</textarea>" in refused.content.decode()
    assert state_of(alice_scope, candidate_id)[0] == "pending"


def test_accept_drops_no_edit_of_its_candidate_or_of_another(browser: Client, alice_scope: Scope) -> None:
    first, second = tell(alice_scope, ORDER, OTHER_ORDER)
    typed = {f"text-{first}": "Answer in Dutch.", f"text-{second}": OTHER_ORDER}

    refused = decide(browser, accept=first, **typed)
    done = decide(browser, accept=second, **typed)

    assert refused.status_code == 422
    assert f"Candidate {first}: its text was edited." in refused.content.decode()
    assert state_of(alice_scope, first)[0] == "pending"
    assert (done.status_code, state_of(alice_scope, second)[0]) == (200, "accepted")
    assert ">Answer in Dutch.</textarea>" in done.content.decode()


@pytest.mark.parametrize("verdict", ["accept", "refuse"])
def test_decision_is_taken_back_and_leaves_nothing(verdict: str, browser: Client, alice_scope: Scope) -> None:
    (candidate_id,) = tell(alice_scope, ORDER)
    decide(browser, **{verdict: candidate_id})
    assert "Your recent decisions" in text_of(browser.get("/app/t/acme/review"))

    browser.post(f"/app/t/acme/review/{candidate_id}/undo", {"environment": "production"})

    assert state_of(alice_scope, candidate_id) == ("pending", True)
    assert "No memories yet" in text_of(browser.get(address(alice_scope)))
    decide(browser, accept=candidate_id)
    assert ORDER in text_of(browser.get(address(alice_scope)))


def test_decision_is_taken_back_in_time_by_the_person_who_made_it(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    first, second = tell(alice_scope, ORDER, OTHER_ORDER)
    decide(browser, refuse=first)
    decide(browser, refuse=second)
    other = make_person(acme.tenant, Role.ADMIN).show_factor(ago=1)
    late = datetime.now(UTC) + review.UNDO

    assert "Too late" in text_of(other.post(f"/app/t/acme/review/{first}/undo", follow=True))
    assert expire_candidates(alice_scope, now=late) == 0
    assert state_of(alice_scope, first) == ("rejected", False)
    assert "Too late" in text_of(browser.post(f"/app/t/acme/review/{first}/undo", follow=True))
    assert browser.post(f"/app/t/acme/review/{2**62}/undo").status_code == 404


def test_what_replaced_something_is_not_taken_back(browser: Client, alice_scope: Scope) -> None:
    (candidate_id,) = tell(alice_scope, ORDER)
    decide(browser, accept=candidate_id)
    with tenant_transaction(alice_scope):
        ReviewItem.objects.within(alice_scope).update(outcome="superseding")

    assert "Your recent decisions" not in text_of(browser.get("/app/t/acme/review"))
    assert "Too late" in text_of(browser.post(f"/app/t/acme/review/{candidate_id}/undo", follow=True))
    assert ORDER in text_of(browser.get(address(alice_scope)))


def test_many_are_decided_at_once_and_each_refusal_is_said(browser: Client, alice_scope: Scope) -> None:
    ids = tell(alice_scope, ORDER, OTHER_ORDER)

    done = decide(browser, all="accept", id=[*ids, 2**62])

    assert {state_of(alice_scope, one)[0] for one in ids} == {"accepted"}
    said = text_of(browser.get(done["Location"]))
    assert "2 accepted and stored" in said
    assert f"Candidate {2**62} was not decided: There is no such candidate." in said
    assert "Nothing is selected" in text_of(browser.get(decide(browser, all="refuse")["Location"]))
    assert decide(browser, all="burn").status_code == 400


def test_readers_see_the_queue_and_decide_nothing(acme: OpenedTenant, alice_scope: Scope) -> None:
    (candidate_id,) = tell(alice_scope, ORDER)
    reader = make_person(acme.tenant, Role.ANALYST).show_factor(ago=1)

    shown = text_of(reader.get("/app/t/acme/review"))

    assert ORDER in shown
    assert "Accept" not in shown
    assert decide(reader, accept=candidate_id).status_code == 403
    assert reader.post(f"/app/t/acme/review/{candidate_id}/undo").status_code == 403
    assert state_of(alice_scope, candidate_id) == ("pending", True)


def test_candidates_of_another_tenant_and_environment_are_not_decided(
    browser: Client, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    theirs, staging = (
        make_scope(globex, "zoe", now=now()),
        make_scope(acme, "al", environment=Environment.STAGING, now=now()),
    )
    (foreign,), (elsewhere,) = tell(theirs, ORDER, user="zoe"), tell(staging, ORDER, user="al")

    assert "Nothing to review" in text_of(browser.get("/app/t/acme/review?environment=production"))
    decide(browser, all="refuse", id=[foreign, elsewhere])
    assert state_of(theirs, foreign) == state_of(staging, elsewhere) == ("pending", True)


# -- how much they ask -----------------------------------------------------------------------------------------------


ASKS = re.compile(r"\s*(select|insert|update|delete|with)", re.IGNORECASE)


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """How many statements are sent that ask for something, savepoints and settings aside."""
    with CaptureQueriesContext(connection) as captured:
        yield lambda: sum(
            bool(ASKS.match(one["sql"])) and "set_config" not in one["sql"] and "current_setting" not in one["sql"]
            for one in captured.captured_queries
        )


# At most so many, whatever there is.  Those of the session and the person are about ten of them.
AT_MOST = {
    "web_tenant": 30, "web_spaces": 12, "web_review": 15, "web_memories": 17, "web_search": 12, "web_graph": 18,
    "web_memory": 38,
}  # fmt: skip


def test_statements_of_a_page_are_few_and_do_not_grow(browser: Client, acme: OpenedTenant, alice_scope: Scope) -> None:
    def statements_of(name: str) -> int:
        page = address_of(name, alice_scope, memory_id)
        browser.get(page)
        with counted() as count:
            browser.get(page)
        return count()

    for text in ("I live in Porto.", "I live in Lisbon.", "My sister Ana works at Acme.", KEY):
        remember(alice_scope, [Proposal(text=Plaintext(text), importance=0.9)], now=now())
    (memory_id,) = say(alice_scope, SWITCH)
    tell(alice_scope, ORDER)
    few = {name: statements_of(name) for name in PAGES}
    for number in range(8):
        bob = make_scope(acme, f"bob-{number}", now=now())
        say(bob, f"The locker number {number} holds a red scarf.")
        say(alice_scope, f"The locker number {number} of Ana holds a blue scarf.")
    tell(alice_scope, OTHER_ORDER, "Always sign off with Regards.")

    for name in PAGES:
        many = statements_of(name)
        print(f"{name}: {many} statements")  # noqa: T201  (shown with -s)
        assert many <= AT_MOST[name], name
        # A key for each space whose text shows.
        assert many <= few[name] + (8 if name == "web_tenant" else 2), (name, few[name], many)


# -- counts that are kept, and pictures ------------------------------------------------------------------------------


def test_count_is_kept_for_a_hundred_times_what_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(cached_counts, "perf_counter", lambda: clock[0])
    calls = []

    def count(seconds: float) -> Callable[[], int]:
        def counting() -> int:
            clock[0] += seconds
            calls.append(seconds)
            return len(calls)

        return counting

    for seconds in (0.001, 0.001, 2.0, 2.0):
        last = cached_counts.get_or_count("tally:1", count(seconds), now=now())

    assert calls == [0.001, 0.001, 2.0]
    assert (last.value, last.is_kept) == (3, True)
    assert cached_counts.get_or_count("tally:2", count(0.1), now=now()).value == 4


def test_columns_stack_to_their_day_and_stay_inside() -> None:
    days = [Day(day=date(2026, 11, 1) + timedelta(days=n), counts=dict.fromkeys(KINDS, n)) for n in range(30)]

    drawn = columns(days)

    assert drawn.most >= 29 * len(KINDS)
    assert all(block.y >= 0 and block.y + block.height <= 120.02 for block in drawn.blocks)
    last = [block for block in drawn.blocks if block.x > 580]
    assert [block.kind for block in last] == [0, 1, 2, 3]
    assert sum(block.height for block in last) == pytest.approx(120 * 116 / drawn.most, abs=0.1)
    assert [rounded_up(number) for number in (0, 1, 3, 5, 9, 10, 11, 116, 900)] == [2, 2, 4, 8, 10, 10, 20, 200, 1000]


def test_bars_are_as_long_as_they_weigh() -> None:
    assert [(bar.name, bar.width) for bar in bars({"semantic": 0.5, "question": -0.1})] == [
        ("semantic", 100.0),
        ("question", 20.0),
    ]
    assert bars({}) == []


def test_graph_is_spread_the_same_way_each_time_and_inside_its_box() -> None:
    nodes, ties = list(range(40)), [(0, n) for n in range(1, 12)] + [(20, 21)]

    placed = spread(nodes, ties)

    assert placed == spread(nodes, ties)
    assert all(0 < one.x < GRAPH_WIDTH and 0 < one.y < GRAPH_HEIGHT for one in placed.values())
    apart = min(
        (placed[a].x - placed[b].x) ** 2 + (placed[a].y - placed[b].y) ** 2 for a in nodes for b in nodes if a < b
    )
    assert apart > 15**2
    assert len(set(placed.values())) == 40
    assert spread([], []) == {}
    assert set(spread([7], [])) == {7}


def test_scope_of_a_person_reaches_no_space_by_itself(alice_scope: Scope) -> None:
    """What the console lists it lists in spaces that an address names; the scope alone reads none."""
    with pytest.raises(ValueError, match="values to unpack"):
        browse(replace(alice_scope, spaces=()), MemoryFilter(), limit=5, now=now())
