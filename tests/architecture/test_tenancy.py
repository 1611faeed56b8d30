"""Every row has one owner, and neither Python nor PostgreSQL shows it to another."""

import inspect
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connections, models

from apps.core.scoping import ScopedManager, ScopedModel, ScopeRequired
from apps.crypto.encrypted_tables import TABLES
from apps.key_management import keys
from memsync.launcher.embedded import roles
from tests.architecture import walls

ROOT = Path(__file__).resolve().parents[2]

# Models that belong to no tenant, and why.
GLOBAL = {
    "account.EmailAddress": "of the library that signs people in; nobody here has one",
    "account.EmailConfirmation": "of the library that signs people in; nothing is confirmed by mail",
    "accounts.Assertion": "leave that a person was given; a person may work for several organizations",
    "accounts.BearerSession": "sessions of people",
    "accounts.BrowserSession": "sessions of people",
    "accounts.EnrolmentCode": "of a person; they may work for several organizations",
    "accounts.SpentRefresh": "sessions of people",
    "accounts.User": "a person may work for several organizations",
    "accounts.User_groups": "Django's own link between a person and groups",
    "accounts.User_user_permissions": "Django's own link between a person and permissions",
    "admin.LogEntry": "what operators did in the admin",
    "apikeys.RateWindow": "counts callers before anybody knows who they are",
    "audit.AuditEvent": "the record outlives the tenant; row-level security guards it all the same",
    "audit.ChainHead": "a number and a hash for each tenant, for the checkpoint that speaks for all of them",
    "audit.Checkpoint": "signs where all chains stand; numbers and hashes only",
    "audit.CheckpointHead": "a number and a hash for each tenant whose chain had grown",
    "outbox.OutboxEvent": "one worker drains it for all tenants; holds ids only",
    "auth.Group": "operators' groups",
    "auth.Group_permissions": "operators' groups",
    "auth.Permission": "names of Django's model permissions",
    "contenttypes.ContentType": "names of models",
    "crypto.ServiceKey": "keys of the whole deployment, in the keyring database",
    "crypto.SpaceSecret": "in the keyring database, by the tenant's uid; evidence outlives the tenant",
    "crypto.TenantKey": "in the keyring database, by the tenant's uid; evidence outlives the tenant",
    "mfa.Authenticator": "a person's second factors; a person may work for several organizations",
    "memories.MemoryPosting": "has a composite key instead of an id; its tenant_id is guarded by row-level security",
    "recall.RecallPace": "how long recalls take, of the whole deployment; numbers only",
    "erasure.Erasure": "in the keyring database, by the tenant's uid; it outlives what it erased",
    "erasure.Purge": "of the whole main database; names of tables only",
    "erasure.Receipt": "in the keyring database, by the tenant's uid; it outlives what it says was erased",
    "erasure.ReceiptCheckpoint": "signs the log of all tenants' receipts; a number and a hash only",
    "erasure.ErasureEntry": "in the keyring database, by the tenant's uid; it outlives what it says was erased",
    "tenants.Membership": "belongs to an organization",
    "tenants.Organization": "owns tenants",
    "tenants.Tenant": "is the tenant",
    "key_management.KeyRewrap": "about the keys of the whole deployment",
    "memory_types.TypeChange": "one worker tends the changes of all tenants; names of types, ids and counts only",
    "key_management.KeyRotation": "one worker tends the rotations of all tenants; ids, versions and counts only",
}

# Files that may use the open manager, and why.
EVERYONE = {
    "apps/apikeys/quota.py": "sets the quota of the tenant that its transaction names",
    "apps/breakglass/services.py": "asks for leave to read a space of the scope's tenant",
    "apps/core/scoping.py": "defines it",
    "apps/history/turns.py": "creates turns of the scope's one space",
    "apps/ingest/source_links.py": "creates links of the scope's one space",
    "apps/memories/embedding.py": "creates vectors of the scope's tenant",
    "apps/memories/feedback.py": "notes feedback on memories of the scope's tenant",
    "apps/memories/integrity.py": "lists rows of the scope's tenant that failed their seal",
    "apps/memories/revisions.py": "notes what happened to memories of the scope's tenant",
    "apps/memories/spaces.py": "creates end users and spaces of the scope's tenant",
    "apps/memories/conflict_resolution.py": "notes what became of memories that were read within the scope",
    "apps/exports/links.py": "creates links of the scope's tenant",
    "apps/exports/services.py": "creates jobs of the scope's tenant",
    "apps/exports/export_worker.py": "creates pieces of the scope's tenant",
    "apps/imports/chunks.py": "creates chunks of the scope's tenant",
    "apps/imports/services.py": "creates a job of the scope's tenant",
    "apps/recall/traces.py": "keeps traces of recalls in the scope's one space",
    "apps/projects/services.py": "creates projects of the scope's tenant",
    "apps/retention/subject_requests.py": "opens a request of the scope's one end user",
    "apps/erasure/legal_holds.py": "sets holds of the scope's tenant",
    "apps/summaries/clusters.py": "creates clusters and members of the scope's tenant",
    "apps/webhooks/fanout.py": "creates deliveries of the scope's tenant",
    "apps/memory_types/change_worker.py": "notes what was done to memories of the scope's tenant",
    "apps/memory_types/type_changes.py": "creates types and rules of the scope's tenant",
    "apps/summaries/services.py": "creates summaries of the scope's one space",
}
# Operators see rows of all tenants, as a role that may read no sealed column: in the admin and nowhere else.
OPERATORS = ("apps/*/admin.py", "memsync/*.py")
AS_OPERATOR = re.compile(r"\busing\(OPERATOR\)|connections\[OPERATOR\]|\.using\([\"']operator[\"']\)")
OPEN_DOOR = re.compile(
    r"\.everyone\b|[\"']everyone[\"']|\b_(default|base)_manager\b(?!\.using\(OPERATOR\))|_meta\.managers"
)


