"""Many open event streams that are broken off and resumed, while events are written by transactions that overlap.

Events are written as the triggers write them, by WRITERS at once, EACH in a transaction, which commits up to
COMMIT_SECONDS after that: so they become visible in another order than that of their IDs.  Some listeners listen to all
events, each of the others to one of END_USERS.  They are a process of their own, on the same cores.
"""

import multiprocessing
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from django.db import connections

from apps.core.scoping import tenant_transaction
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Environment, Scope
from apps.projects.system import find_tenant_scope
from apps.webhooks.models import WebhookEvent
from benchmarks.instance import Instance
from benchmarks.listening import END_USERS, listen
from benchmarks.throughput import memory_of

WRITERS: Final = 4
EACH: Final = 5
COMMIT_SECONDS: Final = 0.05


def run(
    running: Instance,
    *,
    listeners: int,
    of_all: int,
    rate: float,
    seconds: float,
    reconnects: int,
    say: Callable[[str], object],
) -> dict[str, Any]:
    """What was lost and doubled, MiB of the web server, and milliseconds from write to arrival.

    of_all: how many listen to all events.  is_good: nothing was lost or doubled.
    """
    scope = replace(find_tenant_scope(running.tenant), environment=Environment.DEVELOPMENT)
    spaces = [get_or_create_end_user(scope, f"user {one}", now=datetime.now(UTC)).id for one in range(END_USERS)]
    plan = {
        "url": running.url,
        "key": running.key,
        "listeners": listeners,
        "of_all": of_all,
        "seconds": seconds,
        "reconnects": reconnects,
    }
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    listening = context.Process(target=listen, args=(there, plan), daemon=True)
    listening.start()
    say(f"{here.recv()} listeners are connected")
    before = memory_of(running, os.environ["MEMSYNC_HOME"])["web server"]
    here.send("go")
    written = _write(scope, spaces, rate=rate, seconds=seconds)
    here.send(written)
    figures = here.recv()
    after = memory_of(running, os.environ["MEMSYNC_HOME"])["web server"]
    here.send("end")
    listening.join(30)
    return {
        "listeners": listeners,
        "of them of all events": of_all,
        "events": written,
        "events a second": round(written / seconds, 1),
        **figures,
        "web server MiB at the start": before,
        "web server MiB at the end": after,
        "is_good": not figures["lost"] and not figures["doubled"],
    }


def _write(scope: Scope, spaces: list[int], *, rate: float, seconds: float) -> int:
    """Write events at this rate; returns how many."""
    began, total = time.monotonic(), int(rate * seconds)

    def write(writer: int) -> None:
        drawn = random.Random(writer)
        for first in range(writer * EACH, total, WRITERS * EACH):
            time.sleep(max(0.0, began + first / rate - time.monotonic()))
            events = [
                WebhookEvent(
                    space_id=spaces[number % END_USERS],
                    type="memory.updated",
                    environment=scope.environment,
                    memory_ids=[],
                    data={"number": number, "at": time.time()},
                    created_at=datetime.now(UTC),
                )
                for number in range(first, min(first + EACH, total))
            ]
            with tenant_transaction(scope):
                WebhookEvent.objects.bulk_create(scope, events)
                time.sleep(drawn.random() * COMMIT_SECONDS)
        connections.close_all()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return total
