"""What every step of the pipeline works with."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from apps.adapters.embedders.base import Embedder
from apps.adapters.registry import get_embedder
from apps.crypto.services import SpaceCipher, open_space
from apps.projects.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Whose space, under which keys, embedded by what and within how many seconds, and the time."""

    scope: Scope
    cipher: SpaceCipher
    embedder: Embedder
    embed_seconds: float
    now: datetime

    @classmethod
    def for_scope(cls, scope: Scope, *, now: datetime) -> "Tools":
        return cls(
            scope=scope,
            cipher=open_space(scope.tenant, scope.space),
            embedder=get_embedder(),
            embed_seconds=settings.EMBED_INLINE_SECONDS,
            now=now,
        )
