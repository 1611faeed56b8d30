"""Keys for the hashes that protect rows which grant access (``apps.core.bound``), and their versions by upgrade.

Each upgrade that binds more kinds of rows creates a new key version.  Its use also marks that the existing rows were
bound, which happens once.  The mark is in the keyring: an attacker who can write to the main database cannot remove it
to have forged rows bound at the next upgrade.
"""

import secrets
from typing import Final

from django.db import transaction

from apps.crypto import aead, keyring
from apps.crypto.key_cache import UnwrappedKey, service_key
from apps.crypto.keyring import KeysMissing
from apps.crypto.models import InKeyring, KeyState, ServiceKey, ServiceName

_KEYRING: Final = InKeyring.database


def row_key(version: int | None = None) -> UnwrappedKey:
    """Return the active key, or the given version.  Raises LookupError for an unknown version, KeysUnavailable."""
    try:
        return service_key(ServiceName.ROWS, version)
    except KeysMissing:
        if version is None:
            raise
        raise LookupError(version) from None


def is_in_use(version: int) -> bool:
    """Whether this version is or was active."""
    there = ServiceKey.objects.filter(name=ServiceName.ROWS, version=version)
    return there.exclude(state=KeyState.PENDING).exists()


def make_key(version: int) -> None:
    """Create a pending key, unless a crashed upgrade already did.  Raises KeysUnavailable."""
    row = ServiceKey(name=ServiceName.ROWS, version=version, state=KeyState.PENDING)
    keyring.wrap_into(row, secrets.token_bytes(aead.KEY_BYTES))
    ServiceKey.objects.bulk_create([row], ignore_conflicts=True)


def activate(version: int) -> None:
    """Make a pending version the active one.  Rows bound under the previous version stay valid."""
    mine = ServiceKey.objects.filter(name=ServiceName.ROWS)
    with transaction.atomic(using=_KEYRING):
        if mine.filter(version=version, state=KeyState.PENDING).exists():
            mine.filter(state=KeyState.ACTIVE).update(state=KeyState.READ_ONLY)
            mine.filter(version=version).update(state=KeyState.ACTIVE)
