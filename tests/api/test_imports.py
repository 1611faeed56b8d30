"""/imports: files of records come in once each, whatever happens on the way."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.projects.scope import Environment
from apps.projects.system import open_jobs
from apps.retention.retention_sweep import sweep
from apps.tenants.models import EndUser
from apps.transfers.imports import chunks, import_worker, payload
from apps.transfers.imports.import_worker import ImportOutcome
from apps.transfers.imports.payload import BATCH_RECORDS
from apps.transfers.models.imports import ImportChunk, ImportJob
from apps.transfers.models.jobs import OPEN
from tests import once
from tests.api.conftest import Caller
from tests.forms import form
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

THINGS = ["lamp", "chair", "table", "kettle", "carpet", "mirror", "clock", "shelf", "basket", "curtain", "pillow",
          "blanket"]  # fmt: skip


def sentence(number: int) -> str:
    return f"The {THINGS[number % len(THINGS)]} number {number} stands in room {number * 7}."


def records(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"text": sentence(number), "importance": 0.6} | fields for number in range(count)]


def jsonl(rows: Sequence[Any]) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


def start(caller: Caller, content: bytes, name: str = "memories.jsonl", **fields: str) -> Any:
    body, content_type = form(content, name, **fields)
    response = caller("POST", "/imports", body, Content_Type=content_type)
    assert response.status_code == 202, response.content
    return response.json()


def refused(caller: Caller, content: bytes, name: str = "memories.jsonl", **fields: str) -> tuple[int, str]:
    body, content_type = form(content, name, **fields)
    response = caller("POST", "/imports", body, Content_Type=content_type)
    return response.status_code, str(response.json()["error"]["code"])


def finish(opened: OpenedTenant, *, seconds: float = 60.0) -> None:
    """Work at every job of the tenant until each has ended."""
    with tenant_transaction(opened.scope):
        ids = list(ImportJob.objects.within(opened.scope).order_by("pk").values_list("pk", flat=True))
    for job_id in ids:
        import_worker.work(opened.scope.tenant_id, job_id, seconds=seconds, clock=lambda: datetime.now(UTC))


def step(opened: OpenedTenant) -> ImportOutcome:
    """One batch of the newest job."""
    return import_worker.import_chunk(opened.scope, newest(opened), now=datetime.now(UTC))


def newest(opened: OpenedTenant) -> int:
    """The id of the tenant's newest job."""
    with tenant_transaction(opened.scope):
        return ImportJob.objects.within(opened.scope).order_by("-pk").values_list("pk", flat=True)[0]


def seen(caller: Caller, job: Any) -> Any:
    response = caller("GET", f"/imports/{job['id']}")
    assert response.status_code == 200, response.content
    return response.json()


def texts(opened: OpenedTenant) -> int:
    with tenant_transaction(opened.scope):
        return Memory.objects.within_tenant(opened.scope).count()


# -- what comes in ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["memories.jsonl", "memories.json", "memories"])
def test_every_record_is_stored_once_and_the_payload_is_gone(name: str, acme: OpenedTenant, alice: Caller) -> None:
    rows = records(250, source="old system", tags=["Moved"], metadata={"n": 1})
    content = json.dumps(rows).encode() if name.endswith(".json") else jsonl(rows)

    job = start(alice, content, name)
    assert (job["status"], job["total_records"], job["progress_percentage"]) == ("pending", 250, 0.0)
    finish(acme)

    done = seen(alice, job)
    assert (done["status"], done["progress_percentage"]) == ("completed", 100.0)
    assert (done["created"], done["processed_records"], done["errors"]) == (250, 250, [])
    assert done["filename"] == name
    assert texts(acme) == 250
    assert not ImportChunk.objects.within(acme.scope).exists()
    found = alice("POST", "/memory/query", {"query": "lamp number 12", "k": 1}).json()["memories"][0]
    assert (found["source"], found["tags"], found["metadata"]) == ("old system", ["moved"], {"n": 1})


