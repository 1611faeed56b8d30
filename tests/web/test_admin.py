"""The operators' pages: they show what there is, change it through services, and cannot open a memory."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import grimp
import psycopg
import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.contrib import admin
from django.db import ProgrammingError, connections, models
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.accounts.services import make_operator as new_operator
from apps.adapters.kms.local import LocalKeyring
from apps.apikeys.models import ApiKey, KeyOffer
from apps.apikeys.offers import hand_out
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.selectors import KeyRevoked, TenantClosed, authenticate, list_keys
from apps.audit.models import AuditEvent
from apps.breakglass.models import Grant
from apps.breakglass.services import ask as ask_to_read
from apps.core.admin import SEALED_TYPES, OperatorAdmin, sealed_fields
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto import aead, envelope, key_cache, keyring
from apps.crypto.models import TenantKeyState
from apps.crypto.services import DecryptError
from apps.erasure.legal_holds import hold
from apps.erasure.models import Hold
from apps.ingest.candidates import Proposal
from apps.ingest.models import Candidate, ReviewItem
from apps.ingest.services import remember
from apps.key_management.models import KeyRewrap, KeyRotation
from apps.key_management.rotation_requests import ask_for_rewrap, ask_for_rotation
from apps.memories import integrity
from apps.memories.models import Memory, MemoryVector, QuarantinedRow
from apps.outbox.models import OutboxEvent
from apps.policies.models import RetentionPolicy
from apps.policies.retention import Level
from apps.policies.retention import set_policy as set_retention
from apps.projects.models import Project, Space
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import get_project, list_projects
from apps.recall import latency_histogram
from apps.retention.models import PrivacyKind, PrivacyRequest, RetentionRun
from apps.retention.retention_sweep import sweep
from apps.retention.subject_requests import open_request
from apps.tenants.models import EndUser, Membership, Tenant
from apps.tenants.services import set_policy
from apps.webhooks.deliveries import test as send_a_test
from apps.webhooks.models import WebhookDelivery, WebhookEndpoint
from apps.webhooks.services import create as create_webhook
from memsync import admin_charts
from memsync.launcher.embedded import roles
from tests.makers import make_api_key, make_project, make_scope
from tests.web.people import Person, enrol, make_operator, make_person

# The operator is another connection: it sees what is committed.
pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

PASSWORD = "correct horse battery staple"
SAID = ("I live in Samarkand.", "I live in Valparaiso.")
WAITS = "Always answer me in Esperanto."
WORDS = ("Samarkand", "Valparaiso", "I live", "Esperanto", "wilhelmina@example.org")


@pytest.fixture
def ana() -> Person:
    made = make_operator("operator@example.org", password=PASSWORD)
    return Person(made.user, made.password, Client(), made.seed)


@pytest.fixture
def person(ana: Person) -> User:
    return ana.user


@pytest.fixture
def operator(ana: Person) -> Client:
    return ana.show_factor()


@pytest.fixture
def memories(acme: OpenedTenant, now: Any) -> list[int]:
    """Ids of two memories of an end user, the newer one in place of the older."""
    scope = make_scope(acme, "wilhelmina@example.org", now=now)
    for text in SAID:
        remember(scope, [Proposal(text=Plaintext(text), importance=0.9)], now=now)
    remember(scope, [Proposal(text=Plaintext(WAITS), is_overheard=True)], now=now)
    integrity.note(scope, DecryptError("tag"), 1, space_id=scope.space.id, now=now)
    integrity.flush()
    ask_for_rotation(scope, reason="test", now=now)
    ask_for_rewrap(scope.principal, now=now)
    set_retention(scope, Level.SPACE, scope.space.id, {"active_days": 30}, now=now)
    hold(scope, Level.TENANT, 0, case="case-17", now=now)
    sweep(scope, now=now)
    open_request(scope, PrivacyKind.ACCESS, now=now)
    make_person(acme.tenant)
    hand_out(scope, name="a bot", environment=Environment.STAGING, scopes=["memory:read"], days=30, now=now)
    told = create_webhook(
        scope, name="a hook", url="https://hooks.example/Samarkand", wanted=["memory.created"], now=now
    )
    send_a_test(scope, told.row.pk, "memory.created", now=now)
    ask_to_read(scope, scope.space.id, reason="Doubles since Tuesday.", ticket="OPS-17", now=now)
    return list(Memory._default_manager.using("operator").values_list("id", flat=True))


@pytest.fixture
def nothing_opens(ana: Person, memories: list[int], globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is much to see, and any code that unwraps a key or opens a ciphertext fails the test."""
    key_cache.forget_all()
    for owner, name in (
        (LocalKeyring, "unwrap"),
        (keyring, "unwrap"),
        (key_cache, "space_keys"),
        (key_cache, "service_key"),
        (envelope, "open_sealed"),
        (envelope, "_open"),
        (envelope.Box, "open"),
        (aead, "open_sealed"),
    ):
        monkeypatch.setattr(owner, name, _refuse)


