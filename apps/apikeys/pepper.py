"""The secret under every key's digest, which the keyring unwraps and this app is handed.

Handed, not fetched: issuing a key is also the admin's work, and nothing that the admin imports may reach the keyring
(see ``tests/web/test_admin.py``).  ``apps.apikeys.apps`` connects the two and passes on the pepper, no other key.
"""

from collections.abc import Callable
from typing import Protocol


class Pepper(Protocol):
    """version is stored beside the digest, so that a new pepper leaves older keys valid."""

    @property
    def version(self) -> int: ...

    @property
    def key(self) -> bytes: ...


class PepperNotConnected(RuntimeError):
    """Django has not finished starting: the pepper is connected when the app is ready."""


_source: Callable[[int | None], Pepper] | None = None


def connect(source: Callable[[int | None], Pepper]) -> None:
    """source: gives the pepper of a version, or the active one for None."""
    global _source
    _source = source


def pepper(version: int | None = None) -> Pepper:
    """The active pepper, or the one of an older version.  Raises what the keyring raises when it cannot be reached."""
    if _source is None:
        raise PepperNotConnected
    return _source(version)
