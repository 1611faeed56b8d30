"""What JSON Schema has no word for, so that schemathesis does not count its refusal as a fault of the server."""

from typing import Any, Final

import schemathesis
from schemathesis.specs.openapi import checks

LARGEST: Final = 2**63
# Past twenty failed attempts a minute the answer is 429 instead of 401: it lets nobody in either.
checks.AUTH_REJECTION_STATUSES |= {429}


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Integers of at most 64 bits.

    Longer ones are refused, because what is kept must come back as it was; but to JSON Schema 1e300, which is taken,
    is an integer as well.
    """
    return _exact(body)


@schemathesis.hook
def map_headers(context: Any, headers: Any) -> Any:
    """No project but the key's own: of one that is not there nothing is found, and no run would get any further."""
    if headers:
        headers.pop("X-Project-ID", None)
    return headers


def _exact(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _exact(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_exact(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -LARGEST <= value < LARGEST else value % LARGEST
    return value
