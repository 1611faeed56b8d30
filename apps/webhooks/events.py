"""The event types that endpoints can receive.  The wire contract defines the names, except ``memory.expiring`` and
``session.consolidated``."""

from collections.abc import Iterable, Mapping
from typing import Final

CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "memory": (
        "memory.created",
        "memory.batch_created",
        "memory.updated",
        "memory.superseded",
        "memory.deleted",
        "memory.expiring",
        "memory.queried",
        "memory.recalled",
    ),
    "session": ("session.consolidated",),
    "team": ("team.member_added", "team.member_removed"),
    "api_key": ("api_key.created", "api_key.revoked"),
    "billing": ("billing.usage_threshold",),
    "api": ("api.rate_limited",),
}
TYPES: Final = tuple(name for names in CATEGORIES.values() for name in names)


def unknown(names: Iterable[str]) -> list[str]:
    return sorted(set(names) - set(TYPES))
