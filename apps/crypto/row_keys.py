"""The keys under which rows are bound to what they grant (``apps.core.bound``), and upgrades that begin to bind more.

Each upgrade that binds further kinds of rows brings a version of its own.  That it is in use is also the mark that rows
from before were bound, once.  It is in the keyring, where a person who writes to the main database cannot take it
away to have rows of his own bound at the next upgrade.
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
    """The active key, or that of a version.  Raises LookupError for a version that is none, KeysUnavailable."""
    try:
        return service_key(ServiceName.ROWS, version)
    except KeysMissing:
        if version is None:
            raise
        raise LookupError(version) from None


def is_in_use(version: int) -> bool:
    """Whether it is or was the active one."""
    there = ServiceKey.objects.filter(name=ServiceName.ROWS, version=version)
    return there.exclude(state=KeyState.PENDING).exists()


def make_key(version: int) -> None:
    """A key that waits to be used until ``activate``; after a crash the one made before it.  Raises KeysUnavailable."""
    row = ServiceKey(name=ServiceName.ROWS, version=version, state=KeyState.PENDING)
    keyring.wrap_into(row, secrets.token_bytes(aead.KEY_BYTES))
    ServiceKey.objects.bulk_create([row], ignore_conflicts=True)


def activate(version: int) -> None:
    """Write under it from now on.  What was bound under the one before it stays bound."""
    mine = ServiceKey.objects.filter(name=ServiceName.ROWS)
    with transaction.atomic(using=_KEYRING):
        if mine.filter(version=version, state=KeyState.PENDING).exists():
            mine.filter(state=KeyState.ACTIVE).update(state=KeyState.READ_ONLY)
            mine.filter(version=version).update(state=KeyState.ACTIVE)
