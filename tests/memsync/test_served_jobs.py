"""Files in and out of a served instance: workers are notified immediately, and the logs hold no complaint."""

import contextlib
import json
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.running import Up

pytestmark = pytest.mark.e2e

SECONDS = 120.0  # on a busy machine, on which workers come last
SCOPES = ("imports:write", "imports:read", "exports:write", "exports:read")
RECORDS = [f"The {thing} stands in room {room}." for room, thing in enumerate(["lamp", "chair", "table", "kettle"])]
UNFILLED = re.compile(r"%[-#0 +\d.*]*[a-zA-Z]|%\(")


@pytest.fixture
def up(tmp_path: Path, prepared_home: Path) -> Iterator[Up]:
    one = Up(tmp_path / "home", prepared=prepared_home)
    yield one
    one.stop()


class Caller:
    """With a key that may export as well."""

    def __init__(self, up: Up) -> None:
        issued = up.run("key", "issue", "--json", "--environment", "development", "--scopes", *SCOPES)
        headers = {"X-API-Key": json.loads(issued.stdout)["key"], "X-End-User-ID": "alice"}
        self.client = httpx.Client(base_url=up.ready["url"], headers=headers, timeout=30, trust_env=False)

    def close(self) -> None:
        self.client.close()

    def ended(self, path: str) -> Any:
        """The job, once it is over."""
        deadline = time.monotonic() + SECONDS
        while True:
            job = self.client.get(path).raise_for_status().json()
            if job["status"] not in ("pending", "running"):
                return job
            assert time.monotonic() < deadline, job
            time.sleep(0.02)


def begun_after(job: Any) -> float:
    """Seconds from the request to the beginning of the work."""
    return (datetime.fromisoformat(job["started_at"]) - datetime.fromisoformat(job["created_at"])).total_seconds()


def test_jobs_begin_at_once_and_the_logs_hold_no_warning(up: Up) -> None:
    up.wait_for_workers()
    records = "\n".join(json.dumps({"text": text, "importance": 0.6}) for text in RECORDS)

    with contextlib.closing(Caller(up)) as caller:
        sent = caller.client.post("/imports", files={"file": ("rooms.jsonl", records)}).raise_for_status().json()
        imported = caller.ended(f"/imports/{sent['id']}")
        demo = up.run("demo", "--json")
        asked = caller.client.post("/exports", json={"format": "jsonl"}).raise_for_status().json()
        exported = caller.ended(f"/exports/{asked['job']['id']}")
    doctor = up.run("doctor", "--json", "--patience=20")
    bare = [line for line in up.log_lines() if "not JSON" in line["message"]]
    up.stop()

    assert (imported["status"], imported["created"]) == ("completed", len(RECORDS))
    assert begun_after(imported) <= 2
    assert demo.returncode == 0
    assert exported["status"] == "completed"
    assert doctor.returncode == 0
    lines = list(up.log_lines())
    assert {line["file"] for line in lines} >= {"web.log", "worker.log", "prepare.log"}
    assert [line for line in lines if line["level"] not in ("debug", "info")] == []
    assert [line for line in lines if UNFILLED.search(line["message"])] == []
    assert [line for line in lines if "revoked" in line["message"]] == []
    assert [line["message"] for line in bare] == []
