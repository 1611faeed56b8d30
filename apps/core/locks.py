"""Transaction-level advisory locks."""

import hashlib

from django.db import connections

from apps.core.queries import execute


class TransactionRequired(Exception):
    """A lock was requested outside a transaction, where it would be released immediately."""


def lock(*parts: object, using: str = "default") -> None:
    """Acquire the lock named by ``parts`` until this transaction ends.  Waits for other holders."""
    if not connections[using].in_atomic_block:
        raise TransactionRequired(str(parts[0]))
    name = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    execute("select pg_advisory_xact_lock(%s)", [int.from_bytes(name[:8], "big", signed=True)], using=using)
