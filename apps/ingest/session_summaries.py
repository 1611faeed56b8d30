"""Rolling summaries of sessions: one memory for the latest turns of a session, made of their sentences.

A summary covers turns, or where a session has none, memories.  ``DerivedFact`` links it to every turn that it covers,
and ``SummarySource`` to the memories that it quotes or that were made of the turns that it quotes.  So it goes in the
transaction that deletes such a turn, and no response contains it once such a memory is forgotten or replaced.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from apps.core.errors import Conflict, NotFound
from apps.core.queries import fetch_value
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space
from apps.history import turns
from apps.ingest.models import DerivedFact
from apps.ingest.sessions import of_session
from apps.memories import integrity
from apps.memories.models import Memory, MemoryQuerySet
from apps.memories.sealing import open_handles, open_text
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import lock_space
from apps.outbox.services import enqueue
from apps.projects.scope import Scope
from apps.summaries.storage import SESSION, SUMMARIZE_SESSION, NewSummary, create, inside, withdraw
from apps.tenants.models import SessionSummaries
from text.extraction.extractor import policy_refusal
from text.summary import session_summary_of

EVERY: Final = 20  # turns or memories without a summary: it is made at once
AFTER: Final = timedelta(minutes=10)  # since the latest of them
ENOUGH: Final = 3  # of them, unless a caller insists
MOST: Final = 200  # the latest turns or memories that are read; a longer session has several current summaries
_SILENT: Final = frozenset({"system", "tool", "function"})  # roles that are covered and not quoted
_ATTEMPTS: Final = 3


class ConversationNotFound(NotFound):
    """Session not found."""

    code = "CONVERSATION_NOT_FOUND"


class SessionBusy(Conflict):
    """The session is changing: try again."""

    code = "SESSION_BUSY"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """memory_id: the session's current summary; None if there is none.

    turns: that this call summarized, the earliest at ``from_at`` and the latest at ``to_at``; 0 if nothing was due.
    """

    memory_id: int | None
    turns: int = 0
    from_at: datetime | None = None
    to_at: datetime | None = None


def summarize_session(
    scope: Scope, session_id: str, *, with_turns: bool, force: bool = False, now: datetime
) -> SessionSummary:
    """Summarize a session of the scope's one space, if that is due.  It replaces the session's summary before.

    with_turns: read its stored turns; without them, and of a session that has none, its memories of the scope's
    project.  force: whatever has no summary yet is enough.  The space is locked only to write.
    Raises ConversationNotFound, SessionBusy, SpaceFull.
    """
    if not scope.spaces:
        raise ConversationNotFound
    for _ in range(_ATTEMPTS):
        draft = _draft(scope, session_id, with_turns=with_turns, now=now)
        if not draft.is_due(force=force, now=now):
            return SessionSummary(memory_id=draft.current[-1] if draft.current else None)
        if (made := _write(draft, now=now)) is not None:
            return made
    raise SessionBusy


def note_turns(scope: Scope, session_id: str, turn_ids: Sequence[int], *, now: datetime) -> None:
    """Ask for a summary of the session that got these turns.  In the transaction that appended them."""
    if not turn_ids or not _is_on(scope):
        return
    cipher = open_space(scope.tenant, scope.space)
    current = _current(scope, cipher, session_id, of_turns=True, now=now)
    latest = turns.newest_ids(scope, cipher, session_id, most=MOST)
    new = len(set(latest).difference(*_covered(scope, current, latest).values()))
    enqueue(scope, SUMMARIZE_SESSION, [max(turn_ids)], after=AFTER if new < EVERY else timedelta(0), now=now)


def note_memories(scope: Scope, by_session: Mapping[str, int], cipher: SpaceCipher, *, now: datetime) -> None:
    """Ask for summaries of the sessions that got memories.  by_session: the latest.  In the transaction that did it."""
    if not by_session or not _is_on(scope):
        return
    for session_id, memory_id in by_session.items():
        current = _current(scope, cipher, session_id, of_turns=False, now=now)
        new = _count_since(scope, cipher, session_id, current[-1] if current else 0, now=now)
        enqueue(scope, SUMMARIZE_SESSION, [memory_id], after=AFTER if new < EVERY else timedelta(0), now=now)


def summarize_asked(scope: Scope, subject_id: int, *, now: datetime) -> None:
    """Outbox job: summarize the session of a turn or a memory.  Of a summary: replace it, if it lost what it quotes."""
    try:
        found = _subject(scope, subject_id, now=now)
        if found is not None:
            where, session_id, force = found
            summarize_session(where, session_id, with_turns=True, force=force, now=now)
    except (ConversationNotFound, MemoryNotFound, SpaceShredded):
        return  # gone meanwhile


# --- what is due ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A turn, or a memory of a session without turns.  memories: made of it, or itself.  is_quotable: may be quoted."""

    id: int
    speaker: str
    text: str
    at: datetime
    memories: Sequence[Memory]
    is_quotable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _DraftSummary:
    """A summary before it is written.

    current: the ids of the session's current summaries, oldest first.  pieces: what the new one covers.  new: how many
    of them no summary covers.  replaces: the one of current that it replaces.  turn_ids: of the pieces that are turns.
    """

    scope: Scope
    session_id: str
    current: Sequence[int]
    pieces: Sequence[_Piece]
    new: int
    replaces: int | None
    of_turns: bool

    @property
    def turn_ids(self) -> list[int]:
        return [one.id for one in self.pieces] if self.of_turns else []

    def is_due(self, *, force: bool, now: datetime) -> bool:
        if not self.new or not any(one.is_quotable for one in self.pieces):
            return False
        is_over = self.new >= EVERY or now - max(one.at for one in self.pieces) >= AFTER
        return force or (is_over and len(self.pieces) >= ENOUGH)


