"""Load during a rotation: adds, queries and reads over HTTP, recall in this process, and expiry."""

import http.client
import itertools
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import DatabaseError, connections

from apps.core.errors import Unavailable
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.services import expire
from apps.projects.scope import Scope
from apps.recall.services import recall
from benchmarks.instance import Instance

LIMIT = 10
_WHO = ("Marta", "Jonas", "the neighbour", "my sister", "our landlord", "the baker", "a colleague", "the cyclist")
_DID = ("repaired", "painted", "borrowed", "sold", "photographed", "designed", "measured", "delivered", "inherited")
_WHAT = ("a wooden boat", "the kitchen table", "an old camera", "seven red chairs", "the garden fence", "an old map",
         "the station clock", "two violins", "a copper kettle", "the blue door")  # fmt: skip
PLACES = ("in Lisbon", "at the harbour", "near the mill", "on the island", "behind the church", "in the old town")


def sentence(number: int) -> str:
    """A different sentence for each number, the same in every run."""
    chosen = random.Random(number)
    words = (chosen.choice(_WHO), chosen.choice(_DID), chosen.choice(_WHAT), chosen.choice(PLACES))
    return f"{' '.join(words)} and noted receipt r{number:07d} for {chosen.randrange(5, 900)} euros."


def question(number: int) -> str:
    chosen = random.Random(number * 7919)
    return f"What did {chosen.choice(_WHO)} do with {chosen.choice(_WHAT)} {chosen.choice(PLACES)}?"


Answer = tuple[tuple[int, float], ...]


def ask(scope: Scope, text: str, *, now: datetime) -> Answer:
    """(memory id, score) of the best ten hits."""
    hits = recall(scope, Plaintext(text), limit=LIMIT, now=now).hits
    return tuple((hit.memory.id, round(hit.score, 6)) for hit in hits)


@dataclass(slots=True)
class Load:
    """Threads that read and write until stopped, and their results.

    fixed: questions, each with its scope and its only right answer.  written, gone: acknowledged texts by id; those in
    gone were soft-deleted.
    is_down: set while the database restarts; failures during that time are counted separately.
    """

    running: Instance
    writing: Scope
    fixed: Sequence[tuple[Scope, str, Answer]]
    asked_at: datetime
    is_down: threading.Event = field(default_factory=threading.Event)
    is_over: threading.Event = field(default_factory=threading.Event)
    counts: Counter[str] = field(default_factory=Counter)
    written: dict[int, str] = field(default_factory=dict)
    gone: dict[int, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: itertools.count(5_000_000))
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        for work in (self._add_and_find, self._read, self._recall, self._expire):
            thread = threading.Thread(target=self._keep_on, args=(work,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self.is_over.set()
        for thread in self._threads:
            thread.join(60)

    def _keep_on(self, work: Callable[["_Caller"], None]) -> None:
        caller, name = _Caller(self.running), work.__name__.strip("_")
        try:
            while not self.is_over.is_set():
                was_down = self.is_down.is_set()
                try:
                    work(caller)
                    self.counts[name] += 1
                except (OSError, http.client.HTTPException, DatabaseError, Unavailable, Refused) as error:
                    caller = _Caller(self.running)
                    connections.close_all()
                    if was_down or self.is_down.is_set():
                        self.counts["interrupted by a restart"] += 1
                    else:
                        self.wrong.append(f"{name} failed: {type(error).__name__} {getattr(error, 'status', '')}")
                    time.sleep(0.2)
                except Exception as error:  # noqa: BLE001  (whatever it is, it is a read or a write that failed)
                    self.wrong.append(f"{name} failed: {type(error).__name__}")
                time.sleep(0.02)
        finally:
            connections.close_all()

    def _add_and_find(self, caller: "_Caller") -> None:
        """An acknowledged memory is stored, and found immediately by its own words."""
        number = next(self._numbers)
        added = caller.post("/memory/add", {"text": sentence(number), "importance": 0.6})
        self.written[added["id"]] = sentence(number)
        found = caller.post("/memory/query", {"query": f"receipt r{number:07d}", "k": 5})
        if added["id"] not in [one["id"] for one in found["memories"]]:
            self.wrong.append(f"memory {added['id']} was not found right after it was added")

    def _read(self, caller: "_Caller") -> None:
        if not (ids := list(self.written)):
            return
        memory_id = random.choice(ids)
        if caller.get(f"/memory/{memory_id}")["text"] != self.written[memory_id]:
            self.wrong.append(f"memory {memory_id} did not say what was written")

    def _recall(self, caller: "_Caller") -> None:
        """At any point of the rotation, the answer equals the one from before."""
        scope, text, expected = random.choice(self.fixed)
        if ask(scope, text, now=self.asked_at) != expected:
            self.wrong.append("a question was answered otherwise than before")

    def _expire(self, caller: "_Caller") -> None:
        """Expired rows are soft-deleted, and re-sealed like all others."""
        now, number = datetime.now(UTC), next(self._numbers)
        proposal = Proposal(text=Plaintext(sentence(number)), importance=0.6, ttl_minutes=1)
        (outcome,) = remember(self.writing, [proposal], now=now)
        expire(self.writing, now=now + timedelta(minutes=2), ids=outcome.memory_ids)
        self.gone.update(dict.fromkeys(outcome.memory_ids, sentence(number)))


class Refused(Exception):
    """A response with an error status."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class _Caller:
    """A client with one keep-alive connection, like an SDK."""

    def __init__(self, running: Instance) -> None:
        address = urlsplit(running.url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        self._headers = {"X-API-Key": running.key, "X-End-User-ID": "load", "Content-Type": "application/json"}

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        return self._call("POST", path, json.dumps(body))

    def get(self, path: str) -> Any:
        return self._call("GET", path, None)

    def _call(self, method: str, path: str, body: str | None) -> Any:
        self._connection.request(method, path, body, self._headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 400:
            raise Refused(response.status)
        return json.loads(content)
