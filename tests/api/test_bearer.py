"""Signing in through the API: with what, how often, for how long, and what a stolen token is worth."""

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connections
from django.test import Client

from apps.accounts import api_sessions as sessions
from apps.accounts.models import BearerSession, SpentRefresh
from apps.accounts.services import start_over
from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.projects.scope import Environment
from apps.tenants.members import give_role, take_role
from apps.tenants.models import Membership, Role
from apps.tenants.services import close_tenant, set_policy
from tests.api.conftest import Caller
from tests.api.people import bearer, caller_of, make_caller, sign_in
from tests.web.people import Person, make_person

pytestmark = pytest.mark.django_db(databases="__all__")

ANYBODY = Caller(None, None)
LOGIN, REFRESH, COMPLETE, ME = "/auth/login", "/auth/refresh", "/auth/mfa/complete", "/auth/me"


@pytest.fixture
def ann(acme: OpenedTenant) -> Person:
    """An owner with a password and nothing else."""
    return make_person(acme.tenant, factor=False)


@pytest.fixture
def eve(acme: OpenedTenant) -> Person:
    """An admin with an authenticator."""
    return make_person(acme.tenant, Role.ADMIN)


def tokens(person: Person) -> tuple[str, str]:
    found = sign_in(person)["tokens"]
    return found["access_token"], found["refresh_token"]


def refresh(token: str) -> Any:
    return ANYBODY("POST", REFRESH, {"refresh_token": token})


def code(response: Any) -> str:
    return str(response.json()["error"]["code"])


def refused(response: Any) -> tuple[int, str]:
    return response.status_code, code(response)


def trail(action: str) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(action=action).order_by("id"))


BAD_TOKEN = (401, "INVALID_TOKEN")


# -- with what -------------------------------------------------------------------------------------------------------


def test_password_opens_a_session_and_says_whose(ann: Person, acme: OpenedTenant) -> None:
    body = sign_in(ann)

    assert body["session"] == {
        "user_id": ann.user.pk,
        "organization_id": acme.tenant.organization_id,
        "role": "owner",
    }
    assert body["tokens"]["token_type"] == "bearer"
    assert (body["mfa_required"], body["mfa_setup_required"]) == (False, False)
    me = bearer(body["tokens"]["access_token"])("GET", ME).json()
    assert me | {"sid": 0} == {
        "user_id": f"usr_{ann.user.pk}",
        "email": ann.user.email,
        "full_name": "",
        "role": "owner",
        "org": {"id": acme.tenant.organization_id, "name": "acme", "tenant": "acme"},
        "sid": 0,
        "oauth_scopes": [],
        "oauth_app_id": None,
    }


def test_factor_is_to_be_set_up_where_the_tenant_wants_one_of_everybody(
    ann: Person, eve: Person, acme: OpenedTenant
) -> None:
    set_policy(acme.tenant, require_second_factor="yes", actor="test", now=datetime.now(UTC))

    assert sign_in(ann)["mfa_setup_required"] is True
    assert sign_in(eve)["mfa_setup_required"] is False


def test_password_alone_opens_nothing_for_whoever_has_a_second_factor(eve: Person) -> None:
    body = ANYBODY("POST", LOGIN, {"email": eve.user.email, "password": eve.password}).json()

    assert body["mfa_required"] is True
    assert body["mfa_methods"] == ["totp"]
    assert "tokens" not in body
    assert "session" not in body
    assert not BearerSession.objects.exists()
    assert refused(bearer(body["mfa_token"])("GET", ME))[0] == 401


def test_code_finishes_it_and_works_once(eve: Person) -> None:
    body = ANYBODY("POST", LOGIN, {"email": eve.user.email, "password": eve.password}).json()
    shown = {"mfa_token": body["mfa_token"], "code": eve.code()}

    first, again = ANYBODY("POST", COMPLETE, shown), ANYBODY("POST", COMPLETE, shown)

    assert first.status_code == 200
    assert bearer(first.json()["tokens"]["access_token"])("GET", ME).json()["role"] == "admin"
    assert refused(again) == (401, "SIGN_IN_REFUSED")


