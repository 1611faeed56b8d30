"""Looking through memories, deleting one or many, bringing back, and deciding about requests to forget."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.erasure.legal_holds import hold, lift
from apps.erasure.receipt_log import public_keys
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.branches import create_branch
from apps.memories.models import Memory
from apps.memories.soft_delete import GRACE
from apps.memories.spaces import SpaceOwner, find_owned
from apps.policies.models import Level
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import get_project
from apps.retention import subject_requests
from apps.retention.memory_selection import MemorySelection, soft_delete_selection
from apps.retention.requests import ask, get_request
from apps.retention.states import PrivacyKind
from apps.tenants.models import Role
from apps.transfers.exports import export_worker
from apps.transfers.exports.services import find_for_requests
from apps.transparency.receipts import verify
from tests import once
from tests.makers import make_api_key, make_project, make_scope
from tests.web.people import Person, make_person, say

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

KEY = "The spare key lies under the blue flower pot."
SWITCH = "The attic light switch is behind the door."
BIKE = "My bicycle has the frame number WX-4711."


def now() -> datetime:
    return datetime.now(UTC)


def address(scope: Scope, rest: str = "") -> str:
    return f"/app/t/{scope.tenant.name}/spaces/{scope.space.id}{rest}"


def text_of(response: Any) -> str:
    assert response.status_code == 200, (response.status_code, response.get("Location"))
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).replace("&#x27;", "'").split())


def status_of(scope: Scope, memory_id: int) -> str:
    with tenant_transaction(scope):
        return Memory.objects.within(scope).get(pk=memory_id).retention_status


def assertion_in(response: Any) -> str:
    (found,) = re.findall(r'name="assertion"\s+value="([^"]+)"', response.content.decode())
    return str(found)


@pytest.fixture
def browser(owner: Person) -> Client:
    """The owner's, who has stepped up a second ago."""
    return owner.show_factor(ago=1)


# -- looking ---------------------------------------------------------------------------------------------------------


def test_person_sees_the_tenants_people_by_their_names_and_what_was_said(
    browser: Client, alice_scope: Scope, globex: OpenedTenant
) -> None:
    say(alice_scope, KEY)
    say(make_scope(globex, "zoe", now=now()), SWITCH)

    people = text_of(browser.get("/app/t/acme/spaces"))
    shown = text_of(browser.get(address(alice_scope)))

    assert "alice" in people
    assert "1 current memory" in people
    assert "zoe" not in people
    assert KEY in shown
    assert SWITCH not in shown


def test_looking_is_audited(browser: Client, owner: Person, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)

    browser.get(address(alice_scope))
    browser.get(address(alice_scope, f"/memories/{memory_id}"))

    with tenant_transaction(alice_scope):
        rows = AuditEvent.objects.filter(action="memory.browse").order_by("id")
        assert [(row.actor, row.target, row.count) for row in rows] == [
            (f"account:{owner.user.pk}", f"space:{alice_scope.space.id}", 1),
            (f"account:{owner.user.pk}", f"memory:{memory_id}", 1),
        ]


def test_environments_are_apart(browser: Client, acme: OpenedTenant) -> None:
    staging = make_scope(acme, "alice", environment=Environment.STAGING, now=now())
    say(staging, KEY)

    assert "alice" in text_of(browser.get("/app/t/acme/spaces"))  # the one that holds anything
    assert "alice" not in text_of(browser.get("/app/t/acme/spaces?environment=production"))
    assert "alice" in text_of(browser.get("/app/t/acme/spaces?environment=staging"))
    assert KEY in text_of(browser.get(address(staging)))


def test_environment_that_was_shown_last_is_shown_again_in_its_tenant(browser: Client, acme: OpenedTenant) -> None:
    say(make_scope(acme, "alice", now=now()), KEY)
    browser.get("/app/t/acme/spaces?environment=development")

    browser.get("/app/t/acme/keys")
    again = text_of(browser.get("/app/t/acme/spaces"))
    browser.cookies["memsync_environment"] = "globex:development"
    elsewhere = text_of(browser.get("/app/t/acme/spaces"))

    assert "Development has no memories yet" in again
    assert "alice" in elsewhere


