"""Authentication of API keys, and queries of a tenant's keys."""

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Self

from django.db import connection, transaction
from django.db.models import QuerySet

from apps.apikeys import rate_limits, tokens
from apps.apikeys.models import ApiKey
from apps.apikeys.pepper import pepper
from apps.apikeys.permissions import expand
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import DomainError, Forbidden, NotFound, Unauthenticated
from apps.core.prepared_sql import Columns, pipelined, prepared_cursor
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment, Principal, Scope, TenantRef
from apps.tenants.models import Tenant

logger = logging.getLogger(__name__)

_USED_EVERY: Final = timedelta(minutes=1)
_REFUSALS_NOTED: Final = (rate_limits.RateCeiling(60, 1),)
_NO_DIGEST: Final = bytes(32)
_KEY, _TENANT = Columns(ApiKey, "api_key"), Columns(Tenant, "tenant")
_KEY_AND_TENANT: Final = (
    f"select {_KEY.sql}, {_TENANT.sql} from apikeys_apikey api_key "  # noqa: S608  (names of our own columns)
    "join tenants_tenant tenant on tenant.id = api_key.tenant_id where api_key.kid = %s"
)


class KeyUnknown(Unauthenticated):
    """Invalid API key"""

    code = "INVALID_API_KEY"


class KeyExpired(KeyUnknown):
    """Invalid API key"""


class KeyRowChanged(KeyUnknown):
    """Invalid API key"""


class KeyRevoked(Forbidden):
    """API key revoked"""

    code = "API_KEY_REVOKED"


class EnvironmentBeyondKey(Forbidden):
    """X-Environment names no environment of this key: omit it, or use a key that was created for that environment."""

    code = "ENVIRONMENT_BEYOND_KEY"


class ApiKeyNotFound(NotFound):
    """There is no such API key."""

    code = "API_KEY_NOT_FOUND"


class TenantClosed(Forbidden):
    """This tenant is closed"""

    code = "TENANT_CLOSED"


class TenantSuspended(Forbidden):
    """This tenant is suspended"""

    code = "TENANT_SUSPENDED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticated:
    """The result of a valid key: tenant, environments and permissions.

    environment: where the request works.  also_reads: the other environments that its reads of memories cover.
    project_id: the project that the key is pinned to, if any.  key_deletes: the tenant's policy, a value of
    ``KeyDeletes``.  namespace_id, profile_id: of a token, the only ones that it reaches.  account_id, end_user_id: of a
    client that a person connected: who, and the only end user that it reaches.
    """

    key_id: int
    tenant: TenantRef
    environment: Environment
    also_reads: tuple[Environment, ...] = ()
    permissions: frozenset[str]
    project_id: int | None
    key_deletes: str
    namespace_id: int | None = None
    profile_id: int | None = None
    account_id: int | None = None
    end_user_id: int | None = None
    expires_at: datetime | None = None

    @property
    def is_token(self) -> bool:
        """Whether it is confined: to a namespace, to a profile, or to what a person gave a client."""
        return any(one is not None for one in (self.namespace_id, self.profile_id, self.account_id))

    def unconfined(self) -> Self:
        """For routes that are called by one that has confined the request itself, to the one end user."""
        return replace(self, account_id=None, end_user_id=None)

    def named(self, environment: str) -> Self:
        """Limited to the environment with this name.  Raises EnvironmentBeyondKey unless it is one of the key's."""
        if environment not in (self.environment, *self.also_reads):
            raise EnvironmentBeyondKey
        return replace(self, environment=Environment(environment), also_reads=())

    @property
    def scope(self) -> Scope:
        """A scope of one environment, without spaces: these follow from the end user whom the request names."""
        return Scope(
            tenant=self.tenant,
            environment=self.environment,
            principal=Principal(kind="api_key", id=self.key_id),
            project_id=self.project_id,
            permissions=self.permissions,
        )


def authenticate(raw: str, *, now: datetime) -> Authenticated:
    """The key's tenant, environment and permissions.

    Reads the database every time, so that a revoked key is refused from the next request on; a text with a wrong
    checksum causes no query.  Records the use of a key, and its refusals, at most once a minute.

    Raises KeyUnknown, KeyExpired, KeyRowChanged, KeyRevoked, TenantClosed, TenantSuspended, and the keyring's errors if
    it cannot be reached.
    """
    try:
        kid = tokens.parse(raw).kid
    except tokens.NotAKey:
        raise KeyUnknown from None
    key = find_by_kid(kid)
    refusal = _refusal(key, raw, now=now)
    if refusal is not None:
        _note_refusal(key, refusal, now=now)
        raise refusal
    assert key is not None  # noqa: S101  (no key is a refusal)
    _note_use(key, now=now)
    return _authenticated(key)


def authenticate_again(scope: Scope, *, now: datetime) -> Authenticated:
    """The present attributes of the key that the scope is of, for a caller whom it let in a while ago.

    Raises as ``authenticate`` does.
    """
    with tenant_transaction(scope):
        key = ApiKey.objects.within(scope).select_related("tenant").filter(pk=scope.principal.id).first()
    if key is None:
        raise KeyUnknown
    if refusal := _no_longer(key, now=now):
        raise refusal
    return _authenticated(key)


def authenticate_kid(kid: str, *, now: datetime) -> Authenticated:
    """As ``authenticate``, by the public part alone: for a caller who has shown another secret that stands for it."""
    key = find_by_kid(kid)
    if key is None:
        raise KeyUnknown
    if refusal := _no_longer(key, now=now):
        raise refusal
    _note_use(key, now=now)
    return _authenticated(key)


