"""`memsync retention`: the policy, what goes next, runs and legal holds, for people and as JSON."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.apikeys.onboarding import Opened
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
def memory(acme: Opened) -> int:
    now = datetime.now(UTC) - timedelta(days=80)
    (one,) = remember(make_scope(acme), [Proposal(text=Plaintext(SAID), importance=0.6)], now=now)
    return one.memory_ids[0]


def test_policy_is_shown_and_made_stricter_and_looser_only_when_said(acme: Opened) -> None:
    project = acme.project.public_id
    assert answer("set", "--active-days", "40", "--project", project)["rules"] == {"active_days": 40}
    with pytest.raises(CommandError, match="not looser"):
        run("set", "--active-days", "120")
    assert answer("set", "--active-days", "120", "--loosen")["revision"] == 1

    rules = {one["rule"]: (one["value"], one["level"]) for one in answer("show", "--project", project)}
    assert rules["active_days"] == (40, "project")
    assert "120" in run("show")
    with pytest.raises(CommandError):
        run("show", "--space", "999999")
    with pytest.raises(CommandError):
        run("set")


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
