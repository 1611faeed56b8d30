"""Applies a change of types to existing memories while the service runs.

Spaces are processed in the order of their ids, each with the newest memory first, so that of two memories that want one
slot or public id the newer gets it.  A batch is read without a lock; the space is locked only if something is to
change, for about half a second at most.  The progress is in the change's row, in the same transaction as the work: a
worker may be killed at any point, and the next one continues.

An add in progress when the change was requested may not know of it.  So memories written around that time are looked at
once more, some seconds later.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import inf
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.queries import fetch_value
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome, next_size
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space
from apps.memories import integrity
from apps.memories.models import Memory, TypeRule
from apps.memories.phrase_rules import PhraseRule
from apps.memories.revisions import former_fields
from apps.memories.spaces import list_spaces, lock_space
from apps.memories.tenant_types import Registry, read_registry, wording_of
from apps.memory_types.models import AT_WORK, ChangeState, RowState, TypeChange, TypeChangeRow
from apps.memory_types.retyping import FormerType, Retyped, RetypingResult, TypeRequest, retype, said
from apps.memory_types.type_changes import Planned, count_eligible, drop_if_unused, looked_at
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef
from apps.projects.system import find_system_scope

LARGEST_BATCH: Final = 1_000  # memories looked at in one transaction
SMALLEST_BATCH: Final = 50
SETTLES: Final = timedelta(seconds=10)  # longer than an add takes from reading the types to its commit
BEFORE: Final = timedelta(minutes=1)  # how long before the change an add without it may have started

_SLOT: Final = 7_214  # the class of the advisory locks that admit one worker to a change


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A memory that a change would affect, without its content.  wording: the name of the rule that matched."""

    memory_id: int
    space_id: int
    was: str
    becomes: str
    wording: str
    has_key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """total: memories to look at.  seen: those looked at in the given time.  by: (former type, rule) to their number.

    taken: memories whose slot or public id another memory has.  fields: how many memories would have a value, by field.
    """

    planned: Planned
    total: int
    seen: int
    changed: int
    taken: int
    broken: int
    by: dict[tuple[str, str], int]
    fields: dict[str, int]
    sample: Sequence[Sample]

    def describe(self) -> dict[str, Any]:
        """The effect for display, without a word of what memories say."""
        return {
            "kind": self.planned.kind.value,
            "type": self.planned.type.name,
            "rows": {name: getattr(self, name) for name in ("total", "seen", "changed", "taken", "broken")},
            "by": [
                {"type": was, "rule": rule, "rows": count} for (was, rule), count in sorted(self.by.items())
            ],
            "fields": self.fields,
            "sample": [
                {
                    "memory_id": one.memory_id,
                    "space_id": one.space_id,
                    "type": one.was,
                    "becomes": one.becomes,
                    "rule": one.wording,
                    "has_key": one.has_key,
                }
                for one in self.sample
            ],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Told:
    """Memories of one space that are to change, each with the name of the rule that matched."""

    wordings: dict[int, str]
    broken: int


def preview(
    scope: Scope,
    planned: Planned,
    *,
    most: int,
    seconds: float = inf,
    progress: Callable[[int], None] = lambda seen: None,
    now: datetime,
) -> Preview:
    """What the change would do, with a sample of at most ``most`` memories.  Writes nothing, and locks nothing.

    seconds: about how long it may look; the counts are of the memories that it has seen by then.
    """
    deadline = time.monotonic() + seconds
    seen, results, by = 0, Counter[RetypingResult](), Counter[tuple[str, str]]()
    fields = Counter({one.name: 0 for one in planned.fields})
    sample: list[Sample] = []
    for ref in [space.ref for space in list_spaces(scope)]:
        before: int | None = None
        while time.monotonic() < deadline:
            with tenant_transaction(scope, snapshot=True):
                rows = _next_rows(scope, looked_at(planned.sources, planned.kind), ref.id, before, LARGEST_BATCH)
                if not rows:
                    break
                cipher = open_space(scope.tenant, ref)
                told = _tell(scope, rows, planned.wordings, cipher, now=now)
                meant = [row for row in rows if row.pk in told.wordings]
                space = Space.objects.within(scope).get(pk=ref.id)
                wish = TypeRequest(type=planned.type, fields=planned.fields)
                found = retype(scope, space, cipher, meant, {row.pk: wish for row in meant}, dry_run=True, now=now)
            results.update(one.result for one in found)
            fields.update(name for one in found for name in one.fields)
            results[RetypingResult.BROKEN] += told.broken
            by.update((row.type, told.wordings[row.pk]) for row in meant)
            sample += [
                Sample(
                    memory_id=row.pk, space_id=row.space_id, was=row.type, becomes=planned.type.name,
                    wording=told.wordings[row.pk], has_key=row.label_ct is not None,
                )
                for row in meant[: most - len(sample)]
            ]  # fmt: skip
            seen += len(rows)
            before = rows[-1].pk
            progress(seen)
    return Preview(
        planned=planned, total=count_eligible(scope, planned.sources, planned.kind), seen=seen,
        changed=results[RetypingResult.CHANGED], taken=results[RetypingResult.TAKEN],
        broken=results[RetypingResult.BROKEN], by=dict(by), fields=dict(fields), sample=sample,
    )  # fmt: skip


def open_changes() -> list[int]:
    """The ids of the changes that need work."""
    return list(TypeChange.objects.filter(state__in=AT_WORK).order_by("pk").values_list("pk", flat=True))


def work(change_id: int, *, seconds: float, clock: Callable[[], datetime]) -> SliceOutcome:
    """Continue a change for about ``seconds``.  Busy: another worker has it, or its second look is not due yet."""
    change = TypeChange.objects.filter(pk=change_id).first()
    scope = find_system_scope(change.tenant_id) if change else None
    if change is None or scope is None:
        return SliceOutcome.OVER
    deadline, size = time.monotonic() + seconds, SMALLEST_BATCH
    while time.monotonic() < deadline:
        started = time.monotonic()
        outcome = _turn(scope, change_id, size, now=clock())
        if outcome != SliceOutcome.MORE:
            return outcome
        size = next_size(size, time.monotonic() - started, smallest=SMALLEST_BATCH, largest=LARGEST_BATCH)
    return SliceOutcome.MORE


def _turn(scope: Scope, change_id: int, size: int, *, now: datetime) -> SliceOutcome:
    """Process one batch, in one transaction."""
    with tenant_transaction(scope):
        if not _is_alone(change_id):
            return SliceOutcome.BUSY
        change = TypeChange.objects.get(pk=change_id)
        if change.state == ChangeState.RUNNING:
            return _carry_on(scope, change, size, now=now)
        if change.state == ChangeState.UNDOING:
            return _undo_some(scope, change, size, now=now)
        return SliceOutcome.OVER


def _is_alone(change_id: int) -> bool:
    """Whether no other worker has the change.  The lock is released with the transaction."""
    return bool(fetch_value("select pg_try_advisory_xact_lock(%s, %s)", [_SLOT, change_id % 2**31]))


# --- applying -------------------------------------------------------------------------------------------------------


def _carry_on(scope: Scope, change: TypeChange, size: int, *, now: datetime) -> SliceOutcome:
    ref = _space_at(scope, change)
    if ref is None:
        return _end_look(scope, change, now=now)
    rows = _next_rows(scope, looked_at(change.sources, change.kind), ref.id, change.at_memory, size, change)
    results: list[Retyped] = []
    if rows:
        results, broken = _change_some(scope, change, ref, rows, now=now)
        change.rows_broken += broken if change.looks_again_at is None else 0
    _note(scope, change, ref, results, now=now)
    if change.looks_again_at is None:
        change.rows_seen += len(rows)
    # A short batch is the end of the space.
    change.at_space, change.at_memory = ref.id, rows[-1].pk if len(rows) == size else None
    change.save(update_fields=["at_space", "at_memory", "rows_seen", "rows_changed", "rows_taken", "rows_broken"])
    return SliceOutcome.MORE


def _change_some(
    scope: Scope, change: TypeChange, ref: SpaceRef, rows: Sequence[Memory], *, now: datetime
) -> tuple[list[Retyped], int]:
    """Retype those of the rows that match; returns the results, and how many rows failed decryption."""
    registry = read_registry(scope)
    wordings = [wording_of(row) for row in TypeRule.objects.within(scope).filter(change_id=change.pk).order_by("pk")]
    try:
        told = _tell(scope, rows, wordings, open_space(scope.tenant, ref), now=now)
        if not told.wordings:
            return [], told.broken
        space, cipher = lock_space(replace(scope, environment=ref.environment).in_spaces(ref))
    except SpaceShredded:
        return [], 0
    still = _locked(scope, list(told.wordings)).filter(type__in=change.sources, retention_status__in=_EXISTING)
    wish = TypeRequest(type=registry.get(change.type), fields=registry.fields(change.type))
    # Newest first: of two that want one slot or public id, the newer gets it.
    meant = sorted(still, key=lambda row: -row.pk)
    return retype(scope, space, cipher, meant, {row.pk: wish for row in meant}, now=now), told.broken


def _note(scope: Scope, change: TypeChange, ref: SpaceRef, results: Sequence[Retyped], *, now: datetime) -> None:
    TypeChangeRow.objects.bulk_create(
        scope,
        (
            TypeChangeRow(
                change_id=change.pk, space_id=ref.id, memory_id=one.memory_id,
                was_type=one.was.type, was_prior=one.was.prior, was_confidence=one.was.confidence,
                had_slot=one.was.had_slot, txid=one.txid, state=RowState(one.result.value), created_at=now,
            )
            for one in results
        ),
    )  # fmt: skip
    counts = Counter(one.result for one in results)
    change.rows_changed += counts[RetypingResult.CHANGED]
    change.rows_taken += counts[RetypingResult.TAKEN]
    change.rows_broken += counts[RetypingResult.BROKEN]


def _end_look(scope: Scope, change: TypeChange, *, now: datetime) -> SliceOutcome:
    """After the first look, start a second one at the memories written around the request."""
    if change.looks_again_at is None:
        if now < change.created_at + SETTLES:
            return SliceOutcome.BUSY
        change.looks_again_at, change.at_space, change.at_memory = change.created_at - BEFORE, 0, None
        change.save(update_fields=["looks_again_at", "at_space", "at_memory"])
        return SliceOutcome.MORE
    _finish(scope, change, ChangeState.DONE, change.rows_changed, now=now)
    return SliceOutcome.OVER


def _finish(scope: Scope, change: TypeChange, state: ChangeState, count: int, *, now: datetime) -> None:
    change.state, change.finished_at = state, now
    change.save(update_fields=["state", "finished_at"])
    record(
        scope, actor=scope.principal.label, action=AuditAction(f"types.{state}"), target=f"type_change:{change.pk}",
        reason=change.type, count=count, now=now,
    )  # fmt: skip


# --- undoing --------------------------------------------------------------------------------------------------------


def _undo_some(scope: Scope, change: TypeChange, size: int, *, now: datetime) -> SliceOutcome:
    """Restore rows of one space.  A processed row is not looked at again, so its state is the only progress."""
    mine = TypeChangeRow.objects.within(scope).filter(change_id=change.pk)
    first = mine.filter(state=RowState.CHANGED).order_by("space_id", "pk").values_list("space_id", flat=True).first()
    if first is None:
        drop_if_unused(scope, change)
        _finish(scope, change, ChangeState.UNDONE, change.rows_restored, now=now)
        return SliceOutcome.OVER
    noted = list(mine.filter(state=RowState.CHANGED, space_id=first).order_by("pk")[:size])
    try:
        ref = Space.objects.within(scope).get(pk=first).ref
        space, cipher = lock_space(replace(scope, environment=ref.environment).in_spaces(ref))
        restored = {one.memory_id for one in _restore(scope, change, space, cipher, noted, now=now)}
    except SpaceShredded:
        restored = set()
    for row in noted:
        row.state = RowState.RESTORED if row.memory_id in restored else RowState.KEPT
    TypeChangeRow.objects.within(scope).bulk_update(noted, ["state"])
    change.rows_restored += len(restored)
    change.rows_kept += len(noted) - len(restored)
    change.save(update_fields=["rows_restored", "rows_kept"])
    return SliceOutcome.MORE


def _restore(
    scope: Scope,
    change: TypeChange,
    space: Space,
    cipher: SpaceCipher,
    noted: Sequence[TypeChangeRow],
    *,
    now: datetime,
) -> Iterator[Retyped]:
    """Restore those that were not changed since, and whose former slot is free; yields their results."""
    registry, by_id = read_registry(scope), {row.memory_id: row for row in noted}
    untouched = [
        row for row in _locked(scope, list(by_id)).filter(type=change.type) if row.changed_txid == by_id[row.pk].txid
    ]
    fields = former_fields(scope, {row.pk: by_id[row.pk].txid for row in untouched}, cipher)
    untouched = [row for row in untouched if row.pk in fields]
    wishes = {row.pk: _former(by_id[row.pk], registry, fields[row.pk]) for row in untouched}
    found = retype(scope, space, cipher, untouched, wishes, now=now)
    yield from (one for one in found if one.result == RetypingResult.CHANGED)


def _former(row: TypeChangeRow, registry: Registry, fields: Mapping[str, Any] | None) -> TypeRequest:
    was = FormerType(
        type=row.was_type, prior=row.was_prior, confidence=row.was_confidence, had_slot=row.had_slot, fields=fields
    )
    return TypeRequest(type=registry.get(row.was_type), back_to=was)


# --- rows -----------------------------------------------------------------------------------------------------------

_EXISTING: Final = ("active", "archived")


def _space_at(scope: Scope, change: TypeChange) -> SpaceRef | None:
    """The space in progress, or the next one."""
    spaces = Space.objects.within(scope).order_by("pk")
    is_inside = change.at_memory is not None
    space = spaces.filter(**{"pk__gte" if is_inside else "pk__gt": change.at_space}).first()
    return space.ref if space else None


def _next_rows(
    scope: Scope, wanted: Q, space_id: int, before: int | None, size: int, change: TypeChange | None = None
) -> list[Memory]:
    """The next memories of one space, newest first; with a change, without those that it has processed."""
    rows = Memory.objects.within_tenant(scope).filter(wanted, space_id=space_id, retention_status__in=_EXISTING)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    if change is not None:
        done = TypeChangeRow.objects.within(scope).filter(change_id=change.pk, memory_id=OuterRef("pk"))
        rows = rows.filter(~Exists(done))
        if change.looks_again_at is not None:
            rows = rows.filter(created_at__gte=change.looks_again_at)
    return list(rows.order_by("-pk")[:size])


def _locked(scope: Scope, ids: Sequence[int]) -> QuerySet[Memory]:
    """The memories with these ids, locked in id order, as in all code that changes memories."""
    return Memory.objects.within_tenant(scope).filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)


def _tell(
    scope: Scope, rows: Sequence[Memory], wordings: Sequence[PhraseRule], cipher: SpaceCipher, *, now: datetime
) -> _Told:
    """Which rows match, and by which rule.  Without rules all rows match, and none is decrypted."""
    if not wordings:
        return _Told({row.pk: "" for row in rows}, 0)
    told: dict[int, str] = {}
    broken = 0
    for row in rows:
        try:
            key, text = said(row, cipher)
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
            broken += 1
            continue
        name = next((one.name for one in wordings if one.fits(row.type, key, text.reveal())), None)
        if name is not None:
            told[row.pk] = name
    return _Told(told, broken)
