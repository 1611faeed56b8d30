"""Signing in: with what, how often, for how long, and what a stolen page, cookie or code is worth."""

import re
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db import ProgrammingError, connections
from django.test import Client

from apps.accounts import second_factors
from apps.accounts.models import BrowserSession
from apps.accounts.services import start_over
from apps.accounts.session_store import digest_of
from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.crypto.services import DecryptError
from apps.tenants.members import LastOwner, NotAMember, give_role, reach_of, take_role
from apps.tenants.models import Organization, Role, Tenant
from apps.web.adapters import FactorAdapter, is_own_page
from tests.web.people import Person, give_code, give_password, make_operator, make_person, text, to_page

pytestmark = pytest.mark.django_db(databases="__all__")

HERE, UP = "/app/sign-in", "/app/sign-up"
NEW = {"email": "new@initech.example", "password": "correct horse battery", "organization": "Initech & Söhne"}


@pytest.fixture
def open_to_all(settings: Any) -> None:
    settings.SIGNUP = True


CODE = r"(?:[0-9A-Z]{5}-){3}[0-9A-Z]{5}"


def without_secrets(answer: Any) -> str:
    return re.sub(rf'{CODE}|csrfmiddlewaretoken" value="\w+', "", answer.content.decode())


def is_signed_in(person: Person) -> bool:
    return "_auth_user_id" in person.client.session


# -- with what -------------------------------------------------------------------------------------------------------


def test_password_and_code_sign_in(owner: Person) -> None:
    assert to_page(give_password(owner)) == "/app/sign-in/code"
    assert not is_signed_in(owner)

    assert to_page(give_code(owner)) == "/app/"

    assert is_signed_in(owner)
    assert owner.client.get("/app/")["Location"] == "/app/t/acme"
    assert AuditEvent.objects.filter(action="session.open", actor=f"account:{owner.user.pk}").count() == 1


def test_password_alone_opens_no_page_for_somebody_with_a_second_factor(owner: Person) -> None:
    give_password(owner)

    assert to_page(owner.client.get("/app/t/acme")) == HERE


def test_somebody_without_second_factor_is_sent_to_add_one(acme: OpenedTenant) -> None:
    person = make_person(acme.tenant, "admin", factor=False)
    assert to_page(give_password(person)) == "/app/"

    for page in ("/app/", "/app/t/acme", "/app/t/acme/requests"):
        assert to_page(person.client.get(page)) == "/app/account"
    assert person.client.get("/app/account").status_code == 200


def test_session_of_the_operators_site_does_not_open_pages_for_who_has_a_second_factor(owner: Person) -> None:
    assert to_page(owner.sign_in().get("/app/t/acme")) == "/app/step-up"


def test_wrong_password_is_refused_and_noted_without_what_was_typed(owner: Person) -> None:
    answer = give_password(owner, "hunter2hunter2")

    assert answer.status_code == 200
    assert "hunter2" not in answer.content.decode()
    row = AuditEvent.objects.get(action="session.refused")
    assert (row.actor, row.target, row.outcome) == ("anonymous", "account", "denied")


def test_unknown_person_and_wrong_password_look_the_same(owner: Person) -> None:
    wrong = give_password(owner, "wrong password")
    unknown = owner.client.post(HERE, {"login": "nobody@example.org", "password": "wrong password"})

    def alike(answer: Any) -> str:
        text = re.sub(r'(csrfmiddlewaretoken" value=")\w+', r"\1", answer.content.decode())
        return text.replace(owner.user.email, "X").replace("nobody@example.org", "X")

    assert alike(wrong) == alike(unknown)


def test_nobody_signs_up_past_these_pages() -> None:
    for path in ("/app/signup", "/app/account/signup", "/accounts/signup/"):
        assert Client(raise_request_exception=False).get(path).status_code == 404


def test_nobody_signs_up_where_the_operator_lets_nobody() -> None:
    client = Client(raise_request_exception=False)

    shown = client.get(HERE).content.decode()
    assert "Sign-up is disabled" in shown
    assert UP not in shown
    for answer in (client.get(UP), client.post(UP, NEW)):
        assert answer.status_code == 403
        assert "Sign-up is disabled" in answer.content.decode()
    assert not Organization.objects.exists()


