"""Issue, rotate and revoke API keys.  Each change writes an audit row in its transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from apps.apikeys import tokens
from apps.apikeys.models import ApiKey
from apps.apikeys.pepper import pepper
from apps.apikeys.permissions import DEFAULT, PERMISSIONS, expand, unknown
from apps.apikeys.selectors import ApiKeyNotFound
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Forbidden, Invalid
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.projects.models import Project
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import ProjectNotFound

DEFAULT_LIFETIME: Final = timedelta(days=90)
LONGEST_LIFETIME: Final = timedelta(days=365)
DEFAULT_GRACE: Final = timedelta(hours=24)
LONGEST_GRACE: Final = timedelta(days=30)


class UnknownScopes(Invalid):
    """The key's scopes must be existing scopes."""

    code = "UNKNOWN_SCOPES"


class KeyNameRefused(Invalid):
    """A key's name is 1 to 128 characters."""


class LifetimeRefused(Invalid):
    """A key expires in the future, and within 365 days."""


class GraceRefused(Invalid):
    """An old key may stay valid for at most 30 days after it was rotated."""


class KeyAlreadyRevoked(Conflict):
    """This API key is revoked already; issue a new one."""

    code = "API_KEY_ALREADY_REVOKED"


class KeyAlreadyExpired(Conflict):
    """This API key has expired; issue a new one."""

    code = "API_KEY_ALREADY_EXPIRED"


class TokenNotRotated(Conflict):
    """This is a token of a namespace, a profile or a connected client: create a new one in place of rotating it."""

    code = "TOKEN_NOT_ROTATED"


class ScopesBeyondRole(Forbidden):
    """Your role can give keys only the default scopes and scopes that you have yourself."""

    code = "SCOPES_BEYOND_ROLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """Of a token: the namespace, and the profile in it if it is of one alone; rows of ``EndUser``.

    issued_by_id: the key that creates it; None for a person.  account_id, end_user_id: as in ``ApiKey``.
    """

    namespace_id: int | None = None
    profile_id: int | None = None
    issued_by_id: int | None = None
    account_id: int | None = None
    end_user_id: int | None = None


@dataclass(frozen=True, slots=True)
class Issued:
    """A new key and its text, which cannot be shown again."""

    key: ApiKey
    text: str = field(repr=False)


def issue(
    scope: Scope,
    *,
    name: str,
    environment: Environment,
    other_environments: Sequence[Environment] = (),
    scopes: Sequence[str] = DEFAULT,
    project_id: int | None = None,
    expires_at: datetime | None = None,
    confined: Confinement | None = None,
    now: datetime,
) -> Issued:
    """Create a key of the scope's tenant.

    environment: of the key, whatever the scope's is.  other_environments: others that its requests may name, and that
    its reads of memories cover.  project_id: row id; the key is pinned to that project and works
    in no other.  expires_at: by default 90 days from now, at most 365.  confined: of a token.

    Raises UnknownScopes, KeyNameRefused, LifetimeRefused or ProjectNotFound.
    """
    expires_at = expires_at or now + DEFAULT_LIFETIME
    with tenant_transaction(scope):
        project = check_key(scope, name=name, scopes=scopes, project_id=project_id, expires_at=expires_at, now=now)
        scopes = list(dict.fromkeys(scopes))
        environments = list(dict.fromkeys([Environment(environment), *other_environments]))
        issued = _make(scope, name.strip(), environments, scopes, project, expires_at, now, confined)
        _record(scope, AuditAction.API_KEY_ISSUE, issued.key, reason=",".join(environments), now=now)
    return issued


def check_key(
    scope: Scope, *, name: str, scopes: Sequence[str], project_id: int | None, expires_at: datetime, now: datetime
) -> Project | None:
    """Validate a new key's values; returns its project.  Inside the tenant's transaction.  Raises as ``issue``."""
    if not 1 <= len(name.strip()) <= 128:
        raise KeyNameRefused
    _check_scopes(scopes)
    if not now < expires_at <= now + LONGEST_LIFETIME:
        raise LifetimeRefused
    if project_id is None:
        return None
    project = Project.objects.within(scope).filter(pk=project_id).first()
    if project is None:
        raise ProjectNotFound
    return project


def revoke_pinned(scope: Scope, project_id: int, *, now: datetime) -> None:
    """Revoke every key pinned to a project that is about to be deleted: unpinned, it would work in the default project.
    Inside the tenant's transaction."""
    for key in ApiKey.objects.within(scope).select_for_update().filter(project_id=project_id).order_by("pk"):
        was_live, was_bound, key.project = key.revoked_at is None, key.is_bound(), None
        key.revoked_at = key.revoked_at or now
        _save(key, "project", "revoked_at", binds=was_bound)
        if was_live:
            _record(scope, AuditAction.API_KEY_REVOKE, key, reason="its project was deleted", now=now)


