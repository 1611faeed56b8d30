"""The caller's address behind trusted proxies: the client address that the outermost trusted proxy saw.

``X-Forwarded-For`` is only used from trusted proxies.  Each proxy appends the address of its client, so the list is
read from its end, as far as trusted proxies wrote it.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final

UNIX: Final = "unix"  # in a list of proxies: a client connected through a Unix socket, which has no address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def trusted_networks(names: Iterable[str]) -> tuple[Network | str, ...]:
    """Parse addresses (``10.0.0.5``), networks (``10.0.0.0/8``) and ``unix``.  Raises ValueError for anything else."""
    return tuple(name if name == UNIX else ipaddress.ip_network(name, strict=False) for name in names)


def caller_address(peer: str, forwarded: str, trusted: Sequence[Network | str]) -> str:
    """Return the caller's address; the peer itself if it is not a trusted proxy or the header is not usable.

    peer: the address of the connection, empty for a Unix socket.  forwarded: ``X-Forwarded-For``.
    """
    believed = str(_address(peer) or peer)
    if not _is_ours(peer, trusted):
        return believed
    for named in reversed(forwarded.split(",") if forwarded.strip() else []):
        address = _address(named)
        if address is None:
            break
        believed = str(address)
        if not _is_ours(believed, trusted):
            break
    return believed


def _is_ours(text: str, trusted: Sequence[Network | str]) -> bool:
    if not text:
        return UNIX in trusted
    address = _address(text)
    return address is not None and any(
        not isinstance(one, str) and address.version == one.version and address in one for one in trusted
    )


def _address(text: str) -> Address | None:
    """Parse an address, with or without a port: ``203.0.113.7:4711``, ``[2001:db8::7]:4711``.  None if invalid."""
    bare = text.strip()
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
