"""Posting to an address that a tenant chose: what every sender promises."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


class AddressRefused(Exception):
    """Nothing may be sent there.  cause: ``scheme``, ``malformed`` or ``private``."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class SendFailed(Exception):
    """No answer.  cause: ``timeout``, ``unreachable``, ``tls``, ``unknown_host`` or ``malformed``."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """body: the first bytes of it."""

    status: int
    body: bytes


@runtime_checkable
class Sender(Protocol):
    def check(self, url: str) -> None:
        """Raises AddressRefused for what ``post`` would refuse now.  A name that does not resolve yet passes."""

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Answered:
        """Answers within ``seconds``, whatever the status: redirects are answers too.  Raises AddressRefused or
        SendFailed, neither of which says anything of what was sent."""