def test_recovery_code_signs_in_once_and_proves_nothing_more(eve: Person) -> None:
    one, *_ = RecoveryCodes.activate(eve.user).get_unused_codes()
    body = ANYBODY("POST", LOGIN, {"email": eve.user.email, "password": eve.password}).json()
    shown = {"mfa_token": body["mfa_token"], "code": one}

    first, again = ANYBODY("POST", COMPLETE, shown), ANYBODY("POST", COMPLETE, shown)

    assert (first.status_code, again.status_code) == (200, 401)
    assert BearerSession.objects.get().proved_at is None


@pytest.mark.parametrize("shown", ["000000", "", "abcdef", "１２３４５６", "9" * 32])
def test_wrong_code_is_refused(eve: Person, shown: str) -> None:
    body = ANYBODY("POST", LOGIN, {"email": eve.user.email, "password": eve.password}).json()

    answer = ANYBODY("POST", COMPLETE, {"mfa_token": body["mfa_token"], "code": shown})

    assert answer.status_code == (401 if shown else 422)
    assert not BearerSession.objects.exists()


def test_first_step_ends_with_the_password_with_time_and_with_the_person(eve: Person, monkeypatch: Any) -> None:
    def step() -> Any:
        return ANYBODY("POST", LOGIN, {"email": eve.user.email, "password": eve.password}).json()["mfa_token"]

    changed = step()
    eve.user.set_password("another password altogether")
    eve.user.save()
    assert sessions.find_by_second_step(changed) is None
    eve.user.set_password(eve.password)
    eve.user.save()

    late = step()
    monkeypatch.setattr("django.core.signing.time.time", lambda: datetime.now(UTC).timestamp() + 301)
    assert sessions.find_by_second_step(late) is None
    monkeypatch.undo()

    switched_off = step()
    eve.user.is_active = False
    eve.user.save()
    assert sessions.find_by_second_step(switched_off) is None


# -- no caller learns who is here ------------------------------------------------------------------------------------


def test_unknown_address_wrong_password_and_switched_off_look_alike(ann: Person, acme: OpenedTenant) -> None:
    gone = make_person(acme.tenant, Role.ANALYST, factor=False)
    gone.user.is_active = False
    gone.user.save()
    tried = [
        {"email": "nobody@acme.example", "password": "x" * 12},
        {"email": ann.user.email, "password": "x" * 12},
        {"email": gone.user.email, "password": gone.password},
    ]

    answers = [ANYBODY("POST", LOGIN, one) for one in tried]

    assert {refused(one) for one in answers} == {(401, "SIGN_IN_REFUSED")}
    assert len({re.sub(r'"request_id":"\w+"', "", one.content.decode()) for one in answers}) == 1


def test_unknown_address_costs_as_many_hashes_as_a_wrong_password(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda *a: counted.append("one") or encode(*a))

    ANYBODY("POST", LOGIN, {"email": ann.user.email, "password": "x" * 12})
    wrong = len(counted)
    ANYBODY("POST", LOGIN, {"email": "nobody@acme.example", "password": "x" * 12})

    assert len(counted) - wrong == wrong == 1


def test_passwords_are_tried_ten_times_a_minute_by_all_ways_in_together(ann: Person) -> None:
    for _ in range(5):
        ANYBODY("POST", LOGIN, {"email": ann.user.email, "password": "x" * 12})
        Client().post("/app/sign-in", {"login": ann.user.email, "password": "x" * 12})

    answer = ANYBODY("POST", LOGIN, {"email": ann.user.email.upper(), "password": ann.password})

    assert refused(answer) == (429, "TOO_MANY_ATTEMPTS")
    assert int(answer["Retry-After"]) == answer.json()["retry_after"] > 0


def test_codes_are_tried_five_times_a_minute(eve: Person) -> None:
    body = ANYBODY("POST", LOGIN, {"email": eve.user.email, "password": eve.password}).json()

    answers = [
        ANYBODY("POST", COMPLETE, {"mfa_token": body["mfa_token"], "code": f"{number:06}"}) for number in range(6)
    ]

    assert [one.status_code for one in answers] == [401] * 5 + [429]


