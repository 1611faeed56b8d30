"""Typed memories: a program states type, topic key, content and summary itself (docs/adr/0040), or they are extracted.

A batch is one transaction.  The id of a memory is a keyed hash of its type, key and content (seed-systems T4), so the
same memory stated again is a duplicate, or, if it was replaced meanwhile, becomes current again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from apps.adapters.instances import get_embedder
from apps.core.broker import notify
from apps.core.errors import Invalid
from apps.core.retries import retried
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher, SpaceShredded, open_tenant
from apps.ingest.candidates import MADE, MemoryCandidate, Proposal
from apps.ingest.memory_state import MemoryState
from apps.ingest.pipeline_context import PipelineContext
from apps.ingest.snapshot import KeyRotated, SpaceSnapshot
from apps.ingest.steps.index import index
from apps.ingest.steps.lookup_keys import add_lookup_keys
from apps.ingest.steps.review_gate import Queue
from apps.ingest.steps.typed_slots import decide
from apps.memories.spaces import SpaceOwner, get_or_create_owned, hold_space_of
from apps.memories.tenant_types import Registry
from apps.memories.typed import TypedMemory
from apps.memories.types import TYPES
from apps.outbox.tasks import drain
from apps.policies.retention import policies_for
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef
from text.extraction.extractor import policy_refusal

MOST: Final = 1_000  # memories in one batch


class ForbiddenContent(Invalid):
    """A memory contains a credential or a planted instruction."""

    code = "FORBIDDEN_CONTENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedResult:
    """status: created, duplicate or revived.  superseded: public ids of the memories that this one replaced.

    Of an extracted memory also pending, with review_id and reason, or discarded_policy.
    """

    public_id: str
    memory_id: int
    status: str
    superseded: Sequence[str] = ()
    review_id: int | None = None
    reason: str = ""

    @property
    def is_stored(self) -> bool:
        return self.memory_id != 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedOutcome:
    """results: one for each memory, in order.  txid: number of the latest change of the space they are in."""

    results: Sequence[TypedResult]
    txid: int
    space: SpaceRef


def write_typed(scope: Scope, end_user: str, memories: Sequence[TypedMemory], *, now: datetime) -> TypedOutcome:
    """Write all of these memories of an end user, who is created if unknown, or none; as ``write_owned``."""
    return write_owned(scope, SpaceOwner.end_user(end_user), memories, now=now)


def write_owned(
    scope: Scope, owner: SpaceOwner, memories: Sequence[TypedMemory], *, is_batch: bool = False, now: datetime
) -> TypedOutcome:
    """Write all of these memories into the space of this owner, which is created if unknown, or none.

    A fact or an instruction replaces the current one with its topic key.  Call outside of any transaction.
    is_batch: the caller sends a list ``memories``, whose places refusals name.
    Raises ForbiddenContent, SupersedingForbidden; BranchNotFound, for a branch is not created.
    """
    refuse_forbidden(memories, is_batch=is_batch)
    return write_candidates(scope, owner, [_stated(memory) for memory in memories], now=now)


def write_candidates(
    scope: Scope, owner: SpaceOwner, candidates: Sequence[MemoryCandidate], *, now: datetime
) -> TypedOutcome:
    """As ``write_owned``, of candidates whose proposals are typed memories without forbidden content."""
    write = retried(_write)
    try:
        return write(scope, owner, candidates, now=now)
    except (KeyRotated, SpaceShredded):
        # Rare; the second attempt reads the current key version, or makes the owner's new space.
        return write(scope, owner, candidates, now=now)


def refuse_forbidden(memories: Sequence[TypedMemory], *, is_batch: bool = False) -> None:
    """Raises ForbiddenContent."""
    refuse_forbidden_texts("memories" if is_batch else None, [memory.checked for memory in memories])


def refuse_forbidden_texts(name: str | None, texts: Sequence[str]) -> None:
    """name: of the field whose entries they are; None if the body is the one.  Raises ForbiddenContent."""
    found = [
        {
            "loc": ["body"] if name is None else ["body", name, place],
            "msg": f"contains forbidden content ({reason})",
            "type": "forbidden",
        }
        for place, text in enumerate(texts)
        if (reason := policy_refusal(text))
    ]
    if found:
        where = "This memory" if name is None else f"{name}.{found[0]['loc'][-1]}: it"
        raise ForbiddenContent(f"{where} {found[0]['msg']}", details=found)


def _write(scope: Scope, owner: SpaceOwner, candidates: Sequence[MemoryCandidate], *, now: datetime) -> TypedOutcome:
    with tenant_transaction(scope, is_planned=True):
        cipher = open_tenant(scope.tenant, writing=True)
        if (space := hold_space_of(scope, owner, cipher)) and not space.ref.has_ended(now):
            return _write_here(scope, space, cipher.of_space(space.ref), candidates, now=now)
    get_or_create_owned(scope, owner, now=now)
    return _write(scope, owner, candidates, now=now)


def write_here(
    scope: Scope,
    space: Space,
    cipher: SpaceCipher,
    memories: Sequence[TypedMemory],
    *,
    vectors: Sequence[NDArray[np.float32] | None] = (),
    now: datetime,
) -> TypedOutcome:
    """As ``write_owned``, inside the tenant's transaction, of memories without forbidden content.

    space: locked.  cipher: its own, opened for writing.  vectors: of their texts, by our embedder; the worker makes the
    missing ones.  Raises KeyRotated, which the transaction does not survive.
    """
    return _write_here(scope, space, cipher, [_stated(memory) for memory in memories], vectors=vectors, now=now)


def _write_here(
    scope: Scope,
    space: Space,
    cipher: SpaceCipher,
    undecided: Sequence[MemoryCandidate],
    *,
    vectors: Sequence[NDArray[np.float32] | None] = (),
    now: datetime,
) -> TypedOutcome:
    scope = scope.in_spaces(space.ref)
    with_tasks = any(one.type == "task" for one in undecided)
    tools = PipelineContext(
        scope=scope,
        cipher=cipher,
        types=Registry(),
        kept=policies_for(scope, [scope.space.id]) if with_tasks else (),  # of what is written here, they cap tasks
        embedder=get_embedder(),
        embed_seconds=0.0,
        settles=timedelta(0),
        now=now,
    )
    candidates = [_with_lookup_keys(one, tools) for one in undecided]
    for one, vector in zip(candidates, vectors, strict=False):
        if one.embeds:
            one.vector = vector
    snapshot = SpaceSnapshot.locked(candidates, tools, space)
    queue = Queue(snapshot)
    replaced: list[list[MemoryState]] = []
    seen: set[str] = set()
    for one in candidates:
        replaced.append(decide(one, snapshot, is_repeated=one.public_id in seen))
        queue.take(one)
        if one.memory_id is not None:
            seen.add(one.public_id)
    index([[one] for one in candidates], [], snapshot, tools)
    if any(one.decision in MADE and one.vector is None and one.embeds for one in candidates):
        transaction.on_commit(partial(notify, drain))
    return TypedOutcome(
        results=[
            TypedResult(
                public_id=one.public_id,
                memory_id=one.memory_id or 0,
                status="created" if one.decision in MADE else one.decision,
                superseded=[older.public_id for older in older_ones],
                review_id=one.review_id,
                reason=one.reason,
            )
            for one, older_ones in zip(candidates, replaced, strict=True)
        ],
        txid=snapshot.space.txid,
        space=scope.space,
    )


def _stated(memory: TypedMemory) -> MemoryCandidate:
    """The undecided candidate of a memory that its caller states."""
    proposal = Proposal(
        text=memory.text,
        source=memory.source,
        source_kind="tool",
        session_id=memory.session_id,
        tags=memory.tags,
        metadata=memory.metadata,
        importance=memory.importance,
        pinned=memory.pinned,
        typed=memory,
    )
    return MemoryCandidate(
        proposal=proposal,
        text=memory.text,
        type=memory.type,
        key=memory.topic_key,
        value=memory.value,
        extractor_confidence=1.0,
    )


def _with_lookup_keys(undecided: MemoryCandidate, tools: PipelineContext) -> MemoryCandidate:
    """A copy of the candidate that is ready to be decided."""
    memory = undecided.proposal.typed
    assert memory is not None  # noqa: S101  (the callers made it of one)
    vector = None if memory.type == "task" else memory.vector
    candidate = replace(undecided, lasts=_lifetime(memory), vector=vector)
    add_lookup_keys([candidate], tools)
    return candidate


def _lifetime(memory: TypedMemory) -> timedelta | None:
    """As stated, even if it is zero, else as of its type."""
    seconds = TYPES[memory.type].ttl_seconds
    return memory.ttl if memory.ttl is not None or seconds is None else timedelta(seconds=seconds)
