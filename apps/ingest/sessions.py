"""The sessions of one end user: what memories and stored turns name, with counts and times.

Sessions have no rows of their own.  In the database a session is a keyed token of memories and a keyed hash of turns;
its name is decrypted from one row of each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.core.activity import Activity, activity_by
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.history import turns
from apps.memories import integrity
from apps.memories.models import Memory, MemoryQuerySet
from apps.memories.sealing import open_handles
from apps.memories.services import expire
from apps.memories.spaces import lock_space, touch
from apps.projects.scope import Scope

MOST: Final = 5_000  # sessions of memories, and of turns, that are read: the most recently active


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """created_at, last_active_at: when its first and its latest memory or turn was stored.

    memories: how many can be read.  turns: how many are stored.
    """

    id: str
    created_at: datetime
    last_active_at: datetime
    memories: int = 0
    turns: int = 0

    def joined(self, other: "Session") -> "Session":
        """Both as one; of the same id."""
        return Session(
            id=self.id,
            created_at=min(self.created_at, other.created_at),
            last_active_at=max(self.last_active_at, other.last_active_at),
            memories=self.memories + other.memories,
            turns=self.turns + other.turns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """sessions: the most recently active first.  total: of all pages."""

    sessions: Sequence[Session] = ()
    total: int = 0


def list_sessions(scope: Scope, *, with_turns: bool, limit: int, offset: int = 0, now: datetime) -> SessionPage:
    """Sessions of the scope's one space.  with_turns: also those of stored turns, and how many each has.

    Rows that fail decryption are left out.
    """
    if not scope.spaces:
        return SessionPage()
    found: dict[str, Session] = {}
    with tenant_transaction(scope, snapshot=True):
        cipher = open_space(scope.tenant, scope.space)
        said = list(_of_memories(scope, cipher, now=now))
        if with_turns:
            said += [
                Session(id=name, created_at=one.first, last_active_at=one.last, turns=one.rows)
                for name, one in turns.sessions(scope, cipher, most=MOST, now=now)
            ]
    for one in said:
        found[one.id] = found[one.id].joined(one) if one.id in found else one
    ordered = sorted(found.values(), key=lambda one: (one.last_active_at, one.id), reverse=True)
    return SessionPage(sessions=ordered[offset : offset + limit], total=len(ordered))


def _of_memories(scope: Scope, cipher: SpaceCipher, *, now: datetime) -> Iterator[Session]:
    """One for each session, or in a sealed space, which has no tokens, for each memory of a session."""
    rows = Memory.objects.within(scope).existing(now)
    activity: dict[int, Activity] = {}  # by the newest memory of a session
    if not scope.space.is_sealed:
        activity = activity_by("session_token", rows.exclude(session_token=None), most=MOST)
        rows = rows.filter(pk__in=list(activity))
    for row in rows.only("pk", "tenant_id", "space_id", "created_at", "handles_ct"):
        try:
            session = open_handles(row, cipher).session
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
            continue
        if session:
            first, last, count = activity.get(row.pk, Activity(row.created_at, row.created_at, 1))
            yield Session(id=session, created_at=first, last_active_at=last, memories=count)


def end_session(scope: Scope, session_id: str, *, now: datetime) -> int:
    """Let the tasks of a session expire now; returns how many.  Its other memories stay, and so do its turns."""
    if not scope.spaces:
        return 0
    with tenant_transaction(scope):
        _, cipher = lock_space(scope)
        tasks = Memory.objects.within(scope).existing(now).filter(type="task")
        ids = of_session(scope, tasks, cipher, session_id, now=now)
        Memory.objects.within(scope).filter(pk__in=ids).update(expires_at=now, updated_at=now)
        expire(scope, ids=ids, limit=len(ids), now=now)
        if ids:
            touch(scope, scope.space.id)
    return len(ids)


def memories_of_session(scope: Scope, session_id: str, *, now: datetime) -> list[int]:
    """The memories of a session that can be read by id, oldest first."""
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        return of_session(scope, Memory.objects.within(scope).existing(now), cipher, session_id, now=now)


def of_session(scope: Scope, rows: MemoryQuerySet, cipher: SpaceCipher, session_id: str, *, now: datetime) -> list[int]:
    """Those of these rows that name the session, oldest first: by its token or, in a sealed space, after decryption.

    Inside the tenant's transaction.
    """
    if cipher.is_searchable:
        rows = rows.filter(session_token=cipher.session_token(session_id))
    found: list[int] = []
    for row in rows.order_by("pk").only("pk", "tenant_id", "space_id", "handles_ct"):
        try:
            if open_handles(row, cipher).session == session_id:
                found.append(row.pk)
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
    return found
