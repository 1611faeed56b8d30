"""Every row has one owner, and neither Python nor PostgreSQL shows it to another."""

import inspect
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connections, models
from pytest_django import DjangoAssertNumQueries

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import ScopedManager, ScopedModel, ScopeRequired, WrongTenant, tenant_transaction
from apps.crypto.encrypted_tables import TABLES
from apps.key_management import keys
from apps.projects.models import Project
from apps.projects.scope import Scope
from apps.tenants.models import Tenant
from memsync.launcher.embedded import roles
from tests.architecture import walls
from tests.makers import NOW

ROOT = Path(__file__).resolve().parents[2]

# Models that belong to no tenant, and why.
GLOBAL = {
    "account.EmailAddress": "of the library that signs people in; nobody here has one",
    "account.EmailConfirmation": "of the library that signs people in; nothing is confirmed by mail",
    "accounts.Assertion": "leave that a person was given; a person may work for several organizations",
    "accounts.BearerSession": "sessions of people",
    "accounts.BrowserSession": "sessions of people",
    "accounts.EnrolmentCode": "of a person; they may work for several organizations",
    "accounts.OAuthCode": "of a person, for a minute; the key that it is for has a tenant",
    "accounts.OAuthGrant": "tokens of people's clients; the key that they stand for has a tenant",
    "accounts.SpentOAuthToken": "tokens of people's clients",
    "accounts.SpentRefresh": "sessions of people",
    "accounts.User": "a person may work for several organizations",
    "accounts.User_groups": "Django's own link between a person and groups",
    "accounts.User_user_permissions": "Django's own link between a person and permissions",
    "allauth_idp_oidc.Client": "programs that people of any tenant may connect",
    "allauth_idp_oidc.Token": "of the library that knows the clients; nothing is stored there",
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
    "apps/core/scoping.py": "defines it, for Django's own machinery",
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
        method = getattr(model.objects, name)
        if asks_for_a_scope(method):
            continue
        try:
            answer = method()
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


def asks_for_a_scope(method: Callable[..., Any]) -> bool:
    """Whether its first argument is the scope, and cannot be left out or named as a field is."""
    first = next(iter(inspect.signature(method).parameters.values()), None)
    return (
        first is not None
        and first.name == "scope"
        and first.kind is first.POSITIONAL_ONLY
        and first.default is first.empty
    )


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


CREATES: dict[str, Callable[[Scope, dict[str, Any]], object]] = {
    "create": lambda scope, fields: Project.objects.create(scope, **fields),
    "bulk_create": lambda scope, fields: Project.objects.bulk_create(
        scope, [Project(name="mine", created_at=NOW), Project(**fields)]
    ),
    "update_or_create, new": lambda scope, fields: Project.objects.update_or_create(
        scope, name="new", defaults={}, create_defaults=fields
    ),
    "update_or_create, found": lambda scope, fields: Project.objects.update_or_create(
        scope, is_default=True, defaults=fields, create_defaults={}
    ),
    "update_or_create, looked for": lambda scope, fields: Project.objects.update_or_create(
        scope, **fields, defaults={}, create_defaults={}
    ),
}


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize("named", ["tenant", "tenant_id"])
@pytest.mark.parametrize("method", CREATES)
def test_no_row_of_another_tenant_is_created_with_a_scope(
    acme: OpenedTenant, globex: OpenedTenant, method: str, named: str
) -> None:
    theirs = {"tenant": Tenant.objects.get(pk=globex.tenant.pk), "tenant_id": globex.tenant.pk}
    fields = {named: theirs[named], "name": "planted", "created_at": NOW}

    # In their transaction, where row-level security shows and takes their rows.
    with tenant_transaction(globex.scope):
        with pytest.raises(WrongTenant):
            CREATES[method](acme.scope, fields)

        assert not Project.objects.within(globex.scope).filter(name="planted").exists()
    with tenant_transaction(acme.scope):
        assert not Project.objects.within(acme.scope).filter(name__in=["planted", "mine"]).exists()


@pytest.mark.django_db(databases="__all__")
def test_what_is_created_with_a_scope_is_of_its_tenant(
    acme: OpenedTenant, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with tenant_transaction(acme.scope):
        with django_assert_num_queries(2):
            one = Project.objects.create(acme.scope, name="one", created_at=NOW)
            more = Project.objects.bulk_create(acme.scope, (Project(name=name, created_at=NOW) for name in "ab"))
        found, is_new = Project.objects.update_or_create(
            acme.scope, name="one", defaults={"name": "two"}, create_defaults={}
        )

        assert (found, is_new) == (one, False)
        assert {row.tenant_id for row in (one, *more, found)} == {acme.tenant.pk}
        assert set(Project.objects.within(acme.scope).filter(name__in=["two", "a", "b"])) == {one, *more}


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
