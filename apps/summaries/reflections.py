"""Reflections: summaries of old sessions in one memory for each space and run, made without a model."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef

from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceShredded
from apps.memories import integrity, lineage
from apps.memories.indexing_mode import SpaceFull
from apps.memories.models import Memory, MemoryQuerySet, SummarySource
from apps.memories.sealing import open_text
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import lock_space
from apps.projects.scope import Scope
from apps.summaries.storage import REFLECTION, SESSION, NewSummary, create, inside
from apps.tenants.models import SessionSummaries, Tenant
from text.digest import key_points, names
from text.summary import summary_of

OLD: Final = timedelta(days=7)
ENOUGH_ON_A_TOPIC: Final = 3  # summaries that name the same
ENOUGH: Final = 5  # summaries on anything
MOST: Final = 20  # summaries that one reflection is made of, the oldest first


def reflect(scope: Scope, *, now: datetime) -> int:
    """Make the tenant's reflections that are due, if its sessions are summarized; returns how many."""
    with tenant_transaction(scope):
        if not Tenant.objects.filter(pk=scope.tenant_id, session_summaries=SessionSummaries.ON).exists():
            return 0
        due = _due(Memory.objects.within_tenant(scope), scope, now=now)
        counts = Counter(due.values_list("space_id", flat=True))
    wanted = sorted(space_id for space_id, count in counts.items() if count >= ENOUGH_ON_A_TOPIC)
    return sum(_reflect_in(scope, space_id, now=now) for space_id in wanted)


def _due(rows: MemoryQuerySet, scope: Scope, *, now: datetime) -> MemoryQuerySet:
    """Current summaries of sessions that are old, in no project, and in no current reflection; the oldest first."""
    reflections = Memory.objects.within_tenant(scope).live(now).filter(type=REFLECTION, is_summary=True)
    links = SummarySource.objects.within(scope).filter(
        source_id=OuterRef("pk"), summary_id__in=reflections.values("pk")
    )
    old = rows.live(now).filter(is_summary=True, source=SESSION, created_at__lt=now - OLD, project_id__isnull=True)
    return old.filter(~Exists(links)).order_by("pk")


def _reflect_in(scope: Scope, space_id: int, *, now: datetime) -> bool:
    try:
        with tenant_transaction(scope):
            scope = inside(scope, space_id, None)
            space, cipher = lock_space(scope)
            opened: list[tuple[Memory, str]] = []
            for row in _due(Memory.objects.within(scope), scope, now=now)[:MOST]:
                try:
                    opened.append((row, open_text(row, cipher).reveal()))
                except DecryptError as error:
                    integrity.note(scope, error, row.pk, space_id=space_id, now=now)
            chosen = opened if len(opened) >= ENOUGH else _on_a_topic(opened)
            if not chosen:
                return False
            # Also what the summaries quote, so that no forgotten memory is read here before its summary is rebuilt.
            quoted = lineage.sources_among(scope, [row.pk for row, _ in chosen])
            every = [memory_id for ids in quoted.values() for memory_id in ids]
            sources = [row for row, _ in chosen]
            sources += Memory.objects.within_tenant(scope).live(now).filter(pk__in=every).order_by("pk")
            text = summary_of(["\n".join(key_points(text) or [text]) for _, text in chosen], lossless=True)
            create(scope, space, cipher, NewSummary(text=text, sources=sources, type=REFLECTION), now=now)
            return True
    except (MemoryNotFound, SpaceShredded, SpaceFull):
        return False  # gone meanwhile, or sealed and full


def _on_a_topic(opened: Sequence[tuple[Memory, str]]) -> list[tuple[Memory, str]]:
    """Those that name what most of them name; none if fewer than three do."""
    named = [set(names(text)) for _, text in opened]
    counts = Counter(name for one in named for name in one)
    topic, most = min(counts.items(), key=lambda one: (-one[1], one[0]), default=("", 0))
    return [one for one, mine in zip(opened, named, strict=True) if topic in mine] if most >= ENOUGH_ON_A_TOPIC else []
