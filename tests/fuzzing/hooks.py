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
def filter_body(context: Any, body: Any) -> bool:
    """No integer of more than 64 bits, and no empty array in a form.

    Longer ones are refused, because what is kept must come back as it was; but to JSON Schema 1e300, which is taken,
    is an integer as well.  In a form an empty array is nothing at all, so that a field of another type is not sent.
    """
    is_form = context.operation.path in FORMS
    return not _is_long(body) and not (is_form and isinstance(body, dict) and any(one == [] for one in body.values()))


@schemathesis.hook
def filter_query(context: Any, query: Any) -> bool:
    """No address that the web server calls too long (414) before the API sees it."""
    return len(urlencode(query or {}, doseq=True)) < LONGEST_QUERY


@schemathesis.hook
def map_headers(context: Any, headers: Any) -> Any:
    """No project or environment but the key's own: of another nothing is found, and no run would get any further."""
    if headers:
        headers.pop("X-Project-ID", None)
        headers.pop("X-Environment", None)
    return headers


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """One credential: the key where a key may ask, and else the token of the person whom schemathesis signs up."""
    if any("ApiKey" in one for one in context.operation.definition.raw.get("security", ())):
        case.headers.pop("Authorization", None)


def _is_long(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_long, value.values()))
    if isinstance(value, list):
        return any(map(_is_long, value))
    return isinstance(value, int) and not -LARGEST <= value < LARGEST