def test_guessed_tokens_are_held_off() -> None:
    answers = [bearer(f"msa_{number:043}")("GET", ME) for number in range(21)]

    assert {one.status_code for one in answers[:20]} == {401}
    assert answers[20].status_code == 429
    assert len(trail("session.refused")) == 1


# -- tokens ----------------------------------------------------------------------------------------------------------


def test_tokens_are_at_rest_only_as_digests(ann: Person) -> None:
    access, old = tokens(ann)
    fresh = refresh(old).json()

    with connections["default"].cursor() as cursor:
        cursor.execute("select accounts_bearersession::text, accounts_spentrefresh::text"
                       " from accounts_bearersession, accounts_spentrefresh")  # fmt: skip
        rows = str(cursor.fetchall())

    for token in (access, old, fresh["access_token"], fresh["refresh_token"]):
        assert token not in rows
        assert token[4:] not in rows
    for token in (old, fresh["access_token"], fresh["refresh_token"]):
        assert hashlib.sha256(token.encode()).hexdigest() in rows
    assert not any(token in str(vars(row)) for row in AuditEvent.objects.all() for token in (access, old))


def test_every_token_is_new_and_256_bits(ann: Person) -> None:
    found = [token for _ in range(3) for token in tokens(ann)]

    assert len(set(found)) == 6
    assert all(re.fullmatch(r"ms[ar]_[A-Za-z0-9_-]{43}", token) for token in found)


def test_access_token_is_good_for_a_quarter_of_an_hour(ann: Person) -> None:
    access, _ = tokens(ann)
    BearerSession.objects.update(access_expires_at=datetime.now(UTC))

    assert refused(bearer(access)("GET", ME)) == BAD_TOKEN
    session = BearerSession.objects.get()
    assert timedelta(minutes=14) < sessions.ACCESS_LIFETIME <= timedelta(minutes=15)
    assert session.expires_at - session.created_at == timedelta(days=30)


def test_refreshing_gives_another_pair_and_ends_the_one_before(ann: Person) -> None:
    access, first = tokens(ann)

    body = refresh(first).json()

    assert body.keys() == {"access_token", "refresh_token", "token_type"}
    assert refused(bearer(access)("GET", ME)) == BAD_TOKEN
    assert bearer(body["access_token"])("GET", ME).status_code == 200


def test_session_is_over_after_thirty_days_however_often_it_was_refreshed(ann: Person) -> None:
    _, first = tokens(ann)
    second = refresh(first).json()["refresh_token"]
    BearerSession.objects.update(expires_at=datetime.now(UTC))

    assert refused(refresh(second)) == BAD_TOKEN


def test_token_of_one_kind_is_not_taken_for_the_other(ann: Person) -> None:
    access, refresh_token = tokens(ann)

    assert refused(refresh(access)) == BAD_TOKEN
    assert bearer(refresh_token)("GET", ME).status_code == 401
    assert bearer(access)("GET", ME).status_code == 200


def test_refresh_token_shown_again_ends_the_whole_session_and_leaves_a_row(ann: Person) -> None:
    _, first = tokens(ann)
    other, _ = tokens(ann)
    second = refresh(first).json()
    third = refresh(second["refresh_token"]).json()

    assert refused(refresh(first)) == BAD_TOKEN

    assert refused(bearer(third["access_token"])("GET", ME)) == BAD_TOKEN
    assert refused(refresh(third["refresh_token"])) == BAD_TOKEN
    assert bearer(other)("GET", ME).status_code == 200
    (row,) = trail("session.reuse")
    assert (row.actor, row.outcome) == (f"account:{ann.user.pk}", "denied")


def test_of_an_unknown_refresh_token_nothing_ends(ann: Person) -> None:
    access, _ = tokens(ann)

    assert refused(refresh("msr_" + "A" * 43)) == BAD_TOKEN

    assert bearer(access)("GET", ME).status_code == 200
    assert trail("session.reuse") == []


