"""Which addresses are out in the world, and not beside us."""

import ipaddress
from collections.abc import Iterable
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Of IPv6 what is given out, without what carries an IPv4 address inside (6to4) or is for examples.
_GIVEN_OUT: Final = ipaddress.ip_network("2000::/3")
_BUT_NOT: Final = tuple(map(ipaddress.ip_network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
_RELAYS: Final = ipaddress.ip_network("192.88.99.0/24")


def is_public(address: Address) -> bool:
    """Loopback, private, link-local (where clouds keep credentials), shared, multicast, reserved and mapped ones are
    not."""
    if isinstance(address, ipaddress.IPv6Address):
        return address in _GIVEN_OUT and not any(address in network for network in _BUT_NOT) and address.is_global
    return address.is_global and not address.is_multicast and not address.is_reserved and address not in _RELAYS


def is_allowed(address: Address, networks: Iterable[Network]) -> bool:
    """Public, or of a network that the operator named."""
    return is_public(address) or any(address.version == one.version and address in one for one in networks)
