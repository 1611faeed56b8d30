"""GET /memory/knowledge/stats and /memory/intelligence."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.api.memory.knowledge import IntelligenceOutput, StatsOutput
from apps.api.views import ApiView
from apps.apikeys.onboarding import OpenedTenant
from tests.api.conftest import Caller
from tests.makers import make_project

pytestmark = pytest.mark.django_db(databases="__all__")


def read(caller: Caller, path: str) -> Any:
    response = caller("GET", f"/memory/{path}")
    assert response.status_code == 200, response.content
    return response.json()


def test_stats_count_what_may_be_read(alice: Caller) -> None:
    alice.add("I live in Lisbon.", source="chat")
    alice.add("I moved to Porto.", source="chat")
    alice.add("We decided to plant three apple trees.", source="notes")
    alice.as_user("bob").add("Bob keeps his bicycle in the cellar.")

    stats = read(alice, "knowledge/stats")

    assert stats.keys() == StatsOutput().fields.keys()
    assert (stats["total"], stats["embedded"], stats["embedded_share"], stats["summaries"]) == (3, 3, 1.0, 0)
    assert stats["by_type"] == {"fact": 2, "decision": 1}
    assert stats["by_source"] == {"chat": 2, "notes": 1}
    assert stats["by_status"] == {"active": 2, "archived": 1}
    assert stats["by_validity"] == {"current": 2, "superseded": 1}
    assert stats["by_tier"] == {"hot": 3}
    assert stats["edges"].keys() == {"total", "by_type"}
    assert stats["oldest_at"] < stats["newest_at"]


def test_stats_of_nobody_are_noughts(alice: Caller) -> None:
    stats = read(alice.as_user("stranger"), "knowledge/stats")

    assert (stats["total"], stats["embedded_share"], stats["oldest_at"], stats["by_type"]) == (0, 1.0, None, {})
    assert stats["edges"] == {"total": 0, "by_type": {}}


def test_stats_leave_out_what_is_past_its_time_and_what_is_another_projects(
    alice: Caller, acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice.add("The spare key lies under the blue flower pot.", ttl_minutes=5)
    alice.with_headers(X_Project_ID=make_project(acme.scope, "web")).add("The bus leaves at ten past six.")
    later = datetime.now(UTC) + timedelta(hours=1)

    before = read(alice, "knowledge/stats")["total"]
    monkeypatch.setattr(ApiView, "now", lambda view: later)

    assert (before, read(alice, "knowledge/stats")["total"]) == (1, 0)


def test_report_tells_themes_names_and_horizons(alice: Caller) -> None:
    alice.add("Yesterday I sang with Omar in the old mill.", tags=["choir"])
    alice.add("Yesterday I rehearsed with Lea Marti and Omar.", tags=["choir"])

    report = read(alice, "intelligence?limit=1")

    assert report.keys() == IntelligenceOutput().fields.keys()
    assert [(theme["label"], theme["count"]) for theme in report["themes"]] == [("choir", 2)]
    assert [(entity["label"], entity["count"]) for entity in report["entities"]] == [("Omar", 2)]
    assert report["horizons"]["recent"]["memories"] == report["horizons"]["lifetime"]["memories"] == 2
    assert report["horizons"]["recent"]["days"] == 30
    assert (report["scope"], report["sampled"]) == ("user", 2)


def test_report_of_a_project_tells_of_that_and_of_none(alice: Caller, acme: OpenedTenant, globex: OpenedTenant) -> None:
    web = make_project(acme.scope, "web")
    alice.with_headers(X_Project_ID=web).add("Yesterday I sang with Omar in the old mill.")

    assert read(alice, "intelligence")["sampled"] == 0
    assert read(alice, f"intelligence?project_id={web}")["sampled"] == 1
    absent = alice("GET", "/memory/intelligence?project_id=proj_0123456789abcdef")
    foreign = alice("GET", f"/memory/intelligence?project_id={make_project(globex.scope, 'web')}")
    assert absent.status_code == foreign.status_code == 404
    assert absent.json()["detail"] == foreign.json()["detail"]


@pytest.mark.parametrize("asked", ["limit=x", "limit=1.5", "scope=tenant", "scope=", "user_id=7"])
def test_report_is_never_of_more_than_is_asked_in_so_many_words(asked: str, alice: Caller) -> None:
    response = alice("GET", f"/memory/intelligence?{asked}")

    assert (response.status_code, response.json()["error"]["code"]) == (422, "VALIDATION_ERROR")
