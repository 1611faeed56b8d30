"""What people give clients through OAuth: codes, grants and tokens.

A grant is an API key that is confined to one end user and acts for the person who gave it.  Its text is unknown; the
client's tokens stand for it.  Each use checks the key, the person and their role again, so that a token ends at once
with any of them.
"""

import hashlib
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.utils.crypto import constant_time_compare

from apps.accounts.models import OAuthCode, OAuthGrant, SpentOAuthToken, User
from apps.apikeys.models import ApiKey
from apps.apikeys.selectors import Authenticated, authenticate_kid, find_by_kid
from apps.apikeys.services import Confinement, KeyAlreadyRevoked, extend_connected, issue, revoke
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Forbidden, NotFound, Unauthenticated
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import scope_in
from apps.tenants.members import Reach, reach_of

logger = logging.getLogger(__name__)

ACCESS, REFRESH = "mso_", "msor_"  # token prefixes, which secret scanners recognise
CODE_LIFETIME: Final = timedelta(minutes=1)
CODE_KEPT: Final = timedelta(days=1)  # after its end, so that a second use is recognised
ACCESS_LIFETIME: Final = timedelta(hours=1)
LIFETIME: Final = timedelta(days=90)  # of a grant, even if it is refreshed
READING: Final = ("memory:read", "history:read")
RIGHTS: Final = ("memory:read", "memory:add", "memory:update", "memory:forget_request", "history:read", "history:write")
RESOURCES: Final = ("/v1/mcp", "/mcp")  # paths of what tokens are for
GRANT_TYPES: Final = ("authorization_code", "refresh_token")
S256: Final = "S256"
FIRST_RIGHTS: Final = ("memory:read", "memory:add")  # of a client that asks for none
_MOST_NAME: Final = 128


class AccessTokenRefused(Unauthenticated):
    """This token is invalid, has expired or was revoked: refresh it, or connect again."""

    code = "INVALID_TOKEN"


class RightsBeyondRole(Forbidden):
    """Your role in this tenant cannot give a client these rights."""

    code = "RIGHTS_BEYOND_ROLE"


