"""What JSON Schema has no word for, so that schemathesis does not count its refusal as a fault of the server."""

from typing import Any, Final
from urllib.parse import urlencode

import schemathesis
from schemathesis.specs.openapi import checks

LARGEST: Final = 2**63
LONGEST_QUERY: Final = 3_000  # of the 4,094 characters of a request line
FORMS: Final = {"/imports", "/memory/upload"}
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
def filter_body(context: Any, body: Any) -> bool:
    """No empty array in a form: there it is nothing at all, so that a field of another type is not sent."""
    is_form = context.operation.path in FORMS
    return not (is_form and isinstance(body, dict) and any(value == [] for value in body.values()))


@schemathesis.hook
def filter_query(context: Any, query: Any) -> bool:
    """No address that the web server calls too long (414) before the API sees it."""
    return len(urlencode(query or {}, doseq=True)) < LONGEST_QUERY


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
        return max(-LARGEST, min(LARGEST - 1, value))  # what is out of bounds stays so
    return value
