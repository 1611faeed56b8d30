"""The context that every pipeline step receives."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Self

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from apps.adapters.embedders.base import Embedder
from apps.adapters.instances import get_embedder
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher, open_space, open_tenant
from apps.memories.lifetimes import Lifetimes, rules_of
from apps.memories.spaces import SpaceOwner, get_or_create_owned, row_of
from apps.memories.tenant_types import Registry, registry_of
from apps.policies.retention import Policy, of_project, policies_for, strictest
from apps.projects.scope import Scope

SETTLES: Final = timedelta(minutes=10)  # during an import, else each batch would summarize the same topics again


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineContext:
    """Scope, cipher, types, embedder and time of one run.

    kept: retention policies that apply to the space.  embed_seconds: time budget for embedding; 0 leaves it to the
    outbox.  settles: delay before a topic that still grows is summarized.
    as_of: number of the space's latest change before the run; None if it was not read.
    vectors: index in the batch to vector; reused when the batch is run again.
    """

    scope: Scope
    cipher: SpaceCipher
    types: Registry
    kept: Sequence[Policy]
    embedder: Embedder
    embed_seconds: float
    settles: timedelta
    now: datetime
    as_of: int | None = None
    vectors: dict[int, NDArray[np.float32]] = field(default_factory=dict, repr=False)

    @property
    def lifetimes(self) -> Lifetimes:
        return Lifetimes(list(rules_of(self.kept)))

    @property
    def task_cap(self) -> timedelta | None:
        """Longest lifetime of a task, by the policies of tenant, project and space; None for no limit."""
        seconds = strictest(of_project(self.kept, self.scope.project_id))["task_ttl_seconds"].limit
        return None if seconds is None else timedelta(seconds=seconds)

    @classmethod
    def for_scope(cls, scope: Scope, *, embeds_later: bool = False, now: datetime) -> Self:
        with tenant_transaction(scope):
            return cls._in(scope, open_space(scope.tenant, scope.space), embeds_later=embeds_later, now=now)

    @classmethod
    def for_owner(cls, scope: Scope, owner: SpaceOwner, *, embeds_later: bool = False, now: datetime) -> Self:
        """As ``for_scope``, in the space of this owner, which is created if unknown."""
        with tenant_transaction(scope):
            cipher = open_tenant(scope.tenant)
            if space := row_of(scope, owner, cipher):
                there = scope.in_spaces(space.ref)
                of_space = cipher.of_space(space.ref)
                return cls._in(there, of_space, as_of=space.txid, embeds_later=embeds_later, now=now)
        return cls.for_scope(
            scope.in_spaces(get_or_create_owned(scope, owner, now=now)), embeds_later=embeds_later, now=now
        )

    @classmethod
    def _in(
        cls, scope: Scope, cipher: SpaceCipher, *, as_of: int | None = None, embeds_later: bool, now: datetime
    ) -> Self:
        return cls(
            scope=scope,
            cipher=cipher,
            types=registry_of(scope),
            kept=policies_for(scope, [scope.space.id]),
            embedder=get_embedder(),
            embed_seconds=0.0 if embeds_later else settings.EMBED_INLINE_SECONDS,
            settles=SETTLES if embeds_later else timedelta(0),
            now=now,
            as_of=as_of,
        )