@pytest.mark.usefixtures("open_to_all")
def test_somebody_new_signs_up_signs_in_and_owns_a_tenant() -> None:
    client = Client()
    shown = client.get(HERE).content.decode()
    assert "Sign-up is disabled" not in shown
    assert f'href="{UP}"' in shown

    answer = client.post(UP, NEW)

    assert answer.status_code == 201
    assert re.search(CODE, answer.content.decode())
    tenant = Tenant.objects.get()
    assert tenant.organization.name == NEW["organization"]
    assert client.post(HERE, {"login": NEW["email"], "password": NEW["password"]}).status_code == 302
    (reach,) = reach_of(client.session["_auth_user_id"])
    assert (reach.tenant, reach.role) == (tenant, Role.OWNER)
    assert to_page(client.get(UP)) == "/app/"
    assert to_page(client.get(f"/app/t/{tenant.name}")) == "/app/account"  # until there is a second factor


@pytest.mark.usefixtures("open_to_all")
def test_whether_an_address_is_known_is_not_said(owner: Person) -> None:
    new, known = (
        Client().post(UP, NEW | {"email": email}) for email in ("new@initech.example", owner.user.email.upper())
    )

    assert new.status_code == known.status_code == 201
    assert without_secrets(new) == without_secrets(known)
    assert new.cookies.keys() == known.cookies.keys()
    assert Organization.objects.count() == 2
    assert to_page(give_password(owner)) == "/app/sign-in/code"  # as before


@pytest.mark.usefixtures("open_to_all")
def test_sign_up_that_cannot_be_is_refused_beside_its_field_and_counted() -> None:
    client = Client()
    wrong = [
        {"password": "short"}, {"password": "password1"}, {"email": "nobody"}, {"organization": ""},
        {"organization": "Ini\x07tech"}, {"password": "short2"}, {"password": "short3"}, {"password": "short4"},
    ]  # fmt: skip

    answers = [client.post(UP, NEW | change) for change in wrong]

    assert [one.status_code for one in answers] == [422] * 8
    assert all("short" not in one.content.decode() for one in answers)
    assert client.post(UP, NEW).status_code == 429  # five of them reached what a sign-up costs
    assert not Organization.objects.exists()


def test_code_is_good_once_in_any_process(owner: Person) -> None:
    code = owner.code()
    give_password(owner)
    assert to_page(give_code(owner, code)) == "/app/"

    from django.core.cache import cache

    cache.clear()  # another process, or another machine
    again = Person(owner.user, owner.password, Client(), owner.seed)
    give_password(again)

    assert give_code(again, code).status_code == 200
    assert not is_signed_in(again)


def test_recovery_code_signs_in_once_and_steps_up_never(owner: Person) -> None:
    from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes

    first, second, *_ = RecoveryCodes.activate(owner.user).get_unused_codes()
    give_password(owner)
    assert to_page(give_code(owner, first)) == "/app/"
    assert owner.client.get("/app/t/acme").status_code == 200

    refused = give_code(owner, second, "/app/step-up", next="/app/t/acme")

    assert refused.status_code == 422
    assert "Recovery codes only sign you in" in refused.content.decode()
    assert len(owner.factor("recovery_codes").wrap().get_unused_codes()) == 9  # the one that was refused stays good


def test_person_who_was_started_over_has_nothing_of_before(owner: Person) -> None:
    client = owner.show_factor(ago=1)
    assert client.get("/app/t/acme").status_code == 200

    made = start_over(owner.user, actor="command:0", now=datetime.now(UTC))

    assert to_page(client.get("/app/t/acme")) == HERE
    assert second_factors.factors_of(owner.user.pk) == []
    assert give_password(owner).status_code == 200
    assert to_page(give_password(owner, made.password)) == "/app/"


# -- adding and removing factors -------------------------------------------------------------------------------------