def _refuse(*_: object, **__: object) -> None:
    raise AssertionError("the admin opened something")


def page(client: Client, name: str, *arguments: object, **query: object) -> str:
    response = client.get(reverse(f"admin:{name}", args=arguments), query)
    assert response.status_code == 200, (name, response.status_code)
    return response.content.decode()


# -- signing in ------------------------------------------------------------------------------------------------------


def sign_in(operator: Person, *, code: str | None = None) -> Any:
    """The answer that opens the session, or does not."""
    answer = operator.client.post(
        "/app/sign-in", {"login": operator.user.email, "password": operator.password, "next": "/admin/"}
    )
    return answer if code is None else operator.client.post("/app/sign-in/code", {"code": code, "next": "/admin/"})


def test_operator_signs_in_with_a_second_factor_and_sees_the_overview(ana: Person) -> None:
    assert ana.client.get("/admin/")["Location"] == "/admin/login/?next=/admin/"
    assert ana.client.get("/admin/login/?next=/admin/")["Location"] == "/app/sign-in?next=%2Fadmin%2F"

    answer = sign_in(ana, code=ana.code())

    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
    assert "Overview" in ana.client.get("/admin/").content.decode()
    assert AuditEvent.objects.filter(action="session.open", actor=f"account:{ana.user.pk}").count() == 1
    assert ana.client.get("/admin/login/?next=/admin/tenants/tenant/")["Location"] == "/admin/tenants/tenant/"


def test_operators_password_alone_opens_nothing(ana: Person, acme: OpenedTenant) -> None:
    """H3: one phished password was all tenants' texts."""
    key = list_keys(acme.scope)[0]
    names = ("index", "tenants_tenant_changelist", "apikeys_apikey_issue")
    inside = [*(reverse(f"admin:{name}") for name in names), reverse("admin:apikeys_apikey_rotate", args=[key.pk])]

    sign_in(ana)
    before_the_code = [ana.client.get(path).status_code for path in inside]
    session_of_the_password_alone = ana.sign_in()

    assert before_the_code == [302] * len(inside)
    for path in inside:
        for answer in (session_of_the_password_alone.get(path), session_of_the_password_alone.post(path, {})):
            assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/admin/login/"), path
    assert ana.client.get("/admin/login/?next=/admin/")["Location"] == "/app/step-up?next=%2Fadmin%2F"


def test_recovery_code_opens_the_operators_site_to_nobody(ana: Person) -> None:
    one, *_ = RecoveryCodes.activate(ana.user).get_unused_codes()

    sign_in(ana, code=one)

    assert ana.client.get("/admin/").status_code == 302
    assert ana.client.get("/admin/login/")["Location"] == "/app/step-up?next=%2Fadmin%2F"


def test_factor_that_was_taken_away_opens_nothing_more(ana: Person) -> None:
    client = ana.show_factor()
    assert client.get("/admin/").status_code == 200

    ana.factor().delete()

    assert client.get("/admin/").status_code == 302


def test_first_operator_enrols_with_the_code_that_came_with_the_account() -> None:
    made = new_operator("first@operators.example", actor="command:0", now=datetime.now(UTC))
    user, client = User.objects.get(email="first@operators.example"), Client()
    first = Person(user, made.password, client)

    assert sign_in(first)["Location"] == "/admin/"
    assert client.get("/admin/login/")["Location"] == "/app/account"
    assert "add one here first" in client.get("/app/account").content.decode()
    seed = enrol(first, made.enrolment_code)

    assert "Overview" in client.get("/admin/").content.decode()
    again = Person(user, made.password, Client(), seed)
    assert sign_in(again)["Location"].startswith("/app/sign-in/code")


def test_nobody_is_sent_elsewhere_by_the_operators_sign_in(operator: Client) -> None:
    for target in ("https://evil.example/admin/", "//evil.example", "/admin/\r\nX: y", "/app/", "javascript:alert(1)"):
        for client in (operator, Client()):
            sent = client.get("/admin/login/", {"next": target})["Location"]
            assert sent in ("/admin/", "/app/sign-in?next=%2Fadmin%2F"), target


def test_person_who_is_no_operator_sees_nothing() -> None:
    client = Client()
    client.force_login(User.objects.create_user("carol@example.org", PASSWORD))

    for name in ("index", "tenants_tenant_changelist", "apikeys_apikey_issue"):
        assert client.get(reverse(f"admin:{name}")).status_code == 302


