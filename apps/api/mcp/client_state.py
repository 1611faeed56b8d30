"""What has to be known of a client from one of its requests to another, which may reach another process.

It is in the end user's sealed state (``apps.history``), and goes with it.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from apps.api.views import ApiView
from apps.history import state_queries
from apps.history.state_writes import NewState
from apps.ingest.conversation_sync import delete_state, put_state

NAMESPACE: Final = ("mcp",)
SOURCE: Final = "mcp"


def put(view: ApiView, name: str, value: Mapping[str, Any]) -> None:
    """Raises EndUserMissing."""
    new = NewState(namespace=NAMESPACE, key=_key(name), value=value, source=SOURCE, is_indexed=False)
    put_state(view.scope(), view.end_user(None), new, extract=False, replace_facts=False, now=view.now())


def find(view: ApiView, name: str) -> Mapping[str, Any] | None:
    found = state_queries.find(view.reader(), NAMESPACE, _key(name), source=SOURCE, now=view.now())
    return None if found is None else found.value


def drop(view: ApiView, name: str) -> None:
    delete_state(view.reader(), NAMESPACE, [_key(name)], source=SOURCE, with_facts=False, now=view.now())


def _key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
