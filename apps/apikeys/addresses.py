"""Counter names for callers' addresses: a keyed hash, because addresses are personal data."""

import ipaddress

from django.utils.crypto import salted_hmac


def address_key(address: str) -> str:
    """32 characters; the same for a whole IPv6 /64, because one caller controls all of it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    named = str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
    return salted_hmac("memsync.address", named, algorithm="sha256").hexdigest()[:32]
