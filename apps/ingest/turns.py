"""Extract memories from turns of a conversation.  The turn itself is not stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from apps.core.plaintext import Plaintext
from apps.core.queries import execute, fetch_value
from apps.core.retries import retried
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceShredded, open_space
from apps.ingest.candidates import Outcome, Proposal
from apps.ingest.model import read_ahead
from apps.ingest.models import TurnReceipt
from apps.ingest.services import remember
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Scope
from text.extraction.roles import OTHER_LABELS, USER_LABELS, split_label
from text.extraction.small_talk import is_filler

REPLAY_WINDOW: Final = timedelta(days=30)
# Metadata keys for the origin of a memory; a turn's own metadata under these keys is not copied.
RESERVED: Final = frozenset({"write_origin", "distilled_from", "turn_role", "history_id", "episodic"})
TURN_ORIGIN: Final[Mapping[str, str]] = {"write_origin": "turn-extraction", "turn_role": "user"}

DISTILLED: Final = "completed"
NOT_THE_USERS: Final = "skipped_non_user_turn"
LOW_VALUE: Final = "skipped_low_value"
REPLAY: Final = "skipped_replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn.  role: as the caller gave it, or None.

    speaker: ``name@anything``, or any value that distinguishes turns.
    """

    text: Plaintext
    source: str
    role: str | None = None
    speaker: str | None = None
    occurred_at: datetime | None = None
    session_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTaken:
    """The result of a turn.  status: one of the four above.  receipt, outcome: set for DISTILLED only."""

    status: str
    receipt: int | None = None
    outcome: Outcome | None = None


def take_turn(scope: Scope, end_user: str, turn: Turn, *, now: datetime) -> TurnTaken:
    """Extract memories from a turn of this end user, who is created if unknown; in one transaction.

    The same text, speaker and time within REPLAY_WINDOW is a replay and creates nothing.
    """
    is_users, text = whose(turn)
    if not is_users:
        return TurnTaken(status=NOT_THE_USERS)
    if is_filler(text.reveal()):
        return TurnTaken(status=LOW_VALUE)
    proposed = proposal_of(turn, text)
    try:
        mine = scope.in_spaces(get_or_create_end_user(scope, end_user, now=now))
        if not _is_told(mine, turn, now=now):  # a replay needs no model call
            (proposed,) = read_ahead(mine, [proposed], now=now)
        return _distil(mine, turn, proposed, now=now)
    except SpaceShredded:
        # The space was shredded between the lookup and the lock: retry in the end user's new space.
        return _distil(scope.in_spaces(get_or_create_end_user(scope, end_user, now=now)), turn, proposed, now=now)


def whose(turn: Turn) -> tuple[bool, Plaintext]:
    """Whether the user said the turn, and its text without a leading speaker label.

    Decided by the role, else the label at the start of the text, else the speaker, else the metadata's role; without
    any of these it is the user.
    """
    if turn.role is not None:
        return turn.role.strip().lower() in USER_LABELS, turn.text
    label, start = split_label(turn.text.reveal())
    if label is not None:
        return label in USER_LABELS, Plaintext(turn.text.reveal()[start:])
    for named in ((turn.speaker or "").split("@")[0], turn.metadata.get("role")):
        word = named.strip().lower() if isinstance(named, str) else ""
        if word in USER_LABELS | OTHER_LABELS:
            return word in USER_LABELS, turn.text
    return True, turn.text


def proposal_of(turn: Turn, text: Plaintext, *, origin: Mapping[str, str] = TURN_ORIGIN) -> Proposal:
    """The proposal of a user's turn.  Scalar metadata is copied to each memory, together with its origin.

    origin: values for keys in RESERVED.
    """
    copied = {name: value for name, value in turn.metadata.items() if _is_scalar(value) and name not in RESERVED}
    return Proposal(
        text=text,
        source=turn.source,
        session_id=turn.session_id,
        metadata={**copied, **origin},
        speaker=_name(turn.speaker),
        occurred_at=turn.occurred_at,
        is_overheard=True,
    )


@retried
def _distil(scope: Scope, turn: Turn, proposed: Proposal, *, now: datetime) -> TurnTaken:
    with tenant_transaction(scope):
        receipt = _claim(scope, turn, now=now)
        if receipt is None:
            return TurnTaken(status=REPLAY)
        (outcome,) = remember(scope, [proposed], now=now)
    return TurnTaken(status=DISTILLED, receipt=receipt, outcome=outcome)


def _mac(scope: Scope, turn: Turn) -> bytes:
    occurred_at = turn.occurred_at.isoformat() if turn.occurred_at else ""
    cipher = open_space(scope.tenant, scope.space)
    return cipher.identity_mac("turn", turn.speaker or "", occurred_at, turn.text.reveal())


def _is_told(scope: Scope, turn: Turn, *, now: datetime) -> bool:
    """Whether a committed receipt of the turn exists; does not wait for concurrent requests."""
    with tenant_transaction(scope):
        told = TurnReceipt.objects.within(scope).filter(space_id=scope.space.id, turn_mac=_mac(scope, turn))
        return told.filter(created_at__gt=now - REPLAY_WINDOW).exists()


def _claim(scope: Scope, turn: Turn, *, now: datetime) -> int | None:
    """Insert the turn's receipt and return its id; None for a replay.  Waits for a concurrent request with it."""
    mac = _mac(scope, turn)
    execute(
        # Delete old receipts, a few at a time, skipping those that another transaction has locked.
        "delete from ingest_turnreceipt where tenant_id = %s and id in (select id from ingest_turnreceipt "
        "where tenant_id = %s and space_id = %s and created_at <= %s order by id limit 100 for update skip locked)",
        [scope.tenant_id, scope.tenant_id, scope.space.id, now - REPLAY_WINDOW],
    )
    receipt_id: int | None = fetch_value(
        "insert into ingest_turnreceipt as told (tenant_id, space_id, turn_mac, created_at) "
        "values (%s, %s, %s, %s) "
        "on conflict (tenant_id, space_id, turn_mac) do update set created_at = excluded.created_at "
        "where told.created_at <= %s returning id",
        [scope.tenant_id, scope.space.id, mac, now, now - REPLAY_WINDOW],
    )
    return receipt_id


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _name(speaker: str | None) -> str | None:
    """The speaker, if it may be a person's name: some callers send a hash to distinguish turns."""
    head = (speaker or "").split("@")[0]
    return speaker if head and not any(character.isdigit() for character in head) else None