@pytest.mark.django_db(databases="__all__", transaction=True)
def test_of_two_who_show_one_refresh_token_at_once_one_is_served_and_the_session_ends(acme: OpenedTenant) -> None:
    _, token = tokens(make_person(acme.tenant, factor=False))

    def show(_: int) -> int:
        try:
            return int(refresh(token).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        statuses = sorted(pool.map(show, range(2)))

    assert statuses == [200, 401]
    assert BearerSession.objects.get().ended_at is not None
    assert SpentRefresh.objects.count() == 1


def test_token_in_the_address_is_refused(ann: Person) -> None:
    access, _ = tokens(ann)

    for query in (f"access_token={access}", f"x={access}"):
        assert refused(ANYBODY("GET", f"{ME}?{query}")) == (400, "CREDENTIAL_IN_URL")


def test_bad_bearer_is_not_rescued_by_a_good_key(acme: OpenedTenant) -> None:
    key = acme.keys[Environment.PRODUCTION]

    answer = bearer("msa_" + "A" * 43, X_API_Key=key)("GET", "/v1/types")

    assert refused(answer) == BAD_TOKEN


def test_key_beside_a_good_token_is_ambiguous(acme: OpenedTenant, ann: Person) -> None:
    access, _ = tokens(ann)

    for key in (acme.keys[Environment.PRODUCTION], "nonsense"):
        assert refused(bearer(access, X_API_Key=key)("GET", ME)) == (400, "ambiguous_credentials")


def test_browser_session_beside_a_token_is_ambiguous(ann: Person) -> None:
    caller = caller_of(ann)
    caller.client.force_login(ann.user)

    assert refused(caller("GET", ME)) == (400, "ambiguous_credentials")


# -- the end ---------------------------------------------------------------------------------------------------------


def test_logging_out_ends_this_session_and_says_the_same_of_none(ann: Person) -> None:
    (access, token), (other, _) = tokens(ann), tokens(ann)

    answers = [ANYBODY("POST", "/auth/logout", {"refresh_token": one}) for one in (token, token, "nonsense")]

    assert [one.status_code for one in answers] == [204, 204, 204]
    assert bearer(access)("GET", ME).status_code == 401
    assert bearer(other)("GET", ME).status_code == 200
    assert len(trail("session.end")) == 1


def test_logging_out_everywhere_ends_mine_and_nobody_elses(ann: Person, eve: Person) -> None:
    (access, token), (other, _), (hers, _) = tokens(ann), tokens(ann), tokens(eve)

    assert bearer(access)("POST", "/auth/logout-all").status_code == 204

    assert {bearer(one)("GET", ME).status_code for one in (access, other)} == {401}
    assert refused(refresh(token)) == BAD_TOKEN
    assert bearer(hers)("GET", ME).status_code == 200


def test_sessions_are_listed_and_ended_one_by_one(ann: Person, eve: Person) -> None:
    first, second, hers = caller_of(ann), caller_of(ann), caller_of(eve)
    listed = first("GET", "/auth/sessions").json()
    mine, others = listed["sessions"][1], listed["sessions"][0]
    foreign = hers("GET", "/auth/sessions").json()["current_session_id"]

    assert (mine["id"], mine["is_current"], others["is_current"]) == (listed["current_session_id"], True, False)
    assert mine["ip"] == "127.0.0.0/24"
    answers = [first("POST", f"/auth/sessions/{one}/revoke") for one in (others["id"], others["id"], foreign, 2**53)]

    assert [one.status_code for one in answers] == [204, 404, 404, 404]
    assert len({re.sub(r'"request_id":"\w+"', "", one.content.decode()) for one in answers[1:]}) == 1
    assert (second("GET", ME).status_code, hers("GET", ME).status_code) == (401, 200)


def test_new_password_switching_off_and_starting_over_end_every_session(acme: OpenedTenant) -> None:
    def new_password(one: Person) -> None:
        one.user.set_password("another password altogether")
        one.user.save()

    def switch_off(one: Person) -> None:
        one.user.is_active = False
        one.user.save()

    for number, end in enumerate(
        (new_password, switch_off, lambda one: start_over(one.user, actor="command:0", now=datetime.now(UTC)))
    ):
        person = make_person(acme.tenant, Role.ANALYST, email=f"p{number}@acme.example", factor=False)
        access, token = tokens(person)
        end(person)
        assert refused(bearer(access)("GET", ME)) == BAD_TOKEN
        assert refused(refresh(token)) == BAD_TOKEN


# -- which tenant ----------------------------------------------------------------------------------------------------


def test_removed_suspended_and_downgraded_people_lose_it_at_once(ann: Person, acme: OpenedTenant) -> None:
    now = datetime.now(UTC)
    bob = make_person(acme.tenant, Role.ADMIN, email="bob@acme.example", factor=False)
    caller = caller_of(bob)
    assert caller("GET", "/v1/audit/events").status_code == 200

    give_role(acme.tenant, bob.user.pk, Role.BILLING, actor="test", now=now)
    assert refused(caller("GET", "/v1/audit/events")) == (403, "ROLE_TOO_LOW")

    give_role(acme.tenant, bob.user.pk, Role.ADMIN, actor="test", now=now)
    Membership.objects.filter(user=bob.user).update(suspended_at=now)
    assert refused(caller("GET", "/v1/audit/events")) == (400, "TENANT_CONTEXT_REQUIRED")
    assert caller("GET", ME).json()["role"] is None

    Membership.objects.filter(user=bob.user).update(suspended_at=None)
    take_role(acme.tenant, bob.user.pk, actor="test", now=now)
    assert refused(caller("GET", "/v1/audit/events")) == (400, "TENANT_CONTEXT_REQUIRED")


def test_tenant_is_chosen_by_name_and_foreign_and_absent_ones_look_alike(
    ann: Person, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    give_role(globex.tenant, ann.user.pk, Role.ANALYST, actor="test", now=datetime.now(UTC))
    caller = caller_of(ann)
    stranger = make_caller(globex.tenant)

    assert caller("GET", ME).json()["org"]["tenant"] == "acme"
    there = caller.with_headers(X_Tenant_ID="globex")
    assert there("GET", ME).json()["role"] == "analyst"
    assert {one["tenant_id"] for one in there("GET", "/org/projects").json()} == {"globex"}
    answers = [stranger.with_headers(X_Tenant_ID=one)("GET", "/v1/audit/events") for one in ("acme", "nowhere")]
    assert {refused(one) for one in answers} == {(404, "TENANT_NOT_FOUND")}
    assert len({re.sub(r'"request_id":"\w+"', "", one.content.decode()) for one in answers}) == 1


def test_closed_tenant_is_nobodys(ann: Person, acme: OpenedTenant) -> None:
    caller = caller_of(ann)
    close_tenant(acme.tenant, actor="test", now=datetime.now(UTC))

    assert refused(caller("GET", "/v1/audit/events")) == (400, "TENANT_CONTEXT_REQUIRED")


# -- memories are for programs here ----------------------------------------------------------------------------------


def test_person_reads_and_deletes_no_memories_here(ann: Person, alice: Caller) -> None:
    memory = alice.add("The spare key lies under the blue flower pot.")
    caller = caller_of(ann).as_user("alice")

    for method, path in (("GET", f"/memory/{memory['id']}"), ("POST", "/memory/query"), ("GET", "/memory/export")):
        assert refused(caller(method, path, {} if method == "POST" else None)) == (403, "API_KEY_REQUIRED")
    for path in ("/memory/forget", "/memory/user/purge"):
        assert refused(caller("DELETE", path, {"memory_ids": [memory["id"]]})) == (403, "STEP_UP_REQUIRED")
    assert alice("GET", f"/memory/{memory['id']}").status_code == 200


# -- showing again who one is ----------------------------------------------------------------------------------------


def fresh(person: Person, *, destroys: bool = True, **more: bool) -> bool:
    session = BearerSession.objects.filter(user=person.user).latest("id")
    found = sessions.SignedIn(
        person_id=person.user.pk,
        session_id=session.pk,
        proved_at=session.proved_at,
        password_shown_at=session.password_shown_at,
        **more,
    )
    try:
        sessions.require_fresh(found, destroys=destroys)
    except sessions.FreshSignInRequired:
        return False
    return True


def test_code_is_fresh_for_ten_minutes_and_refreshing_does_not_renew_it(eve: Person) -> None:
    _, token = tokens(eve)
    assert fresh(eve)

    BearerSession.objects.update(proved_at=datetime.now(UTC) - timedelta(minutes=10, seconds=1))
    refresh(token)

    assert not fresh(eve)


def show_password(caller: Caller, password: str) -> Any:
    return caller("POST", "/auth/step-up", {"password": password})


def test_password_shown_again_is_fresh_for_ten_minutes_for_what_destroys_nothing(ann: Person) -> None:
    caller = caller_of(ann)
    assert not fresh(ann, destroys=False)  # signing in is not showing it again

    assert show_password(caller, ann.password).status_code == 204

    assert fresh(ann, destroys=False)
    assert not fresh(ann, destroys=True)
    assert not fresh(ann, destroys=False, factor_asked_for=True)
    assert trail("session.step_up")[-1].reason == "bearer password"
    for ago in (timedelta(minutes=10, seconds=1), -timedelta(minutes=1)):
        BearerSession.objects.update(password_shown_at=datetime.now(UTC) - ago)
        assert not fresh(ann, destroys=False)


def test_password_of_whoever_gets_a_second_factor_is_worth_nothing_more(ann: Person) -> None:
    show_password(caller_of(ann), ann.password)
    assert fresh(ann, destroys=False)

    TOTP.activate(ann.user, generate_totp_secret())

    assert not fresh(ann, destroys=False)


def test_password_of_this_session_is_not_shown_in_another(ann: Person) -> None:
    mine, _ = caller_of(ann), caller_of(ann)

    show_password(mine, ann.password)

    shown = BearerSession.objects.order_by("id").values_list("password_shown_at", flat=True)
    assert [one is not None for one in shown] == [True, False]


def test_wrong_password_is_no_step_up_and_is_counted(ann: Person) -> None:
    caller = caller_of(ann)
    answers = [show_password(caller, f"wrong password {number}") for number in range(6)]

    assert [one.status_code for one in answers] == [401] * 5 + [429]
    assert refused(answers[0]) == (401, "SIGN_IN_REFUSED")
    assert show_password(caller, ann.password).status_code == 429
    assert not fresh(ann, destroys=False)


def test_whoever_has_a_second_factor_is_told_nothing_of_a_password(eve: Person) -> None:
    caller = caller_of(eve)
    right, wrong = (show_password(caller, one) for one in (eve.password, "wrong password"))

    assert refused(right) == refused(wrong) == (403, "STEP_UP_REQUIRED")
    assert right.json()["error"]["requires"] == ["second_factor", "step_up"]


@pytest.mark.parametrize("body", [{}, {"code": "123456", "password": "x"}, {"password": ""}, {"password": None}])
def test_step_up_takes_one_of_code_and_password(body: dict[str, Any], ann: Person) -> None:
    assert caller_of(ann)("POST", "/auth/step-up", body).status_code == 422


def test_from_the_future_and_by_a_factor_that_is_gone_is_not_fresh(eve: Person) -> None:
    tokens(eve)
    BearerSession.objects.update(proved_at=datetime.now(UTC) + timedelta(minutes=1))
    assert not fresh(eve)

    BearerSession.objects.update(proved_at=datetime.now(UTC))
    assert fresh(eve)
    eve.factor().delete()
    assert not fresh(eve)


def test_step_up_with_a_code(ann: Person, eve: Person) -> None:
    mine, hers = caller_of(ann), caller_of(eve)
    BearerSession.objects.update(proved_at=None)

    assert refused(mine("POST", "/auth/step-up", {"code": "123456"})) == (401, "SIGN_IN_REFUSED")
    assert refused(hers("POST", "/auth/step-up", {"code": eve.code()})) == (401, "SIGN_IN_REFUSED")  # used to sign in
    assert not fresh(eve)

    assert hers("POST", "/auth/step-up", {"code": eve.code(steps=1)}).status_code == 204
    assert fresh(eve)
    assert not fresh(ann)
    assert [row.actor for row in trail("session.step_up")] == [f"account:{eve.user.pk}"]


def test_recovery_code_is_no_step_up_and_stays_good(eve: Person) -> None:
    one, *_ = left = RecoveryCodes.activate(eve.user).get_unused_codes()
    caller = caller_of(eve)

    assert refused(caller("POST", "/auth/step-up", {"code": one})) == (401, "SIGN_IN_REFUSED")

    assert RecoveryCodes.activate(eve.user).get_unused_codes() == left
