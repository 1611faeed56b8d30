"""Interface of key providers: they wrap and unwrap data keys, bound to a context, and never reveal their own key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from apps.adapters.errors import AdapterError


class KeyUnavailable(AdapterError):
    """The provider or the requested key version is unavailable now.  Nothing is known about the blob."""

    def __init__(self, message: str = "the key provider cannot be reached; try again later") -> None:
        super().__init__(message, permanent=False)


class KeyMismatch(AdapterError):
    """The blob was not wrapped by this key for this context, or it was modified."""

    def __init__(self, message: str = "the wrapped key does not belong to this key and context") -> None:
        super().__init__(message, permanent=True)


class KeyRefused(AdapterError):
    """The provider refuses the request: its credentials, its policy or the name of the key must be corrected."""

    def __init__(self, message: str) -> None:
        super().__init__(message, permanent=True)


class KeyShared(AdapterError):
    """The key wraps the keys of all tenants, so it is not destroyed for one of them."""

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"{ref} wraps the keys of every tenant, so it is not destroyed for one of them", permanent=True
        )


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A wrapped data key as it is stored.

    provider: the provider's ``name``.  ref: identifies its key.  version: of that key.
    """

    provider: str
    ref: str
    version: str
    blob: bytes


class KekProvider(Protocol):
    """Every implementation passes tests/contracts/test_kms.py.

    ctx identifies the data key: {"p": purpose, "t": tenant, "v": version, "d": deployment}.  A blob unwraps only with
    the ctx that it was wrapped with.  Every method returns or raises within two seconds; any may raise KeyRefused.
    """

    name: str

    def wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        """Wrap under the current version.  Raises KeyUnavailable."""

    def unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        """Return the key, whichever version wrapped it.  Raises KeyUnavailable or KeyMismatch."""

    def rewrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> Wrapped:
        """Wrap the same key under the current version, inside the provider if possible.  Raises as ``unwrap``."""

    def current_version(self) -> str:
        """The version that ``wrap`` uses.  Raises KeyUnavailable."""

    def destroy(self, ref: str) -> None:
        """Destroy a key that belongs to one tenant.  Raises KeyShared if all tenants use it."""

    def health(self) -> None:
        """Return if a key can be wrapped and unwrapped now.  Raises KeyUnavailable or KeyMismatch."""


def bound(ctx: Mapping[str, str], *about: str) -> bytes:
    """ctx as associated data: sorted, each part preceded by its length in four bytes, so that it is unambiguous."""
    parts = [*about]
    for name in sorted(ctx):
        parts += (name, ctx[name])
    return b"".join(len(raw).to_bytes(4, "big") + raw for raw in (part.encode() for part in parts))
