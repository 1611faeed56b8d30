"""The keyed hashes by which state items are found, and querysets that use them."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q

from apps.core.scoping import ScopedQuerySet
from apps.crypto.services import SpaceCipher
from apps.history.models import StateItem
from apps.history.state_sealing import OpenedState
from apps.projects.scope import Scope


def item_mac(cipher: SpaceCipher, source: str, namespace: Sequence[str], key: str) -> bytes:
    """The hash of a source, a namespace and a key."""
    return cipher.identity_mac("state.item", source, *namespace, key)


def namespace_mac(cipher: SpaceCipher, source: str, namespace: Sequence[str]) -> bytes:
    """The hash of a source and a namespace."""
    return cipher.identity_mac("state.namespace", source, *namespace)


def prefix_macs(cipher: SpaceCipher, source: str, namespace: Sequence[str]) -> list[bytes]:
    """The hashes of a namespace and of each above it, the empty one first."""
    return [namespace_mac(cipher, source, namespace[:depth]) for depth in range(len(namespace) + 1)]


def rekey(row: StateItem, item: OpenedState, cipher: SpaceCipher) -> None:
    """Recompute the row's hashes."""
    row.item_mac = item_mac(cipher, item.source, item.namespace, item.key)
    row.namespace_mac = namespace_mac(cipher, item.source, item.namespace)
    row.prefix_macs = prefix_macs(cipher, item.source, item.namespace)
    row.save(update_fields=["item_mac", "namespace_mac", "prefix_macs"])


def rows_of_space(scope: Scope) -> ScopedQuerySet[StateItem]:
    """Every item of the scope's one space."""
    return StateItem.objects.within(scope).filter(space_id=scope.space.id)


def live_rows(scope: Scope, *, now: datetime) -> ScopedQuerySet[StateItem]:
    """The items of the scope's one space that have not expired."""
    return rows_of_space(scope).filter(Q(expires_at=None) | Q(expires_at__gt=now))


def rows_below(
    scope: Scope, cipher: SpaceCipher, source: str, prefix: Sequence[str], *, now: datetime
) -> ScopedQuerySet[StateItem]:
    """The live items in a namespace of a source and below it."""
    return live_rows(scope, now=now).filter(prefix_macs__contains=[namespace_mac(cipher, source, prefix)])
