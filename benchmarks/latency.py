"""Latency of adds and queries over HTTP, compared with the bare work in the same run: rely on the ratios."""

import http.client
import itertools
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, Literal
from urllib.parse import urlsplit

from django.db import connection

from apps.adapters.instances import get_embedder
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space
from apps.memories import postings
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory
from apps.memories.models.memory import TEXT
from apps.memories.nearest import nearest, signs
from apps.memories.spaces import find_end_user
from apps.projects.models import Space
from apps.projects.scope import Environment, Scope
from apps.projects.system import find_tenant_scope
from apps.recall.options import candidates_per_retriever
from apps.recall.retrievers.dense import SURE
from apps.recall.services import recall
from apps.tenants.models import Profile
from benchmarks.instance import Instance
from benchmarks.population import COPIED
from text.terms import indexed, terms

END_USER = "latency"
K = 10  # results requested
SHORTLIST = 64  # approximate number of texts decrypted per query
_WHO = ("Marta", "Jonas", "the neighbour", "my sister", "our landlord", "the baker", "a colleague", "the cyclist")
_DID = ("repaired", "painted", "borrowed", "sold", "photographed", "designed", "measured", "delivered", "inherited")
_WHAT = ("a wooden boat", "the kitchen table", "an old camera", "seven red chairs", "the garden fence", "an old map",
         "the station clock", "two violins", "a copper kettle", "the blue door")  # fmt: skip
_WHEN = (
    "on a rainy Tuesday",
    "before the harvest",
    "last winter",
    "during the strike",
    "after the concert",
    "in March",
)


Kind = Literal["sentences", "dialogue", "chats"]
SESSION = 20  # turns in each session of a dialogue
MESSAGE = 2_000  # characters of each message of a chat


def run(
    running: Instance, *, rows: int, runs: int, is_sealed: bool = False, kind: Kind = "sentences"
) -> dict[str, Any]:
    """Milliseconds (p50, p95) of each measurement, and ratios of the total to the sum of its bare parts.

    is_sealed: the space is sealed, so it has no retrievers to measure by themselves.  kind: what the space holds:
    sentences without sessions, a dialogue of two speakers, or long messages of a user and an assistant.
    """
    caller = Caller(running)
    said = sentences()
    made = items_of(kind, said)
    for start in range(0, rows, 50):
        items = [next(made) for _ in range(min(50, rows - start))]
        caller.post("/memory/bulk-add", {"items": items, "deduplicate": False})
    if is_sealed:
        scope = scope_of(running)
        set_profile(scope, scope.space.id, Profile.SEALED, now=datetime.now(UTC))
    questions = [ask_about(random) for _ in range(runs)]
    add = measure(
        lambda turn: caller.post("/memory/add", {"text": f"{next(said)} Note {turn}.", "importance": 0.6}), runs
    )
    query = measure(lambda turn: caller.post("/memory/query", {"query": questions[turn], "k": K}), runs)
    if is_sealed:
        return {"rows": rows, "milliseconds": {"add over HTTP": add, "query over HTTP": query}, "ratios": {}}
    scope = scope_of(running)
    inside = measure(lambda turn: recall(scope, Plaintext(questions[turn]), limit=K, now=datetime.now(UTC)), runs)
    parts = bare_query(scope, questions, runs) | {"bare write alone": bare_write(scope, questions, runs)}
    figures = {"add over HTTP": add, "query over HTTP": query, "query in process": inside, **parts}
    return {
        "rows": rows,
        "kind": kind,
        "milliseconds": figures,
        "ratios": {
            "query / (embed + legs + open)": query[0] / limit_of_query(parts),
            "query in process / (embed + legs + open)": inside[0] / limit_of_query(parts),
            "add / (embed + bare write)": add[0] / (parts["embed alone"][0] + parts["bare write alone"][0]),
        },
    }


def items_of(kind: Kind, said: Iterator[str]) -> Iterator[dict[str, Any]]:
    """An endless sequence of items for bulk adds."""
    for number in itertools.count():
        item: dict[str, Any] = {"text": next(said), "importance": 0.6}
        if kind == "dialogue":
            item["metadata"] = {"session_id": f"s{number // SESSION}", "speaker": ("Marta", "Jonas")[number % 2]}
        elif kind == "chats":
            while len(item["text"]) < MESSAGE:
                item["text"] += f" {next(said)}"
            item["metadata"] = {"session_id": f"s{number // SESSION}", "role": ("user", "assistant")[number % 2]}
        yield item


def limit_of_query(parts: Mapping[str, tuple[float, float]]) -> float:
    """Lower bound of a query in milliseconds: the sum of the p50 measured by ``bare_query``."""
    return sum(parts[name][0] for name in ("embed alone", "bare legs alone", "open alone"))


