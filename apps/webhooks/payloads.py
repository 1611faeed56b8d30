"""What is sent of an event: the same JSON to webhooks and to listeners."""

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from apps.projects.models import Project
from apps.projects.scope import Scope
from apps.webhooks.models import WebhookEvent

TELL: Final = "webhook.event"  # outbox kind of an event to be sent
_NAMESPACE: Final = uuid.UUID("6e1c8d5e-52bb-4a4c-8f5e-0d7a5c1f9a37")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPayload:
    """One event to be sent.  environment: blank if the event belongs to none.  data: ids and states."""

    event_id: uuid.UUID
    type: str
    created_at: datetime
    data: Mapping[str, Any]
    environment: str = ""
    project_id: int | None = None
    space_id: int | None = None
    memory_ids: Sequence[int] = field(default=())


def payload_of_row(scope: Scope, row: WebhookEvent) -> EventPayload:
    """The event id is derived from the row, so that it is the same for every endpoint, listener and attempt."""
    return EventPayload(
        event_id=uuid.uuid5(_NAMESPACE, f"{scope.tenant.uid}|event|{row.pk}"),
        type=row.type,
        created_at=row.created_at,
        data=row.data,
        environment=row.environment,
        project_id=row.project_id,
        space_id=row.space_id,
        memory_ids=row.memory_ids,
    )


def project_ids(scope: Scope, ids: Iterable[int | None]) -> dict[int, str]:
    """Public ids of these projects.  Inside the tenant's transaction."""
    named = {one for one in ids if one is not None}
    return dict(Project.objects.within(scope).filter(pk__in=named).values_list("pk", "public_id")) if named else {}


def body_of(scope: Scope, one: EventPayload, project: str | None) -> dict[str, Any]:
    return {
        "id": shown_id(one.event_id),
        "type": one.type,
        "created_at": one.created_at.astimezone(UTC).isoformat(),
        "tenant_id": scope.tenant.name,
        "environment": one.environment or None,
        "project_id": project,
        "data": dict(one.data),
    }


def payload_of(scope: Scope, one: EventPayload, project: str | None) -> bytes:
    """The request body."""
    return orjson.dumps(body_of(scope, one, project))


def shown_id(event_id: uuid.UUID) -> str:
    return f"evt_{event_id.hex}"


def hash_of(payload: str) -> str:
    return hashlib.sha256(payload.encode()).hexdigest()
