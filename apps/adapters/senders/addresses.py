"""Decide which IP addresses are public."""

import ipaddress
from collections.abc import Iterable
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# IPv6: the allocated global unicast range, without special-purpose, documentation and 6to4 (embedded IPv4) networks.
_GIVEN_OUT: Final = ipaddress.ip_network("2000::/3")
_BUT_NOT: Final = tuple(map(ipaddress.ip_network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
_RELAYS: Final = ipaddress.ip_network("192.88.99.0/24")


def is_public(address: Address) -> bool:
    """Whether the address is public.  Not public: loopback, private, link-local (cloud metadata services), shared,
    multicast, reserved and IPv4-mapped addresses."""
    if isinstance(address, ipaddress.IPv6Address):
        return address in _GIVEN_OUT and not any(address in network for network in _BUT_NOT) and address.is_global
    return address.is_global and not address.is_multicast and not address.is_reserved and address not in _RELAYS


def is_allowed(address: Address, networks: Iterable[Network]) -> bool:
    """Whether the address is public or in a network that the operator allowed."""
    return is_public(address) or any(address.version == one.version and address in one for one in networks)
