"""Initial data of an empty deployment: a tenant, its keys, and users who can sign in."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from apps.accounts.services import Credentials, get_or_create_person, make_operator, start_over
from apps.apikeys.onboarding import FIRST_KEY, provision_tenant
from apps.apikeys.selectors import list_keys, state_of
from apps.apikeys.services import issue, revoke, rotate
from apps.core.locks import lock
from apps.policies.retention import in_force, in_words
from apps.projects.scope import SYSTEM, Environment, Scope
from apps.projects.selectors import default_project, scope_in
from apps.tenants.members import give_role
from apps.tenants.models import Role, Tenant
from apps.tenants.selectors import find_first_tenant
from apps.tenants.services import open_organization

NAME: Final = "default"  # default tenant name of the published adapters
OPERATOR: Final = "operator@memsync.local"
OWNER: Final = "owner@memsync.local"
PROBE: Final = "memsync up tries itself"
ORDER: Final = (Environment.PRODUCTION, Environment.STAGING, Environment.DEVELOPMENT)


def run(*, reissue: bool, probe_key: bool) -> dict[str, Any]:
    return ensure_first_run(now=timezone.now(), reissue=reissue, probe_key=probe_key)


def ensure_first_run(*, now: datetime, reissue: bool = False, probe_key: bool = False) -> dict[str, Any]:
    """Create the first tenant if there is none, and return its data:

        {"tenant", "project", "keys": {"production", "staging", "development"},
         "operator": {"email", "password", "enrolment_code"}, "owner": {"email", "password", "enrolment_code"},
         "retention"}

    retention: how long memories are kept, as a sentence.  The operator sees every tenant but no memories; the owner
    signs in for this tenant, and reads and deletes its memories.  A new secret is a string, an earlier one None.

    reissue: create new keys, valid beside the old ones for a day, and reset both users.  probe_key: also return a new
    "probe_key" for the smoke test, in place of the old one.
    """
    with transaction.atomic():
        lock("first run")
        keys: Mapping[Environment, str | None] = dict.fromkeys(ORDER)
        operator = owner = None
        if tenant := find_first_tenant():
            scope = scope_in(tenant)
            if reissue:
                keys, operator, owner = _new_keys(scope, now=now), _make_operator(now=now), _make_owner(tenant, now=now)
        else:
            opened = provision_tenant(open_organization(NAME, now=now), NAME, now=now)
            tenant, scope, keys = opened.tenant, opened.scope, opened.keys
            operator, owner = _make_operator(now=now), _make_owner(tenant, now=now)
        said = {
            "tenant": tenant.name,
            "project": default_project(scope).public_id,
            "keys": {environment.value: keys[environment] for environment in ORDER},
            "operator": _said(OPERATOR, operator),
            "owner": _said(OWNER, owner),
            "retention": in_words(in_force(scope, project_id=None)),
        }
        if probe_key:
            said["probe_key"] = _new_probe_key(scope, now=now)
    return said


def _make_operator(*, now: datetime) -> Credentials:
    return make_operator(OPERATOR, actor=SYSTEM.label, now=now)


def _make_owner(tenant: Tenant, *, now: datetime) -> Credentials:
    """Create the owner; an existing one is reset."""
    person, made = get_or_create_person(OWNER, full_name="Owner", actor=SYSTEM.label, now=now)
    give_role(tenant, person.pk, Role.OWNER, actor=SYSTEM.label, now=now)
    return made or start_over(person, actor=SYSTEM.label, now=now)


def _said(email: str, made: Credentials | None) -> dict[str, str | None]:
    return {
        "email": email,
        "password": made.password if made else None,
        "enrolment_code": made.enrolment_code if made else None,
    }


def _new_keys(scope: Scope, *, now: datetime) -> dict[Environment, str | None]:
    newest = {key.environment: key for key in reversed(_active(scope, FIRST_KEY, now=now))}
    keys: dict[Environment, str | None] = {}
    for environment in ORDER:
        old = newest.get(environment)
        made = rotate(scope, old.pk, now=now) if old else issue(scope, name=FIRST_KEY, environment=environment, now=now)
        keys[environment] = made.text
    return keys


def _new_probe_key(scope: Scope, *, now: datetime) -> str:
    for old in _active(scope, PROBE, now=now):
        revoke(scope, old.pk, now=now)
    scopes = ("memory:read", "memory:add")
    return issue(scope, name=PROBE, environment=Environment.DEVELOPMENT, scopes=scopes, now=now).text


def _active(scope: Scope, name: str, *, now: datetime) -> list[Any]:
    """Active keys, newest first."""
    return [key for key in list_keys(scope) if key.name == name and state_of(key, now=now) == "active"]
