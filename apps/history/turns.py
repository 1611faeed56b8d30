"""Conversation history: turns stored in their original words and order, for their owner."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson
from django.db.models import F, Q

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.activity import Activity, activity_by
from apps.core.plaintext import Plaintext
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.encrypted_tables import report_broken
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.history.models import ABOUT, CONTENT, SEQUENCE, HistoryTurn
from apps.history.space import lock_space
from apps.projects.scope import Scope

TURN: Final = "history_turn"  # the table's name in the quarantine

ALIASES: Final = {"human": "user", "ai": "assistant"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn to append.  occurred_at: as the caller wrote it.  payload: any JSON."""

    role: str
    content: Plaintext
    seq: int | None = None
    occurred_at: str | None = None
    payload: Any = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedTurn:
    """A turn decrypted for its owner.  is_withheld: see the model.  is_new: this call appended it."""

    id: int
    session_id: str
    source: str
    role: str
    content: Plaintext
    seq: int | None
    occurred_at: str | None
    payload: Any
    created_at: datetime
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_withheld: bool = False
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """turns: oldest first.  total: even if fewer were requested."""

    turns: Sequence[OpenedTurn] = ()
    total: int = 0


class Handles(NamedTuple):
    """The keyed hashes that identify a turn, by column."""

    session_mac: bytes
    source_mac: bytes
    key_mac: bytes | None
    position_mac: bytes | None


def append(
    scope: Scope, session_id: str, turns: Sequence[NewTurn], *, source: str, metadata: Mapping[str, Any], now: datetime
) -> list[OpenedTurn]:
    """Append those turns that are not stored yet; returns every turn, in order.  All or nothing.

    A turn is stored already if its idempotency key is, or its number with this role and content.  A turn without key
    and number is always appended.
    """
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        mine = scope.in_spaces(space)
        drafts = [_draft(cipher, turn, session_id, source, metadata) for turn in turns]
        known = _stored(mine, drafts)
        fresh = reserve_ids(len(drafts), sequence=SEQUENCE)
        added: list[HistoryTurn] = []
        answer: list[OpenedTurn] = []
        for draft in drafts:
            # One at a time, so that a turn repeated within the call is found the second time.
            met = next((known[mac] for mac in draft.macs if mac in known), None)
            row = met or _sealed(mine, cipher, draft, fresh.pop(0), now=now)
            if met is None:
                added.append(row)
                known |= dict.fromkeys(draft.macs, row)
            answer.append(open_turn(row, cipher, is_new=met is None))
        HistoryTurn.objects.bulk_create(mine, added)
        if added:
            _record(mine, AuditAction.HISTORY_APPEND, len(added), now=now)
    return answer


def read(scope: Scope, session_id: str | None, *, source: str | None, limit: int, now: datetime) -> Transcript:
    """The turns of a session, or of all, of one source or of all; limit: only the latest so many, 0 for all.

    Those of one session by number if any turn has one, those without last; else in the order of appending.  Turns that
    fail decryption are left out.
    """
    if not scope.spaces:
        return Transcript()
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        if session_id is None:
            rows = _of_source(_of_space(scope), cipher, source)
            order: list[Any] = ["-pk"]
        else:
            rows = _of_session(scope, cipher, session_id, source)
            order = [F("seq").desc(nulls_first=True), "-pk"]
        total = rows.count()
        latest = list(rows.order_by(*order)[: limit or None])
    turns = []
    for row in reversed(latest):
        try:
            turns.append(open_turn(row, cipher))
        except DecryptError as error:
            report_broken(scope, error, row.pk, space_id=row.space_id, table=TURN, now=now)
    return Transcript(turns=turns, total=total)


def sessions(scope: Scope, cipher: SpaceCipher, *, most: int, now: datetime) -> Iterator[tuple[str, Activity]]:
    """The name and the activity of the space's sessions with the latest turns, at most ``most``.

    Inside the tenant's transaction.  A session whose latest turn fails decryption is left out.
    """
    activity = activity_by("session_mac", _of_space(scope), most=most)
    for row in _of_space(scope).filter(pk__in=list(activity)).only("pk", "space_id", "about_ct"):
        try:
            about = orjson.loads(cipher.open_bytes(ABOUT, row.pk, bytes(row.about_ct)))
        except DecryptError as error:
            report_broken(scope, error, row.pk, space_id=row.space_id, table=TURN, now=now)
            continue
        yield about["session_id"], activity[row.pk]


def newest_ids(scope: Scope, cipher: SpaceCipher, session_id: str, *, most: int) -> list[int]:
    """The ids of a session's latest turns, ascending.  Inside the tenant's transaction."""
    latest = _of_session(scope, cipher, session_id, None).order_by("-pk").values_list("pk", flat=True)
    return sorted(latest[:most])


def place_of(scope: Scope, turn_id: int) -> int | None:
    """The id of the turn's space, in the whole tenant.  Inside the tenant's transaction."""
    return HistoryTurn.objects.within(scope).filter(pk=turn_id).values_list("space_id", flat=True).first()


def session_of(scope: Scope, cipher: SpaceCipher, turn_id: int, *, now: datetime) -> str | None:
    """The session of a turn of the space; None if it fails decryption.  Inside the tenant's transaction."""
    row = _of_space(scope).get(pk=turn_id)
    try:
        return open_turn(row, cipher).session_id
    except DecryptError as error:
        report_broken(scope, error, row.pk, space_id=row.space_id, table=TURN, now=now)
        return None


