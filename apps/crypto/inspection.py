"""Health checks of the keys: whether each still unwraps, and how old they are.  No key leaves this module."""

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
    """opened: number of tenants whose active keys all unwrap.  all: number of tenants that have an active key."""

    opened: int
    all: int


def unwrap_active_keys() -> Unwrapped:
    """Unwrap every active root and identity key with the KMS provider, one after the other."""
    rows = TenantKey.objects.filter(state=KeyState.ACTIVE).order_by("tenant_uid", "kind").iterator()
    opens: dict[uuid.UUID, bool] = {}
    for row in rows:
        opens[row.tenant_uid] = opens.get(row.tenant_uid, True) and _opens(row)
    return Unwrapped(opened=sum(opens.values()), all=len(opens))


def oldest_root_key() -> datetime | None:
    """Return the activation time of the oldest active root key; None without any."""
    row = TenantKey.objects.filter(state=KeyState.ACTIVE, kind=KeyKind.ROOT).order_by("activated_at", "pk").first()
    return row.activated_at if row else None


def first_foreign_key() -> str | None:
    """Return the name of a sampled key whose unwrapping fails with KeyMismatch; None if there is none.

    One service key and one tenant key are enough, because all keys are bound to the same deployment and provider.
    Raises AdapterError when the provider cannot be reached.
    """
    for row in _samples():
        try:
            key = get_kms().unwrap(keyring.wrapped_of(row), keyring.ctx_of(row))
        except KeyMismatch:
            return str(row)
        key[:] = bytes(len(key))
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
