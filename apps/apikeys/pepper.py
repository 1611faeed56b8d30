"""The secret pepper of key digests, which the keyring unwraps and passes to this app.

It is passed in, not imported: the admin also issues keys, and nothing that the admin imports may reach the keyring (see
``tests/web/test_admin.py``).  ``apps.apikeys.apps`` connects the two and passes on the pepper, no other key.
"""

from collections.abc import Callable
from typing import Protocol


class Pepper(Protocol):
    """version: stored beside the digest, so that older keys stay valid under a new pepper."""

    @property
    def version(self) -> int: ...

    @property
    def key(self) -> bytes: ...


class PepperNotConnected(RuntimeError):
    """Django has not finished starting: the pepper is connected when the app is ready."""


_source: Callable[[int | None], Pepper] | None = None


def connect(source: Callable[[int | None], Pepper]) -> None:
    """source: returns the pepper of a version, or the active one for None."""
    global _source
    _source = source


def pepper(version: int | None = None) -> Pepper:
    """The active pepper, or the one of an older version.  Raises the keyring's errors if it cannot be reached."""
    if _source is None:
        raise PepperNotConnected
    return _source(version)