def test_password_is_not_enough_to_add_a_factor_beside_another(owner: Person) -> None:
    client = owner.show_factor()
    asked = client.post("/app/step-up", {"password": owner.password, "next": "/app/account/passkeys/add"})
    assert asked.status_code == 422

    for path in ("passkeys/add", "authenticator/remove", "recovery-codes/new"):
        for send in (client.get, client.post):
            assert to_page(send(f"/app/account/{path}")) == "/app/step-up", path
    assert to_page(client.get("/app/account/recovery-codes")) == "/app/step-up"


def test_last_factor_stays(owner: Person) -> None:
    client = owner.show_factor(ago=1)

    answer = client.post("/app/account/authenticator/remove")

    assert to_page(answer) == "/app/account"
    assert second_factors.has_second_factor(owner.user.pk)


def test_somebody_elses_passkey_is_not_there(owner: Person, globex: OpenedTenant) -> None:
    stranger = make_person(globex.tenant)
    theirs = Authenticator.objects.create(user=stranger.user, type="webauthn", data={"name": "x", "credential": {}})

    answer = owner.show_factor(ago=1).post(f"/app/account/passkeys/{theirs.pk}/remove")

    assert answer.status_code == 404
    assert Authenticator.objects.filter(pk=theirs.pk).exists()


def test_seeds_are_sealed_at_rest_and_while_they_are_shown(acme: OpenedTenant) -> None:
    person = make_person(acme.tenant)
    stored = str(person.factor().data)
    assert person.seed is not None
    assert person.seed not in stored
    assert FactorAdapter().decrypt(person.factor().data["secret"]) == person.seed
    with pytest.raises(DecryptError):
        FactorAdapter().decrypt(person.seed)

    bare = make_person(acme.tenant, "admin", factor=False)
    give_password(bare)
    bare.client.post("/app/step-up", {"password": bare.password, "code": bare.enrolment_code})
    page = bare.client.get("/app/account/authenticator/add").content.decode()
    (shown,) = re.findall(r'class="seed">([A-Z2-7 ]+)<', page)
    assert shown.replace(" ", "") not in str(dict(bare.client.session))


# -- how often -------------------------------------------------------------------------------------------------------


def test_password_may_be_tried_ten_times_a_minute(owner: Person) -> None:
    answers = [give_password(owner, "wrong").status_code for _ in range(11)]

    right = give_password(owner)

    assert 429 in answers
    assert right.status_code == 429
    assert int(right["Retry-After"]) > 0


@pytest.mark.parametrize("path", ["/app/sign-in/code", "/app/step-up"])
def test_code_may_be_tried_five_times_a_minute(path: str, owner: Person) -> None:
    if path == "/app/step-up":
        owner.show_factor()
    else:
        give_password(owner)
    answers = [give_code(owner, f"00000{guess}", path).status_code for guess in range(6)]

    right = give_code(owner, path=path)

    assert 429 in answers
    assert right.status_code == 429


def test_passkeys_are_not_counted_with_codes_when_somebody_has_much_to_confirm(owner: Person) -> None:
    owner.show_factor()
    answers = [owner.client.post("/app/step-up", {"credential": "{}"}).status_code for _ in range(6)]

    assert answers == [422] * 6
    assert give_code(owner, path="/app/step-up").status_code == 302


# -- for how long ----------------------------------------------------------------------------------------------------


def aged(person: Person, **seconds: float) -> Client:
    client = person.show_factor()
    session = client.session
    for name, ago in seconds.items():
        session[name] = time.time() - ago
    session.save()
    return client


def test_session_lasts_half_an_hour_unused_and_twelve_hours_in_all(owner: Person) -> None:
    assert aged(owner, seen_at=1_790).get("/app/t/acme").status_code == 200
    assert to_page(aged(owner, seen_at=1_810).get("/app/t/acme")) == HERE
    assert aged(owner, opened_at=43_190).get("/app/t/acme").status_code == 200
    assert to_page(aged(owner, opened_at=43_210).get("/app/t/acme")) == HERE


def test_session_that_is_over_is_gone_from_the_database(owner: Person) -> None:
    client = aged(owner, seen_at=1_810)
    key = client.session.session_key

    client.get("/app/t/acme")

    assert not BrowserSession.objects.filter(digest=digest_of(key)).exists()


def test_use_of_a_session_is_noted(owner: Person) -> None:
    client = aged(owner, seen_at=600)

    client.get("/app/t/acme")

    assert time.time() - client.session["seen_at"] < 60


