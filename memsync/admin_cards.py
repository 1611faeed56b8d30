"""Figures on the admin's first page and on a tenant's page: counts and times of rows, read as the operator role."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connections
from django.db.models import Count, Min, OuterRef, Q, QuerySet, Subquery
from django.urls import reverse

from apps.apikeys.models import ApiKey
from apps.audit.models import AuditEvent
from apps.core.admin import OPERATOR
from apps.crypto.models import TenantKeyState
from apps.memories.models import Memory, MemoryVector, QuarantinedRow
from apps.outbox.models import OutboxEvent
from apps.projects.models import Project
from apps.tenants.models import EndUser, Tenant
from memsync.admin_charts import ChartPicture, pictures

# Above this row count an exact count is too slow for a page; the planner's estimate is shown instead.
COUNTED: Final = 100_000
ENDING_SOON: Final = timedelta(days=14)
LATE: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardShare:
    """One state among several that make up a whole.  share: percentage, 0..100."""

    name: str
    count: int
    share: float
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    title: str
    number: str
    note: str
    url: str
    icon: str
    is_alarming: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    cards: Sequence[Card]
    states: Sequence[CardShare]
    pictures: Sequence[ChartPicture]
    events: Sequence[Any]  # audit rows, each with the name of its tenant
    is_blind: bool  # no operator database is configured, so row-level security hides the tenants' rows


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutTenant:
    cards: Sequence[Card]
    states: Sequence[CardShare]
    new_key_url: str
    new_project_url: str


STATE_COLOURS: Final = {
    "current": "bg-green-500",
    "superseded": "bg-blue-500",
    "disputed": "bg-orange-500",
}


def gather(*, now: datetime) -> Overview:
    return Overview(
        cards=[_tenants(), _memories(), _keys(now=now), _outbox(now=now)],
        states=_states(_rows(Memory)),
        pictures=pictures(now=now),
        events=_events(),
        is_blind=connections[OPERATOR].settings_dict["USER"] == connections["default"].settings_dict["USER"],
    )


def about_tenant(tenant_id: int, *, now: datetime) -> AboutTenant:
    mine = {"tenant_id": tenant_id}
    keys = _rows(ApiKey).filter(_valid(now), **mine).count()
    state = _rows(TenantKeyState).filter(**mine).first()
    version = f"version {state.active_version}" if state else "none"
    memories, people, projects = (_rows(model).filter(**mine) for model in (Memory, EndUser, Project))
    cards = [
        _card("Memories", _number(memories), "in all states", Memory, "neurology", tenant_id),
        _card("End users", _number(people), "in all environments", EndUser, "person", tenant_id),
        _card("Projects", _number(projects), "including archived", Project, "folder", tenant_id),
        _card("API keys", f"{keys:,}", "valid now", ApiKey, "key", tenant_id),
        Card(
            title="Encryption key",
            number=version,
            note="compromised" if state and state.compromised else "used for writes",
            url=_list_url(TenantKeyState, ""),
            icon="lock",
            is_alarming=state is None or state.compromised,
        ),
    ]
    return AboutTenant(
        cards=cards,
        states=_states(memories),
        new_key_url=reverse("admin:apikeys_apikey_issue") + f"?tenant={tenant_id}",
        new_project_url=reverse("admin:projects_project_create") + f"?tenant={tenant_id}",
    )


def _rows(model: Any) -> QuerySet[Any]:
    rows: QuerySet[Any] = model._default_manager.using(OPERATOR)
    return rows


def _card(title: str, number: str, note: str, model: Any, icon: str, tenant_id: int) -> Card:
    url = _list_url(model, f"?tenant__id__exact={tenant_id}")
    return Card(title=title, number=number, note=note, url=url, icon=icon)


def _number(rows: QuerySet[Any]) -> str:
    """The number of rows, exact or estimated."""
    estimate = _estimate(rows)
    return f"≈ {estimate:,}" if estimate > COUNTED else f"{rows.count():,}"


def _list_url(model: Any, query: str) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist") + query


def _tenants() -> Card:
    count = _rows(Tenant).aggregate(all=Count("id"), closed=Count("id", filter=Q(closed_at__isnull=False)))
    note = f"{count['closed']} closed" if count["closed"] else "all open"
    return Card(title="Tenants", number=f"{count['all']:,}", note=note, url=_list_url(Tenant, ""), icon="domain")


def _memories() -> Card:
    estimate = _estimate(_rows(Memory))
    if estimate > COUNTED:
        number, note = f"≈ {estimate:,}", "estimated; encrypted"
    else:
        count, embedded = _rows(Memory).count(), _rows(MemoryVector).count()
        without = max(0, count - embedded)
        number, note = (
            f"{count:,}",
            f"{without:,} not embedded yet" if without else "all encrypted, all searchable",
        )
    broken = _rows(QuarantinedRow).count()
    if broken:
        note = f"{broken:,} cannot be decrypted"
    url = _list_url(QuarantinedRow if broken else Memory, "")
    return Card(title="Memories", number=number, note=note, url=url, icon="neurology", is_alarming=bool(broken))


def _keys(*, now: datetime) -> Card:
    count = _rows(ApiKey).aggregate(
        valid=Count("id", filter=_valid(now)),
        ending=Count("id", filter=_valid(now) & Q(expires_at__lte=now + ENDING_SOON)),
    )
    ending = count["ending"]
    note = (
        f"{ending} expire{'s' if ending == 1 else ''} within two weeks" if ending else "none expires within two weeks"
    )
    return Card(
        title="API keys",
        number=f"{count['valid']:,}",
        note=note,
        url=_list_url(ApiKey, "?state=active"),
        icon="key",
        is_alarming=bool(ending),
    )


def _outbox(*, now: datetime) -> Card:
    rows = _rows(OutboxEvent)
    count = rows.aggregate(
        all=Count("id"), failing=Count("id", filter=~Q(error="")), oldest=Min("run_after", filter=Q(run_after__lte=now))
    )
    is_late = bool(count["oldest"]) and now - count["oldest"] > LATE
    if count["failing"]:
        note = f"{count['failing']} failing"
    elif is_late:
        note = f"the oldest due for {_minutes(now - count['oldest'])}"
    else:
        note = "jobs waiting" if count["all"] else "nothing to do"
    return Card(
        title="Outbox",
        number=f"{count['all']:,}",
        note=note,
        url=_list_url(OutboxEvent, ""),
        icon="outbox",
        is_alarming=is_late or bool(count["failing"]),
    )


def _events() -> list[Any]:
    name = _rows(Tenant).filter(pk=OuterRef("tenant_id")).values("name")
    return list(_rows(AuditEvent).annotate(tenant_name=Subquery(name)).order_by("-id")[:8])


def _states(memories: QuerySet[Any]) -> list[CardShare]:
    if _estimate(memories) > COUNTED:
        return []
    counted = memories.order_by().values("validity", "retention_status").annotate(count=Count("id"))
    counts: dict[str, int] = {}
    for row in counted:
        name = row["validity"] if row["retention_status"] == "active" else row["retention_status"]
        counts[name] = counts.get(name, 0) + row["count"]
    return _parts(counts, STATE_COLOURS)


def _parts(counts: Mapping[str, int], colours: Mapping[str, str]) -> list[CardShare]:
    whole = sum(counts.values()) or 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [
        CardShare(
            name=name.replace("_", " "),
            count=count,
            share=round(100 * count / whole, 1),
            colour=colours.get(name, "bg-base-400"),
        )
        for name, count in ordered
    ]


def _valid(now: datetime) -> Q:
    return Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now))


def _estimate(rows: QuerySet[Any]) -> int:
    """The planner's estimate of the number of rows."""
    found = re.search(r"rows=(\d+)", rows.order_by().values("pk").explain())
    return int(found[1]) if found else 0


def _minutes(late: timedelta) -> str:
    minutes = int(late.total_seconds() // 60)
    return f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"
