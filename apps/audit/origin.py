"""Where the request being served came from, so that the trail can say so wherever in it something is recorded.

The one thing that is ambient, because it decides nothing: no query and no permission looks at it.
"""

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

PREFIX = {4: 24, 6: 48}  # bits: enough to tell a provider or an office, not a person


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
    """address: of who asks; only its network is kept."""
    token = _current.set(Origin(request_id=request_id, network=network_of(address)))
    try:
        yield
    finally:
        _current.reset(token)


def network_of(address: str) -> str:
    """``203.0.113.0/24`` for ``203.0.113.7``; nothing for what is no address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return str(ipaddress.ip_network(f"{parsed}/{PREFIX[parsed.version]}", strict=False)) if _is_plain(parsed) else ""


def _is_plain(parsed: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Without a zone, which names an interface and no network."""
    return not (isinstance(parsed, ipaddress.IPv6Address) and parsed.scope_id)
