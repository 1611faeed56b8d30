"""Webhook endpoints: create, change, pause, resume, delete, and rotate their secrets."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from apps.adapters.instances import get_sender
from apps.adapters.senders.base import AddressRefused
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Invalid, NotFound
from apps.core.plaintext import Plaintext
from apps.core.queries import execute
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import SpaceCipher, open_tenant
from apps.outbox.services import enqueue
from apps.projects.scope import Scope
from apps.webhooks import events
from apps.webhooks.models import (
    DESCRIPTION,
    FORMER,
    OPEN,
    SECRET,
    URL,
    Algorithm,
    WebhookDelivery,
    WebhookEndpoint,
)
from apps.webhooks.payloads import project_ids
from apps.webhooks.redelivery import DELIVER
from apps.webhooks.retry_policy import RETRY_DEFAULTS
from apps.webhooks.signing import new_secret, shown_prefix

MOST_ENDPOINTS: Final = 100  # per tenant
MOST_URL: Final = 2_000
FORMER_SIGNS_FOR: Final = timedelta(hours=24)
SIGNATURE_DEFAULTS: Final[Mapping[str, Any]] = {
    "signature_algorithm": Algorithm.SHA256,
    "signature_header": "X-MemorySync-Signature",
    "timestamp_header": "X-MemorySync-Timestamp",
    "signature_tolerance": 300,
}
# Lowest and highest allowed value per column.
BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "max_retries": (1, 10),
    "initial_delay_seconds": (1, 60),
    "max_delay_seconds": (60, 86_400),
    "backoff_multiplier": (1, 5),
    "signature_tolerance": (60, 3_600),
}
PREVIOUS: Final = "-Previous"  # suffix of the header with the previous secret's signature
# Headers of HTTP itself, and those that we set.
RESERVED_HEADERS: Final = frozenset(
    {
        *("accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length"),
        *("content-type", "cookie", "expect", "host", "keep-alive", "origin", "proxy-authorization", "te", "trailer"),
        *("transfer-encoding", "upgrade", "user-agent", "via"),
        *("x-memorysync-event", "x-memorysync-event-id", "x-memorysync-delivery-id"),
    }
)
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)
_STATUS_CODE: Final = re.compile(r"[45](?:\d\d|xx)", re.ASCII)


class WebhookNotFound(NotFound):
    """Webhook not found."""

    code = "WEBHOOK_NOT_FOUND"


class UnknownEvents(Invalid):
    """A webhook must name existing event types."""

    code = "UNKNOWN_EVENT_TYPE"


class AddressNotAllowed(Invalid):
    """A webhook's address must be public and begin with https://."""

    code = "WEBHOOK_URL_REFUSED"


class WebhookMalformed(Invalid):
    """A webhook's settings are out of bounds."""


class TooManyWebhooks(Conflict):
    """A tenant has at most a hundred webhooks."""

    code = "TOO_MANY_WEBHOOKS"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedEndpoint:
    """A decrypted endpoint.  project: its public id.  secret: set only if it was just created."""

    row: WebhookEndpoint
    url: str = field(repr=False)
    description: str | None = field(repr=False)
    project: str | None
    secret: str | None = field(default=None, repr=False)


def create(
    scope: Scope,
    *,
    name: str,
    url: str,
    wanted: Sequence[str],
    description: str | None = None,
    retry: Mapping[str, Any] | None = None,
    signature: Mapping[str, Any] | None = None,
    now: datetime,
) -> OpenedEndpoint:
    """Create an endpoint in the scope's environment, and in its project if the scope has one.  The secret is returned
    only here.

    retry, signature: column values that override the defaults.  Raises AddressNotAllowed, UnknownEvents,
    WebhookMalformed or TooManyWebhooks.
    """
    settings = {**RETRY_DEFAULTS, **SIGNATURE_DEFAULTS, **(retry or {}), **(signature or {})}
    _check_settings(settings)
    _check_address(url)
    secret = new_secret()
    (endpoint_id,) = reserve_ids(1, sequence="webhooks_webhookendpoint_id_seq")
    with tenant_transaction(scope):
        if WebhookEndpoint.objects.within(scope).count() >= MOST_ENDPOINTS:
            raise TooManyWebhooks
        cipher = open_tenant(scope.tenant, writing=True)
        row = WebhookEndpoint(
            id=endpoint_id,
            tenant_id=scope.tenant_id,
            environment=scope.environment,
            project_id=scope.project_id,
            name=_name(name),
            secret_prefix=shown_prefix(secret),
            events=_wanted(wanted),
            created_by=scope.principal.label,
            created_at=now,
            updated_at=now,
            **settings,
        )
        _seal(row, cipher, url=url, description=description, secret=secret, former=None)
        row.save(force_insert=True)
        _record(scope, AuditAction.WEBHOOK_CREATE, row, now=now)
        return _opened(scope, row, cipher, secret=secret)