def revoke_every_key(scope: Scope, *, now: datetime) -> None:
    """Revoke every key of a tenant that is being erased.  Inside the tenant's transaction."""
    for key in ApiKey.objects.within(scope).select_for_update().filter(revoked_at=None).order_by("pk"):
        was_bound, key.revoked_at = key.is_bound(), now
        _save(key, "revoked_at", binds=was_bound)


def may_give(scope: Scope, scopes: Sequence[str]) -> Sequence[str]:
    """These scopes, if the caller may create a key with them.  Raises ScopesBeyondRole."""
    beyond = expand(scopes, is_pinned=False) - set(DEFAULT) - scope.permissions
    if beyond and "api_keys:any_scope" not in scope.permissions:
        raise ScopesBeyondRole
    return scopes


def rotate(scope: Scope, key_id: int, *, grace: timedelta = DEFAULT_GRACE, now: datetime) -> Issued:
    """A new key like the old one, which stays valid for ``grace`` so that running programs can switch.

    grace: zero, for a leaked key, revokes the old one at once.  The new key has the old one's lifetime.  Raises
    ApiKeyNotFound, KeyAlreadyRevoked, KeyAlreadyExpired or GraceRefused.
    """
    if not timedelta(0) <= grace <= LONGEST_GRACE:
        raise GraceRefused
    with tenant_transaction(scope):
        old = usable_key(scope, key_id, now=now)
        lifetime = old.expires_at - old.created_at if old.expires_at else DEFAULT_LIFETIME
        issued = _make(
            scope,
            old.name,
            [Environment(one) for one in old.environments],
            old.scopes,
            old.project,
            now + min(lifetime, LONGEST_LIFETIME),
            now,
        )
        if grace:
            old.expires_at = min(old.expires_at or now + grace, now + grace)
        else:
            old.revoked_at = now
            _revoke_issued_by(scope, old.pk, now=now)
        _save(old, "expires_at", "revoked_at")
        _record(scope, AuditAction.API_KEY_ROTATE, old, reason=f"replaced by api_key:{issued.key.pk}", now=now)
    return issued


def usable_key(scope: Scope, key_id: int, *, now: datetime) -> ApiKey:
    """The key, locked.  Inside the tenant's transaction.

    A key whose MAC does not match its row counts as missing: a new key would copy forged values.  Raises
    ApiKeyNotFound, TokenNotRotated, KeyAlreadyRevoked or KeyAlreadyExpired.
    """
    key = _locked(scope, key_id)
    if not key.is_bound():
        raise ApiKeyNotFound
    if key.is_token:
        raise TokenNotRotated
    if key.revoked_at:
        raise KeyAlreadyRevoked
    if key.expires_at and key.expires_at <= now:
        raise KeyAlreadyExpired
    return key


def extend_connected(scope: Scope, key_id: int, *, expires_at: datetime) -> None:
    """A client that a person connected has come for its tokens: until then its key is of a minute.  Inside the tenant's
    transaction.  Raises ApiKeyNotFound."""
    key = _locked(scope, key_id)
    if key.account_id is None or not key.is_bound():
        raise ApiKeyNotFound
    key.expires_at = expires_at
    _save(key, "expires_at")