def test_records_may_name_their_own_end_users(acme: OpenedTenant, alice: Caller) -> None:
    rows = [{"text": sentence(number), "importance": 0.6, "end_user_id": f"user{number % 3}"} for number in range(30)]

    job = start(alice.as_user(None), jsonl(rows))
    finish(acme)

    assert seen(alice, job)["created"] == 30
    for number in range(3):
        mine = alice.as_user(f"user{number}")
        found = mine("POST", "/memory/query", {"query": "room", "k": 50}).json()["memories"]
        assert len(found) == 10


def test_payload_is_sealed_and_so_is_the_name_of_the_file(acme: OpenedTenant, alice: Caller) -> None:
    start(alice, jsonl([*records(3), {"text": sentence(9), "end_user_id": "bob"}]), "private name.jsonl")

    with tenant_transaction(acme.scope):
        (job,) = ImportJob.objects.within(acme.scope)
        chunks = ImportChunk.objects.within(acme.scope)
        stored = bytes(job.details_ct) + b"".join(bytes(chunk.payload_ct) for chunk in chunks)
    assert b"lamp" not in stored
    assert b"private" not in stored


def test_extraction_decides_as_in_an_add(acme: OpenedTenant, alice: Caller) -> None:
    rows = [{"text": "ok"}, {"text": "I live in Lisbon."}, {"text": "I live in Lisbon."}]

    job = start(alice, jsonl(rows))
    finish(acme)

    done = seen(alice, job)
    assert (done["created"], done["skipped"], done["rejected"]) == (1, 2, 0)


def test_a_chunk_that_is_done_goes_from_its_own_tenant(acme: OpenedTenant, alice: Caller) -> None:
    start(alice, jsonl(records(3)))

    with CaptureQueriesContext(connection) as sent:
        finish(acme)

    gone = [one["sql"] for one in sent.captured_queries if one["sql"].startswith('DELETE FROM "transfers_importchunk"')]
    assert gone
    assert [sql for sql in gone if f'"tenant_id" = {acme.scope.tenant_id}' not in sql] == []


# -- bad records -----------------------------------------------------------------------------------------------------

BAD = [
    b"{broken",
    b"[1]",
    b'"text"',
    b'{"text": ""}',
    b'{"text": 5}',
    b'{"source": "x"}',
    b'{"text": "x", "vector_id": 1}',
    b'{"text": "a good text of its own", "importance": 2}',
    b"\xff\xfe",
    b'{"text": "\\ud800 is half of a pair"}',
]


def test_bad_records_are_reported_by_line_and_the_others_come_in(acme: OpenedTenant, alice: Caller) -> None:
    good = [json.dumps(row).encode() for row in records(5)]

    job = start(alice, b"\n".join([b"", good[0], *BAD, *good[1:]]), continue_on_error="true")
    finish(acme)

    done = seen(alice, job)
    assert (done["status"], done["created"], done["rejected"]) == ("completed", 5, len(BAD))
    assert [error["line"] for error in done["errors"]] == [3 + number for number in range(len(BAD))]
    assert all("x" not in error["reason"].split() for error in done["errors"])


def test_only_the_first_hundred_errors_are_kept(acme: OpenedTenant, alice: Caller) -> None:
    job = start(alice, b"\n".join([b"{}"] * 250), continue_on_error="true")
    finish(acme)

    done = seen(alice, job)
    assert (done["rejected"], len(done["errors"]), done["errors"][99]["line"]) == (250, 100, 100)


def test_first_bad_record_ends_the_job_and_what_came_before_stays(acme: OpenedTenant, alice: Caller) -> None:
    rows = [json.dumps(row).encode() for row in records(150)]

    job = start(alice, b"\n".join([*rows[:120], b"{broken", *rows[120:]]))
    finish(acme)

    done = seen(alice, job)
    assert (done["status"], done["progress_percentage"]) == ("failed", 100.0)
    assert (done["created"], done["rejected"], done["errors"][0]["line"]) == (120, 1, 121)
    assert texts(acme) == 120
    assert not ImportChunk.objects.within(acme.scope).exists()