def delete_session(scope: Scope, session_id: str, *, source: str | None, now: datetime) -> list[int]:
    """Delete the turns of a session, of one source or of all; returns their ids, ascending."""
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        mine = scope.in_spaces(space)
        return _delete(mine, _of_session(mine, cipher, session_id, source), now=now)


def delete_turns(scope: Scope, turn_ids: Sequence[int], *, source: str | None, now: datetime) -> list[int]:
    """Delete these turns, of one source or of all; returns the ids of those that existed, ascending."""
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        mine = scope.in_spaces(space)
        rows = _of_space(mine).filter(pk__in=list(turn_ids))
        return _delete(mine, _of_source(rows, cipher, source), now=now)


def open_turn(row: HistoryTurn, cipher: SpaceCipher, *, is_new: bool = False) -> OpenedTurn:
    """Decrypt a turn.  Raises DecryptError if any part fails."""
    about = orjson.loads(cipher.open_bytes(ABOUT, row.pk, bytes(row.about_ct)))
    about.pop("idempotency_key", None)
    return OpenedTurn(
        id=row.pk,
        content=cipher.open(CONTENT, row.pk, bytes(row.content_ct)),
        seq=row.seq,
        created_at=row.created_at,
        is_withheld=row.is_withheld,
        is_new=is_new,
        **about,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A turn that may be stored already.  macs: the hashes to look it up by, the key's before the position's."""

    turn: NewTurn
    about: Mapping[str, Any]
    handles: Handles

    @property
    def macs(self) -> list[bytes]:
        return [mac for mac in (self.handles.key_mac, self.handles.position_mac) if mac is not None]


def _draft(cipher: SpaceCipher, turn: NewTurn, session_id: str, source: str, metadata: Mapping[str, Any]) -> _Draft:
    role = ALIASES.get(turn.role.strip().lower(), turn.role.strip().lower())
    about = {
        "session_id": session_id,
        "source": source,
        "role": role,
        "occurred_at": turn.occurred_at,
        "payload": turn.payload,
        "idempotency_key": turn.idempotency_key,
        "metadata": dict(metadata),
    }
    return _Draft(turn=turn, about=about, handles=handles_of(cipher, about, turn.seq, turn.content))


def handles_of(cipher: SpaceCipher, about: Mapping[str, Any], seq: int | None, content: Plaintext) -> Handles:
    """The hashes of its session, its source, its idempotency key, and its number with role and content."""
    place = (about["source"], about["session_id"])
    key = about["idempotency_key"]
    return Handles(
        session_mac=cipher.identity_mac("history.session", about["session_id"]),
        source_mac=cipher.identity_mac("history.source", about["source"]),
        key_mac=None if key is None else cipher.identity_mac("history.key", *place, key),
        position_mac=None
        if seq is None
        else cipher.identity_mac("history.position", *place, str(seq), about["role"], content.reveal()),
    )


def _stored(scope: Scope, drafts: Sequence[_Draft]) -> dict[bytes, HistoryTurn]:
    """Those of these turns that are stored already, by the hash of key or position."""
    macs = [mac for draft in drafts for mac in draft.macs]
    if not macs:
        return {}
    found = _of_space(scope).filter(Q(key_mac__in=macs) | Q(position_mac__in=macs))
    return {bytes(mac): row for row in found for mac in (row.key_mac, row.position_mac) if mac is not None}


def _sealed(scope: Scope, cipher: SpaceCipher, draft: _Draft, turn_id: int, *, now: datetime) -> HistoryTurn:
    return HistoryTurn(
        id=turn_id,
        tenant_id=scope.tenant_id,
        space_id=scope.space.id,
        seq=draft.turn.seq,
        key_version=cipher.key_version,
        content_ct=cipher.seal(CONTENT, turn_id, draft.turn.content),
        about_ct=cipher.seal(ABOUT, turn_id, orjson.dumps(draft.about)),
        created_at=now,
        **draft.handles._asdict(),
    )


def _of_space(scope: Scope) -> ScopedQuerySet[HistoryTurn]:
    return HistoryTurn.objects.within(scope).filter(space_id=scope.space.id)


def _of_session(scope: Scope, cipher: SpaceCipher, session_id: str, source: str | None) -> ScopedQuerySet[HistoryTurn]:
    session_mac = cipher.identity_mac("history.session", session_id)
    return _of_source(_of_space(scope).filter(session_mac=session_mac), cipher, source)


def _of_source(
    rows: ScopedQuerySet[HistoryTurn], cipher: SpaceCipher, source: str | None
) -> ScopedQuerySet[HistoryTurn]:
    return rows if source is None else rows.filter(source_mac=cipher.identity_mac("history.source", source))


def _delete(scope: Scope, rows: ScopedQuerySet[HistoryTurn], *, now: datetime) -> list[int]:
    ids = list(rows.order_by("pk").values_list("pk", flat=True))
    HistoryTurn.objects.within(scope).filter(pk__in=ids).delete()
    if ids:
        _record(scope, AuditAction.HISTORY_DELETE, len(ids), now=now)
    return ids


def _record(scope: Scope, action: AuditAction, count: int, *, now: datetime) -> None:
    target = f"space:{scope.space.id}"
    record(scope, actor=scope.principal.label, action=action, target=target, count=count, now=now)