def test_operator_without_rights_can_neither_look_nor_issue(acme: OpenedTenant) -> None:
    client = make_operator("dave@example.org", may=False).show_factor()
    key = list_keys(acme.scope)[0]

    for name, arguments in (
        ("memories_memory_changelist", []),
        ("apikeys_apikey_issue", []),
        ("apikeys_apikey_rotate", [key.pk]),
        ("apikeys_apikey_revoke", [key.pk]),
        ("tenants_tenant_close", [acme.tenant.pk]),
    ):
        assert client.get(reverse(f"admin:{name}", args=arguments)).status_code == 403, name


def test_browser_policy_is_loosened_for_the_admin_alone(operator: Client) -> None:
    loose = operator.get("/admin/")["Content-Security-Policy"]
    strict = operator.get("/health")["Content-Security-Policy"]

    assert "style-src-attr 'unsafe-inline'" in loose
    assert loose.count("unsafe") == 1
    assert "unsafe" not in strict


# -- it cannot decrypt -----------------------------------------------------------------------------------------------

ROWS: dict[type[models.Model], list[str]] = {  # every registered model, and its pages beside list and row
    User: ["add", "password_change", "enrol"],
    Tenant: ["tighten", "suspend", "resume", "close"],
    EndUser: [],
    Project: ["create", "review_what", "archive", "bring_back"],
    Space: [],
    ApiKey: ["issue", "rotate", "revoke"],
    KeyOffer: [],
    TenantKeyState: ["rotate", "rewrap"],
    Memory: [],
    QuarantinedRow: ["look_again"],
    Candidate: [],
    ReviewItem: [],
    AuditEvent: [],
    OutboxEvent: ["replay"],
    KeyRotation: [],
    KeyRewrap: [],
    RetentionPolicy: [],
    Hold: ["hold", "lift"],
    RetentionRun: [],
    PrivacyRequest: [],
    WebhookEndpoint: [],
    WebhookDelivery: ["replay"],
    Grant: [],
}
OF_THE_LIST = {"add", "create", "hold", "issue", "rewrap"}
# Pages of the site itself; and those that Django registers for every model, which are closed here.
OF_THE_SITE = {"index", "search", "password_change", "password_change_done", "jsi18n", "app_list"}
NOT_PAGES = {"login", "logout", "autocomplete", "view_on_site", "accounts_user_set_password", None}
CLOSED = {"add", "delete"}


def pages() -> Iterator[tuple[str, list[Any]]]:
    """(name, arguments) of every page of the admin."""
    for name in sorted(OF_THE_SITE):
        yield name, ["memories"] if name == "app_list" else []
    for model, more in ROWS.items():
        label = f"{model._meta.app_label}_{model._meta.model_name}"
        # People are read as the application, because the operators' role may not read a column of them.
        alias = "default" if model is User else "operator"
        rows = model._default_manager.using(alias).defer(*sealed_fields(model)).order_by("-pk")
        row = (rows.filter(memberships=None) if model is User else rows).first()  # of others a page less
        assert row is not None, f"the test needs a row of {label}"
        yield f"{label}_changelist", []
        yield f"{label}_change", [row.pk]
        yield f"{label}_history", [row.pk]
        for name in more:
            full = "auth_user_password_change" if name == "password_change" else f"{label}_{name}"
            yield full, [] if name in OF_THE_LIST else [row.pk]


def test_every_page_works_with_all_opening_forbidden_and_shows_nothing_that_was_said(
    nothing_opens: None, operator: Client, acme: OpenedTenant
) -> None:
    OutboxEvent.objects.create(
        tenant_id=acme.tenant.pk, kind="embed", subject_id=1, run_after=datetime.now(UTC), created_at=datetime.now(UTC)
    )
    secrets = [text.split("_")[3][:43] for text in acme.keys.values()]

    for name, arguments in pages():
        shown = page(operator, name, *arguments)
        assert not [word for word in (*WORDS, *secrets) if word.lower() in shown.lower()], name


def test_no_page_was_forgotten(nothing_opens: None, person: User, acme: OpenedTenant) -> None:
    OutboxEvent.objects.create(
        tenant_id=acme.tenant.pk, kind="embed", subject_id=1, run_after=datetime.now(UTC), created_at=datetime.now(UTC)
    )
    visited = {name for name, _ in pages()}
    there = {pattern.name for pattern in _flattened(admin.site.get_urls())}

    closed = {
        f"{model._meta.app_label}_{model._meta.model_name}_{name}"
        for model in ROWS
        for name in CLOSED
        if name not in ROWS[model]
    }
    assert set(admin.site._registry) == set(ROWS)
    assert there - visited - closed - NOT_PAGES == set()