def all_models() -> list[type[models.Model]]:
    return list(apps.get_models(include_auto_created=True))


def scoped_models() -> list[Any]:
    return [model for model in all_models() if issubclass(model, ScopedModel)]


def unowned(found: list[type[models.Model]], listed: Mapping[str, str]) -> list[str]:
    return [f"{one._meta.label}: is neither a ScopedModel nor listed as global" for one in found
            if not issubclass(one, ScopedModel) and one._meta.label not in listed]  # fmt: skip


def loosely_owned(model: type[models.Model]) -> list[str]:
    """What is wrong with a scoped model's tenant."""
    field: Any = model._meta.get_field("tenant")
    found = []
    if field.null:
        found.append(f"{model._meta.label}: the tenant may be missing")
    if field.remote_field.on_delete is not models.CASCADE:
        found.append(f"{model._meta.label}: stays when its tenant goes")
    if field.related_model is not apps.get_model("tenants.Tenant"):
        found.append(f"{model._meta.label}: its tenant is not a tenant")
    return found


def open_doors(model: Any) -> list[str]:
    """Ways in through ``objects`` that do not ask whose rows."""
    if "objects" not in {manager.name for manager in model._meta.managers}:
        return []  # fails closed: there is nothing to call
    found = [] if isinstance(model.objects, ScopedManager) else [f"{model._meta.label}.objects is not scoped"]
    for name in manager_methods():
        try:
            answer = getattr(model.objects, name)()
        except ScopeRequired:
            continue
        except Exception as error:  # noqa: BLE001  (anything else means that it got past the door)
            found.append(
                f"{model._meta.label}.objects.{name} failed with {type(error).__name__}, not for want of scope"
            )
        else:
            found.append(f"{model._meta.label}.objects.{name} asks nobody")
            if inspect.iscoroutine(answer):
                answer.close()
    return found


def manager_methods() -> list[str]:
    """Every public method that a manager takes from the queryset, and ``all`` and ``get_queryset``."""
    names = {name for name in vars(models.QuerySet) if hasattr(models.Manager, name) and not name.startswith("_")}
    return sorted(name for name in names | {"all", "get_queryset"} if callable(getattr(models.Manager, name)))


def files_with(pattern: re.Pattern[str], root: Path) -> set[str]:
    files = (path for top in ("apps", "memsync", "benchmarks", "scripts") for path in (root / top).rglob("*.py"))
    return {
        str(path.relative_to(root))
        for path in files
        if "migrations" not in path.parts and pattern.search(path.read_text())
    }


def test_every_model_belongs_to_a_tenant_or_says_why_not() -> None:
    assert unowned(all_models(), GLOBAL) == []


def test_no_model_is_listed_as_global_for_nothing() -> None:
    labels = {model._meta.label for model in all_models() if not issubclass(model, ScopedModel)}

    assert GLOBAL.keys() - labels == set()


def test_a_tenants_rows_have_it_and_leave_with_it() -> None:
    assert [finding for model in scoped_models() for finding in loosely_owned(model)] == []


def test_every_manager_refuses_without_a_scope() -> None:
    assert len(manager_methods()) > 50
    assert [finding for model in scoped_models() for finding in open_doors(model)] == []


def test_django_itself_uses_the_open_manager_on_tenants_rows() -> None:
    for model in scoped_models():
        assert model._meta.default_manager.name == "everyone", model._meta.label


def test_the_open_manager_is_used_where_it_is_listed_and_nowhere_else() -> None:
    assert files_with(OPEN_DOOR, ROOT) == EVERYONE.keys()


def test_only_the_admin_looks_as_the_operator() -> None:
    strangers = {path for path in files_with(AS_OPERATOR, ROOT) if not any(fnmatch(path, one) for one in OPERATORS)}

    assert strangers == set()


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize("alias", ["default", "keyring"])
@pytest.mark.parametrize(
    "check",
    [
        walls.row_security,
        walls.unique_indexes,
        walls.plain_indexes,
        walls.foreign_keys,
        walls.unkeyed_columns,
        walls.definer_functions,
    ],
)
def test_the_catalogue_has_every_wall(check: Any, alias: str) -> None:
    with connections[alias].cursor() as cursor:
        assert check(cursor) == []


@pytest.mark.django_db
def test_no_wall_is_excused_for_nothing() -> None:
    with connections["default"].cursor() as cursor:
        assert walls.stale_exceptions(cursor) == []


@pytest.mark.django_db
def test_every_scoped_model_is_among_the_tables_looked_at() -> None:
    with connections["default"].cursor() as cursor:
        tables = walls.tenant_tables(cursor)

    assert {model._meta.db_table for model in scoped_models()} <= tables
    assert {"memories_posting", "audit_auditevent"} <= tables


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize(("alias", "role"), [("default", roles.APP), ("keyring", roles.KEYS)])
def test_whoever_serves_requests_stands_before_the_walls(alias: str, role: str) -> None:
    with connections[alias].cursor() as cursor:
        assert walls.roles(cursor, application=role) == []


@pytest.mark.django_db
def test_every_table_with_a_key_version_is_guarded_and_its_keys_can_turn() -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("select tgrelid::regclass::text from pg_trigger where tgname = 'guard_key_version'")
        guarded = {name for (name,) in cursor.fetchall()}
    sealed = set(keys.sealed_tables())

    assert guarded == sealed, "`RequireActiveKeyVersion`, in the migration that makes the table"
    with_their_memory = {"memories_memoryvector"}
    assert {one.table for one in TABLES} == sealed - with_their_memory, "`register` a SealedTable"
