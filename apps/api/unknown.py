"""Error messages for unknown and repeated names of body fields and query parameters."""

import difflib
import re
from collections.abc import Collection, Sequence
from typing import Final

from rest_framework.exceptions import ErrorDetail

NAMED_AT_MOST: Final = 10  # names reported per object
NAME: Final = re.compile(r"[A-Za-z0-9_.$-]{1,64}", re.ASCII)  # names that may be echoed; anything else could be content
LISTED_AT_MOST: Final = 12  # known names listed, if none is similar


def unknown_names(unknown: Sequence[str], known: Collection[str], *, kind: str) -> dict[str, ErrorDetail]:
    """Errors for the first unknown names, by name.  kind: ``field``, ``filter`` or ``parameter``.

    A name is echoed only if it looks like one; otherwise its length is given, because responses never quote user
    content.
    """
    found: dict[str, ErrorDetail] = {}
    for name in unknown[:NAMED_AT_MOST]:
        found[_shown(name)] = ErrorDetail(f"unknown {kind}; {_hint(name[:64], known)}", f"unknown_{kind}")
    return found


def repeated_names(names: Sequence[str]) -> dict[str, ErrorDetail]:
    """Errors for query parameters that are given more than once, by name."""
    return {_shown(name): ErrorDetail("is given twice", "doubled") for name in names[:NAMED_AT_MOST]}


def two_names(twice: Collection[tuple[str, str]]) -> dict[str, ErrorDetail]:
    """Errors for fields that are given by two of their names, by the alias.  twice: (alias, name)."""
    return {alias: ErrorDetail(f"is another name for {name}: send one", "doubled") for alias, name in twice}


def _shown(name: str) -> str:
    return name if NAME.fullmatch(name) else f"({len(name)} characters)"


def _hint(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    if not known:
        return "there are none here"
    listed = list(known)
    more = f" and {len(listed) - LISTED_AT_MOST} more" if len(listed) > LISTED_AT_MOST else ""
    return f"there are: {', '.join(listed[:LISTED_AT_MOST])}{more}"
