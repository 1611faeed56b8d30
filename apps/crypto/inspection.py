"""Looking after the keys: how many there are, how old, and whether each still opens.  No key is given out."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from apps.adapters.instances import get_kms
from apps.adapters.kms.base import KeyMismatch
from apps.crypto import keyring
from apps.crypto.keyring import KeysUnavailable
from apps.crypto.models import KeyKind, KeyState, ServiceKey, TenantKey


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """Of how many tenants every active key opens, and how many tenants have one at all."""

    opened: int
    all: int


def unwrap_active_keys() -> Unwrapped:
    """Ask the provider for every active root and identity key, one after the other."""
    rows = TenantKey.objects.filter(state=KeyState.ACTIVE).order_by("tenant_uid", "kind").iterator()
    opens: dict[uuid.UUID, bool] = {}
    for row in rows:
        opens[row.tenant_uid] = opens.get(row.tenant_uid, True) and _opens(row)
    return Unwrapped(opened=sum(opens.values()), all=len(opens))


def oldest_root_key() -> datetime | None:
    """When the oldest root key that writes use became active."""
    row = TenantKey.objects.filter(state=KeyState.ACTIVE, kind=KeyKind.ROOT).order_by("activated_at", "pk").first()
    return row.activated_at if row else None


def first_foreign_key() -> str | None:
    """The name of a key that the provider answers for and says is not ours; None when the ones looked at are.

    One service key and one tenant's are enough: whatever they are bound to, all are.  Raises AdapterError when the
    provider cannot be asked.
    """
    for row in _samples():
        try:
            get_kms().unwrap(keyring.wrapped_of(row), keyring.ctx_of(row))
        except KeyMismatch:
            return str(row)
    return None


def _samples() -> Iterator[TenantKey | ServiceKey]:
    for model in (ServiceKey, TenantKey):
        row = model.objects.filter(state=KeyState.ACTIVE).order_by("pk").first()
        if row is not None:
            yield row


def _opens(row: TenantKey) -> bool:
    try:
        key = keyring.unwrap(row)
    except KeysUnavailable:
        return False
    key[:] = bytes(len(key))
    return True