def test_session_that_does_not_say_when_it_began_is_over(owner: Person) -> None:
    client = owner.show_factor()
    session = client.session
    del session["opened_at"]
    session.save()

    assert to_page(client.get("/app/t/acme")) == HERE


def test_operators_sessions_end_as_well() -> None:
    person = make_operator("operator@example.org")
    person.show_factor()
    assert person.client.get("/admin/accounts/user/").status_code == 200
    session = person.client.session
    session["seen_at"] = time.time() - 1_810
    session.save()

    assert to_page(person.client.get("/admin/accounts/user/")) == "/admin/login/"


# -- what a stolen thing is worth ------------------------------------------------------------------------------------


def test_key_of_the_session_changes_when_somebody_signs_in(owner: Person) -> None:
    client = owner.client
    client.get(HERE)
    session = client.session
    session["planted"] = "by somebody else"
    session.save()
    planted = session.session_key
    client.cookies[settings.SESSION_COOKIE_NAME] = planted

    give_password(owner)
    give_code(owner)

    assert is_signed_in(owner)
    assert client.session.session_key != planted
    other = Client()
    other.cookies[settings.SESSION_COOKIE_NAME] = planted
    assert to_page(other.get("/app/t/acme")) == HERE


def test_key_of_the_session_changes_with_a_step_up(owner: Person) -> None:
    client = owner.show_factor()
    before = client.session.session_key

    answer = give_code(owner, path="/app/step-up", next="/app/t/acme")

    assert to_page(answer) == "/app/t/acme"
    assert client.session.session_key != before
    other = Client()
    other.cookies[settings.SESSION_COOKIE_NAME] = before
    assert to_page(other.get("/app/t/acme")) == HERE


@pytest.mark.parametrize(
    "path", ["/app/sign-in", "/app/step-up", "/app/sign-out", "/app/account/password", "/app/t/acme"]
)
def test_forms_need_their_token(path: str, owner: Person) -> None:
    client = owner.show_factor(ago=1)
    client.handler.enforce_csrf_checks = True

    answer = client.post(path, {"login": owner.user.email, "password": owner.password})

    assert answer.status_code == 403
    assert "has expired or did not come from this site" in answer.content.decode()


ELSEWHERE = (
    "https://evil.example/app/", "//evil.example/app/", "/\\evil.example", "https:/app/", "javascript:alert(1)",
    "/app/\r\nSet-Cookie: a=b", "http://testserver@evil.example/app/", "//admin/", "//app/", "\t//evil.example",
)  # fmt: skip


@pytest.mark.parametrize("target", ELSEWHERE, ids=repr)
def test_nobody_is_sent_elsewhere(target: str, owner: Person) -> None:
    give_password(owner, next=target)
    assert to_page(give_code(owner, next=target)) == "/app/"
    assert not is_own_page(target)

    owner.show_factor()
    stepped = owner.client.post("/app/step-up", {"code": owner.code(steps=1), "next": target})
    assert to_page(stepped) == "/app/account"


def test_person_is_sent_where_they_wanted_to_go(owner: Person) -> None:
    asked = owner.client.get("/app/t/acme/requests?state=all")
    give_password(owner, next="/app/t/acme/requests?state=all")

    assert asked["Location"] == "/app/sign-in?next=%2Fapp%2Ft%2Facme%2Frequests%3Fstate%3Dall"
    assert give_code(owner)["Location"] == "/app/t/acme/requests?state=all"