def revoke(scope: Scope, key_id: int, *, now: datetime) -> ApiKey:
    """Revoke a key and the tokens that it created, directly or through them; they are refused from the next request on.

    Raises ApiKeyNotFound or KeyAlreadyRevoked.
    """
    with tenant_transaction(scope):
        key = _locked(scope, key_id)
        if key.revoked_at:
            raise KeyAlreadyRevoked
        was_bound, key.revoked_at = key.is_bound(), now
        _save(key, "revoked_at", binds=was_bound)
        _record(scope, AuditAction.API_KEY_REVOKE, key, now=now)
        _revoke_issued_by(scope, key.pk, now=now)
    return key


def _revoke_issued_by(scope: Scope, key_id: int, *, now: datetime) -> None:
    """Inside the tenant's transaction.  A token is younger than its issuer, so keys are locked in ascending order."""
    issued = ApiKey.objects.within(scope).select_for_update().filter(issued_by_id=key_id, revoked_at=None)
    for token in issued.order_by("pk"):
        was_bound, token.revoked_at = token.is_bound(), now
        _save(token, "revoked_at", binds=was_bound)
        _record(scope, AuditAction.API_KEY_REVOKE, token, reason=f"created by api_key:{key_id}", now=now)
        _revoke_issued_by(scope, token.pk, now=now)


def revoke_all(scope: Scope, key_ids: Sequence[int], *, now: datetime) -> list[tuple[int, str]]:
    """Revoke each key independently; returns its id and outcome: ``revoked``, ``already_revoked`` or ``not_found``."""
    return [(key_id, _revoked(scope, key_id, now=now)) for key_id in key_ids]


def _revoked(scope: Scope, key_id: int, *, now: datetime) -> str:
    try:
        revoke(scope, key_id, now=now)
    except ApiKeyNotFound:
        return "not_found"
    except KeyAlreadyRevoked:
        return "already_revoked"
    return "revoked"


def _check_scopes(scopes: Sequence[str]) -> None:
    if not scopes:
        raise UnknownScopes("A key needs at least one scope.")
    if wrong := unknown(list(scopes)):
        known = ", ".join([*PERMISSIONS, "memory:*", "*"])
        raise UnknownScopes(f"Unknown scopes: {', '.join(wrong)}. There are: {known}.")


def _make(
    scope: Scope,
    name: str,
    environments: Sequence[Environment],
    scopes: Sequence[str],
    project: Project | None,
    expires_at: datetime,
    now: datetime,
    confined: Confinement | None = None,
) -> Issued:
    home, *others = environments
    text, kid = tokens.mint(home)
    active = pepper()
    (key_id,) = reserve_ids(1, sequence="apikeys_apikey_id_seq")  # first, because the MAC of the row includes it
    key = ApiKey(
        id=key_id,
        tenant_id=scope.tenant_id,
        name=name,
        kid=kid,
        digest=tokens.digest(active.key, text),
        pepper_version=active.version,
        environment=home,
        other_environments=others,
        scopes=list(scopes),
        project=project,
        namespace_id=confined.namespace_id if confined else None,
        profile_id=confined.profile_id if confined else None,
        issued_by_id=confined.issued_by_id if confined else None,
        account_id=confined.account_id if confined else None,
        end_user_id=confined.end_user_id if confined else None,
        expires_at=expires_at,
        created_at=now,
    )
    key.bind()
    key.save(force_insert=True)
    return Issued(key, text)


def _save(key: ApiKey, *fields: str, binds: bool = True) -> None:
    """binds: whether the row's MAC was valid before this change; a new MAC would make forged values valid."""
    if binds:
        key.bind()
    key.save(update_fields=[*fields, "row_mac"] if binds else fields)


def _locked(scope: Scope, key_id: int) -> ApiKey:
    # The row lock serializes concurrent rotations: the second sees the result of the first.
    rows = ApiKey.objects.within(scope).select_related("project").select_for_update(of=("self",))
    key = rows.filter(pk=key_id).first()
    if key is None:
        raise ApiKeyNotFound
    return key


def _record(scope: Scope, action: AuditAction, key: ApiKey, *, reason: str = "", now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=action, target=f"api_key:{key.pk}", reason=reason, now=now)