def test_record_without_an_end_user_is_rejected(acme: OpenedTenant, alice: Caller) -> None:
    job = start(alice.as_user(None), jsonl(records(1)))
    finish(acme)

    assert seen(alice, job)["errors"] == [
        {"line": 1, "reason": "The record names no end user, and neither does the import."}
    ]


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (b"", "a.jsonl", (422, "IMPORT_EMPTY")),
        (b"\n \n", "a.jsonl", (422, "IMPORT_EMPTY")),
        (b"[]", "a.json", (422, "IMPORT_EMPTY")),
        (b'{"text": "one"}', "a.json", (422, "IMPORT_EMPTY")),
        (b'[{"text": "one"}', "a.json", (422, "IMPORT_UNREADABLE")),
        (b'[{"text": "one"},]', "a.json", (422, "IMPORT_UNREADABLE")),
        (b"\xff\xfe\x00", "a.json", (422, "IMPORT_UNREADABLE")),
        (b"[" * 100_000, "a.json", (422, "IMPORT_UNREADABLE")),
        (b'{"text": "' + b"x" * payload.MAX_RECORD + b'"}', "a.jsonl", (413, "PAYLOAD_TOO_LARGE")),
    ],
)
def test_file_that_cannot_be_read_is_refused_and_leaves_nothing(
    content: bytes, name: str, expected: tuple[int, str], acme: OpenedTenant, alice: Caller
) -> None:
    assert refused(alice, content, name) == expected
    for model in (ImportJob, ImportChunk, EndUser):
        assert not model.objects.within(acme.scope).exists()


def test_file_larger_than_the_limit_is_refused(alice: Caller, settings: Any) -> None:
    settings.MAX_IMPORT_BYTES = 1_000

    assert refused(alice, jsonl(records(100))) == (413, "PAYLOAD_TOO_LARGE")


def test_array_of_json_is_read_with_every_kind_of_value(acme: OpenedTenant, alice: Caller) -> None:
    rows = [{"text": sentence(1), "importance": 0.75, "metadata": {"deep": [1, 2.5, None, True, "ü", {"x": []}]}}]

    job = start(alice, json.dumps(rows).encode(), "a.json")
    finish(acme)

    found = alice("POST", "/memory/query", {"query": sentence(1), "k": 1}).json()["memories"][0]
    assert (found["metadata"], found["importance"]) == (rows[0]["metadata"], 0.75)
    assert seen(alice, job)["created"] == 1


# -- interruptions ---------------------------------------------------------------------------------------------------


