"""The console's pages about who may get in.  What they show, to whom, and that nothing is kept of a secret."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from apps.apikeys.models import ApiKey
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT, PERMISSIONS
from apps.apikeys.quota import set_quota, take
from apps.apikeys.selectors import KeyRevoked, authenticate, list_keys
from apps.audit.models import AuditEvent
from apps.audit.services import record
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import get_project, list_projects
from apps.tenants.grants import GRANTED, GRANTS
from apps.tenants.models import Membership, Role
from apps.tenants.selectors import get_tenant
from apps.tenants.services import POLICIES, set_policy
from apps.web import keys
from apps.web.settings import QUESTIONS, THEN
from tests.makers import make_api_key, make_project, make_scope
from tests.web.people import Person, kept_in_sessions, make_person, say
from tests.web.test_memory_pages import counted, older_in
from tests.web.test_pages import now

pytestmark = pytest.mark.django_db(databases="__all__")

KEYS, SETTINGS = "/app/t/acme/keys", "/app/t/acme/settings"
SECRET = re.compile(r"ms_(?:live|test|dev)_[A-Za-z0-9]{11}_?[A-Za-z0-9_-]{20,}")
FORM = {"name": "support bot", "environment": "staging", "days": "30", "project": "", "scopes": list(DEFAULT)}


@pytest.fixture
def browser(owner: Person) -> Client:
    return owner.show_factor(ago=1)


def text_of(answer: Any) -> str:
    """Whatever its status, without its menu."""
    page = answer.content.decode().split("<main")[-1]
    return " ".join(re.sub(r"<[^>]+>", " ", page).replace("&#x27;", "'").split())


def key_of(tenant: OpenedTenant, key_id: int) -> ApiKey:
    return next(one for one in list_keys(tenant.scope) if one.pk == key_id)


def made_by(answer: Any) -> str:
    """The text that the page shows."""
    found = set(SECRET.findall(answer.content.decode()))
    assert len(found) == 1, found
    return str(found.pop())


# -- keys ------------------------------------------------------------------------------------------------------------


def test_key_is_made_works_and_is_shown_this_once(browser: Client, acme: OpenedTenant) -> None:
    project = make_project(acme.scope, "Support")

    answer = browser.post(f"{KEYS}/new", FORM | {"project": project})

    text = made_by(answer)
    assert answer.status_code == 201
    assert "no-store" in answer["Cache-Control"]
    found = authenticate(text, now=now())
    assert (found.environment, found.permissions) == (Environment.STAGING, frozenset(DEFAULT))
    key = key_of(acme, found.key_id)
    assert key.project is not None
    assert key.project.name == "Support"
    assert timedelta(days=30) - (key.expires_at - now()) < timedelta(minutes=1)  # type: ignore[operator]
    for page in (KEYS, f"{KEYS}/{key.pk}", "/app/t/acme"):
        assert text not in browser.get(page).content.decode(), page
    assert all(text not in one for one in kept_in_sessions())
    assert text not in str(vars(cache))


def test_key_of_several_environments_shows_all_of_them(browser: Client, acme: OpenedTenant) -> None:
    answer = browser.post(f"{KEYS}/new", FORM | {"other_environments": ["development", "staging"]})

    found = authenticate(made_by(answer), now=now())
    assert (found.environment, found.also_reads) == (Environment.STAGING, (Environment.DEVELOPMENT,))
    assert "staging, development" in text_of(answer)
    for page in (KEYS, f"{KEYS}/{found.key_id}", f"{KEYS}/{found.key_id}/rotate"):
        assert re.search(r"staging,? development", text_of(browser.get(page))), page


def test_making_and_rotating_ask_who_it_is_and_revoking_does_not(owner: Person, acme: OpenedTenant) -> None:
    client = owner.show_factor()
    key = make_api_key(acme.scope).key

    for answer in (client.get(f"{KEYS}/new"), client.post(f"{KEYS}/new", FORM), client.post(f"{KEYS}/{key.pk}/rotate")):
        assert answer["Location"].startswith("/app/step-up?next=")
    assert client.get(KEYS).status_code == client.get(f"{KEYS}/{key.pk}").status_code == 200
    assert client.post(f"{KEYS}/revoke", {"id": key.pk, "sure": "yes"}).status_code == 302
    assert key_of(acme, key.pk).revoked_at is not None


def test_page_with_the_text_of_a_key_has_no_button_that_loads_it_again(browser: Client, acme: OpenedTenant) -> None:
    assert "/app/colours" in browser.get(f"{KEYS}/new").content.decode()
    assert "/app/colours" not in browser.post(f"{KEYS}/new", FORM).content.decode()


def test_preset_of_scopes_keeps_what_was_typed(browser: Client, acme: OpenedTenant) -> None:
    before = len(list_keys(acme.scope))

    shown = browser.post(f"{KEYS}/new", FORM | {"name": "", "days": "30", "preset": "nothing"})
    named = browser.post(f"{KEYS}/new", FORM | {"preset": "reading"}).content.decode()

    assert (shown.status_code, len(list_keys(acme.scope))) == (200, before)
    assert 'class="error"' not in shown.content.decode()
    assert 'value="30" selected' in shown.content.decode()
    assert not re.search(r'name="scopes"[^>]* checked', shown.content.decode())
    assert f'value="{FORM["name"]}"' in named
    assert 'value="staging" selected' in named
    assert re.search(r'value="memory:read"[^>]* checked', named)
    assert not re.search(r'value="memory:add"[^>]* checked', named)


def test_key_that_cannot_be_is_not_made_and_the_form_stays(browser: Client, acme: OpenedTenant) -> None:
    before = len(list_keys(acme.scope))
    refused: list[tuple[dict[str, Any], str]] = [
        ({"scopes": []}, "needs at least one scope"),
        ({"name": " "}, "This field is required"),
        ({"name": "bo\x07t"}, "Control characters are not allowed"),
        ({"days": "1000"}, "Select a valid choice"),
        ({"scopes": ["team:write"]}, "Select a valid choice"),
        ({"project": "absent"}, "Select a valid choice"),
        ({"other_environments": ["moon"]}, "Select a valid choice"),
    ]
    for change, said in refused:
        answer = browser.post(f"{KEYS}/new", FORM | change)
        assert answer.status_code == 422, change
        assert said in text_of(answer), change
        assert 'value="staging" selected' in answer.content.decode(), change
    assert len(list_keys(acme.scope)) == before


def test_developer_is_offered_and_given_no_more_than_the_role_allows(acme: OpenedTenant) -> None:
    developer = make_person(acme.tenant, Role.DEVELOPER).show_factor(ago=1)
    wide = make_api_key(acme.scope, scopes=["memory:delete"]).key

    offered = set(re.findall(r'name="scopes" value="([\w:]+)"', developer.get(f"{KEYS}/new").content.decode()))

    assert set(DEFAULT) <= offered
    assert not offered & {"memory:delete", "exports:read", "retention:write"}
    answer = developer.post(f"{KEYS}/new", FORM | {"scopes": ["memory:read", "memory:delete"]})
    assert answer.status_code == 422
    assert developer.post(f"{KEYS}/{wide.pk}/rotate", {"grace": "0"}).status_code == 403
    assert developer.post(f"{KEYS}/new", FORM).status_code == 201
    owner = make_person(acme.tenant).show_factor(ago=1)
    assert set(re.findall(r'name="scopes" value="([\w:]+)"', owner.get(f"{KEYS}/new").content.decode())) == set(
        PERMISSIONS
    )


def test_key_is_rotated_with_grace_and_at_once(browser: Client, acme: OpenedTenant) -> None:
    lenient, leaked = make_api_key(acme.scope, name="lenient"), make_api_key(acme.scope, name="leaked")

    later = browser.post(f"{KEYS}/{lenient.key.pk}/rotate", {"grace": "86400"})
    at_once = browser.post(f"{KEYS}/{leaked.key.pk}/rotate", {"grace": "0"})

    assert authenticate(made_by(later), now=now()).key_id > authenticate(lenient.text, now=now()).key_id
    assert "works until" in text_of(later)
    authenticate(made_by(at_once), now=now())
    assert "is refused from now on" in text_of(at_once)
    with pytest.raises(KeyRevoked):
        authenticate(leaked.text, now=now())
    assert browser.post(f"{KEYS}/{lenient.key.pk}/rotate", {"grace": "12"}).status_code == 422
    assert browser.post(f"{KEYS}/{leaked.key.pk}/rotate", {"grace": "0"}).status_code == 409


def test_many_keys_are_revoked_after_they_were_shown(browser: Client, acme: OpenedTenant, globex: OpenedTenant) -> None:
    first, second, kept = (make_api_key(acme.scope, name=name).key for name in ("first", "second", "kept"))
    foreign = make_api_key(globex.scope, name="theirs").key
    ids = [first.pk, second.pk, foreign.pk]

    shown = text_of(browser.post(f"{KEYS}/revoke", {"id": ids}))
    untouched = [key_of(acme, one.pk).revoked_at for one in (first, second)]
    done = browser.post(f"{KEYS}/revoke", {"id": [*ids, first.pk], "sure": "yes"})

    assert "Revoke 2 keys?" in shown
    assert "theirs" not in shown
    assert untouched == [None, None]
    assert [key_of(acme, one.pk).revoked_at is None for one in (first, second, kept)] == [False, False, True]
    assert key_of(globex, foreign.pk).revoked_at is None
    said = text_of(browser.get(done["Location"]))
    assert "2 revoked" in said
    assert "1 not revoked" in said
    assert "second" not in text_of(browser.get(KEYS))
    assert "second" in text_of(browser.get(f"{KEYS}?state=past"))
    assert "No key is selected" in text_of(browser.post(f"{KEYS}/revoke", follow=True))
    assert browser.post(f"{KEYS}/revoke", {"id": first.pk}).status_code == 404


def test_key_says_whether_it_would_be_let_in(browser: Client, acme: OpenedTenant, globex: OpenedTenant) -> None:
    key = make_api_key(acme.scope, scopes=["memory:*"], expires_in=timedelta(days=3)).key

    shown = text_of(browser.get(f"{KEYS}/{key.pk}"))
    assert "Status active" in shown
    assert "state:write" in shown  # spelled out
    assert "memory:delete" not in shown
    assert "ends" in text_of(browser.get(KEYS))
    with tenant_transaction(acme.scope):
        ApiKey.objects.within(acme.scope).filter(pk=key.pk).update(expires_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert "Status expired" in text_of(browser.get(f"{KEYS}/{key.pk}"))
    foreign = make_api_key(globex.scope).key
    assert browser.get(f"{KEYS}/{foreign.pk}").status_code == browser.get(f"{KEYS}/{2**53 - 1}").status_code == 404


def test_keys_come_in_pages(monkeypatch: pytest.MonkeyPatch, browser: Client, acme: OpenedTenant) -> None:
    monkeypatch.setattr(keys, "PAGE", 2)  # of those three that the tenant was opened with, and this one
    make_api_key(acme.scope, name="latest")

    first = browser.get(KEYS)
    second = browser.get(f"{KEYS}?{older_in(first)}")

    assert "latest" in text_of(first)
    assert "latest" not in text_of(second)
    assert text_of(first).count("first key") == 1
    assert text_of(second).count("first key") == 2
    assert 'rel="next"' not in second.content.decode()


def test_tenant_without_keys_is_told_what_one_is(browser: Client, acme: OpenedTenant) -> None:
    with tenant_transaction(acme.scope):
        ApiKey.objects.within(acme.scope).update(revoked_at=now())

    shown = text_of(browser.get(KEYS))

    assert "No active keys" in shown
    assert "Create key" in shown


# -- the team --------------------------------------------------------------------------------------------------------


TEAM = "/app/t/acme/team"


def role_of(person: Person, tenant: OpenedTenant) -> tuple[str, bool] | None:
    """And whether it is suspended."""
    row = Membership.objects.filter(user=person.user, organization=tenant.tenant.organization).first()
    return (row.role, row.suspended_at is not None) if row else None


def test_team_is_listed_with_what_each_role_may(browser: Client, acme: OpenedTenant, globex: OpenedTenant) -> None:
    make_person(acme.tenant, Role.ANALYST, factor=False)
    make_person(globex.tenant, Role.ADMIN)

    shown = text_of(browser.get(TEAM))

    assert "owner@acme.example you owner" in shown
    assert re.search(r"analyst@acme.example analyst .* no second factor yet", shown)
    assert "globex" not in shown
    assert "memsync people add carol@example.com --role analyst --tenant acme" in shown
    table = browser.get(TEAM).content.decode()
    for name, words in GRANTED.items():
        row = next(one for one in re.findall(r"<tr>.*?</tr>", table, re.DOTALL) if f">{name}<" in one)
        cells = re.findall(r"<td.*?</td>", row, re.DOTALL)
        assert ["yes" in cell for cell in cells] == [name in GRANTS[role] for role in Role.values], words


def test_member_is_given_another_role_suspended_brought_back_and_removed(browser: Client, acme: OpenedTenant) -> None:
    dev = make_person(acme.tenant, Role.DEVELOPER)
    page = f"{TEAM}/{dev.user.pk}"

    browser.post(page, {"role": "analyst"})
    assert role_of(dev, acme) == ("analyst", False)
    browser.post(page, {"status": "suspended"})
    assert role_of(dev, acme) == ("analyst", True)
    assert dev.show_factor().get("/app/t/acme").status_code == 404
    assert "End suspension" in text_of(browser.get(page))
    browser.post(page, {"status": "active"})
    assert role_of(dev, acme) == ("analyst", False)
    assert "Remove developer@acme.example?" in text_of(browser.get(f"{page}/remove"))
    assert role_of(dev, acme) == ("analyst", False)
    browser.post(f"{page}/remove")
    assert role_of(dev, acme) is None
    assert browser.get(page).status_code == 404


def test_change_of_nothing_or_to_nothing_is_refused(browser: Client, acme: OpenedTenant) -> None:
    dev = make_person(acme.tenant, Role.DEVELOPER)

    for form in ({}, {"status": "gone"}, {"role": "admin", "status": "suspended"}, {"role": "king"}):
        assert browser.post(f"{TEAM}/{dev.user.pk}", form).status_code in (400, 422), form
    assert role_of(dev, acme) == ("developer", False)


def test_team_is_changed_only_after_a_step_up(owner: Person, acme: OpenedTenant) -> None:
    dev, client = make_person(acme.tenant, Role.DEVELOPER), owner.show_factor()

    for answer in (
        client.post(f"{TEAM}/{dev.user.pk}", {"role": "billing"}),
        client.post(f"{TEAM}/{dev.user.pk}/remove"),
    ):
        assert answer["Location"].startswith("/app/step-up?next=")
    assert role_of(dev, acme) == ("developer", False)


def test_admin_changes_no_owner_and_makes_none_and_the_last_owner_stays(
    browser: Client, owner: Person, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    admin, dev = make_person(acme.tenant, Role.ADMIN), make_person(acme.tenant, Role.DEVELOPER)
    client, stranger = admin.show_factor(ago=1), make_person(globex.tenant, Role.ADMIN)

    assert "Only an owner can change owners" in text_of(client.get(f"{TEAM}/{owner.user.pk}"))
    assert 'value="owner"' not in client.get(f"{TEAM}/{dev.user.pk}").content.decode()
    assert client.post(f"{TEAM}/{owner.user.pk}", {"role": "analyst"}).status_code == 403
    assert client.post(f"{TEAM}/{owner.user.pk}/remove").status_code == 403
    assert client.post(f"{TEAM}/{dev.user.pk}", {"role": "owner"}).status_code == 403
    assert browser.post(f"{TEAM}/{owner.user.pk}", {"role": "admin"}).status_code == 409
    assert browser.post(f"{TEAM}/{owner.user.pk}/remove").status_code == 409
    for page in (f"{TEAM}/{stranger.user.pk}", f"{TEAM}/{2**53 - 1}"):
        assert browser.get(page).status_code == browser.post(page, {"role": "owner"}).status_code == 404
    assert role_of(stranger, globex) == ("admin", False)
    assert (role_of(owner, acme), role_of(dev, acme)) == (("owner", False), ("developer", False))


def test_member_who_changes_their_own_role_is_redirected_to_an_allowed_page(
    browser: Client, acme: OpenedTenant
) -> None:
    other = make_person(acme.tenant, email="second@acme.example").show_factor(ago=1)
    me = Membership.objects.get(user__email="second@acme.example").user_id

    changed = other.post(f"{TEAM}/{me}", {"role": "billing"}, follow=True)

    assert changed.redirect_chain[-1][0] == "/app/t/acme/usage"
    assert "second@acme.example now has the role billing" in text_of(changed)


# -- projects --------------------------------------------------------------------------------------------------------


PROJECTS = "/app/t/acme/projects"


def test_project_is_made_renamed_archived_and_brought_back(browser: Client, acme: OpenedTenant) -> None:
    browser.post(f"{PROJECTS}/new", {"name": "Support"})
    made = next(one for one in list_projects(acme.scope) if one.name == "Support")
    page = f"{PROJECTS}/{made.public_id}"
    say(make_scope(acme, "alice", project_id=made.pk, now=now()), "The spare key lies under the flower pot.")

    assert re.search(rf"Support {made.public_id} .* 1 memory", text_of(browser.get(PROJECTS)))
    browser.post(f"{page}/rename", {"name": "Help desk"})
    browser.post(f"{page}/archive")
    assert "Help desk archived" in text_of(browser.get(PROJECTS))
    assert browser.post(f"{page}/archive").status_code == 302  # twice changes nothing
    browser.post(f"{page}/unarchive")
    assert "archived" not in text_of(browser.get(PROJECTS))
    for action in ("new", f"{made.public_id}/rename"):
        refused = browser.post(f"{PROJECTS}/{action}", {"name": "x" * 201})
        assert refused.status_code == 422
        assert "at most 200 characters" in text_of(refused)
    assert browser.post(f"{PROJECTS}/{acme.project.public_id}/archive").status_code == 409


def test_project_goes_when_it_is_empty_and_after_a_step_up(browser: Client, owner: Person, acme: OpenedTenant) -> None:
    full, empty = (get_project(acme.scope, make_project(acme.scope, name)) for name in ("Full", "Empty"))
    say(make_scope(acme, "alice", project_id=full.pk, now=now()), "The spare key lies under the flower pot.")
    pinned = make_api_key(acme.scope, project_id=empty.pk).key
    ask = f"{PROJECTS}/{empty.public_id}/remove"
    assert owner.show_factor().post(ask)["Location"].startswith("/app/step-up")
    browser = owner.show_factor(ago=1)

    assert "Delete Empty?" in text_of(browser.get(ask))
    assert browser.post(ask)["Location"] == PROJECTS
    refused = browser.post(f"{PROJECTS}/{full.public_id}/remove")

    assert refused.status_code == 409
    assert "1 memories, including recently deleted" in text_of(refused)
    assert {one.name for one in list_projects(acme.scope)} == {"Default", "Full"}
    assert key_of(acme, pinned.pk).revoked_at is not None


def test_analyst_sees_projects_and_changes_none(acme: OpenedTenant, globex: OpenedTenant) -> None:
    analyst, theirs = make_person(acme.tenant, Role.ANALYST).show_factor(ago=1), make_project(globex.scope, "Theirs")

    assert "<form" not in analyst.get(PROJECTS).content.decode().split("<main")[1]
    assert "Rename" not in text_of(analyst.get(f"{PROJECTS}/{acme.project.public_id}"))
    for public_id in (theirs, "absent"):
        assert analyst.get(f"{PROJECTS}/{public_id}").status_code == 404


# -- usage and settings ----------------------------------------------------------------------------------------------


def test_usage_counts_what_was_brought_recalled_and_stored(
    acme: OpenedTenant, globex: OpenedTenant, alice_scope: Scope
) -> None:
    staging = make_scope(acme, "alice", environment=Environment.STAGING, now=now())
    say(alice_scope, "The spare key lies under the flower pot.", "The attic light switch is behind the door.")
    say(staging, "My bicycle has the frame number WX-4711.")
    say(make_scope(globex, "zoe", now=now()), "I am allergic to penicillin.")
    for who, kind, count, when in (
        (acme, "api_key", 5, 0), (acme, "account", 2, 0), (acme, "api_key", 3, 31), (globex, "api_key", 90, 0),
    ):  # fmt: skip
        with tenant_transaction(who.scope):
            at = now() - timedelta(days=when)
            record(who.scope, actor=f"{kind}:1", action="memory.recall", target="space:1", count=count, now=at)
            record(who.scope, actor=f"{kind}:1", action="memory.read", target="space:1", count=70, now=at)
    set_quota(acme.scope, actor="command:0", mode="strict", adds=4, retrievals=None, now=now())
    with tenant_transaction(acme.scope):
        [take(acme.scope, "adds", actor="api_key:1", now=now()) for _ in range(4)]
    browser = make_person(acme.tenant, Role.BILLING).show_factor()

    answer = browser.get("/app/t/acme/usage")
    shown = text_of(answer)

    assert "Added: 3" in shown
    assert "Recalled: 7" in shown
    assert "programs 5 people 2" in shown
    assert re.search(r"production 2 0 0 0 staging 1 0 0 0 development 0 0 0 0", shown)
    assert "Adds 100 % used 4 used of 4, 0 left" in shown
    assert "Retrievals 0 used, without a limit" in shown
    assert "flower pot" not in shown
    assert browser.get("/app/")["Location"] == "/app/t/acme/usage"
    assert "/keys" not in answer.content.decode()


def test_usage_of_nothing_says_so(browser: Client) -> None:
    shown = text_of(browser.get("/app/t/acme/usage"))

    assert "No usage in the last 30 days" in shown
    assert "memsync tenant quota acme --mode strict" in shown


def test_settings_say_which_rules_hold(browser: Client, acme: OpenedTenant) -> None:
    set_policy(acme.tenant, actor="command:0", now=now(), key_deletes="retire")

    shown = text_of(browser.get(SETTINGS))

    assert "Retire: hidden at once, restorable for 7 days active" in shown
    assert shown.count(" active") >= len(QUESTIONS)
    assert "Self-hosted, unlimited" in shown
    admin = text_of(make_person(acme.tenant, Role.ADMIN).show_factor(ago=1).get(SETTINGS))
    assert "Self-hosted" not in admin
    assert "Change to this" not in admin


def test_every_rule_of_a_tenant_has_a_page_that_changes_it() -> None:
    assert set(QUESTIONS) == set(POLICIES) - {"break_glass"}  # for which tests/web/test_break_glass.py
    assert {name: set(said) for name, said in THEN.items()} == {name: set(POLICIES[name].values) for name in QUESTIONS}


def test_owner_changes_a_rule_after_a_look_and_a_step_up(owner: Person, acme: OpenedTenant) -> None:
    browser = owner.show_factor()
    page = browser.get(SETTINGS).content.decode()
    assert f"{SETTINGS}/change?rule=key_deletes&amp;value=retire" in page
    asked = f"{SETTINGS}/change?rule=key_deletes&value=retire"
    assert browser.get(asked)["Location"].startswith("/app/step-up?next=")
    assert browser.post(f"{SETTINGS}/change", {"rule": "key_deletes", "value": "retire"}).status_code == 302
    assert get_tenant("acme").key_deletes == "deny"

    browser = owner.show_factor(ago=1)
    shown = text_of(browser.get(asked))
    answer = browser.post(asked, {"rule": "key_deletes", "value": "retire"}, follow=True)

    assert "Refuse every delete" in shown
    assert "can then soft-delete memories without a person" in shown
    assert "Changed to: Retire: hidden at once" in text_of(answer)
    assert get_tenant("acme").key_deletes == "retire"
    with tenant_transaction(acme.scope):
        row = AuditEvent.objects.get(action="tenant.policy")
    assert (row.actor, row.reason) == (f"account:{owner.user.pk}", "key_deletes=retire")


@pytest.mark.parametrize(
    ("rule", "value"), [("key_deletes", "purge"), ("break_glass", "notify"), ("name", "x"), ("", "")]
)
def test_rule_that_is_none_is_refused(browser: Client, acme: OpenedTenant, rule: str, value: str) -> None:
    asked = {"rule": rule, "value": value}
    assert browser.get(f"{SETTINGS}/change", asked).status_code == 422
    assert browser.post(f"{SETTINGS}/change", asked).status_code == 422
    assert get_tenant("acme").break_glass == "ask"


def test_what_of_a_project_waits_for_review_is_set(browser: Client, acme: OpenedTenant) -> None:
    page = f"{PROJECTS}/{acme.project.public_id}"
    assert 'value="by_door"\n                                        selected' in browser.get(page).content.decode()

    assert browser.post(f"{page}/review", {"review": "all"})["Location"] == page

    assert get_project(acme.scope, acme.project.public_id).review == "all"
    assert browser.post(f"{page}/review", {"review": "some"}).status_code == 422


# -- how much they ask -----------------------------------------------------------------------------------------------


# At most so many, whatever there is.  Those of the session and the person are about ten of them.
AT_MOST = {"/keys": 7, "/keys/new": 8, "/team": 7, "/projects": 7, "/usage": 15, "/settings": 5}


def test_statements_of_a_page_are_few_and_do_not_grow(browser: Client, acme: OpenedTenant) -> None:
    asked: dict[str, list[int]] = {}
    for there in range(2):
        for number in range(5 * there):
            make_project(acme.scope, f"Project {number}")
            make_api_key(acme.scope, project_id=acme.project.pk)
            make_person(acme.tenant, Role.ANALYST, email=f"{number}@acme.example")
        for page in AT_MOST:
            browser.get(f"/app/t/acme{page}")
            cache.clear()
            with counted() as count:
                assert browser.get(f"/app/t/acme{page}").status_code == 200
            asked.setdefault(page, []).append(count())

    print(asked)  # noqa: T201  (shown with -s)
    for page, (few, many) in asked.items():
        assert many <= few, page
        assert many <= AT_MOST[page], page