def test_pages_may_be_framed_by_nobody_and_run_nothing_of_others(owner: Person) -> None:
    client = owner.show_factor(ago=1)

    for path in ("/app/sign-in", "/app/t/acme", "/app/account", "/app/step-up", "/app/nowhere", "/app/t/globex"):
        answer = client.get(path)
        policy = answer["Content-Security-Policy"]
        assert answer["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "script-src 'self';" in policy
        assert answer["Cache-Control"] == "no-store" or "no-store" in answer["Cache-Control"]
        assert answer["Referrer-Policy"] == "same-origin"
        assert answer["X-Content-Type-Options"] == "nosniff"


def test_pages_hold_no_script_and_no_style_of_their_own(owner: Person) -> None:
    client = owner.show_factor(ago=1)

    for path in ("/app/sign-in", "/app/t/acme", "/app/account", "/app/step-up", "/app/account/passkeys/add"):
        text = client.get(path).content.decode()
        for tag in re.findall(r"<script[^>]*>", text):
            assert "src=" in tag or 'type="application/json"' in tag, (path, tag)
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", text), path
        assert not re.search(r"(src|href)=\"(https?:)?//", text), path


def test_cookies_are_out_of_reach_of_scripts(owner: Person) -> None:
    give_password(owner)
    give_code(owner)

    for name in (settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME):
        cookie = owner.client.cookies[name]
        assert cookie["httponly"] is True
        assert cookie["samesite"] == "Lax"
        assert cookie["path"] == "/"
        assert cookie["domain"] == ""


@pytest.mark.parametrize("table", ["accounts_browsersession", "mfa_authenticator",
                                   "account_emailaddress", "accounts_assertion"])  # fmt: skip
def test_operators_role_can_be_nobody_else(table: str) -> None:
    with connections["operator"].cursor() as cursor, pytest.raises(ProgrammingError, match="permission denied"):
        cursor.execute(f"select * from {table}")  # noqa: S608  (named above)


def test_signing_out_ends_the_session(owner: Person) -> None:
    client = owner.show_factor()
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value

    assert client.get("/app/sign-out").status_code == 405
    assert to_page(client.post("/app/sign-out")) == HERE

    other = Client()
    other.cookies[settings.SESSION_COOKIE_NAME] = cookie
    assert to_page(other.get("/app/t/acme")) == HERE


def test_other_sessions_can_be_ended(owner: Person) -> None:
    give_password(owner)
    give_code(owner)
    there = Person(owner.user, owner.password, Client(), owner.seed)
    give_password(there)
    give_code(there, owner.code(steps=1))
    assert there.client.get("/app/t/acme").status_code == 200

    give_code(owner, owner.code(steps=-1), "/app/step-up")  # the session's key has changed since it was listed
    listed = text(owner.client.get("/app/account/sessions"))
    assert listed.count("since ") == 2
    assert listed.count("this browser") == 1
    assert "127.0.0.0/24" in listed

    assert to_page(owner.client.post("/app/account/sessions")) == "/app/account/sessions"

    assert owner.client.get("/app/t/acme").status_code == 200
    assert to_page(there.client.get("/app/t/acme")) == HERE
    assert text(owner.client.get("/app/account/sessions")).count("since ") == 1


# -- roles -----------------------------------------------------------------------------------------------------------


def test_role_counts_in_every_tenant_of_the_organization_and_in_no_other(
    acme: OpenedTenant, globex: OpenedTenant
) -> None:
    person = make_person(acme.tenant, "analyst")

    assert [(reach.tenant.name, reach.role) for reach in reach_of(person.user.pk)] == [("acme", "analyst")]


def test_last_owner_stays(acme: OpenedTenant) -> None:
    now, first = datetime.now(UTC), make_person(acme.tenant)
    with pytest.raises(LastOwner):
        take_role(acme.tenant, first.user.pk, actor="command:0", now=now)
    with pytest.raises(LastOwner):
        give_role(acme.tenant, first.user.pk, Role.ADMIN, actor="command:0", now=now)

    second = make_person(acme.tenant, email="second@acme.example")
    take_role(acme.tenant, first.user.pk, actor="command:0", now=now)

    assert reach_of(first.user.pk) == []
    with pytest.raises(NotAMember):
        take_role(acme.tenant, first.user.pk, actor="command:0", now=now)
    with pytest.raises(LastOwner):
        take_role(acme.tenant, second.user.pk, actor="command:0", now=now)


def test_billing_reads_no_memories(acme: OpenedTenant) -> None:
    client = make_person(acme.tenant, "billing").show_factor(ago=1)

    assert client.get("/app/t/acme").status_code == 403
    assert "acme" not in re.sub(r"(?s)<head>.*</head>", "", client.get("/app/").content.decode()).replace(
        "@acme.example", ""
    )