def list_endpoints(scope: Scope) -> list[OpenedEndpoint]:
    """The endpoints within the scope, newest first."""
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant)
        rows = list(reachable(scope).order_by("-id"))
        projects = project_ids(scope, [row.project_id for row in rows])
        return [_opened(scope, row, cipher, projects=projects) for row in rows]


def get(scope: Scope, endpoint_id: int) -> OpenedEndpoint:
    """Raises WebhookNotFound, also for endpoints of another tenant, environment or project."""
    with tenant_transaction(scope):
        return _opened(scope, find(scope, endpoint_id), open_tenant(scope.tenant))


def update(
    scope: Scope,
    endpoint_id: int,
    *,
    name: str | None = None,
    url: str | None = None,
    description: str | None = None,
    wanted: Sequence[str] | None = None,
    retry: Mapping[str, Any] | None = None,
    signature: Mapping[str, Any] | None = None,
    now: datetime,
) -> OpenedEndpoint:
    """Change an endpoint; None leaves a value unchanged.  Raises as ``create`` does, and WebhookNotFound."""
    if url is not None:
        _check_address(url)
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        row = find(scope, endpoint_id, lock=True)
        there = _contents(row, cipher)
        for column, value in {**(retry or {}), **(signature or {})}.items():
            setattr(row, column, value)
        _check_settings({column: getattr(row, column) for column in (*RETRY_DEFAULTS, *SIGNATURE_DEFAULTS)})
        row.name = row.name if name is None else _name(name)
        row.events = row.events if wanted is None else _wanted(wanted)
        there["url"] = there["url"] if url is None else url
        there["description"] = there["description"] if description is None else description
        row.updated_at = now
        _seal(row, cipher, **there)
        row.save()
        _record(scope, AuditAction.WEBHOOK_UPDATE, row, now=now)
        return _opened(scope, row, cipher)


def delete(scope: Scope, endpoint_id: int, *, now: datetime) -> None:
    """Delete an endpoint and its deliveries, including pending ones.  Raises WebhookNotFound."""
    with tenant_transaction(scope):
        row = find(scope, endpoint_id)
        _record(scope, AuditAction.WEBHOOK_DELETE, row, now=now)
        # Raw SQL, because Django would collect the dependent rows and delete by id only.  Deliveries are locked in
        # id order and before their endpoint, as the sending worker locks them.
        mine = [scope.tenant_id, row.pk]
        execute(
            "select from webhooks_webhookdelivery where tenant_id = %s and endpoint_id = %s order by id for update",
            mine,
        )
        execute("delete from webhooks_webhookdelivery where tenant_id = %s and endpoint_id = %s", mine)
        execute("delete from webhooks_webhookendpoint where tenant_id = %s and id = %s", mine)


def pause(scope: Scope, endpoint_id: int, *, now: datetime) -> OpenedEndpoint:
    """Stop sending until it is resumed: pending deliveries are kept; new events create none.  Raises
    WebhookNotFound."""
    return _enable(scope, endpoint_id, AuditAction.WEBHOOK_PAUSE, is_enabled=False, now=now)


def resume(scope: Scope, endpoint_id: int, *, now: datetime) -> OpenedEndpoint:
    """Send again, pending deliveries included.  Raises WebhookNotFound."""
    return _enable(scope, endpoint_id, AuditAction.WEBHOOK_RESUME, is_enabled=True, now=now)


def rotate_secret(scope: Scope, endpoint_id: int, *, now: datetime) -> OpenedEndpoint:
    """Create a new secret, which is returned only here.  The old one also signs for a day, in a header of its own, so
    that receivers can switch without rejecting a delivery.  Raises WebhookNotFound."""
    secret = new_secret()
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        row = find(scope, endpoint_id, lock=True)
        there = _contents(row, cipher)
        row.secret_prefix, row.former_until, row.updated_at = shown_prefix(secret), now + FORMER_SIGNS_FOR, now
        _seal(row, cipher, **there | {"secret": secret, "former": there["secret"]})
        row.save()
        _record(scope, AuditAction.WEBHOOK_ROTATE_SECRET, row, now=now)
        return _opened(scope, row, cipher, secret=secret)


def reachable(scope: Scope) -> ScopedQuerySet[WebhookEndpoint]:
    """Endpoints of the scope's environment, and of its project if it has one.  Inside the tenant's transaction."""
    rows = WebhookEndpoint.objects.within(scope).filter(environment=scope.environment)
    return rows if scope.project_id is None else rows.filter(project_id=scope.project_id)


def find(scope: Scope, endpoint_id: int, *, lock: bool = False) -> WebhookEndpoint:
    """Inside the tenant's transaction.  Raises WebhookNotFound."""
    rows = reachable(scope).select_for_update() if lock else reachable(scope)
    row = rows.filter(pk=endpoint_id).first() if endpoint_id < 2**63 else None
    if row is None:
        raise WebhookNotFound
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryTarget:
    """URL and secrets for sending.  former: the previous secret, while it still signs."""

    url: str = field(repr=False)
    secret: str = field(repr=False)
    former: str | None = field(repr=False)