def _draft(scope: Scope, session_id: str, *, with_turns: bool, now: datetime) -> _DraftSummary:
    with tenant_transaction(scope, snapshot=True):
        cipher = open_space(scope.tenant, scope.space)
        pieces = _turns(scope, session_id, now=now) if with_turns else []
        of_turns = bool(pieces)
        # Turns have no project: a summary of them can be read from each, as they can.
        there = replace(scope, project_id=None) if of_turns else scope
        current = _current(there, cipher, session_id, of_turns=of_turns, now=now)
        if of_turns:
            covered = _covered(there, current, [one.id for one in pieces])
            before = set(covered.get(current[-1], ())) if current else set()
            is_whole = bool(current) and len(before) == _size(there, current[-1])
            new = {one.id for one in pieces}.difference(*covered.values())
        else:
            pieces = _memories(there, cipher, session_id, now=now)
            since = current[-1] if current else 0
            before = {one.id for one in pieces if one.id < since}
            is_whole = bool(current) and len(pieces) <= MOST
            new = {one.id for one in pieces} - before
    if not pieces and not current:
        raise ConversationNotFound
    wanted = new | before if is_whole else new
    return _DraftSummary(
        scope=there,
        session_id=session_id,
        current=current,
        pieces=[one for one in pieces if one.id in wanted][-MOST:],
        new=len(new),
        replaces=current[-1] if is_whole else None,
        of_turns=of_turns,
    )


def _current(scope: Scope, cipher: SpaceCipher, session_id: str, *, of_turns: bool, now: datetime) -> list[int]:
    """The ids of the session's summaries that can be recalled, oldest first."""
    rows = Memory.objects.within(scope).live(now).filter(is_summary=True, source=SESSION)
    rows = _of_project(rows, None if of_turns else scope.project_id)
    return of_session(scope, rows, cipher, session_id, now=now)


def _covered(scope: Scope, summary_ids: Sequence[int], turn_ids: Sequence[int]) -> dict[int, list[int]]:
    """The ids of those of these turns that each of these summaries covers."""
    links = DerivedFact.objects.within(scope).filter(source_id__in=turn_ids, memory_id__in=summary_ids)
    found: dict[int, list[int]] = {}
    for memory_id, source_id in links.values_list("memory_id", "source_id"):
        found.setdefault(memory_id, []).append(source_id)
    return found


def _size(scope: Scope, summary_id: int) -> int:
    """How many turns a summary covers."""
    return DerivedFact.objects.within(scope).filter(memory_id=summary_id).count()


def _turns(scope: Scope, session_id: str, *, now: datetime) -> list[_Piece]:
    said = sorted(turns.read(scope, session_id, source=None, limit=MOST, now=now).turns, key=lambda one: one.id)
    links = DerivedFact.objects.within(scope).filter(source_id__in=[one.id for one in said], memory__is_summary=False)
    made: dict[int, list[int]] = {}
    for source_id, memory_id in links.values_list("source_id", "memory_id"):
        made.setdefault(source_id, []).append(memory_id)
    every = {memory_id for ids in made.values() for memory_id in ids}
    live = {row.pk: row for row in Memory.objects.within_tenant(scope).live(now).filter(pk__in=every)}
    return [
        _Piece(
            id=one.id,
            speaker=one.role,
            text=one.content.reveal(),
            at=one.created_at,
            memories=[live[memory_id] for memory_id in made.get(one.id, ()) if memory_id in live],
            # A turn of which something was forgotten or replaced would tell it again.
            is_quotable=one.role not in _SILENT
            and not one.is_withheld
            and live.keys() >= set(made.get(one.id, ()))
            and not policy_refusal(one.content.reveal()),
        )
        for one in said
    ]


def _plain(scope: Scope, *, now: datetime) -> MemoryQuerySet:
    return _of_project(Memory.objects.within(scope).live(now).filter(is_summary=False), scope.project_id)


def _of_project(rows: MemoryQuerySet, project_id: int | None) -> MemoryQuerySet:
    """Those of this project alone, or of none."""
    return rows.filter(project_id__isnull=True) if project_id is None else rows.filter(project_id=project_id)