def test_batch_that_is_cut_off_is_done_again_by_the_next_worker(
    acme: OpenedTenant, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = start(alice, jsonl(records(250)))
    assert step(acme) == ImportOutcome.MORE

    def killed(*_: Any, **__: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(import_worker, "_count", killed)  # when the records of the batch are written already
        with pytest.raises(SystemExit):
            step(acme)
    assert (seen(alice, job)["created"], texts(acme)) == (BATCH_RECORDS, BATCH_RECORDS)
    finish(acme)

    done = seen(alice, job)
    assert (done["status"], done["created"], texts(acme)) == ("completed", 250, 250)


def test_job_whose_batch_fails_again_and_again_ends(
    acme: OpenedTenant, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = start(alice, jsonl(records(150)))
    step(acme)
    monkeypatch.setattr(chunks, "unpacked", lambda payload: 1 / 0)

    for _ in range(import_worker.MOST_ATTEMPTS):
        assert seen(alice, job)["status"] == "running"
        finish(acme)

    done = seen(alice, job)
    first_lost = BATCH_RECORDS + 1
    assert (done["status"], done["created"], done["errors"][0]["line"]) == ("failed", BATCH_RECORDS, first_lost)
    assert not ImportChunk.objects.within(acme.scope).exists()


def test_cancelled_job_stops_between_batches(acme: OpenedTenant, alice: Caller) -> None:
    job = start(alice, jsonl(records(350)))
    step(acme)

    cancelled = alice("POST", f"/imports/{job['id']}/cancel").json()
    finish(acme)

    assert (cancelled["status"], cancelled["created"]) == ("cancelled", BATCH_RECORDS)
    assert cancelled["progress_percentage"] == 100.0
    assert (seen(alice, job), texts(acme)) == (cancelled, BATCH_RECORDS)
    assert not ImportChunk.objects.within(acme.scope).exists()


def test_cancelling_what_is_over_changes_nothing(acme: OpenedTenant, alice: Caller) -> None:
    job = start(alice, jsonl(records(3)))
    finish(acme)
    done = seen(alice, job)

    for _ in range(2):
        assert alice("POST", f"/imports/{job['id']}/cancel").json() == done


def test_progress_is_below_a_hundred_until_the_end(acme: OpenedTenant, alice: Caller) -> None:
    job = start(alice, jsonl(records(2 * BATCH_RECORDS)))
    step(acme)
    assert (seen(alice, job)["status"], seen(alice, job)["progress_percentage"]) == ("running", 50.0)
    step(acme)
    assert (seen(alice, job)["status"], seen(alice, job)["progress_percentage"]) == ("running", 99.9)
    step(acme)
    assert (seen(alice, job)["status"], seen(alice, job)["progress_percentage"]) == ("completed", 100.0)


# -- again -----------------------------------------------------------------------------------------------------------


def test_resumed_file_stores_only_what_is_new(acme: OpenedTenant, alice: Caller) -> None:
    rows = [row | {"client_ref": f"r{number}"} for number, row in enumerate(records(150))]
    start(alice, jsonl(rows[:90]))
    finish(acme)

    job = start(alice, jsonl(rows), resume="true")
    finish(acme)

    done = seen(alice, job)
    assert (done["already_imported"], done["created"], done["skipped"]) == (90, 60, 0)
    assert texts(acme) == 150


def test_resume_needs_a_reference_on_every_record(acme: OpenedTenant, alice: Caller) -> None:
    rows = [records(1)[0] | {"client_ref": "r1"}, records(2)[1]]

    assert refused(alice, jsonl(rows), resume="true") == (422, "CLIENT_REF_REQUIRED")
    assert not ImportJob.objects.within(acme.scope).exists()


# -- who sees it -----------------------------------------------------------------------------------------------------


def test_imports_are_seen_by_keys_of_the_same_environment_and_by_nobody_else(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller
) -> None:
    job = start(alice, jsonl(records(1)))
    beside = Caller(make_api_key(acme.scope).text, end_user=None)
    strangers = [Caller(globex.keys[Environment.PRODUCTION]), Caller(acme.keys[Environment.STAGING])]

    assert seen(beside, job)["id"] == job["id"]
    assert [one["id"] for one in beside("GET", "/imports").json()["jobs"]] == [job["id"]]
    for stranger in strangers:
        assert stranger("GET", "/imports").json() == {"jobs": [], "total": 0}
        for method, path in (("GET", ""), ("POST", "/cancel")):
            response = stranger(method, f"/imports/{job['id']}{path}")
            assert (response.status_code, response.json()["error"]["code"]) == (404, "IMPORT_NOT_FOUND")
    assert seen(alice, job)["status"] == "pending"


def test_list_is_newest_first_and_can_be_narrowed(acme: OpenedTenant, alice: Caller) -> None:
    jobs = [start(alice, jsonl(records(1)), f"{number}.jsonl") for number in range(3)]
    alice("POST", f"/imports/{jobs[1]['id']}/cancel")

    listed = alice("GET", "/imports?limit=2").json()
    cancelled = alice("GET", "/imports?status=cancelled").json()

    assert ([one["filename"] for one in listed["jobs"]], listed["total"]) == (["2.jsonl", "1.jsonl"], 3)
    assert ([one["filename"] for one in cancelled["jobs"]], cancelled["total"]) == (["1.jsonl"], 1)
    for bad in ("status=over", "limit=many", "limit=-1"):
        assert alice("GET", f"/imports?{bad}").status_code == 422


def test_workers_are_told_of_the_open_jobs_of_each_tenant(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller
) -> None:
    start(alice, jsonl(records(1)))
    finish(acme)
    for caller in (alice, Caller(globex.keys[Environment.PRODUCTION])):
        start(caller, jsonl(records(1)))

    found = sorted(open_jobs(ImportJob.objects, OPEN))
    assert found == sorted((one.scope.tenant_id, newest(one)) for one in (acme, globex))


def test_old_jobs_are_forgotten(acme: OpenedTenant, alice: Caller) -> None:
    job = start(alice, jsonl(records(1)))
    finish(acme)

    import_worker.forget_old(now=datetime.now(UTC) + timedelta(days=29))
    assert seen(alice, job)["status"] == "completed"
    import_worker.forget_old(now=datetime.now(UTC) + timedelta(days=31))

    assert alice("GET", f"/imports/{job['id']}").status_code == 404
    assert texts(acme) == 1


# -- exported memories -----------------------------------------------------------------------------------------------

MADE_ANEW = (
    "id",
    "user_id",
    "created_at",
    "updated_at",
    "retention_expires_at",
    "superseded_by",
    "superseded_at",
    "source_confidence",
    "extractor_confidence",
    "edges",
    "client_ref",
    "embedded",
    "platform_metadata",
)


def exported(caller: Caller) -> tuple[bytes, list[dict[str, Any]]]:
    """The export as it is, and its memories without fields that are created again."""
    response: Any = caller("GET", "/memory/export")
    assert response.status_code == 200
    content = response.getvalue()
    rows = json.loads(content)["memories"]
    return content, [{name: value for name, value in row.items() if name not in MADE_ANEW} for row in rows]


def test_age_of_what_an_export_brings_counts_from_the_import(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller
) -> None:
    alice.add("I live in Lisbon.")
    whole = json.loads(exported(alice)[0])
    whole["memories"][0] |= {"created_at": "2020-01-01T00:00:00Z", "retention_expires_at": "2020-03-31T00:00:00Z"}
    elsewhere = Caller(globex.keys[Environment.PRODUCTION])

    start(elsewhere, json.dumps(whole).encode(), "export.json")
    finish(globex)
    sweep(globex.scope, now=datetime.now(UTC) + timedelta(days=89))

    (memory,) = json.loads(exported(elsewhere)[0])["memories"]
    until = datetime.fromisoformat(memory["created_at"]) + timedelta(days=90)
    assert datetime.fromisoformat(memory["retention_expires_at"]) == until


def test_export_imported_elsewhere_and_exported_again_is_the_same(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller
) -> None:
    alice.add("I live in Lisbon.", tags=["home"])
    alice.add("I moved to Porto in May.", metadata={"n": [1, None]}, session_id="s1")
    alice.add("I live in Porto.", source="chat", event_type="note", importance=0.9)
    alice.add("My dentist is Dr. Costa. She has her practice in Braga.", importance=0.3)
    alice.add("The same words twice.", deduplicate=False)
    alice.add("The same words twice.", deduplicate=False)
    content, rows = exported(alice)
    elsewhere = Caller(globex.keys[Environment.PRODUCTION])

    job = start(elsewhere, content, "export.json")
    finish(globex)

    assert (seen(elsewhere, job)["created"], seen(elsewhere, job)["errors"]) == (len(rows), [])
    assert exported(elsewhere)[1] == rows
    start(elsewhere, content, "export.json", resume="true")
    finish(globex)
    assert exported(elsewhere)[1] == rows


def test_export_imported_where_it_comes_from_adds_nothing(acme: OpenedTenant, alice: Caller) -> None:
    alice.add("The spare key lies under the blue flower pot.")
    content, rows = exported(alice)

    job = start(alice, content, "export.json")
    finish(acme)

    assert seen(alice, job)["skipped"] + seen(alice, job)["already_imported"] == 1
    assert exported(alice)[1] == rows
