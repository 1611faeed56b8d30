"""Contradictions, and conflicts of claims with constraints: listing them, and resolving one.

Each is an edge.  If the write found a contradiction, recall uses the newer memory until it is resolved; if a caller
stated it, recall returns both, the weaker one at a lower rank.  A conflict can only be resolved for the constraint, or
is deleted with it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Invalid, NotFound
from apps.core.plaintext import Plaintext
from apps.core.queries import fetch_column, fetch_value
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.edges.models import EDGE, RESOLUTION, MemoryEdge
from apps.edges.sealing import open_metadata, seal_metadata
from apps.edges.selectors import BOTH_ENDS, reach
from apps.edges.services import lock_space
from apps.edges.types import CONFLICT, CONTRADICTION
from apps.memories import integrity
from apps.memories.conflict_resolution import resolve_in_favour_of
from apps.memories.models import Memory
from apps.memories.selectors import MemoryNotFound
from apps.projects.scope import Scope

PREFIX: Final = "dec_"
_LISTED: Final = f"""
from edges_memoryedge edge {BOTH_ENDS}
where edge.tenant_id = %(tenant)s and edge.space_id = any(%(spaces)s) and edge.type in ('{CONTRADICTION}', '{CONFLICT}')
  and (%(is_open)s::boolean is null or (edge.resolved_at is null) = %(is_open)s)
"""


class DecisionNotFound(NotFound):
    """Decision not found."""

    code = "DECISION_NOT_FOUND"


class DecisionResolved(Conflict):
    """This decision was resolved in favour of the other memory; state the contradiction again to reopen it."""

    code = "DECISION_RESOLVED"


class DecisionUnclear(Invalid):
    """decision_id: name the decision; the other fields match no open decision, or more than one"""

    code = "DECISION_UNCLEAR"


class WinnerUnknown(Invalid):
    """winning_memory_id: must be one of the decision's two memories"""

    code = "WINNER_UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionDecision:
    """A contradiction or conflict to decide.

    kind: contradiction or conflict.  memory_ids: the newer first.  winner_id: once resolved.  resolution, note: as
    stated when it was resolved.
    """

    id: str
    kind: str
    memory_ids: tuple[int, int]
    detected_at: datetime
    is_automatic: bool
    resolved_at: datetime | None = None
    winner_id: int | None = None
    resolution: Plaintext | None = None
    note: Plaintext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionVerdict:
    """A caller's decision.  decision_id may be omitted if the winner is in only one open decision.

    winner_id: None for the memory that recall uses now, which is the newer one if it returns both.
    """

    decision_id: str | None = None
    winner_id: int | None = None
    resolution: str | None = None
    note: str | None = None


def list_decisions(
    scope: Scope, *, limit: int, is_open: bool | None = None, now: datetime
) -> tuple[list[ContradictionDecision], int]:
    """The decisions of the scope's spaces with both memories readable, newest first; and how many there are.

    is_open: only open ones, or only resolved ones.
    """
    if not scope.spaces:
        return [], 0
    asked = {**reach(scope, live=False, now=now), "is_open": is_open, "limit": limit}
    with tenant_transaction(scope):
        total = fetch_value(f"select count(*) {_LISTED}", asked)
        ids = fetch_column(f"select edge.id {_LISTED} order by edge.id desc limit %(limit)s", asked)
        rows = MemoryEdge.objects.within(scope).filter(pk__in=ids).order_by("-pk")
        ciphers = {space.id: open_space(scope.tenant, space) for space in scope.spaces}
        return [_opened(scope, row, ciphers[row.space_id], now=now) for row in rows], total