def test_end_user_is_found_by_their_id_without_naming_them_in_an_address(browser: Client, alice_scope: Scope) -> None:
    found = browser.post("/app/t/acme/spaces", {"end_user": "alice", "environment": "production"})
    strange = browser.post("/app/t/acme/spaces", {"end_user": "bob", "environment": "production"})

    assert found["Location"] == address(alice_scope)
    assert "No end user in production has this ID" in text_of(strange)
    assert 'value="bob"' in strange.content.decode()


def test_list_can_be_narrowed_and_says_nothing_else(browser: Client, alice_scope: Scope) -> None:
    told = [
        (Proposal(text=Plaintext(KEY), importance=0.9, source="notes"), now() - timedelta(days=40)),
        (Proposal(text=Plaintext(SWITCH), importance=0.9, source="mail"), now()),
    ]
    for proposal, moment in told:
        remember(alice_scope, [proposal], now=moment)
    today, month_ago = now().date(), now().date() - timedelta(days=30)

    def texts(query: str) -> set[str]:
        shown = text_of(browser.get(address(alice_scope, f"?{query}")))
        return {text for text in (KEY, SWITCH) if text in shown}

    assert texts("") == {KEY, SWITCH}
    assert texts("source=notes") == {KEY}
    assert texts(f"since={month_ago}") == {SWITCH}
    assert texts(f"until={month_ago}") == {KEY}
    assert texts(f"since={today}&until={today}") == {SWITCH}
    assert texts("type=nothing") == set()
    assert texts("status=archived") == set()
    assert texts("status=replaced") == set()


@pytest.mark.parametrize(
    "query", ["since=yesterday", "status=gone", "before=x", "source=" + "x" * 65, "until=0001-01-01"]
)
def test_filter_that_is_not_understood_is_said_so(query: str, browser: Client, alice_scope: Scope) -> None:
    assert browser.get(address(alice_scope, f"?{query}")).status_code == 400


