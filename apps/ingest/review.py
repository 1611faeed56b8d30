"""The review queue: list candidates, decide them, and undo a decision.

An accepted candidate goes through the same pipeline as everything else, and may turn out to be a duplicate or to
replace something.  Its content is stored encrypted while it waits, and for the UNDO period if the reviewer wants to be
able to undo the decision.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Self

from django.db import IntegrityError, transaction
from django.db.models import Q

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, DomainError, Invalid, NotFound
from apps.core.plaintext import Plaintext
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space
from apps.ingest import review_storage
from apps.ingest.candidates import DecisionMade
from apps.ingest.models import ReviewItem, ReviewState
from apps.ingest.services import remember
from apps.ingest.source_links import link
from apps.memories import integrity
from apps.memories.models import Memory
from apps.memories.soft_delete import soft_delete
from apps.memories.spaces import lock_space
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef

PERMISSION: Final = "candidates:review"
REASONS: Final = ("low_confidence", "instruction", "less_trusted", "policy")
STATES: Final = tuple(state.value for state in ReviewState)
UNDO: Final = timedelta(minutes=10)
DECIDED_AT_MOST: Final = 20  # most undoable decisions in a list
LEAVES_NOTHING: Final = frozenset({"", "duplicate"})  # outcomes of an accepted candidate without a memory change


class CandidateNotFound(NotFound):
    """There is no such candidate."""

    code = "CANDIDATE_NOT_FOUND"


class AlreadyDecided(Conflict):
    """This candidate was decided already, or has expired."""

    code = "ALREADY_DECIDED"


class NotUndoable(Conflict):
    """Too late, or it changed more than one memory: correct that on the memory's own page."""

    code = "NOT_UNDOABLE"