def test_pages_that_would_write_past_the_services_are_closed(operator: Client, acme: OpenedTenant) -> None:
    for model in set(ROWS) - {User}:
        label = f"{model._meta.app_label}_{model._meta.model_name}"
        assert operator.get(reverse(f"admin:{label}_add")).status_code == 403, label
    for label, row in (("tenants_tenant", acme.tenant), ("projects_project", acme.project)):
        assert operator.get(reverse(f"admin:{label}_delete", args=[row.pk])).status_code == 403
        assert operator.post(reverse(f"admin:{label}_change", args=[row.pk]), {"name": "x"}).status_code == 403


def test_no_admin_module_reaches_what_unwraps_or_opens() -> None:
    graph = grimp.build_graph("apps", "memsync", exclude_type_checking_imports=True, cache_dir=None)
    doors = [
        module
        for module in graph.modules
        if re.fullmatch(r"apps\.crypto\.(?!models$|apps$|admin$|migrations).+", module)
    ]
    doors += ["apps.adapters.instances", "apps.adapters.kms.local", "apps.adapters.kms.base"]
    pages = [name for name in graph.modules if re.fullmatch(r"apps\.\w+\.admin", name)]
    pages += ["memsync.admin_site", "memsync.admin_charts", "memsync.admin_cards", "memsync.admin_theme"]

    found = {
        (start, door): chain
        for start in pages
        for door in doors
        if (chain := graph.find_shortest_chain(importer=start, imported=door))
    }

    assert len(pages) >= 12
    assert {"apps.crypto.keyring", "apps.crypto.services", "apps.crypto.envelope", "apps.crypto.aead"} <= set(doors)
    assert found == {}


@pytest.mark.parametrize(
    "column",
    ["memories_memory.text_ct", "memories_memory.metadata_ct", "memories_memoryvector.signs",
     "memories_memoryvector.embedding_ct", "memories_memory.handles_ct",
     "memories_posting.token", "tenants_enduser.external_ct", "apikeys_apikey.digest", "ingest_candidate.digest",
     "ingest_reviewitem.content_ct", "accounts_user.password"],
)  # fmt: skip
def test_operators_role_is_refused_sealed_columns_by_the_database(memories: list[int], column: str) -> None:
    table, name = column.split(".")

    with connections["operator"].cursor() as cursor, pytest.raises(ProgrammingError, match="permission denied"):
        cursor.execute(f"select {name} from {table}")  # noqa: S608  (named above)


def test_operators_role_cannot_enter_the_keyring_database() -> None:
    keys, operator = connections["keyring"].settings_dict, connections["operator"].settings_dict

    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(
            host=keys["HOST"],
            port=keys["PORT"],
            dbname=keys["NAME"],
            user=operator["USER"],
            password=operator["PASSWORD"],
        )


def test_operators_role_cannot_change_what_the_pages_show(memories: list[int]) -> None:
    for table in ("memories_memory", "audit_auditevent", "outbox_outboxevent", "crypto_tenantkeystate"):
        with connections["operator"].cursor() as cursor, pytest.raises(ProgrammingError, match="permission denied"):
            cursor.execute(f"delete from {table}")  # noqa: S608  (named above)


def test_pages_and_roles_agree_on_what_is_sealed() -> None:
    assert SEALED_TYPES == roles.SEALED_TYPES
    assert {"text_ct", "text_mac", "metadata_ct", "slot"} <= set(sealed_fields(Memory))
    assert sealed_fields(MemoryVector) == ["embedding_ct", "signs"]
    for model, page_of_model in admin.site._registry.items():
        if model is not User:
            assert isinstance(page_of_model, OperatorAdmin), model


# -- tenants and projects --------------------------------------------------------------------------------------------


def test_tenants_page_counts_what_it_holds(operator: Client, acme: OpenedTenant, memories: list[int]) -> None:
    shown = page(operator, "tenants_tenant_change", acme.tenant.pk)

    assert "superseded" in shown
    assert "version 1" in shown
    assert f"/admin/memories/memory/?tenant__id__exact={acme.tenant.pk}" in shown