def test_project_narrows_to_its_own_and_to_those_of_none(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    other = make_project(acme.scope, "other", now=now())
    say(make_scope(acme, "alice", project_id=acme.project.pk, now=now()), KEY)
    say(alice_scope, SWITCH)

    shown = text_of(browser.get(address(alice_scope, f"?project={other}")))

    assert KEY not in shown
    assert SWITCH in shown
    assert browser.get(address(alice_scope, "?project=proj_nowhere")).status_code == 404


def test_long_lists_come_in_pages(browser: Client, alice_scope: Scope) -> None:
    say(alice_scope, *(f"The locker number {number} holds a red scarf." for number in range(30)))

    first = browser.get(address(alice_scope))
    (older,) = re.findall(r'href="(\?[^"]*before=\d+)"', first.content.decode().replace("&amp;", "&"))
    second = text_of(browser.get(address(alice_scope, older)))

    assert text_of(first).count("red scarf") == 25
    assert second.count("red scarf") == 5
    assert "Back to the newest" in second
    assert "Older" not in second


def test_what_was_said_is_shown_as_text(browser: Client, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, 'Remember <script>alert("x")</script> and <img src=x onerror=alert(1)> for me.')

    for page in ("", f"/memories/{memory_id}", f"/memories/{memory_id}/delete", "/delete"):
        shown = browser.get(address(alice_scope, page)).content.decode()
        assert "&lt;script&gt;" in shown
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown


def test_reader_is_shown_no_deleting_and_nothing_deleted(acme: OpenedTenant, alice_scope: Scope) -> None:
    kept, gone = say(alice_scope, KEY, SWITCH)
    soft_delete_selection(alice_scope, MemorySelection(memory_ids=(gone,)), now=now())
    reader = make_person(acme.tenant, Role.ANALYST).show_factor(ago=1)

    shown = text_of(reader.get(address(alice_scope)))

    assert KEY in shown
    assert "Delete" not in shown
    assert "recently deleted" not in shown
    assert reader.get(address(alice_scope, "?status=deleted")).status_code == 404
    assert reader.get(address(alice_scope, f"/memories/{gone}")).status_code == 404
    assert reader.get(address(alice_scope, f"/memories/{kept}")).status_code == 200
    assert reader.get("/app/t/acme/requests").status_code == 403


# -- deleting and bringing back --------------------------------------------------------------------------------------


def test_one_is_deleted_and_brought_back(browser: Client, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)
    page = address(alice_scope, f"/memories/{memory_id}/delete")
    assert KEY in text_of(browser.get(page))

    assert browser.post(page)["Location"] == address(alice_scope)

    assert status_of(alice_scope, memory_id) == "soft_deleted"
    assert KEY not in text_of(browser.get(address(alice_scope)))
    assert KEY in text_of(browser.get(address(alice_scope, "?status=deleted")))

    back = browser.post(address(alice_scope, f"/memories/{memory_id}/restore"))

    assert back["Location"] == address(alice_scope, f"/memories/{memory_id}")
    assert status_of(alice_scope, memory_id) == "active"
    assert KEY in text_of(browser.get(address(alice_scope)))


def test_what_is_past_its_grace_is_gone_from_the_pages(browser: Client, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)
    soft_delete_selection(
        alice_scope, MemorySelection(memory_ids=(memory_id,)), now=now() - GRACE - timedelta(minutes=1)
    )

    assert KEY not in text_of(browser.get(address(alice_scope, "?status=deleted")))
    assert browser.get(address(alice_scope, f"/memories/{memory_id}")).status_code == 404
    assert browser.post(address(alice_scope, f"/memories/{memory_id}/restore")).status_code == 302
    assert status_of(alice_scope, memory_id) == "soft_deleted"


def test_what_is_held_is_not_deleted(browser: Client, alice_scope: Scope) -> None:
    held, free = say(alice_scope, KEY, SWITCH)
    hold(alice_scope, Level.MEMORY, held, case="case-17", now=now())

    one = browser.post(address(alice_scope, f"/memories/{held}/delete"))
    preview = browser.get(address(alice_scope, "/delete"))
    browser.post(address(alice_scope, "/delete"), {"assertion": assertion_in(preview)})

    assert one.status_code == 409
    assert "Delete 1 memory?" in text_of(preview)
    assert (status_of(alice_scope, held), status_of(alice_scope, free)) == ("active", "soft_deleted")


def test_many_are_deleted_as_they_were_shown(browser: Client, alice_scope: Scope) -> None:
    for text, source in ((KEY, "notes"), (BIKE, "notes"), (SWITCH, "mail")):
        remember(alice_scope, [Proposal(text=Plaintext(text), importance=0.9, source=source)], now=now())

    preview = browser.get(address(alice_scope, "/delete?source=notes&status=current"))
    shown = text_of(preview)
    assert "Delete 2 memories?" in shown
    assert KEY in shown
    assert SWITCH not in shown

    answer = browser.post(
        address(alice_scope, "/delete?source=notes&status=current"), {"assertion": assertion_in(preview)}
    )

    assert answer["Location"] == address(alice_scope, "?status=deleted")
    assert SWITCH in text_of(browser.get(address(alice_scope)))
    deleted = text_of(browser.get(address(alice_scope, "?status=deleted")))
    assert KEY in deleted
    assert BIKE in deleted


def test_what_was_confirmed_for_some_deletes_no_others(browser: Client, alice_scope: Scope) -> None:
    ids = say(alice_scope, KEY, SWITCH)
    preview = browser.get(address(alice_scope, "/delete?type=nothing"))
    assert preview.status_code == 409

    nonce = assertion_in(browser.get(address(alice_scope, "/delete")))
    (added,) = say(alice_scope, BIKE)
    refused = browser.post(address(alice_scope, "/delete"), {"assertion": nonce})

    assert refused.status_code == 403
    assert "The confirmed action differs from this request" in text_of_refused(refused)
    assert {status_of(alice_scope, one) for one in [*ids, added]} == {"active"}


def text_of_refused(response: Any) -> str:
    return re.sub(r"<[^>]+>", " ", response.content.decode())


def test_one_confirmation_deletes_many_once(browser: Client, alice_scope: Scope) -> None:
    say(alice_scope, KEY)
    nonce = assertion_in(browser.get(address(alice_scope, "/delete")))
    assert browser.post(address(alice_scope, "/delete"), {"assertion": nonce}).status_code == 302
    say(alice_scope, SWITCH)

    again = browser.post(address(alice_scope, "/delete"), {"assertion": nonce})
    anew = browser.get(address(alice_scope, "/delete"))

    assert again.status_code == 403
    assert anew["Location"].startswith("/app/step-up?next=")


def test_filters_outlast_a_step_up(owner: Person, alice_scope: Scope) -> None:
    say(alice_scope, KEY)
    stale = owner.show_factor(ago=301)

    for send in (stale.get, stale.post):
        answer = send(address(alice_scope, "/delete?source=notes"))
        assert answer["Location"].endswith("%2Fdelete%3Fsource%3Dnotes")


def test_another_space_is_not_found_by_its_number(browser: Client, globex: OpenedTenant) -> None:
    theirs = make_scope(globex, "zoe", now=now())
    (memory_id,) = say(theirs, SWITCH)

    for page in ("", f"/memories/{memory_id}", f"/memories/{memory_id}/delete", "/delete"):
        assert browser.get(f"/app/t/acme/spaces/{theirs.space.id}{page}").status_code == 404
        assert browser.get(address(theirs, page)).status_code == 404
    assert browser.get(f"/app/t/acme/spaces/{2**70}").status_code == 404


def test_memory_of_another_space_is_not_found_below_ones_own(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    bob = make_scope(acme, "bob", now=now())
    (theirs,) = say(bob, SWITCH)

    for page in (f"/memories/{theirs}", f"/memories/{theirs}/delete"):
        assert browser.get(address(alice_scope, page)).status_code == 404
    browser.post(address(alice_scope, f"/memories/{theirs}/delete"))
    browser.post(address(alice_scope, f"/memories/{theirs}/restore"))
    assert status_of(bob, theirs) == "active"


# -- requests to forget ----------------------------------------------------------------------------------------------


def test_request_is_shown_with_its_reason_and_confirmed(browser: Client, alice_scope: Scope) -> None:
    kept, asked_for = say(alice_scope, KEY, SWITCH)
    one, _ = ask(alice_scope, MemorySelection(memory_ids=(asked_for,)), reason=Plaintext("She asked me to."), now=now())

    listed = text_of(browser.get("/app/t/acme/requests"))
    preview = browser.get(f"/app/t/acme/requests/{one.id}/confirm")
    answer = browser.post(f"/app/t/acme/requests/{one.id}/confirm", {"assertion": assertion_in(preview)})

    assert "One memory of alice" in listed
    assert "She asked me to." in listed
    assert SWITCH in text_of(preview)
    assert answer["Location"] == "/app/t/acme/requests"
    assert (status_of(alice_scope, kept), status_of(alice_scope, asked_for)) == ("active", "soft_deleted")
    assert get_request(alice_scope, one.id, now=now()).forgotten == 1
    assert "1 deleted" in text_of(browser.get("/app/t/acme/requests?state=confirmed"))


def test_request_is_refused_and_nothing_goes(browser: Client, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)
    one, _ = ask(alice_scope, MemorySelection(source="notes", memory_ids=(memory_id,)), now=now())

    assert browser.post(f"/app/t/acme/requests/{one.id}/refuse").status_code == 302

    assert status_of(alice_scope, memory_id) == "active"
    assert get_request(alice_scope, one.id, now=now()).state == "refused"
    again = browser.post(f"/app/t/acme/requests/{one.id}/refuse", follow=True)
    assert "This request was decided already" in text_of(again)
    assert "is refused" in text_of(browser.get(f"/app/t/acme/requests/{one.id}/confirm"))


def test_requests_of_another_tenant_are_not_there(browser: Client, globex: OpenedTenant) -> None:
    theirs = make_scope(globex, "zoe", now=now())
    (memory_id,) = say(theirs, KEY)
    one, _ = ask(theirs, MemorySelection(memory_ids=(memory_id,)), now=now())

    assert "No pending requests" in text_of(browser.get("/app/t/acme/requests"))
    assert browser.get(f"/app/t/acme/requests/{one.id}/confirm").status_code == 404
    assert browser.post(f"/app/t/acme/requests/{one.id}/refuse").status_code == 404
    assert get_request(theirs, one.id, now=now()).state == "pending"


# -- erasing for good ------------------------------------------------------------------------------------------------


def erase(browser: Client, page: str, typed: str) -> Any:
    form = {"assertion": assertion_in(browser.get(page)), "typed": typed}
    return browser.post(page, form)


def receipts_on(browser: Client, page: str) -> list[str]:
    return re.findall(r'href="(/app/t/[^/]+/receipts/rcp_[0-9a-f]+)"', browser.get(page).content.decode())


def test_person_is_erased_everywhere_and_the_receipt_says_on_whose_word(
    browser: Client, acme: OpenedTenant, alice_scope: Scope
) -> None:
    staging = make_scope(acme, "alice", environment=Environment.STAGING, now=now())
    bob = make_scope(acme, "bob", now=now())
    say(alice_scope, KEY)
    say(staging, BIKE)
    (his,) = say(bob, SWITCH)

    done = erase(browser, address(alice_scope, "/erase"), "alice")

    (receipt,) = receipts_on(browser, done["Location"])
    file = browser.get(receipt)
    assert file["Content-Disposition"].startswith('attachment; filename="rcp_')
    assert verify(file.content, public_keys())
    said = file.json()["receipt"]
    assert said["authorised"]["method"] == "session+totp"
    assert 0 <= said["authorised"]["step_up_age_s"] < 60
    assert browser.get(address(alice_scope)).status_code == browser.get(address(staging)).status_code == 404
    assert status_of(bob, his) == "active"
    assert "A person in every environment" in text_of(browser.get("/app/t/acme/erasures"))


def test_erasing_a_branch_on_its_page_names_it_and_leaves_the_person(browser: Client, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)
    create_branch(alice_scope, "what-if", now=now())
    space = find_owned(alice_scope, SpaceOwner.end_user("alice", branch="what-if"))
    assert space is not None
    page = address(alice_scope.in_spaces(space))

    listed, asked = text_of(browser.get(page)), text_of(browser.get(f"{page}/erase"))
    done = erase(browser, f"{page}/erase", "alice (branch what-if)")

    assert "Erase this branch" in listed
    assert "Erase this end user" not in listed
    assert "Erase all data of alice (branch what-if)?" in asked
    assert "its other branches stay" in asked
    assert len(receipts_on(browser, done["Location"])) == 1
    assert browser.get(page).status_code == 404
    assert status_of(alice_scope, memory_id) == "active"


@pytest.mark.parametrize("typed", ["", "Alice", "bob", "alice2"])
def test_nothing_is_erased_until_the_name_is_typed(typed: str, browser: Client, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)

    answer = erase(browser, address(alice_scope, "/erase"), typed)

    assert answer.status_code == 422
    assert "nothing was erased" in text_of_refused(answer)
    assert status_of(alice_scope, memory_id) == "active"


def test_one_memory_is_erased_and_cannot_be_brought_back(browser: Client, alice_scope: Scope) -> None:
    kept, gone = say(alice_scope, KEY, SWITCH)

    done = erase(browser, address(alice_scope, f"/memories/{gone}/erase"), str(gone))

    assert len(receipts_on(browser, done["Location"])) == 1
    assert status_of(alice_scope, kept) == "active"
    assert browser.get(address(alice_scope, f"/memories/{gone}")).status_code == 404
    assert SWITCH not in text_of(browser.get(address(alice_scope, "?status=deleted")))


def test_project_is_erased_and_stays_usable(browser: Client, acme: OpenedTenant, alice_scope: Scope) -> None:
    project = make_project(acme.scope, "other", now=now())
    inside = make_scope(acme, "alice", project_id=get_project(acme.scope, project).pk, now=now())
    (theirs,) = say(inside, KEY)
    (elsewhere,) = say(alice_scope, SWITCH)

    done = erase(browser, f"/app/t/acme/projects/{project}/erase", project)

    assert len(receipts_on(browser, done["Location"])) == 1
    assert browser.get(address(alice_scope, f"/memories/{theirs}")).status_code == 404
    assert status_of(alice_scope, elsewhere) == "active"
    assert browser.get(address(alice_scope, f"?project={project}")).status_code == 200


def test_what_is_held_is_not_erased_and_the_page_says_by_what(browser: Client, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)
    hold(alice_scope, Level.SPACE, alice_scope.space.id, case="case-17", now=now())

    answer = browser.get(address(alice_scope, "/erase"))

    assert answer.status_code == 409
    assert "legal hold: case-17" in text_of_refused(answer)
    assert status_of(alice_scope, memory_id) == "active"


def test_receipts_of_an_erased_tenant_remain_and_are_nobody_elses(
    browser: Client, alice_scope: Scope, globex: OpenedTenant
) -> None:
    say(alice_scope, KEY)

    done = erase(browser, "/app/t/acme/erase", "acme")

    (receipt,) = receipts_on(browser, done["Location"])
    assert verify(browser.get(receipt).content, public_keys())
    assert browser.get("/app/t/acme").status_code == 404
    assert "receipts of its erasures" in text_of(browser.get("/app/"))
    stranger = make_person(globex.tenant).show_factor(ago=1)
    assert stranger.get(receipt).status_code == 404
    assert stranger.get(f"/app/t/globex/receipts/{receipt.rsplit('/', 1)[1]}").status_code == 404
    assert stranger.get(f"/app/t/globex/erasures/{done['Location'].rsplit('/', 1)[1]}").status_code == 404


def test_reader_sees_no_erasures(acme: OpenedTenant, alice_scope: Scope) -> None:
    reader = make_person(acme.tenant, Role.DEVELOPER).show_factor(ago=1)

    for page in ("/app/t/acme/erasures", "/app/t/acme/erase", address(alice_scope, "/erase")):
        assert reader.get(page).status_code == 403


# -- requests of persons ---------------------------------------------------------------------------------------------


def test_file_of_a_person_is_made_and_its_link_is_shown_once(
    browser: Client, owner: Person, acme: OpenedTenant, alice_scope: Scope
) -> None:
    say(alice_scope, KEY)
    asked, _ = subject_requests.open_request(alice_scope, PrivacyKind.ACCESS, now=now())
    page, place = "/app/t/acme/privacy", f"/app/t/acme/privacy/{asked.id}"
    assert "Create file" in text_of(browser.get(page))

    assert browser.post(f"{place}/file")["Location"] == page
    assert "file pending" in text_of(browser.get(page))
    export = find_for_requests(acme.scope, [asked.id]).get(asked.id)
    assert export is not None
    export_worker.work(acme.scope.tenant_id, export.job.pk, seconds=30, clock=now)
    assert "Create link" in text_of(browser.get(page))
    shown = browser.post(f"{place}/link")
    (link,) = set(re.findall(r"/exports/exp_\w+/file/[\w-]+", shown.content.decode()))

    assert link not in browser.get(page).content.decode()
    taken = Client().get(link)
    assert KEY in b"".join(taken).decode()  # type: ignore[arg-type]
    assert "completed" in text_of(browser.get(page))
    assert Client(raise_request_exception=False).get(link).status_code == 404


def test_file_of_a_person_needs_the_right_to_decide_and_a_step_up(
    owner: Person, acme: OpenedTenant, globex: OpenedTenant, alice_scope: Scope
) -> None:
    say(alice_scope, KEY)
    asked, _ = subject_requests.open_request(alice_scope, PrivacyKind.ACCESS, now=now())
    analyst = make_person(acme.tenant, Role.ANALYST).show_factor(ago=1)
    stranger = make_person(globex.tenant, Role.OWNER).show_factor(ago=1)
    stale = owner.show_factor(ago=3600)

    for what in ("file", "link"):
        address = f"/app/t/acme/privacy/{asked.id}/{what}"
        assert analyst.post(address).status_code == 403
        assert stranger.post(address).status_code == 404
        assert "step-up" in stale.post(address)["Location"]
        assert stranger.post(f"/app/t/globex/privacy/{asked.id}/{what}").status_code in (404, 409)
    assert find_for_requests(acme.scope, [asked.id]) == {}
    assert "No requests" in text_of(stranger.get("/app/t/globex/privacy"))


def test_page_of_a_deleted_memory_states_only_what_holds(browser: Client, alice_scope: Scope) -> None:
    (memory_id,) = say(alice_scope, KEY)
    page = address(alice_scope, f"/memories/{memory_id}")
    browser.post(f"{page}/delete")

    shown = text_of(browser.get(page))
    again = browser.post(f"{page}/delete", follow=True)

    assert "It will be permanently deleted" in shown
    assert not [one for one in ("Versions", "Stored by", " current ") if one in shown]
    assert "This memory was deleted already." in text_of(again)


def test_memory_restored_behind_a_newer_value_is_called_replaced(browser: Client, alice_scope: Scope) -> None:
    def live_in(city: str) -> int:
        (outcome,) = remember(alice_scope, [Proposal(text=Plaintext(f"I live in {city}."), importance=0.9)], now=now())
        return outcome.memory_ids[0]

    first = live_in("Lisbon")
    browser.post(address(alice_scope, f"/memories/{first}/delete"))
    live_in("Porto")

    restored = browser.post(address(alice_scope, f"/memories/{first}/restore"), follow=True)

    assert "Restored as replaced: a newer value holds." in text_of(restored)


def test_history_of_a_memory_shows_the_name_of_the_key(browser: Client, acme: OpenedTenant, alice_scope: Scope) -> None:
    key = make_api_key(acme.scope, name="support bot").key
    by_key = replace(alice_scope, principal=Principal(kind="api_key", id=key.pk))
    (memory_id,) = say(by_key, KEY)

    assert "Stored by support bot" in text_of(browser.get(address(alice_scope, f"/memories/{memory_id}")))


def test_deletion_request_of_a_person_is_carried_out_by_erasing_them(browser: Client, alice_scope: Scope) -> None:
    say(alice_scope, KEY)
    asked, _ = subject_requests.open_request(alice_scope, PrivacyKind.DELETE, now=now())
    page, place = "/app/t/acme/privacy", f"/app/t/acme/privacy/{asked.id}/erase"
    held = hold(alice_scope, Level.SPACE, alice_scope.space.id, case="case-17", now=now())

    assert "Delete for alice" in text_of(browser.get(page))
    assert place in browser.get(page).content.decode()
    assert browser.get(place).status_code == 409
    lift(alice_scope, held.pk, now=now())
    assert erase(browser, place, "bob").status_code == 422
    done = erase(browser, place, "alice")

    assert done["Location"] == page
    assert "completed" in text_of(browser.get(page))
    assert browser.get(address(alice_scope)).status_code == 404
    assert browser.get(place).status_code == 409


def test_deletion_request_of_a_person_who_was_erased_before_is_completed(browser: Client, alice_scope: Scope) -> None:
    say(alice_scope, KEY)
    asked, _ = subject_requests.open_request(alice_scope, PrivacyKind.DELETE, now=now())
    word = Authorisation(principal=alice_scope.principal, method="test")
    start_erasure(alice_scope, Target.end_user(alice_scope.space.owner_id), authorised=word, now=now())
    place = f"/app/t/acme/privacy/{asked.id}/erase"

    assert "was erased before" in text_of(browser.get(place))
    erase(browser, place, str(asked.end_user_id))

    assert subject_requests.get_request(alice_scope, asked.id, now=now()).state == "completed"


def test_erasing_a_person_by_hand_completes_their_deletion_request(browser: Client, alice_scope: Scope) -> None:
    say(alice_scope, KEY)
    asked, _ = subject_requests.open_request(alice_scope, PrivacyKind.DELETE, now=now())
    copy, _ = subject_requests.open_request(alice_scope, PrivacyKind.ACCESS, now=now())

    erase(browser, address(alice_scope, "/erase"), "alice")

    done, other = (subject_requests.get_request(alice_scope, one.id, now=now()) for one in (asked, copy))
    assert (done.state, len(done.evidence), other.state) == ("completed", 1, "pending")
