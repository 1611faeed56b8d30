"""Headers of the protocol that repeat a request's body, for the server and for ``memsync mcp``.  Without Django."""

import base64
import binascii
from collections.abc import Mapping
from typing import Final

VERSION: Final = "io.modelcontextprotocol/protocolVersion"
# The parameter that the header Mcp-Name repeats.
NAMED_BY: Final[Mapping[str, str]] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ENCODED, _END = "=?base64?", "?="


def encode(value: str) -> str:
    """The value, in base64 if it is not printable ASCII."""
    if value.isascii() and value.isprintable():
        return value
    return f"{_ENCODED}{base64.b64encode(value.encode()).decode()}{_END}"


def decode(value: str) -> str | None:
    """The text of a header; None if its base64 is malformed."""
    if not value.startswith(_ENCODED):
        return value
    if not value.endswith(_END):
        return None
    try:
        return base64.b64decode(value.removeprefix(_ENCODED).removesuffix(_END), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
