"""``create_export`` and the other methods for exports of the published control-plane client, sync and async."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from memorysync import ControlPlaneClient, NotFoundError, ValidationError

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.transfers.exports import export_worker
from apps.transfers.models.exports import ExportJob
from tests import once
from tests.makers import make_api_key
from tests.sdk.conftest import SERVER, Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


@pytest.fixture
def control(published: Make, acme: OpenedTenant) -> Any:
    """A client with a key of acme's that may export."""
    key = make_api_key(acme.scope, scopes=["exports:read", "exports:write"]).text
    return published(ControlPlaneClient, SERVER, access_token=key)


def finish(acme: OpenedTenant) -> None:
    """What a worker would do."""
    with tenant_transaction(acme.scope):
        ids = list(ExportJob.objects.within(acme.scope).order_by("pk").values_list("pk", flat=True))
    for job_id in ids:
        export_worker.work(acme.scope.tenant_id, job_id, seconds=30, clock=lambda: datetime.now(UTC))


def test_export_is_made_seen_and_taken_once(control: Any, make: Make, acme: OpenedTenant, http: httpx.Client) -> None:
    make().add("I live in Lisbon.", importance=0.7, source="chat")
    make(end_user_id="bob").add("Bob keeps his bicycle in the cellar.", importance=0.7)

    created = control.create_export(format="jsonl", scope="filtered", filters={"source": "chat"})
    finish(acme)
    done = control.get_export(created["job"]["id"])
    link = control.get_export_download_url(done["id"])
    file = http.get(link["download_url"])

    assert (created["job"]["status"], created["estimated_total"]) == ("pending", 1)
    assert (done["status"], done["filters"], done["total_rows"]) == (
        "completed", {"source": "chat", "include_soft_deleted": False}, 1,
    )  # fmt: skip
    assert [json.loads(line)["text"] for line in file.text.splitlines()] == ["I live in Lisbon."]
    assert (done["file_size_bytes"], done["sha256_hash"]) == (
        len(file.content),
        hashlib.sha256(file.content).hexdigest(),
    )
    assert link["file_size_bytes"] == len(file.content)
    assert link["filename"] in file.headers["Content-Disposition"]
    assert http.get(link["download_url"]).status_code == 404
    listed = control.list_exports(limit=1)
    assert (listed["total"], [one["id"] for one in listed["jobs"]]) == (1, [done["id"]])
    assert listed["jobs"][0]["download_count"] == 1


def test_export_is_cancelled_and_made_again(control: Any, make: Make, acme: OpenedTenant, http: httpx.Client) -> None:
    make().add("I live in Lisbon.", importance=0.7)
    job = control.create_export(scope="all")["job"]

    cancelled = control.cancel_export(job["id"])
    repeated = control.retry_export(job["id"])
    finish(acme)

    assert (job["format"], cancelled["status"]) == ("csv", "cancelled")
    assert (repeated["job"]["status"], repeated["job"]["retry_count"], repeated["estimated_total"]) == ("pending", 1, 1)
    file = http.get(control.get_export_download_url(job["id"])["download_url"])
    assert file.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "I live in Lisbon." in file.text


def test_refusals_are_told(control: Any) -> None:
    with pytest.raises(ValidationError, match="date_range needs"):
        control.create_export(scope="date_range")
    with pytest.raises(NotFoundError, match="Export not found"):
        control.get_export("exp_of_nobody")
    job = control.create_export()["job"]
    with pytest.raises(ValidationError, match="no file"):
        control.get_export_download_url(job["id"])
