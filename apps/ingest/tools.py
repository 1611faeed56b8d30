"""What every step of the pipeline works with."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from django.conf import settings

from apps.adapters.embedders.base import Embedder
from apps.adapters.registry import get_embedder
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher, open_space, open_tenant
from apps.memories.registry import Registry, registry_of
from apps.memories.spaces import meet_end_user, space_of
from apps.projects.scope import Scope

SETTLES: Final = timedelta(minutes=10)  # of a file that comes in: else each batch would sum the same topics up again


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Whose space, under which keys, with which types, embedded by what and within how many seconds (0: later), and
    the time.

    settles: how long what summaries are made of may go on growing first.
    """

    scope: Scope
    cipher: SpaceCipher
    types: Registry
    embedder: Embedder
    embed_seconds: float
    settles: timedelta
    now: datetime

    @classmethod
    def for_scope(cls, scope: Scope, *, embeds_later: bool = False, now: datetime) -> Self:
        with tenant_transaction(scope):
            return cls._in(scope, open_space(scope.tenant, scope.space), embeds_later=embeds_later, now=now)

    @classmethod
    def for_end_user(cls, scope: Scope, end_user: str, *, embeds_later: bool = False, now: datetime) -> Self:
        """As ``for_scope``, in the space of this end user, who is made on first sight."""
        with tenant_transaction(scope):
            cipher = open_tenant(scope.tenant)
            if space := space_of(scope, end_user, cipher):
                there = scope.in_spaces(space)
                return cls._in(there, cipher.of_space(space), embeds_later=embeds_later, now=now)
        return cls.for_scope(
            scope.in_spaces(meet_end_user(scope, end_user, now=now)), embeds_later=embeds_later, now=now
        )

    @classmethod
    def _in(cls, scope: Scope, cipher: SpaceCipher, *, embeds_later: bool, now: datetime) -> Self:
        return cls(
            scope=scope,
            cipher=cipher,
            types=registry_of(scope),
            embedder=get_embedder(),
            embed_seconds=0.0 if embeds_later else settings.EMBED_INLINE_SECONDS,
            settles=SETTLES if embeds_later else timedelta(0),
            now=now,
        )
