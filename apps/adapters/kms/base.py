"""What a key provider does: it wraps and unwraps data keys, bound to a context, and never gives out its own key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from apps.adapters.errors import AdapterError


class KeyUnavailable(AdapterError):
    """The provider, or the key version asked of it, cannot be reached now.  Nothing is known about the blob."""

    def __init__(self, message: str = "the key provider cannot be reached; try again later") -> None:
        super().__init__(message, permanent=False)


class KeyMismatch(AdapterError):
    """The blob was not wrapped by this key for this context, or it was changed."""

    def __init__(self, message: str = "the wrapped key does not belong to this key and context") -> None:
        super().__init__(message, permanent=True)


class KeyRefused(AdapterError):
    """The provider answers and will not: its credentials, its policy or the name of the key must be put right."""

    def __init__(self, message: str) -> None:
        super().__init__(message, permanent=True)


class KeyShared(AdapterError):
    """Every tenant's keys are wrapped by this key, so it is not destroyed for the sake of one."""

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"{ref} wraps the keys of every tenant, so it is not destroyed for one of them", permanent=True
        )


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A data key as it is stored.

    provider: the provider's ``name``.  ref: which of its keys.  version: which version of that key.
    """

    provider: str
    ref: str
    version: str
    blob: bytes


class KekProvider(Protocol):
    """Every implementation passes tests/contracts/test_kms.py.

    ctx says what the key is for: {"p": purpose, "t": tenant, "v": version, "d": deployment}.  A blob opens only with
    the ctx it was made with.  Every method answers or raises within two seconds, and any may raise KeyRefused.
    """

    name: str

    def wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        """Wrap under the current version.  Raises KeyUnavailable."""

    def unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        """The key, whichever version wrapped it.  Raises KeyUnavailable or KeyMismatch."""

    def rewrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> Wrapped:
        """The same key under the current version, inside the provider where it can.  Raises as ``unwrap``."""

    def current_version(self) -> str:
        """The version that ``wrap`` uses.  Raises KeyUnavailable."""

    def destroy(self, ref: str) -> None:
        """Destroy a key that belongs to one tenant.  Raises KeyShared where it is everyone's."""

    def health(self) -> None:
        """Return if a key can be wrapped and unwrapped now.  Raises KeyUnavailable or KeyMismatch."""


def bound(ctx: Mapping[str, str], *about: str) -> bytes:
    """ctx as associated data: sorted, each part behind its length in four bytes, so that no two are alike."""
    parts = [*about]
    for name in sorted(ctx):
        parts += (name, ctx[name])
    return b"".join(len(raw).to_bytes(4, "big") + raw for raw in (part.encode() for part in parts))
