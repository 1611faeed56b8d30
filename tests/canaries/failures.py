"""Every way in once more, while something that it needs is broken."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import psycopg

from tests.canaries.doors import Visitor, links, sign_in, until
from tests.canaries.people import try_the_console


def fail(visitor: Visitor) -> None:
    """With the embedder, a table or the key provider broken: requests, admin pages and background work."""
    for how in ("adapter", "runtime"):
        with _leaking(visitor, how):
            _try_everything(visitor, f"embedder fails ({how})")
            time.sleep(2.5)  # beat has rung, and a worker has hit the failure
    for table in ("memories_memory", "memories_posting", "outbox_outboxevent", "tenants_tenant"):
        with _without(visitor, table):
            _try_everything(visitor, f"{table} is gone")
            with suppress(AssertionError, httpx.HTTPError), sign_in(visitor) as browser:
                for path in links(browser):
                    visitor.note(browser.get(f"{path}?q={visitor.family.take('admin page fails')}"))


def fail_without_keys(visitor: Visitor) -> None:
    """Web server and worker start with nothing in memory while the key's file is not to be used."""
    kek = visitor.home / "kek.json"
    kek.chmod(0o644)
    try:
        state = json.loads((visitor.home / "instance.json").read_text())
        for name in ("web", "worker"):
            with suppress(ProcessLookupError):
                os.killpg(state["processes"][name]["pid"], signal.SIGKILL)
        until(lambda: httpx.get(f"{visitor.url}/health", trust_env=False).status_code == 200)
        _try_everything(visitor, "no keys")
        time.sleep(2.5)
    finally:
        kek.chmod(0o600)
    until(lambda: visitor.call("POST", "/memory/query", json={"query": "anything"}).status_code == 200)


@contextmanager
def _leaking(visitor: Visitor, how: str) -> Iterator[None]:
    flag = visitor.home / "leak"
    flag.write_text(how)
    try:
        yield
    finally:
        flag.unlink()


@contextmanager
def _without(visitor: Visitor, table: str) -> Iterator[None]:
    with psycopg.connect(visitor.owner_url, autocommit=True) as owner:
        owner.execute(f"alter table {table} rename to {table}_away".encode())
        try:
            yield
        finally:
            owner.execute(f"alter table {table}_away rename to {table}".encode())


def _try_everything(visitor: Visitor, door: str) -> None:
    take = visitor.family.take
    said = {"text": f"My dog {take(door)} is old.", "importance": 0.6, "tags": [take(door)], "session_id": take(door)}
    for end_user in (take(door), "alice"):
        visitor.call("POST", "/memory/add", json=said | {"metadata": {"note": take(door)}}, end_user=end_user)
        visitor.call("POST", "/memory/query", json={"query": f"who is {take(door)}?"}, end_user=end_user)
        items = [{"text": f"The parcel {take(door)} is late.", "importance": 0.6} for _ in range(3)]
        visitor.call("POST", "/memory/bulk-add", json={"items": items}, end_user=end_user)
    visitor.call("GET", "/memory/1", end_user=take(door))
    try_the_console(visitor, door)
