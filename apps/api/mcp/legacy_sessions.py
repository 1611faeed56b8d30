"""Sessions of clients of before 2026-07-28, which say what they can when they begin and not again.

Nothing is kept of a session: its id says, signed, what the client said.  It lets nobody in: every request has its key.
"""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.core import signing

from apps.api.mcp.protocol import Call
from apps.core.errors import NotFound
from apps.projects.scope import Scope

HEADER: Final = "Mcp-Session-Id"
SALT: Final = "mcp.session"
SECONDS: Final = 30 * 24 * 3600
MOST_OF_A_NAME: Final = 64  # characters
ASKED_FOR: Final = ("elicitation", "sampling", "roots")  # capabilities that a server uses


class SessionUnknown(NotFound):
    """This MCP session is not of this server, or has ended: begin again with `initialize`."""

    code = "MCP_SESSION_NOT_FOUND"


def begin(call: Call, scope: Scope) -> str:
    """The id of a session that begins with this call of ``initialize``."""
    said, client = call.params.get("capabilities"), call.params.get("clientInfo")
    said = said if isinstance(said, Mapping) else {}
    can = {name: sorted(said[name])[:8] for name in ASKED_FOR if isinstance(said.get(name), Mapping)}
    name = client.get("name") if isinstance(client, Mapping) else None
    name = name[:MOST_OF_A_NAME] if isinstance(name, str) else ""
    return signing.dumps([scope.tenant_id, secrets.token_hex(8), can, name], salt=SALT, compress=True)


def resumed(call: Call, session_id: str, scope: Scope) -> Call:
    """The call, with what its client said when it began.  Raises SessionUnknown."""
    can, name = check(session_id, scope)
    return replace(call, capabilities=can, introduced_as=name, session_id=session_id)


def check(session_id: str, scope: Scope) -> tuple[Mapping[str, Any], str]:
    """Capabilities and name of the client whose session this is.  Raises SessionUnknown."""
    try:
        tenant_id, _, can, name = signing.loads(session_id, salt=SALT, max_age=SECONDS)
    except (signing.BadSignature, ValueError):
        raise SessionUnknown from None
    if tenant_id != scope.tenant_id:
        raise SessionUnknown
    return {one: {part: {} for part in parts} for one, parts in can.items()}, name
