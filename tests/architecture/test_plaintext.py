"""The canary hunt: what was said is in the API's own answers, sealed in the database, and nowhere else.

Each kind of input carries a word of its own, so that a find says which one got out.
"""

import ast
import copy
import dataclasses
import json
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import kombu.exceptions
import orjson
import psycopg
import pytest
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DataError, OperationalError

from apps.adapters.embedders.fake import FailingEmbedder
from apps.adapters.errors import AdapterError
from apps.apikeys.onboarding import OpenedTenant
from apps.core import broker
from apps.core.plaintext import Plaintext
from apps.ingest import pipeline, pipeline_context
from apps.ingest import services as ingest_services
from apps.ingest.snapshot import SpaceSnapshot
from apps.ingest.steps import index
from apps.memories import outbox_handlers, postings
from apps.outbox import handlers
from apps.outbox.tasks import drain
from apps.projects.scope import Environment
from apps.recall import hits, query_context, ranking_step, read_log, retrieval
from memsync.log_format import ALLOWED, JsonFormatter
from tests.api.conftest import Caller
from tests.architecture import canaries

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("text", "tag", "metadata", "session", "speaker", "reference", "person", "query", "filter", "first", "second",
         "secret", "idle", "path", "header", "wrong", "failed", "worker", "name")  # fmt: skip
WORDS = {kind: canaries.word(seed) for seed, kind in enumerate(KINDS, start=7000)}


@dataclass
class Hunt:
    """A caller whose every word is a canary; what it was told when it was refused."""

    caller: Caller
    refusals: list[bytes] = field(default_factory=list)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        response = self.caller(method, path, body, **headers)
        if response.status_code >= 400:
            self.refusals.append(response.content + repr(response.headers).encode())
        return response


@pytest.fixture
def hunt(acme: OpenedTenant) -> Iterator[Hunt]:
    yield Hunt(Caller(acme.keys[Environment.PRODUCTION], end_user=WORDS["person"]))
    read_log.flush()


def live_a_little(hunt: Hunt) -> None:
    """Adds, repeats, replaces, refusals, questions and mistakes, with a canary wherever a caller can put text."""
    said = {
        "text": f"My dog {WORDS['text']} sleeps on the blue sofa.",
        "importance": 0.6,
        "tags": [WORDS["tag"]],
        "metadata": {"note": WORDS["metadata"], "speaker": WORDS["speaker"].capitalize()},
        "session_id": WORDS["session"],
        "client_ref": WORDS["reference"],
    }
    first = hunt("POST", "/memory/add", said)
    assert first.status_code == 201
    assert hunt("POST", "/memory/add", said | {"client_ref": None}).status_code == 200  # the same again
    for place in ("first", "second", "first"):  # created, superseding, revived
        answer = hunt("POST", "/memory/add", {"text": f"I live in {WORDS[place].capitalize()}."})
        assert answer.status_code == 201
    refused = [f"My password is {WORDS['secret']}-91", f"ok {WORDS['idle']} lol"]
    items = [{"text": text} for text in refused] + [{**said, "client_ref": f"{WORDS['reference']}-2"}]
    assert hunt("POST", "/memory/bulk-add", {"items": items}).status_code < 300
    question = {
        "query": f"where does {WORDS['speaker'].capitalize()} keep {WORDS['query']}, and who is {WORDS['text']}?",
        "session_id": WORDS["session"],
    }
    found = hunt("POST", "/memory/query", question)
    assert WORDS["text"] in found.content.decode()
    filters = {"tags": [WORDS["tag"], WORDS["filter"]]}
    assert hunt("POST", "/memory/retrieve", question | {"filters": filters}).status_code == 200
    hunt("POST", "/memory/query", question | {"metadata_filter": {"note": WORDS["metadata"]}})
    assert hunt("GET", f"/memory/{first.json()['id']}").status_code == 200
    hunt("GET", f"/v1/memory/status/{first.json()['id']}")
    hunt("POST", "/memory/refresh")
    make_mistakes(hunt)