class ConnectedClientNotFound(NotFound):
    """You have given no such client access."""

    code = "CONNECTED_CLIENT_NOT_FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What a person gives a client.  name: what it calls itself.  project_id, end_user_id: row ids.  audience: as in
    ``OAuthGrant``."""

    client_id: str
    name: str
    redirect_uri: str
    code_challenge: str
    audience: str
    project_id: int
    environment: Environment
    end_user_id: int
    scopes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedClient:
    """A grant, as listed for the person who gave it."""

    id: int
    name: str
    client_id: str
    tenant: str
    project: str
    environment: str
    scopes: Sequence[str]
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime


def rights_of(reach: Reach) -> tuple[str, ...]:
    """The rights that the role can give: to read for those who may read, and all for those who may create keys."""
    if not reach.may_read:
        return ()
    return RIGHTS if "api_keys:write" in reach.permissions else READING


def give(scope: Scope, reach: Reach, code: str, consent: Consent, *, now: datetime) -> None:
    """Create the key that the person of the scope gives, and store the code that the client exchanges for tokens of it.

    Raises RightsBeyondRole.
    """
    if not consent.scopes or not set(consent.scopes) <= set(rights_of(reach)):
        raise RightsBeyondRole
    with tenant_transaction(scope):
        issued = issue(
            scope,
            name=consent.name.strip()[:_MOST_NAME] or "OAuth client",
            environment=consent.environment,
            scopes=consent.scopes,
            project_id=consent.project_id,
            expires_at=now + CODE_LIFETIME,
            confined=Confinement(account_id=scope.principal.id, end_user_id=consent.end_user_id),
            now=now,
        )
        OAuthCode.objects.filter(user_id=scope.principal.id, expires_at__lt=now - CODE_KEPT).delete()
        OAuthCode.objects.create(
            digest=_digest(code),
            user_id=scope.principal.id,
            client_id=consent.client_id,
            kid=issued.key.kid,
            audience=consent.audience,
            redirect_uri=consent.redirect_uri,
            code_challenge=consent.code_challenge,
            created_at=now,
            expires_at=now + CODE_LIFETIME,
        )


def find_code(code: str, client_id: str, *, now: datetime) -> OAuthCode | None:
    """The code's row, locked; None if it is unknown, another client's, expired or used.  A used one was stolen, by or
    from the client: what it gave ends.  Inside a transaction."""
    rows = OAuthCode.objects.select_for_update(of=("self",)).select_related("user")
    found = rows.filter(digest=_digest(code), client_id=client_id).first()
    if found is None:
        return None
    if found.used_at is not None:
        if found.grant_id is not None:
            _end(OAuthGrant.objects.get(pk=found.grant_id), reason="code shown again", now=now)
        return None
    return found if found.expires_at > now and _reached(found, now=now) else None


def open_grant(code: OAuthCode, *, access: str, refresh: str, now: datetime) -> OAuthGrant:
    """Exchange a code of ``find_code`` for a grant with this pair of tokens, in the same transaction."""
    key = find_by_kid(code.kid)
    assert key is not None  # noqa: S101  (``find_code`` found it)
    scope = scope_in(key.tenant, principal=Principal(kind="account", id=code.user_id))
    with tenant_transaction(scope):
        extend_connected(scope, key.pk, expires_at=now + LIFETIME)
    grant = OAuthGrant.objects.create(
        user=code.user,
        client_id=code.client_id,
        kid=code.kid,
        audience=code.audience,
        access=_digest(access),
        access_expires_at=now + ACCESS_LIFETIME,
        refresh=_digest(refresh),
        password=code.user.password_mark(),
        created_at=now,
        expires_at=now + LIFETIME,
    )
    code.used_at, code.grant = now, grant
    code.save(update_fields=["used_at", "grant"])
    return grant


def find_grant(refresh: str, client_id: str, *, now: datetime) -> OAuthGrant | None:
    """The grant of this refresh token, locked; None if it is unknown, another client's or over.  A spent one was
    stolen, by or from the client: the grant ends.  Inside a transaction."""
    rows = OAuthGrant.objects.select_for_update(of=("self",)).select_related("user").filter(client_id=client_id)
    grant = rows.filter(refresh=_digest(refresh)).first()
    if grant is not None:
        return grant if _authenticated(grant, now=now) else None
    spent = SpentOAuthToken.objects.filter(digest=_digest(refresh)).first()
    if spent is not None and (stolen := rows.filter(pk=spent.grant_id).first()):
        logger.warning("a spent refresh token of a client was shown again: its access is over")
        _end(stolen, reason="refresh token shown again", now=now)
    return None


def renew(grant: OAuthGrant, *, access: str, refresh: str, now: datetime) -> None:
    """Replace the tokens of a grant of ``find_grant``, in the same transaction."""
    SpentOAuthToken.objects.create(grant=grant, digest=grant.refresh, created_at=now)
    grant.access, grant.refresh = _digest(access), _digest(refresh)
    grant.access_expires_at = min(now + ACCESS_LIFETIME, grant.expires_at)
    grant.save(update_fields=["access", "refresh", "access_expires_at"])


def scopes_of(grant: OAuthGrant, *, now: datetime) -> list[str]:
    """The rights that its tokens have now."""
    found = _authenticated(grant, now=now)
    return [one for one in RIGHTS if found and one in found.permissions]


def authenticate(access: str, *, audience: str, now: datetime) -> Authenticated:
    """What this access token reaches.  Reads the database every time, so that an ended grant is refused from the next
    request on.

    audience: the address of the resource that was called.  Raises AccessTokenRefused.
    """
    grant = OAuthGrant.objects.select_related("user").filter(access=_digest(access)).first()
    if grant is None or grant.access_expires_at <= now or grant.audience != audience:
        raise AccessTokenRefused
    found = _authenticated(grant, now=now)
    if found is None:
        raise AccessTokenRefused
    return found


def end_by_token(token: str, client_id: str, *, now: datetime) -> None:
    """End the client's grant that this access or refresh token is of; any other token is ignored."""
    with transaction.atomic():
        mine = OAuthGrant.objects.filter(client_id=client_id)
        digest = _digest(token)
        for grant in mine.filter(access=digest) | mine.filter(refresh=digest):
            _end(grant, reason="the client revoked its token", now=now)


