"""Rewrites a memory for its caller: a newer memory takes its place, and the caller's number of it stays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from apps.adapters.instances import get_embedder
from apps.apikeys.permissions import REVIEWS
from apps.core.plaintext import Plaintext
from apps.core.retries import retried
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceShredded
from apps.ingest.snapshot import KeyRotated
from apps.ingest.typed import refuse_forbidden, write_here
from apps.memories.editing import Edit, edit
from apps.memories.embedding import embed_within
from apps.memories.opened import OpenedMemory
from apps.memories.platform import content_of
from apps.memories.rewritten import TYPE, context_of, get_numbered, number_of
from apps.memories.selectors import get_memory
from apps.memories.spaces import lock_space, reread_space
from apps.memories.superseding import STATED, SupersedingForbidden, supersede_as_stated
from apps.memories.typed import PlatformLabels, TypedMemory, canonical_json
from apps.projects.scope import Scope

Vectors = Sequence[NDArray[np.float32] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """What a caller changes; None leaves it as it is.  never_expires: it has no end any more.

    metadata: replaces all of the caller's own.
    """

    text: Plaintext | None = None
    metadata: Mapping[str, Any] | None = None
    expires_at: datetime | None = None
    never_expires: bool = False

    @property
    def has_successor(self) -> bool:
        return self.text is not None or self.expires_at is not None or self.never_expires


def rewrite(scope: Scope, number: int, change: Rewriting, *, now: datetime) -> OpenedMemory:
    """Change the current memory with this number in the scope's one space; all of it, or nothing.

    A new text or end makes a new memory, which says it as a fact and keeps labels, session and metadata.
    Raises MemoryNotFound, ForbiddenContent, SupersedingForbidden, ConstraintStays, SummaryFollows, NotCurrent.
    """
    attempt = retried(_rewrite)
    vectors = _embedded(scope, number, change, now=now) if change.has_successor else ()
    try:
        return attempt(scope, number, change, vectors, now=now)
    except (KeyRotated, SpaceShredded):
        # Rare; the second attempt reads the current key version.
        return attempt(reread_space(scope), number, change, vectors, now=now)


def _embedded(scope: Scope, number: int, change: Rewriting, *, now: datetime) -> Vectors:
    """The vector of the new text, made before anything is locked: the next statement may change what this one says."""
    if settings.EMBED_INLINE_SECONDS <= 0:
        return ()
    with tenant_transaction(scope):
        text = _text_after(get_numbered(scope, number, now=now), change)
    return embed_within(get_embedder(), [Plaintext(text)], seconds=settings.EMBED_INLINE_SECONDS)


def _rewrite(scope: Scope, number: int, change: Rewriting, vectors: Vectors, *, now: datetime) -> OpenedMemory:
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)  # first, so that nobody else replaces it meanwhile
        memory = get_numbered(scope, number, now=now)
        if not change.has_successor:
            edit(scope, Edit(memory_id=memory.id, metadata=change.metadata), now=now)
            return get_memory(scope, memory.id, now=now)
        may_review = REVIEWS in scope.permissions
        if memory.pinned and not may_review:
            raise SupersedingForbidden
        is_first = number_of(memory) == memory.id
        here = replace(scope, project_id=memory.project_id)
        successor = _successor(memory, change, is_first=is_first, now=now)
        refuse_forbidden([successor])
        (made,) = write_here(here, space, cipher, [successor], vectors=vectors, now=now).results
        if is_first:
            supersede_as_stated(scope, made.memory_id, memory.id, reason=STATED, may_review=may_review, now=now)
        if made.status != "created":  # a text that it had before: its other attributes may differ
            metadata = memory.metadata if change.metadata is None else change.metadata
            edit(scope, Edit(memory_id=made.memory_id, metadata=metadata), now=now)
        return get_memory(scope, made.memory_id, now=now)


def _text_after(memory: OpenedMemory, change: Rewriting) -> str:
    return content_of(memory).value if change.text is None else change.text.reveal()


def _successor(memory: OpenedMemory, change: Rewriting, *, is_first: bool, now: datetime) -> TypedMemory:
    text = _text_after(memory, change)
    expires_at = None if change.never_expires else change.expires_at or memory.expires_at
    category = memory.category or memory.type
    content = {
        "value": text,
        "category": category,
        "expires_at": expires_at,
        "created_at": content_of(memory).created_at,
    }
    return TypedMemory(
        type=TYPE,
        summary=Plaintext(text),
        content=Plaintext(canonical_json(content)),
        session_id=memory.session,
        source=memory.source,
        ttl=expires_at - now if expires_at else None,
        tags=tuple(memory.tags),
        importance=memory.importance,
        pinned=memory.pinned,
        metadata=memory.metadata if change.metadata is None else change.metadata,
        labels=PlatformLabels(
            category=category,
            workspace=memory.workspace,
            context=context_of(number_of(memory)),
            messages=tuple(memory.messages),
            based_on=None if is_first else (memory.id, memory.updated_at),
        ),
    )
