"""The key under which rows are bound to what they grant (``apps.core.bound``), and the upgrade that begins to use it.

That there is an active one is also the mark that rows were bound once.  It stands in the keyring, where somebody who
writes to the main database cannot take it away to have rows of his own bound at the next upgrade.
"""

import secrets

from apps.crypto import aead, keyring
from apps.crypto.keyring import KeysMissing, UnwrappedKey, service_key
from apps.crypto.models import KeyState, ServiceKey, ServiceName

FIRST = 1


def row_key(version: int | None = None) -> UnwrappedKey:
    """The active key, or that of a version.  Raises LookupError for a version that is none, KeysUnavailable."""
    try:
        return service_key(ServiceName.ROWS, version)
    except KeysMissing:
        if version is None:
            raise
        raise LookupError(version) from None


def is_first_key_active() -> bool:
    return ServiceKey.objects.filter(name=ServiceName.ROWS).exclude(state=KeyState.PENDING).exists()


def make_first_key() -> UnwrappedKey:
    """The first key, which waits to be used until ``activate_first_key``; after a crash the one made before it."""
    row = ServiceKey(name=ServiceName.ROWS, version=FIRST, state=KeyState.PENDING)
    keyring.wrap_into(row, secrets.token_bytes(aead.KEY_BYTES))
    ServiceKey.objects.bulk_create([row], ignore_conflicts=True)
    return service_key(ServiceName.ROWS, FIRST)


def activate_first_key() -> None:
    ServiceKey.objects.filter(name=ServiceName.ROWS, version=FIRST, state=KeyState.PENDING).update(
        state=KeyState.ACTIVE
    )