def target_of(row: WebhookEndpoint, cipher: SpaceCipher, *, now: datetime) -> DeliveryTarget:
    """Raises DecryptError."""
    there = _contents(row, cipher)
    is_valid = row.former_until is not None and row.former_until > now
    return DeliveryTarget(
        url=there["url"] or "", secret=there["secret"] or "", former=there["former"] if is_valid else None
    )


def _enable(scope: Scope, endpoint_id: int, action: AuditAction, *, is_enabled: bool, now: datetime) -> OpenedEndpoint:
    with tenant_transaction(scope):
        row = find(scope, endpoint_id)
        if is_enabled:  # before locking the endpoint: the sending worker locks the outbox first
            waiting = WebhookDelivery.objects.within(scope).filter(endpoint_id=row.pk, status__in=OPEN)
            enqueue(scope, DELIVER, list(waiting.order_by("pk").values_list("pk", flat=True)), now=now)
        row = find(scope, endpoint_id, lock=True)  # it may be deleted by now
        row.is_enabled, row.updated_at = is_enabled, now
        row.save(update_fields=["is_enabled", "updated_at"])
        _record(scope, action, row, now=now)
        return _opened(scope, row, open_tenant(scope.tenant))


def _seal(
    row: WebhookEndpoint, cipher: SpaceCipher, *, url: str | None, description: str | None, secret: str | None,
    former: str | None,
) -> None:  # fmt: skip
    row.revision += 1
    row.key_version = cipher.key_version

    def sealed(name: str, text: str) -> bytes:
        return cipher.seal(name, row.pk, Plaintext(text), revision=row.revision)

    row.url_ct, row.secret_ct = sealed(URL, url or ""), sealed(SECRET, secret or "")
    row.description_ct = None if description is None else sealed(DESCRIPTION, description)
    row.former_ct = None if former is None else sealed(FORMER, former)


def _contents(row: WebhookEndpoint, cipher: SpaceCipher) -> dict[str, str | None]:
    def opened(name: str, blob: bytes | memoryview | None) -> str | None:
        return None if blob is None else cipher.open(name, row.pk, bytes(blob), revision=row.revision).reveal()

    return {
        "url": opened(URL, row.url_ct),
        "description": opened(DESCRIPTION, row.description_ct),
        "secret": opened(SECRET, row.secret_ct),
        "former": opened(FORMER, row.former_ct),
    }


def _opened(
    scope: Scope,
    row: WebhookEndpoint,
    cipher: SpaceCipher,
    *,
    projects: Mapping[int, str] | None = None,
    secret: str | None = None,
) -> OpenedEndpoint:
    there = _contents(row, cipher)
    projects = project_ids(scope, [row.project_id]) if projects is None else projects
    return OpenedEndpoint(
        row=row,
        url=there["url"] or "",
        description=there["description"],
        project=projects.get(row.project_id or 0),
        secret=secret,
    )


def _name(name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= 128 or not name.isprintable():
        raise WebhookMalformed("A webhook's name has 1 to 128 characters.")
    return name


def _wanted(names: Sequence[str]) -> list[str]:
    if not names or events.unknown(names):
        raise UnknownEvents(f"A webhook names the events it wants. There are: {', '.join(events.TYPES)}.")
    return sorted(set(names), key=events.TYPES.index)


def _check_address(url: str) -> None:
    if len(url) > MOST_URL:
        raise AddressNotAllowed(f"A webhook's address has at most {MOST_URL} characters.")
    try:
        get_sender().check(url)
    except AddressRefused as refused:
        causes = {"scheme": "begins with https://", "private": "is a public one, and so are all that its name has"}
        raise AddressNotAllowed(
            f"A webhook's address {causes.get(refused.cause, 'is a host, and a path without credentials')}."
        ) from None


def _check_settings(settings: Mapping[str, Any]) -> None:
    headers = [settings["signature_header"], settings["timestamp_header"]]
    lower = [header.lower() for header in headers]
    said = {lower[0], f"{lower[0]}{PREVIOUS.lower()}", lower[1]}
    if not all(_HEADER.fullmatch(header) for header in headers) or len(said) < 3 or said & RESERVED_HEADERS:
        raise WebhookMalformed("Headers are two names of letters, digits and -, that HTTP and we do not use ourselves.")
    codes = settings["retry_status_codes"]
    if not codes or not all(_STATUS_CODE.fullmatch(code) for code in codes):
        raise WebhookMalformed('retry_status_codes are such as "429", "4xx" and "5xx".')
    for column, (least, most) in BOUNDS.items():
        if not least <= settings[column] <= most:
            raise WebhookMalformed(f"{column} is {least} to {most}.")


def _record(scope: Scope, action: AuditAction, row: WebhookEndpoint, *, now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=action, target=f"webhook:{row.pk}", now=now)
