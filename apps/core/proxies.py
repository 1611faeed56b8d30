"""Who asks, where proxies stand between: the address that the last of ours saw.

A header is believed only from proxies that were named.  Each proxy writes the address of its client
at the end of ``X-Forwarded-For``, so the list is read from its end, as far as it was written by ours.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final

UNIX: Final = "unix"  # in a list of proxies: a client connected by a socket of this machine, which has no address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def trusted_networks(names: Iterable[str]) -> tuple[Network | str, ...]:
    """Of addresses (``10.0.0.5``), networks (``10.0.0.0/8``) and ``unix``.  Raises ValueError for anything else."""
    return tuple(name if name == UNIX else ipaddress.ip_network(name, strict=False) for name in names)


def caller_address(peer: str, forwarded: str, trusted: Sequence[Network | str]) -> str:
    """peer: the address of the connection, empty for a socket of this machine.  forwarded: ``X-Forwarded-For``.

    The peer itself where it is none of ours, or where what ours say is no address.
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
    """Also with a port, as some proxies write it: ``203.0.113.7:4711``, ``[2001:db8::7]:4711``."""
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