def bare_query(scope: Scope, questions: Sequence[str], runs: int) -> dict[str, tuple[float, float]]:
    """Milliseconds (p50, p95) of each part of a query in this space, measured in this process."""
    embedder, now = get_embedder(), datetime.now(UTC)
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        space = Space.objects.within(scope).get(pk=scope.space.id)
        sealed = list(Memory.objects.within(scope).values_list("pk", "text_ct")[:SHORTLIST])
    vectors = [embedder.embed([question])[0] for question in questions]
    asked = [postings.AskedTerms.under([cipher], list(dict.fromkeys(terms(question)))) for question in questions]

    def legs(turn: int) -> None:
        with tenant_transaction(scope):
            nearest(
                scope, scope.space, vectors[turn], cipher, limit=candidates_per_retriever(K), now=now,
                embedder=embedder.id, among=space.doc_count, sure=SURE,
            )  # fmt: skip
            postings.best(
                scope, scope.space, asked[turn], documents=space.doc_count,
                frequencies=postings.frequencies(scope, scope.space, asked[turn]),
                average_length=space.term_total / space.doc_count, where="", values=(),
                limit=candidates_per_retriever(K), now=now,
            )  # fmt: skip

    return {
        "embed alone": measure(lambda turn: embedder.embed([questions[turn]]), runs),
        "bare legs alone": measure(legs, runs),
        "open alone": measure(lambda turn: [cipher.open(TEXT, pk, bytes(blob)) for pk, blob in sealed], runs),
    }


def bare_write(scope: Scope, questions: Sequence[str], runs: int) -> tuple[float, float]:
    """Milliseconds (p50, p95) of the minimal writes of an add.  The rows cannot be decrypted; they are deleted."""
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        template = Memory.objects.within(scope).order_by("pk")[0].pk
    vector, written = get_embedder().embed([questions[0]])[0], []

    def write(turn: int) -> None:
        counts = dict.fromkeys(cipher.term_tokens(indexed(terms(questions[turn]))), 1)
        with tenant_transaction(scope), connection.cursor() as cursor:
            cursor.execute("select id from projects_space where tenant_id = %s and id = %s for update",
                           [scope.tenant_id, scope.space.id])  # fmt: skip
            cursor.execute(_COPY_ROW, [scope.tenant_id, template])
            (memory_id,) = cursor.fetchone()
            cursor.execute(_COPY_VECTOR, [memory_id, signs(vector, cipher), scope.tenant_id, template])
            postings.write(
                scope, [postings.Posting(memory_id=memory_id, space_id=scope.space.id, counts=counts, length=8)]
            )
        written.append(memory_id)

    measured = measure(write, runs)
    with tenant_transaction(scope):
        postings.remove(scope, written)
        Memory.objects.within(scope).filter(pk__in=written).delete()
    return measured


# A bare row copies an existing one, under a new id and without a slot: it costs the write and nothing else.
COPY_COLUMNS = f"text_ct, handles_ct, text_mac, space_id, {COPIED}"
_COPY_ROW = (
    f"insert into memories_memory (public_id, {COPY_COLUMNS}) "  # noqa: S608
    f"select 'mem_' || md5(random()::text), {COPY_COLUMNS} from memories_memory "
    "where tenant_id = %s and id = %s returning id"
)
_COPY_VECTOR = (
    "insert into memories_memoryvector (memory_id, vector_id, signs, embedding_ct, live, embedder, key_version, "
    "created_at, tenant_id, space_id, project_id) select %s, gen_random_uuid(), %s::bit(384), embedding_ct, false, "
    "embedder, key_version, created_at, tenant_id, space_id, project_id from memories_memoryvector "
    "where tenant_id = %s and memory_id = %s"
)


def scope_of(running: Instance, end_user: str = END_USER) -> Scope:
    """The scope of this end user's space, which adds over HTTP have created."""
    scope = replace(find_tenant_scope(running.tenant), environment=Environment.DEVELOPMENT)
    space = find_end_user(scope, end_user)
    assert space is not None, "the adds over HTTP made it"
    return scope.in_spaces(space)


def ask_about(chosen: ModuleType | random.Random) -> str:
    """A question about something that ``sentences`` may have produced."""
    return f"{chosen.choice(_WHO)} and {chosen.choice(_WHAT)}, when was that?"


def sentences() -> Iterator[str]:
    """An endless sequence of sentences, the same in every run."""
    chosen = random.Random(7)
    for number in itertools.count(1):
        yield " ".join((chosen.choice(_WHO), chosen.choice(_DID), chosen.choice(_WHAT), chosen.choice(_WHEN))) + (
            f" and paid {number} euros for it."
        )


def measure(call: Callable[[int], object], runs: int) -> tuple[float, float]:
    """(p50, p95) in milliseconds, after five warm-up calls."""
    times = []
    for turn in range(-5, runs):
        started = time.perf_counter()
        call(max(turn, 0))
        if turn >= 0:
            times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


class Caller:
    """A client with one keep-alive connection, like an SDK."""

    def __init__(self, running: Instance, *, end_user: str = END_USER) -> None:
        address = urlsplit(running.url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port)
        self._headers = {"X-API-Key": running.key, "X-End-User-ID": end_user, "Content-Type": "application/json"}

    def post(self, path: str, body: object) -> Any:
        return self._ask("POST", path, json.dumps(body))

    def get(self, path: str, *, expect: int = 200) -> Any:
        return self._ask("GET", path, None, expect=expect)

    def close(self) -> None:
        self._connection.close()

    def _ask(self, method: str, path: str, body: str | None, *, expect: int | None = None) -> Any:
        self._connection.request(method, path, body, self._headers)
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status >= 400 and response.status != expect:
            raise RuntimeError(f"{path} answered {response.status}: {answer}")
        return answer
