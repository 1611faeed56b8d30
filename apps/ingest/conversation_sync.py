"""Store and delete conversation history and state, and on request the memories extracted from them.

The source and its memories commit in one transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from apps.core.retries import retried
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceShredded
from apps.history import state_writes, turns
from apps.history.state_sealing import OpenedState
from apps.history.state_writes import NewState, Put, Removal, Removed
from apps.history.turns import NewTurn, OpenedTurn
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.ingest.session_summaries import note_turns
from apps.ingest.source_links import link, unlink
from apps.ingest.turns import TURN_ORIGIN, Turn, proposal_of
from apps.memories.spaces import SpaceOwner, get_or_create_owned
from apps.projects.scope import Scope
from text.extraction.roles import USER_LABELS
from text.extraction.small_talk import is_filler

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """turns: all in order, including those that existed already.  distilled: ids of those that were extracted from."""

    turns: Sequence[OpenedTurn]
    distilled: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """deleted_facts: ids of memories retired with the replaced value."""

    put: Put
    was_distilled: bool = False
    deleted_facts: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """ids: deleted turns or items.  facts: ids of memories retired with them."""

    ids: Sequence[int] = ()
    facts: Sequence[int] = ()


def append_history(
    scope: Scope,
    end_user: str,
    session_id: str,
    said: Sequence[NewTurn],
    *,
    source: str,
    metadata: Mapping[str, Any],
    extract: bool,
    branch: str = "",
    now: datetime,
) -> Appended:
    """Append turns to a session of this end user, who is created if unknown; see ``apps.history.turns.append``.

    extract: also extract memories from the user's new turns.  branch: one of the end user's branches.
    Raises BranchNotFound.
    """

    def append(mine: Scope) -> Appended:
        appended = turns.append(mine, session_id, said, source=source, metadata=metadata, now=now)
        note_turns(mine, session_id, [one.id for one in appended if one.is_new], now=now)
        wanted = [one for one in appended if extract and one.is_new and _tells(one)]
        _distil(mine, {one.id: _of_turn(one) for one in wanted}, now=now)
        return Appended(turns=appended, distilled=[one.id for one in wanted])

    return in_space(scope, SpaceOwner.end_user(end_user, branch=branch), append, now=now)


def delete_history(
    scope: Scope,
    *,
    session_id: str | None,
    turn_ids: Sequence[int],
    source: str | None,
    with_facts: bool,
    now: datetime,
) -> Deleted:
    """Delete a session, or these turns where it is None.  with_facts: see ``apps.ingest.source_links.unlink``."""
    if not scope.spaces:
        return Deleted()
    with tenant_transaction(scope):
        if session_id is not None:
            ids = turns.delete_session(scope, session_id, source=source, now=now)
        else:
            ids = turns.delete_turns(scope, turn_ids, source=source, now=now)
        return Deleted(ids=ids, facts=unlink(scope, ids, with_facts=with_facts, now=now))


def put_state(
    scope: Scope, end_user: str, new: NewState, *, extract: bool, replace_facts: bool, now: datetime
) -> Stored:
    """Store a state item; see ``apps.history.state_writes.put``.

    extract: also extract memories from its text.  replace_facts: retire the memories of the previous value.
    """

    def put(mine: Scope) -> Stored:
        done = state_writes.put(mine, new, now=now)
        if not done.is_new:
            return Stored(put=done)
        gone = unlink(mine, [done.item.id], with_facts=True, now=now) if done.replaced and replace_facts else []
        wanted = extract and not is_filler(done.item.text.reveal())
        _distil(mine, {done.item.id: _of_state(done.item)} if wanted else {}, now=now)
        return Stored(put=done, was_distilled=wanted, deleted_facts=gone)

    return in_space(scope, SpaceOwner.end_user(end_user), put, now=now)


def change_state(
    scope: Scope, end_user: str, changes: Sequence[NewState | Removal], *, now: datetime
) -> list[Put | Removed]:
    """Put and delete several state items, all or none; see ``apps.history.state_writes.change``."""

    def change(mine: Scope) -> list[Put | Removed]:
        done = state_writes.change(mine, changes, now=now)
        gone = [one.id for one in done if isinstance(one, Removed) and one.id is not None]
        unlink(mine, gone, with_facts=False, now=now)
        return done

    return in_space(scope, SpaceOwner.end_user(end_user), change, now=now)


def purge_expired_state(scope: Scope, *, now: datetime) -> int:
    """Delete the tenant's expired state items; returns how many.  Memories extracted from them stay."""
    count = 0
    for space in state_writes.expired_spaces(scope, now=now):
        mine = scope.in_spaces(space)
        try:
            with tenant_transaction(mine):
                ids = state_writes.purge_expired(mine, now=now)
                unlink(mine, ids, with_facts=False, now=now)
        except SpaceShredded:
            continue  # nothing in it can be read any more, and its rows go with it
        count += len(ids)
    return count


def delete_state(
    scope: Scope,
    namespace: Sequence[str],
    keys: Sequence[str] | None,
    *,
    source: str,
    with_facts: bool,
    now: datetime,
) -> Deleted:
    """As ``apps.history.state_writes.delete``.  with_facts: see ``apps.ingest.source_links.unlink``."""
    if not scope.spaces:
        return Deleted()
    with tenant_transaction(scope):
        ids = state_writes.delete(scope, namespace, keys, source=source, now=now)
        return Deleted(ids=ids, facts=unlink(scope, ids, with_facts=with_facts, now=now))


def in_space(scope: Scope, owner: SpaceOwner, change: Callable[[Scope], Answer], *, now: datetime) -> Answer:
    """Apply the change in one transaction, in the space of this end user, who is created if unknown."""
    try:
        return _once(scope, owner, change, now=now)
    except SpaceShredded:
        # The space was shredded between the lookup and the lock: retry in the end user's new space.
        return _once(scope, owner, change, now=now)


def _once(scope: Scope, owner: SpaceOwner, change: Callable[[Scope], Answer], *, now: datetime) -> Answer:
    mine = scope.in_spaces(get_or_create_owned(scope, owner, now=now))
    return _change(mine, change)


@retried
def _change(scope: Scope, change: Callable[[Scope], Answer]) -> Answer:
    with tenant_transaction(scope):
        return change(scope)


def _distil(scope: Scope, proposals: Mapping[int, Proposal], *, now: datetime) -> None:
    """Extract memories from these sources, and link each memory to its source."""
    if not proposals:
        return
    outcomes = remember(scope, list(proposals.values()), now=now)
    for source_id, outcome in zip(proposals, outcomes, strict=True):
        link(scope, source_id, outcome, now=now)


def _tells(turn: OpenedTurn) -> bool:
    return turn.role in USER_LABELS and not is_filler(turn.content.reveal())


def _of_turn(turn: OpenedTurn) -> Proposal:
    said = Turn(
        text=turn.content,
        source=turn.source,
        occurred_at=_moment(turn.occurred_at),
        session_id=turn.session_id,
        metadata=turn.metadata,
    )
    origin = {**TURN_ORIGIN, "history_id": f"h_{turn.id}", "session_id": turn.session_id}
    return proposal_of(said, turn.content, origin=origin)


def _of_state(item: OpenedState) -> Proposal:
    told = Turn(text=item.text, source=item.source, metadata=item.metadata)
    return proposal_of(told, item.text, origin={"write_origin": "state-extraction", "history_id": f"h_{item.id}"})


def _moment(written: str | None) -> datetime | None:
    """An ISO 8601 time; without an offset it is UTC."""
    if written is None:
        return None
    moment = datetime.fromisoformat(written)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