def end_grant(person_id: int, grant_id: int, *, now: datetime) -> None:
    """Raises ConnectedClientNotFound if it is missing, over, or another person's."""
    with transaction.atomic():
        grant = OAuthGrant.objects.filter(user_id=person_id, pk=grant_id, ended_at=None).first()
        if grant is None:
            raise ConnectedClientNotFound
        _end(grant, now=now)


def end_client(client_id: str, *, now: datetime) -> int:
    """End what anyone gave a client that an operator removes; returns how many grants ended."""
    with transaction.atomic():
        OAuthCode.objects.filter(client_id=client_id).delete()
        live = list(OAuthGrant.objects.select_for_update().filter(client_id=client_id, ended_at=None).order_by("pk"))
        for grant in live:
            _end(grant, reason="the operator removed the client", now=now)
    return len(live)


def list_clients(person: User, *, now: datetime) -> list[ConnectedClient]:
    """The clients that a person gave access which works now, newest first."""
    mine = OAuthGrant.objects.filter(user=person, ended_at=None, expires_at__gt=now)
    grants = {one.kid: one for one in mine if constant_time_compare(bytes(one.password), person.password_mark())}
    found = []
    for reach in reach_of(person.pk) if grants else ():
        scope = scope_in(reach.tenant, principal=Principal(kind="account", id=person.pk))
        with tenant_transaction(scope):
            rows = ApiKey.objects.within(scope).select_related("project").filter(account_id=person.pk, revoked_at=None)
            keys = list(rows.filter(kid__in=grants))
        found += [_connected(grants[key.kid], key, reach) for key in keys]
    return sorted(found, key=lambda one: -one.id)


def _connected(grant: OAuthGrant, key: ApiKey, reach: Reach) -> ConnectedClient:
    return ConnectedClient(
        id=grant.pk,
        name=key.name,
        client_id=grant.client_id,
        tenant=reach.tenant.name,
        project=key.project.name if key.project else "",
        environment=key.environment,
        scopes=[one for one in RIGHTS if one in key.scopes and one in rights_of(reach)],
        created_at=grant.created_at,
        last_used_at=key.last_used_at,
        expires_at=grant.expires_at,
    )


def _authenticated(grant: OAuthGrant, *, now: datetime) -> Authenticated | None:
    if grant.ended_at is not None or grant.expires_at <= now:
        return None
    if not constant_time_compare(bytes(grant.password), grant.user.password_mark()):
        return None
    return _reached(grant, now=now)


def _reached(given: OAuthCode | OAuthGrant, *, now: datetime) -> Authenticated | None:
    """What the key reaches now, with those of its rights that its person's role can still give.  None unless the tenant
    is open and the person has had a role there ever since."""
    try:
        key = authenticate_kid(given.kid, now=now)
    except (Unauthenticated, Forbidden):
        return None
    if key.account_id != given.user_id or not given.user.is_active:
        return None
    reach = next((one for one in reach_of(given.user_id) if one.tenant.pk == key.tenant.id), None)
    if reach is None or reach.since > given.created_at:
        return None
    return replace(key, permissions=key.permissions & set(rights_of(reach)))


def _end(grant: OAuthGrant, *, reason: str = "", now: datetime) -> None:
    """Inside a transaction.  reason: why, if not the person ends it."""
    OAuthGrant.objects.filter(pk=grant.pk, ended_at=None).update(ended_at=now)
    key = find_by_kid(grant.kid)
    if key is None:
        return
    who = Principal(kind="account", id=grant.user_id)
    scope = scope_in(key.tenant, principal=who)
    with suppress(KeyAlreadyRevoked):
        revoke(scope, key.pk, now=now)
    if reason:
        target = f"api_key:{key.pk}"
        with tenant_transaction(scope):
            record(
                scope, actor=who.label, action=AuditAction.API_KEY_REFUSED, target=target, outcome="denied",
                reason=reason, now=now,
            )  # fmt: skip


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
