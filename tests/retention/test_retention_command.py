"""`memsync retention`: the policy, what goes next, runs and legal holds, for people and as JSON."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from tests.makers import make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

SAID = "The bus to the airport leaves at ten past six."


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("retention", *arguments, "--tenant", "acme", stdout=out, stderr=StringIO())
    return out.getvalue()


def answer(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


@pytest.fixture
def memory(acme: OpenedTenant) -> int:
    now = datetime.now(UTC) - timedelta(days=80)
    (one,) = remember(make_scope(acme), [Proposal(text=Plaintext(SAID), importance=0.6)], now=now)
    return one.memory_ids[0]


def test_policy_is_shown_and_made_stricter_and_looser_only_when_said(acme: OpenedTenant) -> None:
    project = acme.project.public_id
    assert answer("set", "--active-days", "40", "--project", project)["rules"] == {"active_days": 40}
    with pytest.raises(CommandError, match="keep more than the policy in force"):
        run("set", "--active-days", "120")
    assert answer("set", "--active-days", "120", "--active-from", "stored", "--loosen")["revision"] == 1

    rules = {one["rule"]: (one["value"], one["said"], one["level"]) for one in answer("show", "--project", project)}
    assert rules["active_days"] == (40, 40, "project")
    assert rules["active_from"] == (None, "stored", "tenant")
    assert "120" in run("show")
    with pytest.raises(CommandError, match="loosen that level first"):
        run("set", "--active-days", "121", "--project", project, "--loosen")
    assert answer("set", "--active-days", "keep", "--loosen")["rules"]["active_days"] == "keep"
    assert "Memories are kept for good" in run("show")
    with pytest.raises(CommandError):
        run("set", "--active-from", "yesterday")
    with pytest.raises(CommandError):
        run("show", "--space", "999999")
    with pytest.raises(CommandError):
        run("set")


def test_a_dry_run_says_what_would_hold_and_go_and_changes_nothing(memory: int) -> None:
    shown = answer("set", "--active-days", "30", "--dry-run")

    rules = {one["rule"]: one["said"] for one in shown["rules"]}
    assert rules["active_days"] == 30
    nothing, gone = (
        {"archived": 0, "soft_deleted": 0, "purged": 0},
        {"archived": 0, "soft_deleted": 1, "purged": 1},
    )
    assert shown["going"] == [
        {"days": 0, "before": nothing, "after": nothing | {"soft_deleted": 1}},
        {"days": 30, "before": gone, "after": gone},
    ]
    assert "would hold" in run("set", "--active-days", "keep", "--loosen", "--dry-run")
    assert {one["rule"]: one["said"] for one in answer("show")}["active_days"] == 90


def test_preview_says_what_run_then_does_and_a_hold_stops_it(memory: int) -> None:
    assert answer("preview", "--within", "5d") == []
    (one,) = answer("preview", "--within", "20d")
    assert (one["rule"], one["count"], one["ids"], one["is_held"]) == ("active_days", 1, [memory], False)
    assert "soft_deleted" in run("preview")
    assert SAID not in run("preview")

    hold = answer("hold", "--case", "case-1", "--memory", str(memory))
    run("set", "--active-days", "30")
    assert answer("run")["deleted"] == 0
    assert "case-1" in run("holds")
    assert "held" in run("preview")
    assert answer("lift", str(hold["id"])) == {"hold": hold["id"], "memories": 1}
    assert [one["case"] for one in answer("holds", "--all")] == ["case-1"]
    assert "1 deleted" in run("run")
