"""``create_import``, ``get_import``, ``list_imports`` and ``cancel_import`` of the published client."""

import json
from datetime import UTC, datetime

import pytest
from memorysync import NotFoundError, ValidationError

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.transfers.imports import import_worker
from apps.transfers.models.imports import ImportJob
from tests import once
from tests.sdk.conftest import Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

RECORDS = [
    {"text": f"The box number {n} is on shelf {n + 10}.", "importance": 0.7, "client_ref": f"box-{n}"} for n in range(5)
]
PAYLOAD = "\n".join(map(json.dumps, RECORDS)).encode()


def finish(acme: OpenedTenant) -> None:
    """What a worker would do."""
    with tenant_transaction(acme.scope):
        ids = list(ImportJob.objects.within(acme.scope).order_by("pk").values_list("pk", flat=True))
    for job_id in ids:
        import_worker.work(acme.scope.tenant_id, job_id, seconds=30, clock=lambda: datetime.now(UTC))


def test_file_is_imported_resumed_and_seen(make: Make, acme: OpenedTenant) -> None:
    client = make()

    job = client.create_import(PAYLOAD, filename="boxes.jsonl")
    finish(acme)
    done = client.get_import(job["id"])
    again = client.create_import(json.dumps(RECORDS).encode(), filename="boxes.json", resume=True)
    finish(acme)

    assert (job["status"], job["progress_percentage"]) == ("pending", 0)
    assert (done["status"], done["created"], done["progress_percentage"]) == ("completed", 5, 100)
    assert client.get_import(again["id"])["already_imported"] == 5
    assert [one["id"] for one in client.list_imports(status="completed")["jobs"]] == [again["id"], job["id"]]
    assert client.list_imports(limit=1)["total"] == 2
    assert client.query("Where is the box number 3?", k=1).memories[0].text == RECORDS[3]["text"]


def test_errors_are_reported_and_the_file_may_be_for_somebody_else(make: Make, acme: OpenedTenant) -> None:
    payload = PAYLOAD + b"\n{broken"

    job = make().create_import(payload, filename="boxes.jsonl", continue_on_error=True, end_user_id="bob")
    finish(acme)

    done = make().get_import(job["id"])
    assert (done["created"], done["rejected"]) == (5, 1)
    assert done["errors"] == [{"line": 6, "reason": "The record is not valid JSON in UTF-8."}]
    assert make().query("box").memories == []
    assert len(make(end_user_id="bob").query("box").memories) == 5


def test_cancelled_import_stores_nothing_more(make: Make, acme: OpenedTenant) -> None:
    client = make()
    job = client.create_import(PAYLOAD, filename="boxes.jsonl")

    cancelled = client.cancel_import(job["id"])
    finish(acme)

    assert cancelled["status"] == "cancelled"
    assert client.cancel_import(job["id"]) == cancelled == client.get_import(job["id"])
    assert client.query("box").memories == []


def test_refusals_are_told(make: Make) -> None:
    with pytest.raises(ValidationError, match="client_ref"):
        make().create_import(b'{"text": "no reference"}', filename="a.jsonl", resume=True)
    with pytest.raises(ValidationError, match="no records"):
        make().create_import(b"", filename="a.jsonl")
    with pytest.raises(NotFoundError):
        make().get_import("imp_nobody")