def resolve(scope: Scope, verdict: ContradictionVerdict, *, now: datetime) -> ContradictionDecision:
    """Resolve a contradiction: the winner supersedes the loser.  Repeating it changes nothing.

    Raises DecisionNotFound, DecisionUnclear, WinnerUnknown, DecisionResolved, WinnerSuperseded, ConstraintStays.
    """
    with tenant_transaction(scope):
        try:
            cipher = lock_space(scope)
        except MemoryNotFound:
            raise DecisionNotFound from None
        row = _find(scope, verdict, now=now)
        ends = _ends(row)
        winner_id = _winner(scope, row, verdict.winner_id)
        if row.resolved_at is not None:
            if row.winner_id != winner_id and verdict.winner_id is not None:
                raise DecisionResolved
            return _opened(scope, row, cipher, now=now)
        (loser_id,) = (memory_id for memory_id in ends if memory_id != winner_id)
        resolve_in_favour_of(scope, winner_id, loser_id, now=now)
        said = verdict.resolution or ("kept_newer" if winner_id == ends[0] else "kept_older")
        _settle(row, winner_id, said, verdict.note, cipher, now=now)
        record(
            scope, actor=scope.principal.label, action=AuditAction.DECISION_RESOLVE, target=f"edge:{row.pk}", now=now
        )
        return _opened(scope, row, cipher, now=now)


def _find(scope: Scope, verdict: ContradictionVerdict, *, now: datetime) -> MemoryEdge:
    """The edge of the decision that is meant.  Both of its memories are readable."""
    asked = {**reach(scope, live=False, now=now), "is_open": None}
    if verdict.decision_id is not None:
        number = verdict.decision_id.removeprefix(PREFIX)
        if not verdict.decision_id.startswith(PREFIX) or not number.isascii() or not number.isdigit():
            raise DecisionNotFound
        narrower, ids = "and edge.id = %(id)s", {"id": int(number)}
    else:
        if verdict.winner_id is None:
            raise DecisionUnclear
        asked["is_open"] = True
        narrower, ids = "and %(id)s in (edge.from_memory_id, edge.to_memory_id)", {"id": verdict.winner_id}
    if not 0 < ids["id"] < 2**63:
        raise DecisionNotFound
    found = fetch_column(f"select edge.id {_LISTED} {narrower} limit 2", asked | ids)
    if not found and verdict.decision_id is not None:
        raise DecisionNotFound
    if len(found) != 1:
        raise DecisionUnclear
    return MemoryEdge.objects.within(scope).get(pk=found[0])


def _ends(row: MemoryEdge) -> tuple[int, int]:
    """The newer memory first."""
    return max(row.from_memory_id, row.to_memory_id), min(row.from_memory_id, row.to_memory_id)


def _winner(scope: Scope, row: MemoryEdge, named: int | None) -> int:
    ends = _ends(row)
    if named is not None:
        if named not in ends:
            raise WinnerUnknown
        return named
    replaced = Memory.objects.within(scope).filter(pk__in=ends, superseded_by_id__in=ends).first()
    return ends[0] if replaced is None or replaced.superseded_by_id is None else replaced.superseded_by_id


def _settle(
    row: MemoryEdge, winner_id: int, said: str, note: str | None, cipher: SpaceCipher, *, now: datetime
) -> None:
    """Store the resolution.  Both ciphertexts carry the row's revision, so the metadata is encrypted again too."""
    metadata = open_metadata(cipher, row.pk, row.metadata_ct, revision=row.revision)
    row.revision += 1
    row.metadata_ct = seal_metadata(cipher, row.pk, metadata, revision=row.revision)
    row.resolution_ct = cipher.seal(
        RESOLUTION, row.pk, orjson.dumps({"resolution": said, "note": note}), revision=row.revision
    )
    row.key_version, row.resolved_at, row.winner_id = cipher.key_version, now, winner_id
    row.save(update_fields=["revision", "metadata_ct", "resolution_ct", "key_version", "resolved_at", "winner_id"])


def _opened(scope: Scope, row: MemoryEdge, cipher: SpaceCipher, *, now: datetime) -> ContradictionDecision:
    said: dict[str, Any] = {}
    if row.resolution_ct is not None:
        try:
            said = orjson.loads(cipher.open_bytes(RESOLUTION, row.pk, bytes(row.resolution_ct), revision=row.revision))
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, table=EDGE, now=now)
    resolution, note = said.get("resolution"), said.get("note")
    return ContradictionDecision(
        id=f"{PREFIX}{row.pk}",
        kind="conflict" if row.type == CONFLICT else "contradiction",
        memory_ids=_ends(row),
        detected_at=row.created_at,
        is_automatic=row.is_automatic,
        resolved_at=row.resolved_at,
        winner_id=row.winner_id,
        resolution=Plaintext(resolution) if resolution else None,
        note=Plaintext(note) if note else None,
    )