class WordingRefused(Invalid):
    """text: contains content that may not be stored, such as a secret"""

    code = "WORDING_REFUSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A candidate as its reviewer may see it.  text, key, source: None unless it is pending."""

    id: int
    state: ReviewState
    reason: str
    type: str
    confidence: float
    extractor: str
    user_id: int
    space: SpaceRef = field(compare=False)
    text: Plaintext | None
    key: str | None
    source: str | None
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str
    outcome: str
    memory_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFilter:
    """Filter by state and reason; None matches all."""

    state: ReviewState | None = None
    reason: str | None = None

    @classmethod
    def of(cls, *, status: str | None, reason: str | None) -> Self:
        """status: one of STATES.  reason: one of REASONS."""
        return cls(state=ReviewState(status) if status else None, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPage:
    """candidates: newest first, without undecryptable ones.  next_before: cursor of the next page, if there is one."""

    candidates: Sequence[Waiting]
    next_before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewVerdict:
    """accept: False rejects.  text: replaces the candidate's text.  pinned: pin the memory.  can_be_undone: keep the
    content for UNDO, so that ``undo`` can restore the candidate."""

    accept: bool
    text: Plaintext | None = None
    pinned: bool = False
    can_be_undone: bool = False


def may_review(scope: Scope) -> bool:
    """Whether the caller may decide candidates: a person, or an API key with PERMISSION."""
    return scope.principal.kind != "api_key" or PERMISSION in scope.permissions


def list_candidates(
    scope: Scope, wanted: ReviewFilter, *, before: int | None = None, limit: int, now: datetime
) -> ReviewPage:
    """List candidates of the scope's end user, or of its whole environment if it has no space.

    before: an id; only older candidates are listed.
    """
    with tenant_transaction(scope):
        rows = _in_reach(scope)
        if wanted.state is not None:
            rows = rows.filter(_in_state(wanted.state, now))
        if wanted.reason is not None:
            rows = rows.filter(reason=wanted.reason)
        if before is not None:
            rows = rows.filter(pk__lt=before)
        found = list(rows.select_related("space").order_by("-pk")[: limit + 1])
        shown = found[:limit]
        if shown:
            record(scope, actor=scope.principal.label, action=AuditAction.CANDIDATE_READ, count=len(shown), now=now)
    ciphers = _ciphers(scope, shown)
    return ReviewPage(
        candidates=[one for row in shown if (one := _open(scope, row, ciphers.get(row.space_id), now=now)) is not None],
        next_before=shown[-1].pk if len(found) > limit else None,
    )


def get_candidate(scope: Scope, candidate_id: int, *, now: datetime) -> Waiting:
    """Return one candidate.  Raises CandidateNotFound, DecryptError."""
    with tenant_transaction(scope):
        row = _get(scope, candidate_id)
        record(
            scope, actor=scope.principal.label, action=AuditAction.CANDIDATE_READ, target=f"candidate:{row.pk}", now=now
        )
        return _opened(scope, row, now=now)


def decide(scope: Scope, candidate_id: int, verdict: ReviewVerdict, *, now: datetime) -> Waiting:
    """Accept a candidate and remember it, or reject it.  Idempotent for the same reviewer and verdict.

    Raises CandidateNotFound, AlreadyDecided, WordingRefused, DecryptError.
    """
    state = ReviewState.ACCEPTED if verdict.accept else ReviewState.REJECTED
    with tenant_transaction(scope):
        inside = _inside(scope, _get(scope, candidate_id))
        try:
            lock_space(inside)  # before the row, in the lock order of all writers
        except SpaceShredded:
            raise CandidateNotFound from None
        rows = _in_reach(scope).select_for_update(no_key=True, of=("self",)).select_related("space")
        row = rows.filter(pk=candidate_id).first()
        if row is None:
            raise CandidateNotFound
        if row.state == state and row.decided_by == scope.principal.label:
            return _opened(scope, row, now=now)
        if row.state != ReviewState.PENDING or row.expires_at <= now:
            raise AlreadyDecided
        if verdict.accept:
            made = _remember(inside, row, verdict, now=now)
            row.outcome, row.memory_id = made.decision, made.memory_id
        row.state, row.undo_until = state, now + UNDO if verdict.can_be_undone else None
        row.content_ct = row.content_ct if verdict.can_be_undone else None
        row.decided_at, row.decided_by = now, scope.principal.label
        row.save(
            update_fields=["state", "content_ct", "undo_until", "decided_at", "decided_by", "outcome", "memory_id"]
        )
        action = AuditAction.CANDIDATE_ACCEPT if verdict.accept else AuditAction.CANDIDATE_REJECT
        record(scope, actor=row.decided_by, action=action, target=f"candidate:{row.pk}", now=now)
        return _opened(scope, row, now=now)


def decide_all(
    scope: Scope, candidate_ids: Sequence[int], verdict: ReviewVerdict, *, now: datetime
) -> list[tuple[int, Waiting | DomainError]]:
    """Apply the verdict to each candidate in its own transaction; return (id, result or error) in order."""
    results: list[tuple[int, Waiting | DomainError]] = []
    for candidate_id in candidate_ids:
        try:
            results.append((candidate_id, decide(scope, candidate_id, verdict, now=now)))
        except (CandidateNotFound, AlreadyDecided, WordingRefused, DecryptError) as refusal:
            results.append((candidate_id, refusal))
    return results


def list_undoable(scope: Scope, *, now: datetime) -> list[Waiting]:
    """The decisions that this principal may still undo, the latest first."""
    with tenant_transaction(scope):
        rows = _undoable(scope, now).select_related("space").order_by("-decided_at", "-pk")[:DECIDED_AT_MOST]
        return [_opened(scope, row, now=now) for row in rows if can_be_undone(row.state, row.outcome)]


def can_be_undone(state: str, outcome: str) -> bool:
    """Whether the decision created at most one new memory and changed no other."""
    return state == ReviewState.REJECTED or outcome in LEAVES_NOTHING or outcome == "created"


def undo(scope: Scope, candidate_id: int, *, now: datetime) -> Waiting:
    """Undo the caller's own recent decision: the candidate is pending again, and a memory created from it is
    soft-deleted, so that it can be restored for a week.  Raises CandidateNotFound, NotUndoable.
    """
    with tenant_transaction(scope):
        inside = _inside(scope, _get(scope, candidate_id))
        try:
            space, cipher = lock_space(inside)
        except SpaceShredded:
            raise CandidateNotFound from None
        row = _undoable(scope, now).filter(pk=candidate_id).select_for_update(no_key=True, of=("self",)).first()
        if row is None or not can_be_undone(row.state, row.outcome):
            raise NotUndoable
        if row.state == ReviewState.ACCEPTED and row.outcome == "created":
            made = Memory.objects.within(inside).filter(pk=row.memory_id or 0, retention_status="active")
            rows = list(made.select_for_update(no_key=True))
            if any(one.legal_hold or not one.is_live() for one in rows):
                raise NotUndoable
            soft_delete(inside, space, rows, cipher, method="user_request", reason="a review was taken back", now=now)
        row.state, row.undo_until = ReviewState.PENDING, None
        row.decided_at, row.decided_by, row.outcome, row.memory_id = None, "", "", None
        try:
            with transaction.atomic():
                row.save(update_fields=["state", "undo_until", "decided_at", "decided_by", "outcome", "memory_id"])
        except IntegrityError:  # the same text is pending again
            raise NotUndoable from None
        record(
            scope, actor=scope.principal.label, action=AuditAction.CANDIDATE_UNDO, target=f"candidate:{row.pk}", now=now
        )
        return _opened(scope, row, now=now)


def count_waiting(scope: Scope, *, most: int, now: datetime) -> int:
    """The number of pending candidates visible to the scope, counted up to ``most``."""
    with tenant_transaction(scope):
        return _in_reach(scope).filter(_in_state(ReviewState.PENDING, now))[:most].count()


def _undoable(scope: Scope, now: datetime) -> ScopedQuerySet[ReviewItem]:
    return _in_reach(scope).filter(undo_until__gt=now, decided_by=scope.principal.label)


def _remember(inside: Scope, row: ReviewItem, verdict: ReviewVerdict, *, now: datetime) -> DecisionMade:
    content = review_storage.opened(row, open_space(inside.tenant, inside.space))
    proposal = review_storage.proposal_of(row, content, text=verdict.text, pinned=verdict.pinned)
    # Vectors come from the outbox: a slow embedder must not hold the space's lock.
    (outcome,) = remember(inside, [proposal], embeds_later=True, now=now)
    (made,) = outcome.decisions
    if made.memory_id is None:
        raise WordingRefused
    if row.source_id is not None:
        link(inside, row.source_id, outcome, now=now)
    return made


def _in_reach(scope: Scope) -> ScopedQuerySet[ReviewItem]:
    """Items of the scope's end user, or of its whole environment; of its project or without a project."""
    rows = ReviewItem.objects.within(scope).in_project(scope).filter(space__tenant_id=scope.tenant_id)
    if scope.spaces:
        return rows.filter(space_id__in=[space.id for space in scope.spaces])
    return rows.filter(space__environment=scope.environment)


def _get(scope: Scope, candidate_id: int) -> ReviewItem:
    known = candidate_id if 0 < candidate_id < 2**63 else 0
    row = _in_reach(scope).select_related("space").filter(pk=known).first()
    if row is None:
        raise CandidateNotFound
    return row


def _inside(scope: Scope, row: ReviewItem) -> Scope:
    """The reviewer's scope, with the candidate's project and space."""
    space: Space = row.space
    return replace(scope, project_id=row.project_id, spaces=(space.ref,))


def _in_state(state: ReviewState, now: datetime) -> Q:
    """Filter for the state as of now: an overdue item is expired even before the job has marked it."""
    if state == ReviewState.PENDING:
        return Q(state=state, expires_at__gt=now)
    if state == ReviewState.EXPIRED:
        return Q(state=state) | Q(state=ReviewState.PENDING, expires_at__lte=now)
    return Q(state=state)


def _ciphers(scope: Scope, rows: Sequence[ReviewItem]) -> dict[int, SpaceCipher]:
    """Space id to cipher, for rows with content; shredded spaces are left out."""
    found: dict[int, SpaceCipher] = {}
    for row in rows:
        if row.content_ct is not None and row.space_id not in found:
            with contextlib.suppress(SpaceShredded):
                found[row.space_id] = open_space(scope.tenant, row.space.ref)
    return found


def _open(scope: Scope, row: ReviewItem, cipher: SpaceCipher | None, *, now: datetime) -> Waiting | None:
    """The candidate, or None if it fails to decrypt, which is reported."""
    try:
        return _opened(scope, row, cipher, now=now)
    except DecryptError as error:
        integrity.note(scope, error, row.pk, space_id=row.space_id, table=review_storage.TABLE, now=now)
        return None


def _opened(scope: Scope, row: ReviewItem, cipher: SpaceCipher | None = None, *, now: datetime) -> Waiting:
    """The candidate with its content while it is pending.  cipher: of its space; opened if None."""
    is_over = row.state == ReviewState.PENDING and row.expires_at <= now
    content = None
    if row.content_ct is not None and row.state == ReviewState.PENDING and not is_over:
        content = review_storage.opened(row, cipher or open_space(scope.tenant, row.space.ref))
    return Waiting(
        id=row.pk,
        state=ReviewState.EXPIRED if is_over else ReviewState(row.state),
        reason=row.reason,
        type=row.type,
        confidence=row.confidence,
        extractor=row.extractor,
        user_id=row.space.owner_id,
        space=row.space.ref,
        text=Plaintext(content["text"]) if content else None,
        key=content["key"] if content else None,
        source=(content["proposal"]["source"] or None) if content else None,
        created_at=row.created_at,
        expires_at=row.expires_at,
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        outcome=row.outcome,
        memory_id=row.memory_id,
    )
