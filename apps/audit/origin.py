"""Origin of the current request (request id and network), for audit events recorded anywhere in its code.

A context variable, the only one in the service, because nothing depends on it: no query and no permission reads it.
"""

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

PREFIX = {4: 24, 6: 48}  # bits: enough to identify a provider or an office, but no person


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    request_id: str = ""
    network: str = ""


_NOWHERE = Origin()
_current: ContextVar[Origin] = ContextVar("origin", default=_NOWHERE)


def current() -> Origin:
    return _current.get()


@contextmanager
def coming_from(address: str, *, request_id: str) -> Iterator[None]:
    """Set the origin for the duration of the block.  address: the caller's; only its network is stored."""
    token = _current.set(Origin(request_id=request_id, network=network_of(address)))
    try:
        yield
    finally:
        _current.reset(token)


def network_of(address: str) -> str:
    """Return the address's network: ``203.0.113.0/24`` for ``203.0.113.7``; empty if it is not an address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return str(ipaddress.ip_network(f"{parsed}/{PREFIX[parsed.version]}", strict=False)) if _is_plain(parsed) else ""


def _is_plain(parsed: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether the address has no zone: a zone names an interface and no network."""
    return not (isinstance(parsed, ipaddress.IPv6Address) and parsed.scope_id)