def list_keys(scope: Scope) -> list[ApiKey]:
    """Every key of the tenant in all environments, including revoked and expired ones; newest first."""
    with tenant_transaction(scope):
        return list(ApiKey.objects.within(scope).select_related("project").defer("digest").order_by("-id"))


def get_key(scope: Scope, key_id: int) -> ApiKey:
    """Raises ApiKeyNotFound if it is missing or belongs to another tenant."""
    with tenant_transaction(scope):
        key = ApiKey.objects.within(scope).select_related("project").defer("digest").filter(pk=key_id).first()
    if key is None:
        raise ApiKeyNotFound
    return key


def list_tokens(scope: Scope, *, namespace_id: int | None, profile_id: int | None, most: int) -> list[ApiKey]:
    """The tokens of a namespace (profile_id None) or of a profile, in the scope's environment, newest first."""
    with tenant_transaction(scope):
        return list(_tokens(scope, namespace_id, profile_id).order_by("-id")[:most])


def get_token(scope: Scope, token_id: int, *, namespace_id: int | None, profile_id: int | None) -> ApiKey:
    """One of ``list_tokens``.  Raises ApiKeyNotFound."""
    with tenant_transaction(scope):
        token = _tokens(scope, namespace_id, profile_id).filter(pk=token_id).first()
    if token is None:
        raise ApiKeyNotFound
    return token


def _tokens(scope: Scope, namespace_id: int | None, profile_id: int | None) -> QuerySet[ApiKey]:
    mine = ApiKey.objects.within(scope).filter(environment=scope.environment, profile_id=profile_id)
    return (mine if profile_id is not None else mine.filter(namespace_id=namespace_id)).defer("digest")


def state_of(key: ApiKey, *, now: datetime) -> str:
    """``active``, ``expired`` or ``revoked``."""
    if key.revoked_at:
        return "revoked"
    return "expired" if key.expires_at and key.expires_at <= now else "active"


def _authenticated(key: ApiKey) -> Authenticated:
    return Authenticated(
        key_id=key.pk,
        tenant=TenantRef(id=key.tenant_id, uid=key.tenant.uid, name=key.tenant.name),
        environment=Environment(key.environment),
        also_reads=tuple(Environment(one) for one in key.other_environments),
        permissions=expand(key.scopes, is_pinned=key.project_id is not None),
        project_id=key.project_id,
        key_deletes=key.tenant.key_deletes,
        namespace_id=key.namespace_id,
        profile_id=key.profile_id,
        account_id=key.account_id,
        end_user_id=key.end_user_id,
        expires_at=key.expires_at,
    )


def find_by_kid(kid: str) -> ApiKey | None:
    """The key of whatever tenant with this public part, valid or not.

    Row-level security only shows the row with the kid that is set, because the tenant is not known yet.

    Outside of a transaction, a pipeline is one of its own, without a BEGIN and a COMMIT: the setting ends with it.
    """
    with connection.cursor() as naming, prepared_cursor() as cursor:
        with pipelined():
            naming.execute("select set_config('app.api_key_kid', %s, true)", [kid])
            cursor.execute(_KEY_AND_TENANT, [kid])
        found = cursor.fetchone()
    if found is None:
        return None
    key, tenant = _KEY.row(found[: _KEY.count]), _TENANT.row(found[_KEY.count :])
    key._state.fields_cache["tenant"] = tenant
    return key


def _refusal(key: ApiKey | None, raw: str, *, now: datetime) -> DomainError | None:
    # An unknown kid costs the same digest and comparison, so that timing does not reveal which kids exist.
    stored = bytes(key.digest) if key else _NO_DIGEST
    secret = pepper(key.pepper_version if key else None)
    if not tokens.is_same(stored, tokens.digest(secret.key, raw)) or key is None:
        return KeyUnknown()
    return _no_longer(key, now=now)


def _no_longer(key: ApiKey, *, now: datetime) -> DomainError | None:
    """Why an existing key is refused, if it is."""
    # Before the row is trusted: someone with write access to the database may have forged it.
    if not key.is_bound() or not key.tenant.is_bound():
        return KeyRowChanged()
    if key.revoked_at:
        return KeyRevoked()
    if key.expires_at and key.expires_at <= now:
        return KeyExpired()
    if key.tenant.closed_at:
        return TenantClosed()
    return TenantSuspended() if key.tenant.suspended_at else None


def _note_use(key: ApiKey, *, now: datetime) -> None:
    if key.last_used_at is None or now - key.last_used_at >= _USED_EVERY:
        with tenant_transaction(key):
            ApiKey.objects.within(key).filter(pk=key.pk, last_used_at=key.last_used_at).update(last_used_at=now)


def _note_refusal(key: ApiKey | None, refusal: DomainError, *, now: datetime) -> None:
    """One audit row a minute per key, and one for all unknown keys: guessing must not fill the trail."""
    known = None if type(refusal) is KeyUnknown else key
    reason = type(refusal).__name__
    logger.warning("a key was refused", extra={"error": refusal.code})
    who = f"api_key:{known.pk}" if known else "api_key"
    if not rate_limits.take(f"refused {who}", _REFUSALS_NOTED, now=now).is_allowed:
        return
    with tenant_transaction(known) if known else transaction.atomic():
        record(
            known, actor=who, action=AuditAction.API_KEY_REFUSED, target=who, outcome="denied", reason=reason, now=now
        )
        if isinstance(refusal, KeyRowChanged):
            record(
                known,
                actor=who,
                action=AuditAction.INTEGRITY_FAILED,
                target=who,
                outcome="failed",
                reason="row_mac",
                now=now,
            )