def _memories(scope: Scope, cipher: SpaceCipher, session_id: str, *, now: datetime) -> list[_Piece]:
    ids = of_session(scope, _plain(scope, now=now), cipher, session_id, now=now)
    pieces = []
    for row in Memory.objects.within(scope).filter(pk__in=ids[-2 * MOST :]).order_by("pk"):
        try:
            text = open_text(row, cipher).reveal()
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
            continue
        pieces.append(_Piece(id=row.pk, speaker="", text=text, at=row.created_at, memories=[row]))
    return pieces


def _write(draft: _DraftSummary, *, now: datetime) -> SessionSummary | None:
    """Write the summary; None if what it was made of changed meanwhile."""
    quotable = [one for one in draft.pieces if one.is_quotable]
    text, places = session_summary_of([(one.speaker, one.text) for one in quotable])
    sources = {row.pk: row for place in places for row in quotable[place].memories}
    first, last = min(one.at for one in draft.pieces), max(one.at for one in draft.pieces)
    scope = draft.scope
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        scope = scope.in_spaces(space.ref)
        if _has_changed(draft, scope, cipher, sources, now=now):
            return None
        row = create(
            scope,
            space,
            cipher,
            NewSummary(
                text=text,
                sources=[sources[memory_id] for memory_id in sorted(sources)],
                label=SESSION,
                session_id=draft.session_id,
                metadata={
                    "turns_compressed": len(draft.pieces), "from_at": first.isoformat(), "to_at": last.isoformat()
                },
                replaces=Memory.objects.within(scope).get(pk=draft.replaces) if draft.replaces else None,
            ),
            now=now,
        )  # fmt: skip
        DerivedFact.objects.bulk_create(
            scope,
            [
                DerivedFact(space_id=space.pk, source_id=turn_id, memory_id=row.pk, is_origin=True, created_at=now)
                for turn_id in draft.turn_ids
            ],
        )
    return SessionSummary(memory_id=row.pk, turns=len(draft.pieces), from_at=first, to_at=last)


def _has_changed(
    draft: _DraftSummary, scope: Scope, cipher: SpaceCipher, sources: Mapping[int, Memory], *, now: datetime
) -> bool:
    ids = draft.turn_ids
    live = Memory.objects.within_tenant(scope).live(now).filter(pk__in=list(sources)).count()
    return (
        live < len(sources)
        or _current(scope, cipher, draft.session_id, of_turns=draft.of_turns, now=now) != draft.current
        or not set(ids) <= set(turns.newest_ids(scope, cipher, draft.session_id, most=2 * MOST) if ids else ())
    )


# --- subjects of the outbox -----------------------------------------------------------------------------------------


def _is_on(scope: Scope) -> bool:
    is_on = fetch_value(
        "select session_summaries = %s::text from tenants_tenant where id = %s",
        [SessionSummaries.ON.value, scope.tenant_id],
        prepared=True,
    )
    return bool(is_on)


def _count_since(scope: Scope, cipher: SpaceCipher, session_id: str, since: int, *, now: datetime) -> int:
    """How many memories of the session came after this one; counted up to EVERY."""
    rows = _plain(scope, now=now).filter(pk__gt=since)
    if cipher.is_searchable:
        return rows.filter(session_token=cipher.session_token(session_id))[:EVERY].count()
    return len(of_session(scope, rows, cipher, session_id, now=now))


def _subject(scope: Scope, subject_id: int, *, now: datetime) -> tuple[Scope, str, bool] | None:
    """The scope, the session and whether to insist; None if nothing is to be done.

    What came after a turn or a memory has asked for itself.
    """
    with tenant_transaction(scope):
        space_id = turns.place_of(scope, subject_id)
        if space_id is not None:
            where = inside(scope, space_id, None)
            cipher = open_space(where.tenant, where.space)
            session_id = turns.session_of(where, cipher, subject_id, now=now)
            if not session_id or not _is_on(scope):
                return None
            is_latest = turns.newest_ids(where, cipher, session_id, most=1) == [subject_id]
            return (where, session_id, False) if is_latest else None
        row = Memory.objects.within_tenant(scope).filter(pk=subject_id).first()
        return None if row is None else _of_memory(scope, row, now=now)


def _of_memory(scope: Scope, row: Memory, *, now: datetime) -> tuple[Scope, str, bool] | None:
    where = inside(scope, row.space_id, row.project_id)
    cipher = open_space(where.tenant, where.space)
    try:
        session_id = open_handles(row, cipher).session
    except DecryptError as error:
        integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
        return None
    if session_id is None:
        return None
    if not row.is_summary:
        has_turns = turns.newest_ids(where, cipher, session_id, most=1)
        mine = [] if has_turns or not _is_on(scope) else of_session(
            where, _plain(where, now=now), cipher, session_id, now=now
        )  # fmt: skip
        return (where, session_id, False) if mine[-1:] == [row.pk] else None
    if row.retention_status == "active":
        if Memory.objects.within(where).existing(now).filter(pk=row.pk).exists():
            return None
        space, cipher = lock_space(where)
        withdraw(where, space, cipher, [row], now=now)
    return (where, session_id, True) if row.validity == "current" else None
