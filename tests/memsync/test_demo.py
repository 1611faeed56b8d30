"""`memsync demo`: what its conversation is made of, and its results."""

import json
from collections import Counter
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import override_settings

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.projects.scope import Environment
from apps.recall import read_log
from apps.recall.services import recall
from memsync.demo import conversation, questions
from memsync.demo.doors import ServiceDoor
from memsync.demo.replay import TTL_MINUTES, DemoReport, replay
from tests.makers import NOW, make_scope, make_tenant
from tests.once import taken_back

pytestmark = pytest.mark.django_db(databases="__all__")

# What the conversation shows is what the trained models make of it.
SERVED = {"BACKEND": "apps.adapters.classifiers.local.LocalClassifier", "OPTIONS": {}}
SECRET = "Tulip-Harbour-8841"


@pytest.fixture(autouse=True)
def _nothing_is_counted_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accesses are counted by a timer, which may go off when the test's database is gone."""
    monkeypatch.setattr(read_log, "record_recall", lambda scope, memory_ids, **_: None)


@pytest.fixture(scope="module")
def report(django_db_setup: None, django_db_blocker: Any) -> DemoReport:
    served = override_settings(CLASSIFIER=SERVED)  # tells the registry, which keeps the one that was asked for first
    with django_db_blocker.unblock(), taken_back(), served, pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_log, "record_recall", lambda scope, memory_ids, **_: None)
        scope = make_scope(make_tenant("acme"))
        return replay(ServiceDoor(scope, now=NOW), conversation(), questions(), keep=False)


def current(report: DemoReport) -> set[str]:
    return {one.text for one in report.kept if one.validity == "current"}


def test_the_conversation_spans_eight_months_in_order() -> None:
    turns = conversation()

    times = [turn.at for turn in turns]
    assert len(turns) == 60
    assert times == sorted(set(times))
    assert timedelta(days=230) < times[-1] - times[0] < timedelta(days=250)
    assert {turn.role for turn in turns} == {"user", "assistant"}
    assert all(turn.text.strip() == turn.text for turn in turns)


def test_every_question_is_about_something_that_was_said() -> None:
    said = {turn.text for turn in conversation()}

    assert len(questions()) == 5
    assert {question.finds for question in questions()} <= said


def test_what_changed_is_kept_as_it_stands_now(report: DemoReport) -> None:
    assert {
        "I live in Utrecht.",
        "I work as a biology teacher now, at Lyceum Kranenburg.",
        "I'm pescatarian now, the smoked mackerel won me over.",
        "The manuscript deadline has moved to 1 October.",
        "My favourite tea is genmaicha these days, not oolong.",
        "Correction: my dog Biscuit is a whippet, not a greyhound.",
    } <= current(report)
    assert not current(report) & {
        "Big news: I live in Ghent now.",
        "I work as a nurse at the Meander clinic.",
        "I'm a beekeeper now, at Honingraat.",
        "I'm vegetarian.",
        "I'm vegan now.",
        "The manuscript deadline is 30 June.",
        "The manuscript deadline has moved to 15 September.",
        "My favourite tea is oolong.",
    }


def test_a_correction_ends_what_was_wrong(report: DemoReport) -> None:
    assert "My dog Biscuit is a greyhound." not in current(report)


def test_coming_back_revives_the_memory_of_the_first_time(report: DemoReport) -> None:
    (first,) = [one for one in report.kept if one.text == "I live in Utrecht." and one.decision == "created"]
    (again,) = [one for one in report.kept if one.decision == "revived"]

    assert again.memory_id == first.memory_id


def test_the_secret_and_the_planted_order_are_refused_by_policy(report: DemoReport) -> None:
    refused = [one for one in report.refused if one.decision == "discarded_policy"]

    assert len(refused) == 2
    assert SECRET in refused[0].text
    assert "honeydeals" in refused[1].text
    assert not any(SECRET in one.text or "honeydeals" in one.text for one in report.kept)


def test_what_is_said_twice_points_at_the_first_time(report: DemoReport) -> None:
    (again,) = [one for one in report.refused if one.decision == "duplicate"]
    (first,) = [one for one in report.kept if one.text == again.text]

    assert again.memory_id == first.memory_id


def test_nothing_the_assistant_said_is_kept(report: DemoReport) -> None:
    theirs = {number for number, turn in enumerate(conversation(), start=1) if turn.role == "assistant"}

    assert theirs
    assert not theirs & {one.turn for one in report.kept}
    assert theirs <= {one.turn for one in report.refused}


def test_every_turn_is_accounted_for(report: DemoReport) -> None:
    parts = [*report.kept, *report.refused]

    assert {one.turn for one in parts} == set(range(1, report.turns + 1))
    assert report.counts == Counter(one.decision for one in parts)


def test_factors_explain_every_score(report: DemoReport) -> None:
    found = [one for asked in report.asked for one in asked.found]

    assert found
    for one in found:
        assert sum(one.factors.values()) == pytest.approx(one.score)
    assert any(one.matched_by == "both" for one in found)


def test_a_number_is_found_by_its_words(report: DemoReport) -> None:
    (asked,) = [asked for asked in report.asked if "WTU318" in asked.question.query]

    assert asked.is_as_expected
    assert "lexical" in asked.found[0].legs


@pytest.mark.parametrize(("keep", "expected"), [(False, 0), (True, 1)])
def test_it_leaves_recall_after_a_day_unless_it_is_to_be_kept(acme: OpenedTenant, keep: bool, expected: int) -> None:
    scope = make_scope(acme)
    replay(ServiceDoor(scope, now=NOW), conversation()[:3], (), keep=keep)
    later = NOW + timedelta(minutes=TTL_MINUTES + 1)

    found = recall(scope, Plaintext("Where do I live?"), limit=1, now=later)

    assert len(found.hits) == expected


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("demo", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_one_object(acme: OpenedTenant) -> None:
    said: dict[str, Any] = json.loads(run("--json"))

    assert said["url"] is None
    assert said["tenant"] == acme.tenant.name
    assert said["environment"] == Environment.DEVELOPMENT
    assert said["turns"] == 60
    assert sum(said["counts"].values()) == len(said["kept"]) + len(said["refused"])
    assert len(said["asked"]) == 5


def test_the_command_draws_it_and_does_not_repeat_the_secret(acme: OpenedTenant) -> None:
    drawn = run()

    assert "Where do I live now?" in drawn
    assert "superseding" in drawn
    assert SECRET not in drawn


def test_without_a_tenant_it_says_what_to_run() -> None:
    with pytest.raises(CommandError, match="memsync up"):
        run()


def test_a_server_that_was_named_must_answer(acme: OpenedTenant) -> None:
    with pytest.raises(CommandError, match="memsync up"):
        run("--url", "http://127.0.0.1:9")