def make_mistakes(hunt: Hunt) -> None:
    wrong, name = WORDS["wrong"], WORDS["name"]
    for path in ("/memory/add", "/memory/bulk-add", "/memory/query", "/memory/forget"):
        hunt("POST", path, {name: wrong, "text": [wrong], "items": wrong, "query": {wrong: wrong}, "tags": wrong})
        hunt("POST", path, {"text": [wrong], "items": wrong, "query": {wrong: wrong}, "tags": wrong})
        hunt("POST", path, {f"{wrong} {wrong}": wrong})
        hunt("POST", f"{path}?{name}={wrong}", {"text": wrong})
        hunt("POST", path, f'{{"text": "{wrong}'.encode())
        hunt("POST", path, f"text={wrong}".encode(), Content_Type="application/x-www-form-urlencoded")
    for known in ("importance", "profile", "k", "computation_tier", "weights", "filters", "tier", "ttl_minutes"):
        hunt("POST", "/memory/add", {"text": wrong, known: wrong})
        hunt("POST", "/memory/query", {"query": wrong, known: wrong})
        hunt("POST", "/memory/query", {"query": wrong, "filters": {known: wrong, name: wrong}})
    hunt("GET", f"/memory/{WORDS['path']}?q={WORDS['path']}")
    hunt("GET", f"/memory/1?api_key={WORDS['path']}")
    hunt("GET", "/memory/1", X_Project_ID=f"proj_{WORDS['header']}", X_Tenant_ID=WORDS["header"])
    hunt("GET", "/memory/1", X_API_Key=f"ms_live_{WORDS['header']}")
    hunt("POST", "/memory/query", {"query": wrong}, X_Request_ID=f"<{WORDS['header']}>")


