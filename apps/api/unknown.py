"""Names that nobody knows: of fields of a body, and of parameters of a query string."""

import difflib
import re
from collections.abc import Collection, Sequence
from typing import Final

from rest_framework.exceptions import ErrorDetail

NAMED_AT_MOST: Final = 10  # of one object; ten are enough to see what is wrong
NAME: Final = re.compile(r"[A-Za-z0-9_.$-]{1,64}", re.ASCII)  # what is repeated; all else could be anything
LISTED_AT_MOST: Final = 12  # of the known ones, where none is near


def unknown_names(unknown: Sequence[str], known: Collection[str], *, kind: str) -> dict[str, ErrorDetail]:
    """What is said of the first of these, by their names.  kind: ``field``, ``filter`` or ``parameter``.

    A name is repeated where it could be one, and else counted: an answer quotes no user content.
    """
    found: dict[str, ErrorDetail] = {}
    for name in unknown[:NAMED_AT_MOST]:
        shown = name if NAME.fullmatch(name) else f"({len(name)} characters)"
        found[shown] = ErrorDetail(f"unknown {kind}; {_hint(name[:64], known)}", f"unknown_{kind}")
    return found


def _hint(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    if not known:
        return "there are none here"
    listed = list(known)
    more = f" and {len(listed) - LISTED_AT_MOST} more" if len(listed) > LISTED_AT_MOST else ""
    return f"there are: {', '.join(listed[:LISTED_AT_MOST])}{more}"
