"""Interfaces of senders, which post to an address that a tenant chose, and of fetchers, which read from one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


class AddressRefused(Exception):
    """The address is not allowed.  cause: ``scheme``, ``malformed`` or ``private``."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class SendFailed(Exception):
    """No response was received.  cause: ``timeout``, ``unreachable``, ``tls``, ``unknown_host`` or ``malformed``."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The response.  body: its first bytes."""

    status: int
    body: bytes


@runtime_checkable
class Sender(Protocol):
    def check(self, url: str) -> None:
        """Raise AddressRefused if ``post`` would refuse the URL now.  A name that does not resolve yet passes."""

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Answered:
        """Return the response within ``seconds``, whatever its status; redirects are not followed.  Raises
        AddressRefused or SendFailed; neither contains anything of what was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The response.  headers: by lower-case name.  body: its first bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@runtime_checkable
class Fetcher(Protocol):
    def check(self, url: str) -> None:
        """Raise AddressRefused if ``get`` would refuse the URL now.  A name that does not resolve yet passes."""

    def get(self, url: str, headers: Mapping[str, str], *, seconds: float, most_bytes: int) -> Fetched:
        """As ``Sender.post``; at most ``most_bytes`` of the body are read."""