def everywhere(hunt: Hunt, superuser_url: str, lines: str, *, also: tuple[str, ...] = ()) -> list[str]:
    """Where any canary is, beside the answers it belongs in."""
    words = WORDS.values()
    # The name of an unknown field is returned to the caller that sent it, and to no other.
    untold = [word for kind, word in WORDS.items() if kind != "name"]
    return [
        *canaries.in_databases(superuser_url, words, also=also),
        *(f"log: {found}" for found in canaries.in_bytes(lines, words)),
        *(f"refusal: {found}" for found in canaries.in_bytes(b"\n".join(hunt.refusals), untold)),
        *(f"cache: {found}" for found in canaries.in_cache(words)),
    ]


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_what_was_said_is_nowhere_to_be_found(
    hunt: Hunt, superuser_url: str, pgmq_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung = []
    monkeypatch.setattr(broker, "_quiet_until", 0.0)
    with canaries.logged() as lines, canaries.broker(pgmq_url):
        monkeypatch.setattr(drain, "apply_async", _counted(drain.apply_async, rung))
        live_a_little(hunt)
        with monkeypatch.context() as down:
            down.setattr(pipeline_context, "get_embedder", FailingEmbedder)
            hunt("POST", "/memory/add", {"text": f"The red bicycle of {WORDS['worker']} is broken.", "importance": 0.6})
        read_log.flush()
        with psycopg.connect(f"{superuser_url.rsplit('/', 1)[0]}/memsync") as superuser:
            (sent,) = superuser.execute("select total_messages from pgmq.metrics('celery')").fetchone() or (0,)
        found_before_work = everywhere(hunt, superuser_url, lines.getvalue(), also=("memsync",))
        drain.apply().get()

    assert sent >= len(rung) > 0, "no message reached the broker, so none was searched"
    assert "broker not reached" not in lines.getvalue()
    assert len(hunt.refusals) > 20
    assert lines.getvalue().count("\n") > 40
    assert found_before_work == []
    assert everywhere(hunt, superuser_url, lines.getvalue(), also=("memsync",)) == []


def _counted(publish: Callable[..., Any], calls: list[object]) -> Callable[..., Any]:
    def counting(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return publish(*args, **options)

    return counting


# -- failures ----------------------------------------------------------------------------------------------------------

STEPS: dict[str, tuple[Any, str]] = {
    "extract": (pipeline, "extract"),
    "lookup keys": (pipeline, "add_lookup_keys"),
    "embed": (pipeline, "embed"),
    "lock": (SpaceSnapshot, "locked"),
    "dedupe": (pipeline, "dedupe"),
    "supersede": (pipeline, "supersede"),
    "index": (pipeline, "index"),
    "encrypt": (index, "encrypt"),
    "write postings": (postings, "write"),
    "write vectors": (index, "vector_row"),
    "record": (index, "record"),
}
QUESTIONS: dict[str, tuple[Any, str]] = {
    "ask": (query_context, "ask"),
    "search": (retrieval, "build_search"),
    "open": (retrieval, "open_shortlist"),
    "rank": (ranking_step, "rank"),
    "collapse": (ranking_step, "first_of_each"),
    "open memory": (hits, "open_memory"),
}


def failing(said: str, kind: type[Exception]) -> Callable[..., Any]:
    """A step that fails with what was said in its message, its locals, its cause and its notes."""

    def fail(*args: object, **options: object) -> None:
        heard = Plaintext(said).reveal()
        message = f"cannot go on with {heard}"
        error: Exception = AdapterError(message, permanent=False) if kind is AdapterError else kind(message)
        error.add_note(message)
        raise error from psycopg.errors.UniqueViolation(f"DETAIL: Key (text)=({heard}) already exists.")

    return fail


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_failures_in_any_step_let_nothing_out(hunt: Hunt, superuser_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said, statuses = WORDS["failed"], []
    with canaries.logged() as lines:
        for owner, name in STEPS.values():
            for kind in (RuntimeError, DataError, OperationalError, UnicodeError, AdapterError):
                with monkeypatch.context() as broken:
                    broken.setattr(owner, name, failing(said, kind))
                    answer = hunt("POST", "/memory/add", {"text": f"My dog {said} is old.", "importance": 0.6})
                    statuses.append(answer.status_code)
        assert hunt("POST", "/memory/add", {"text": f"My dog {said} is old.", "importance": 0.6}).status_code == 201
        for owner, name in QUESTIONS.values():
            with monkeypatch.context() as broken:
                broken.setattr(owner, name, failing(said, RuntimeError))
                statuses.append(hunt("POST", "/memory/query", {"query": f"who is {said}?"}).status_code)

    assert set(statuses) <= {500, 503}
    assert len(hunt.refusals) == len(STEPS) * 5 + len(QUESTIONS)
    assert lines.getvalue().count('"exception"') >= len(statuses)
    assert everywhere(hunt, superuser_url, lines.getvalue()) == []


@pytest.mark.django_db(transaction=True, databases="__all__")
@pytest.mark.parametrize("kind", [RuntimeError, AdapterError])
def test_failures_of_background_work_let_nothing_out(
    hunt: Hunt, superuser_url: str, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    said = WORDS["worker"]
    monkeypatch.setattr(ingest_services, "drain", _Deaf)
    with canaries.logged() as lines:
        with monkeypatch.context() as down:
            down.setattr(pipeline_context, "get_embedder", FailingEmbedder)
            hunt("POST", "/memory/add", {"text": f"My dog {said} is old.", "importance": 0.6})
        with monkeypatch.context() as broken:
            broken.setattr(FailingEmbedder, "embed", failing(said, kind))
            broken.setattr(outbox_handlers, "get_embedder", FailingEmbedder)
            assert drain.apply().successful()
            broken.setattr(handlers.relay(), "drain", failing(said, kind))
            assert drain.apply().failed()

    assert everywhere(hunt, superuser_url, lines.getvalue()) == []
    assert "work put back" in lines.getvalue()
    assert "task failed" in lines.getvalue()


class _Deaf:
    @staticmethod
    def apply_async(**_: object) -> None:
        raise OSError(WORDS["worker"])


# -- Plaintext itself --------------------------------------------------------------------------------------------------

SAID = canaries.word(4711)


@dataclasses.dataclass(frozen=True)
class Envelope:
    inside: Plaintext


@pytest.mark.parametrize(
    "serialise",
    [
        pickle.dumps,
        lambda said: pickle.dumps([{"deep": said}]),
        lambda said: pickle.dumps(Envelope(said)),
        copy.copy,
        json.dumps,
        lambda said: json.dumps({"deep": [said]}, cls=DjangoJSONEncoder),
        orjson.dumps,
        lambda said: orjson.dumps(Envelope(said)),
        lambda said: kombu.utils.json.dumps({"text": said}),
        vars,
        iter,
        bytes,
        lambda said: "".join([said]),
        lambda said: said + "",
    ],
)
def test_plaintext_refuses_to_be_serialised(serialise: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError):
        serialise(Plaintext(SAID))


@pytest.mark.parametrize(
    "show",
    [
        str,
        repr,
        ascii,
        format,
        "{:>40}".format,
        "{!r}".format,
        lambda said: f"{said} {said!s} {said!r} {said!a}",
        lambda said: "%s %r" % (said, said),  # noqa: UP031
        lambda said: repr([said, {said: said}, Envelope(said)]),
        lambda said: str(dataclasses.asdict(Envelope(said))),
        lambda said: repr(copy.deepcopy([said])),
        lambda said: str(replace(Envelope(said))),
        lambda said: json.dumps({"text": said}, default=str),
        lambda said: repr(ValueError(said)),
    ],
)
def test_plaintext_shows_nothing(show: Callable[[Any], str]) -> None:
    assert SAID not in show(Plaintext(SAID))


def test_plaintext_is_not_in_a_traceback_with_locals() -> None:
    def forget(heard: Plaintext) -> None:
        raise RuntimeError(heard)

    try:
        forget(Plaintext(SAID))
    except RuntimeError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())

    assert "<Plaintext>" in shown
    assert SAID not in shown


def test_plaintext_cannot_be_sent_to_a_worker() -> None:
    with pytest.raises((kombu.exceptions.EncodeError, TypeError)):
        drain.apply_async(kwargs={"text": Plaintext(SAID)})


# -- logs --------------------------------------------------------------------------------------------------------------


def line_of(record: logging.LogRecord) -> str:
    return JsonFormatter().format(record)


def record_of(message: str, *args: object, error: BaseException | None = None, **extra: object) -> logging.LogRecord:
    logger = logging.getLogger("test")
    exc_info = (type(error), error, error.__traceback__) if error else None
    return logger.makeRecord("test", logging.ERROR, __file__, 1, message, args, exc_info, extra=extra)


def test_a_log_line_never_quotes_an_exception() -> None:
    try:
        failing(SAID, RuntimeError)()
    except RuntimeError as error:
        line = line_of(record_of("request failed", error=error))

    assert SAID not in line
    assert json.loads(line)["exception"] == "RuntimeError"
    assert json.loads(line)["at"][-1].startswith("fail:")


def test_a_log_line_keeps_listed_fields_only() -> None:
    line = line_of(record_of("ingest finished", count=3, text=SAID, body={"text": SAID}, args_repr=SAID))

    assert SAID not in line
    assert json.loads(line)["count"] == 3


def test_a_log_line_shows_no_plaintext_in_arguments_or_fields() -> None:
    line = line_of(record_of("heard %s", Plaintext(SAID), error=None, count=Plaintext(SAID), path=[Plaintext(SAID)]))

    assert SAID not in line


def log_calls(source: str) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"debug", "info", "warning", "error", "exception", "critical", "log"}
        and "log" in ast.unparse(node.func.value).lower()
    ]


def loose_log_calls(source: str) -> list[str]:
    """Calls that log more than a constant sentence and listed fields, or a field that would be dropped."""
    found = []
    for call in log_calls(source):
        shown = ast.unparse(call)
        if len(call.args) != 1 or not (isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)):
            found.append(f"{shown}: the sentence is constant, and everything else goes into extra")
        for keyword in call.keywords:
            if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict):
                names = [key.value for key in keyword.value.keys if isinstance(key, ast.Constant)]
                found += [f"{shown}: {name} is not a field of the log" for name in names if name not in ALLOWED]
            elif keyword.arg not in {"extra", "exc_info"}:
                found.append(f"{shown}: {keyword.arg}")
    return found


def test_every_log_call_is_a_constant_sentence_and_listed_fields() -> None:
    files = [path for top in ("apps", "memsync", "text") for path in sorted((ROOT / top).rglob("*.py"))]
    found = {str(path.relative_to(ROOT)): loose_log_calls(path.read_text()) for path in files}

    assert sum(len(log_calls(path.read_text())) for path in files) > 10
    assert {path: calls for path, calls in found.items() if calls} == {}
