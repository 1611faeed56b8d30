"""What every step of the pipeline works with."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from apps.adapters.embedders.base import Embedder
from apps.adapters.registry import get_embedder
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher, open_space
from apps.memories.registry import Registry, registry_of
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
    def for_scope(cls, scope: Scope, *, embeds_later: bool = False, now: datetime) -> "Tools":
        with tenant_transaction(scope):
            cipher, types = open_space(scope.tenant, scope.space), registry_of(scope)
        return cls(
            scope=scope,
            cipher=cipher,
            types=types,
            embedder=get_embedder(),
            embed_seconds=0.0 if embeds_later else settings.EMBED_INLINE_SECONDS,
            settles=SETTLES if embeds_later else timedelta(0),
            now=now,
        )
