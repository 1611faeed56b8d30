"""Callers' addresses as names for counters: a keyed hash, because addresses are personal data."""

import ipaddress

from django.utils.crypto import salted_hmac


def address_key(address: str) -> str:
    """32 characters; one for all of an IPv6 /64, since a caller has all of that."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    named = str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
    return salted_hmac("memsync.address", named, algorithm="sha256").hexdigest()[:32]