def test_what_is_too_much_to_count_is_estimated(
    operator: Client, acme: OpenedTenant, memories: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memsync.admin_cards.COUNTED", -1)

    assert "≈ " in page(operator, "index")
    assert "≈ " in page(operator, "tenants_tenant_change", acme.tenant.pk)


def test_memory_is_found_by_its_number_or_public_id_and_by_no_part_of_one(
    operator: Client, memories: list[int]
) -> None:
    (public_id,) = Memory._default_manager.using("operator").values_list("public_id", flat=True).filter(pk=memories[0])
    url = reverse("admin:memories_memory_changelist")

    for term in (str(memories[0]), public_id):
        found = operator.get(url, {"q": term}).context["cl"].result_list
        assert [one.pk for one in found] == [memories[0]], term
    assert "0 in all" in page(operator, "memories_memory_changelist", q=str(memories[0] + 10**12))


def test_filter_offers_what_the_newest_rows_have(
    operator: Client, memories: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = page(operator, "audit_auditevent_changelist")
    monkeypatch.setattr("apps.core.admin.LOOKED_THROUGH", 1)
    newest = AuditEvent.objects.using("operator").latest("pk").action

    some = page(operator, "audit_auditevent_changelist")
    assert "action=retention.hold" in whole
    assert "action=retention.hold" not in some
    assert f"action={newest}" in some


def test_list_counts_no_further_than_it_leads(
    operator: Client, memories: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = page(operator, "memories_memory_changelist")
    monkeypatch.setattr("apps.core.admin.MOST_COUNTED", 1)

    assert f"{len(memories)} in all" in whole
    assert "more than 1</div>" in page(operator, "memories_memory_changelist")


def test_keys_can_be_forbidden_every_delete_and_only_that(operator: Client, acme: OpenedTenant, now: Any) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="command:0", now=now)
    url = reverse("admin:tenants_tenant_tighten", args=[acme.tenant.pk])

    operator.get(url)
    assert Tenant.objects.get(name="acme").key_deletes == "retire"
    operator.post(url, {"key_deletes": "retire"})

    assert Tenant.objects.get(name="acme").key_deletes == "deny"


def test_tenant_is_closed_with_the_operators_password(operator: Client, acme: OpenedTenant, now: Any) -> None:
    url = reverse("admin:tenants_tenant_close", args=[acme.tenant.pk])

    operator.post(url, {"password": "wrong"})
    authenticate(acme.keys[Environment.PRODUCTION], now=now)
    operator.post(url, {"password": PASSWORD})

    with pytest.raises(TenantClosed):
        authenticate(acme.keys[Environment.PRODUCTION], now=now)


def test_project_is_made_archived_and_brought_back(operator: Client, acme: OpenedTenant, globex: OpenedTenant) -> None:
    operator.post(reverse("admin:projects_project_create"), {"tenant": acme.tenant.pk, "name": "Chatbot"})
    (project,) = [one for one in list_projects(acme.scope) if one.name == "Chatbot"]

    operator.post(reverse("admin:projects_project_archive", args=[project.pk]))
    archived = get_project(acme.scope, project.public_id).archived_at
    operator.post(reverse("admin:projects_project_bring_back", args=[project.pk]))

    assert archived is not None
    assert get_project(acme.scope, project.public_id).archived_at is None
    assert [one.name for one in list_projects(globex.scope)] == ["Default"]


def test_refusal_of_a_service_is_told_on_the_page(operator: Client, acme: OpenedTenant) -> None:
    url = reverse("admin:projects_project_archive", args=[acme.project.pk])

    assert "The default project cannot be archived" in operator.post(url, follow=True).content.decode()


# -- keys ------------------------------------------------------------------------------------------------------------


def fields(acme: OpenedTenant, **change: object) -> dict[str, object]:
    return {
        "tenant": acme.tenant.pk,
        "name": "from the admin",
        "environment": "staging",
        "project": "",
        "days": 30,
        "scopes": ["projects:read"],  # of a tenant without an owner: tests/web/test_key_offers.py has the others
        "password": PASSWORD,
    } | change


def test_key_is_issued_and_its_secret_shown_once(operator: Client, acme: OpenedTenant, person: User) -> None:
    project = get_project(acme.scope, make_project(acme.scope, "Chatbot"))

    answer = operator.post(reverse("admin:apikeys_apikey_issue"), fields(acme, project=project.pk))

    (text,) = set(re.findall(r"ms_test_\w{11}_\w{49}", answer.content.decode()))
    who = authenticate(text, now=datetime.now(UTC))
    assert (who.tenant.name, who.environment, who.project_id) == ("acme", Environment.STAGING, project.pk)
    assert who.permissions == {"projects:read"}
    assert "no-store" in answer["Cache-Control"]
    assert text not in page(operator, "apikeys_apikey_change", who.key_id)
    assert text not in page(operator, "apikeys_apikey_changelist")
    assert text not in str(dict(operator.session))
    with tenant_transaction(acme.scope):
        row = AuditEvent.objects.get(action="api_key.issue", target=f"api_key:{who.key_id}")
    assert row.actor == f"account:{person.pk}"


def test_form_for_a_tenant_s_key_offers_its_projects_alone(
    operator: Client, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    for opened in (acme, globex):
        make_project(opened.scope, "Chatbot")

    answer = operator.get(reverse("admin:apikeys_apikey_issue"), {"tenant": acme.tenant.pk})

    assert set(re.findall(r"\w+: Chatbot", answer.content.decode())) == {"acme: Chatbot"}


def test_forms_say_what_their_button_does(operator: Client, acme: OpenedTenant) -> None:
    key = list_keys(acme.scope)[0].pk

    for name, arguments, button in (
        ("apikeys_apikey_issue", [], "Continue"),
        ("apikeys_apikey_rotate", [key], "Continue"),
        ("apikeys_apikey_revoke", [key], "Revoke the key"),
        ("tenants_tenant_close", [acme.tenant.pk], "Close the tenant"),
    ):
        assert re.search(rf'<button type="submit"[^>]*>\s*{button}\s*</button>', page(operator, name, *arguments)), name


def test_key_is_not_pinned_to_another_tenants_project(
    operator: Client, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    answer = operator.post(reverse("admin:apikeys_apikey_issue"), fields(acme, project=globex.project.pk))

    assert "There is no such project." in answer.content.decode()


def test_key_is_revoked_by_a_post_and_not_by_a_look(operator: Client, acme: OpenedTenant) -> None:
    issued = make_api_key(acme.scope)
    url = reverse("admin:apikeys_apikey_revoke", args=[issued.key.pk])

    operator.get(url)
    authenticate(issued.text, now=datetime.now(UTC))
    operator.post(url)

    with pytest.raises(KeyRevoked):
        authenticate(issued.text, now=datetime.now(UTC))


def test_several_keys_are_revoked_at_once(operator: Client, acme: OpenedTenant, globex: OpenedTenant) -> None:
    leaked = [make_api_key(acme.scope), make_api_key(globex.scope)]

    operator.post(
        reverse("admin:apikeys_apikey_changelist"),
        {"action": "revoke_selected", "_selected_action": [issued.key.pk for issued in leaked]},
    )

    for issued in leaked:
        with pytest.raises(KeyRevoked):
            authenticate(issued.text, now=datetime.now(UTC))
    authenticate(acme.keys[Environment.PRODUCTION], now=datetime.now(UTC))


def test_a_rotation_is_shown_with_its_own_tenant(operator: Client, acme: OpenedTenant, globex: OpenedTenant) -> None:
    ask_for_rotation(globex.scope, reason="test", now=datetime.now(UTC))

    shown = page(operator, "crypto_tenantkeystate_changelist")

    assert (shown.count("none yet"), shown.count("asked: 0 of 0 rows")) == (1, 1)


def test_keys_are_found_by_state(operator: Client, acme: OpenedTenant) -> None:
    issued = make_api_key(acme.scope, name="left over")
    operator.post(reverse("admin:apikeys_apikey_revoke", args=[issued.key.pk]))

    assert "left over" in page(operator, "apikeys_apikey_changelist", state="revoked")
    assert "left over" not in page(operator, "apikeys_apikey_changelist", state="active")
    assert "left over" not in page(operator, "apikeys_apikey_changelist", state="expired")


# -- quarantine ------------------------------------------------------------------------------------------------------


def test_rows_that_do_not_open_are_listed_and_looked_at_again_by_the_worker(
    operator: Client, person: User, acme: OpenedTenant, memories: list[int], now: datetime
) -> None:
    listed = QuarantinedRow._default_manager.using("operator").get()
    url = reverse("admin:memories_quarantinedrow_look_again", args=[listed.pk])

    assert "1 cannot be decrypted" in page(operator, "index")
    assert "memory #1" in page(operator, "memories_quarantinedrow_changelist")
    operator.get(url)
    waiting = OutboxEvent.objects.filter(kind="look_again")
    assert not waiting.exists()
    operator.post(url)

    work = waiting.get()
    assert (work.kind, work.subject_id, work.tenant_id) == ("look_again", listed.pk, acme.tenant.pk)
    with tenant_transaction(acme.scope):
        asked = AuditEvent.objects.get(action="integrity.look_again")
    assert (asked.actor, asked.target) == (f"account:{person.pk}", "memory:1")


# -- what is given up, held and suspended ----------------------------------------------------------------------------


def trail_of(scope: Scope, *actions: str) -> list[tuple[str, str, str, str]]:
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(action__in=actions).order_by("id")
        return [(row.actor, row.action, row.target, row.reason) for row in rows]


def test_work_that_fails_is_tried_again_at_once(
    operator: Client, person: User, acme: OpenedTenant, now: datetime
) -> None:
    waits = {"tenant_id": acme.tenant.pk, "kind": "embed", "run_after": now + timedelta(hours=9), "created_at": now}
    failed = OutboxEvent.objects.create(subject_id=1, attempts=7, error="temporary", **waits)
    quiet = OutboxEvent.objects.create(subject_id=2, **waits)
    for work in (failed, quiet):
        operator.get(reverse("admin:outbox_outboxevent_replay", args=[work.pk]))
        assert OutboxEvent.objects.get(pk=work.pk).run_after == waits["run_after"]

        operator.post(reverse("admin:outbox_outboxevent_replay", args=[work.pk]))

    failed.refresh_from_db()
    assert (failed.attempts, failed.error, failed.run_after <= datetime.now(UTC)) == (0, "", True)
    assert OutboxEvent.objects.get(pk=quiet.pk).run_after == waits["run_after"]
    assert trail_of(acme.scope, "outbox.replay") == [(f"account:{person.pk}", "outbox.replay", "embed:1", "")]


def test_a_delivery_that_was_given_up_is_sent_again_under_its_ids(
    operator: Client, person: User, acme: OpenedTenant, now: datetime
) -> None:
    told = create_webhook(acme.scope, name="a hook", url="https://hooks.example/x", wanted=["memory.created"], now=now)
    delivery = send_a_test(acme.scope, told.row.pk, "memory.created", now=now)
    page_of = reverse("admin:webhooks_webhookdelivery_replay", args=[delivery.pk])
    with tenant_transaction(acme.scope):
        OutboxEvent.objects.all().delete()
    operator.post(page_of)  # not given up
    assert not OutboxEvent.objects.exists()
    with tenant_transaction(acme.scope):
        mine = WebhookDelivery.objects.within(acme.scope).filter(pk=delivery.pk)
        mine.update(status="dead_letter", attempt_number=6, completed_at=now)

    operator.get(page_of)
    assert not OutboxEvent.objects.exists()
    operator.post(page_of)

    with tenant_transaction(acme.scope):
        again = mine.get()
    assert (again.status, again.attempt_number, again.event_id) == ("pending", 0, delivery.event_id)
    assert [row.subject_id for row in OutboxEvent.objects.all()] == [delivery.pk]
    hook = f"webhook:{told.row.pk}"
    assert trail_of(acme.scope, "webhook.replay") == [(f"account:{person.pk}", "webhook.replay", hook, "")]


def test_a_hold_is_set_and_lifted_with_the_password(
    operator: Client, person: User, acme: OpenedTenant, now: datetime
) -> None:
    scope = make_scope(acme, "alice", now=now)
    new = reverse("admin:erasure_hold_hold")
    wrong = operator.post(new, {"tenant": acme.tenant.pk, "level": "space", "number": 10**9, "case": "case-17"})
    operator.post(new, {"tenant": acme.tenant.pk, "level": "space", "number": scope.space.id, "case": "case-17"})
    row = Hold._default_manager.using("operator").get()
    lift = reverse("admin:erasure_hold_lift", args=[row.pk])

    operator.post(lift, {"password": "not it"})
    assert Hold._default_manager.using("operator").get().lifted_at is None
    operator.post(lift, {"password": PASSWORD})

    assert "The target of the hold does not exist" in wrong.content.decode()
    assert (row.space_id, row.case) == (scope.space.id, "case-17")
    assert Hold._default_manager.using("operator").get().lifted_by == f"account:{person.pk}"
    assert [one[1] for one in trail_of(acme.scope, "retention.hold", "retention.lift")] == [
        "retention.hold",
        "retention.lift",
    ]


def test_a_tenant_is_suspended_and_resumed_as_it_was(operator: Client, person: User, acme: OpenedTenant) -> None:
    owner = make_person(acme.tenant)
    suspend, resume = (reverse(f"admin:tenants_tenant_{name}", args=[acme.tenant.pk]) for name in ("suspend", "resume"))

    def doors() -> tuple[int, int]:
        page_of_people = owner.show_factor().get("/app/t/acme").status_code
        key = {"HTTP_X_API_KEY": acme.keys[Environment.PRODUCTION], "HTTP_X_END_USER_ID": "alice"}
        return page_of_people, Client().get("/memory/999999", **key).status_code

    before = doors()
    operator.post(suspend, {"password": "not it"})
    assert doors() == before
    operator.post(suspend, {"password": PASSWORD})
    meanwhile = doors()
    assert "suspended already" in operator.post(suspend, {"password": PASSWORD}, follow=True).content.decode()
    assert "suspended" in page(operator, "tenants_tenant_changelist")
    operator.post(resume, {"password": PASSWORD})

    assert (before, meanwhile, doors()) == ((200, 404), (404, 403), before)
    assert [one[1] for one in trail_of(acme.scope, "tenant.suspend", "tenant.resume")] == [
        "tenant.suspend",
        "tenant.resume",
    ]


# -- the first page --------------------------------------------------------------------------------------------------


def test_first_page_draws_what_happened(operator: Client, acme: OpenedTenant) -> None:
    at = datetime.now(UTC)
    scope = make_scope(acme, "alice", now=at)
    for text in SAID:
        remember(scope, [Proposal(text=Plaintext(text), importance=0.9)], now=at)
    sweep(scope, now=at)
    latency_histogram.add({latency_histogram.pace_of(7.0, now=at): 90, latency_histogram.pace_of(700.0, now=at): 10})
    OutboxEvent.objects.create(
        tenant_id=acme.tenant.pk, kind="resummarize", subject_id=9, error="temporary", run_after=at, created_at=at
    )

    drawn = {one.name: one for one in admin_charts.pictures(now=at)}
    shown = page(operator, "index")

    assert list(drawn) == ["adds", "outcomes", "recall", "queue", "keys", "sweeps"]
    assert drawn["adds"].legend == [("memories created", "2")]
    assert drawn["outcomes"].said == "stored 2, duplicates 0, needs review 0, rejected 0"
    assert drawn["recall"].legend == [("median (p50)", "7 ms"), ("p95", "650 ms")]
    assert {bar.name for bar in drawn["queue"].bars} >= {"resummarize"}
    assert drawn["queue"].is_alarming
    assert drawn["keys"].chart is not None
    assert drawn["sweeps"].notes == ["1 run"]
    assert not any(one.is_too_much for one in drawn.values())
    assert shown.count('<svg class="drawing"') >= 4
    assert shown.count("<rect class=") >= 5


def test_a_count_that_takes_too_long_is_left_out(
    operator: Client, acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_charts, "PATIENCE_MS", 20)
    monkeypatch.setattr(admin_charts, "_QUEUE", "select 'slow', 1, 0, null::float from (select pg_sleep(0.5)) s")

    shown = page(operator, "index")

    assert "Counting takes too long at the moment." in shown
    assert shown.count("Counting takes too long") == 1


# -- people ----------------------------------------------------------------------------------------------------------


def test_person_is_added_without_any_right(operator: Client) -> None:
    operator.post(
        reverse("admin:accounts_user_add"),
        {"email": "erin@example.org", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD},
    )

    erin = User.objects.get(email="erin@example.org")
    assert erin.check_password(PASSWORD)
    assert not erin.is_staff


def test_operator_makes_another_who_enrols_with_a_code_and_a_password(operator: Client, person: User) -> None:
    operator.post(
        reverse("admin:accounts_user_add"),
        {"email": "erin@example.org", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD},
    )
    erin = User.objects.get(email="erin@example.org")
    User.objects.filter(pk=erin.pk).update(is_staff=True, is_superuser=True)
    ask = reverse("admin:accounts_user_enrol", args=[erin.pk])

    assert "This is not your password" in operator.post(ask, {"password": "wrong"}).content.decode()
    shown = operator.post(ask, {"password": PASSWORD})

    (code,) = set(re.findall(r"(?:[0-9A-Z]{5}-){3}[0-9A-Z]{5}", shown.content.decode()))
    assert "no-store" in shown["Cache-Control"]
    (row,) = AuditEvent.objects.filter(action="factor.code")
    assert (row.actor, row.target) == (f"account:{person.pk}", f"account:{erin.pk}")
    mine = Person(erin, PASSWORD, Client())
    sign_in(mine)
    enrol(mine, code)
    assert mine.client.get("/admin/").status_code == 200
    assert "has a passkey or an authenticator" in operator.post(ask, {"password": PASSWORD}).content.decode()


def test_operator_becomes_nobody_who_has_a_role(operator: Client, acme: OpenedTenant) -> None:
    """H3 the long way round: neither their password, nor the code for their first passkey."""
    owner = make_person(acme.tenant, factor=False)
    Membership.objects.filter(user=owner.user).update(suspended_at=datetime.now(UTC))
    passwords = {"usable_password": "true", "password1": "another of 12 letters", "password2": "another of 12 letters"}

    for name in ("auth_user_password_change", "accounts_user_enrol"):
        url = reverse(f"admin:{name}", args=[owner.user.pk])
        assert operator.get(url).status_code == 403
        assert operator.post(url, passwords | {"password": PASSWORD}).status_code == 403
    change = reverse("admin:accounts_user_change", args=[owner.user.pk])
    shown = operator.get(change).content.decode()
    operator.post(change, {"email": owner.user.email, "is_active": "on", "password": "md5$x$y"} | passwords)

    assert "Set a password" not in shown
    assert "md5$" not in shown
    assert User.objects.get(pk=owner.user.pk).password == owner.user.password


def _flattened(patterns: Any) -> Iterator[Any]:
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from _flattened(pattern.url_patterns)
        else:
            yield pattern


def test_operator_says_what_of_a_project_waits_for_review(operator: Client, acme: OpenedTenant) -> None:
    url = reverse("admin:projects_project_review_what", args=[acme.project.pk])

    shown, answer = operator.get(url), operator.post(url, {"review": "all"})

    assert (shown.status_code, answer.status_code) == (200, 302)
    assert Project._default_manager.using("operator").get(pk=acme.project.pk).review == "all"
    row = AuditEvent.objects.using("operator").filter(action="project.review").get()
    assert (row.reason, row.actor.split(":")[0]) == ("all", "account")
