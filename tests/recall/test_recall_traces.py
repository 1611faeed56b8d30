"""Traces of recalls: kept only where wanted, without a word, and replayed to the same order whatever came since.

RECALL_REPLAYS=1000 pytest tests/recall/test_recall_traces.py      replays a thousand after a thousand more writes
"""

import io
import json
import os
import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.encrypted_tables import TABLES
from apps.edges.opened import NewEdge
from apps.edges.services import connect
from apps.erasure.rows import tables_of_a_space
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.indexing_mode import set_profile
from apps.memories.spaces import reread_space
from apps.projects.scope import Environment, Scope
from apps.recall import read_log
from apps.recall.models import RecallTrace
from apps.recall.results import Recall
from apps.recall.services import recall
from apps.recall.tasks import sweep_traces
from apps.recall.traces import TraceNotFound, list_traces, replay, replay_since, sweep
from apps.tenants.models import Profile
from tests.makers import NOW, make_scope

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.usefixtures("traced")]

REPLAYS = int(os.environ.get("RECALL_REPLAYS", "25"))
WHO = ("Ann", "Ben", "Priya", "my sister", "the baker", "the neighbour")
DID = ("painted", "sold", "repaired", "lost", "planted", "photographed", "carried", "found")
WHAT = ("the fence", "a violin", "two lemon trees", "the old boat", "a blue sofa", "the kitchen", "a map of Lisbon")
PROFILES = ("default", "memorysync", "rrf", "typed", "salience")


@pytest.fixture
def traced() -> Any:
    with override_settings(RECALL_TRACE_SHARE=1.0):
        yield


def sentence(chance: random.Random) -> str:
    day = chance.randrange(1, 28)
    return f"{chance.choice(WHO)} {chance.choice(DID)} {chance.choice(WHAT)} on {day} May 2026."


def say(scope: Scope, texts: list[str], *, days: float = 0.0) -> list[int]:
    proposals = [
        Proposal(text=Plaintext(text), importance=0.7, session_id=f"s{at // 7}", speaker=("Ann", "Ben")[at % 2])
        for at, text in enumerate(texts)
    ]
    outcomes = remember(scope, proposals, now=NOW + timedelta(days=days))
    return [one for outcome in outcomes for one in outcome.memory_ids]


def ask(scope: Scope, question: str, **options: Any) -> Recall:
    return recall(scope, Plaintext(question), now=NOW + timedelta(minutes=1), limit=10, **options)


def ids(answer: Recall) -> list[int]:
    return [hit.memory.id for hit in answer.hits]


def say_json(*arguments: str) -> Any:
    out = io.StringIO()
    call_command("recall", *arguments, "--json", stdout=out)
    (line,) = out.getvalue().splitlines()
    return json.loads(line)


def test_recalls_in_several_environments_are_kept_and_replayed_in_each(acme: OpenedTenant) -> None:
    here, there = make_scope(acme), make_scope(acme, environment=Environment.STAGING)
    for scope in (here, there):
        say(scope, ["Ann painted the fence on 3 May 2026.", "Ben sold a violin on 5 May 2026."])
    both = replace(here, also_reads=(Environment.STAGING,)).in_spaces(here.space, there.space)

    first, second, across = (ask(scope, "who painted the fence?") for scope in (here, there, both))
    read_log.flush()

    for answer, count in ((first, 1), (second, 1), (across, 2)):
        replayed = replay(here, answer.query_id, now=NOW)
        assert [one.is_same for one in replayed] == [True] * count
        assert {one for each in replayed for one in each.again} == set(ids(answer))


@pytest.mark.parametrize("profile", [Profile.SEARCHABLE, Profile.SEALED])
def test_replay_after_many_more_writes_gives_the_same_ids_in_the_same_order(
    acme: OpenedTenant, profile: Profile
) -> None:
    chance, scope = random.Random(6), make_scope(acme)
    if profile == Profile.SEALED:
        set_profile(scope, scope.space.id, profile, now=NOW)
        scope = reread_space(scope)
    made = say(scope, [sentence(chance) for _ in range(60)])
    connect(scope, [NewEdge(from_id=made[0], to_id=made[at], type="caused_by") for at in (9, 17)], now=NOW)
    answers = {}
    for at in range(REPLAYS if profile == Profile.SEARCHABLE else min(REPLAYS, 25)):
        answer = ask(scope, f"When was it: {sentence(chance)}", profile=PROFILES[at % len(PROFILES)], depth=1 + at % 3)
        answers[answer.query_id] = ids(answer)
    read_log.flush()

    for _ in range(0, len(answers), 50):
        say(scope, [sentence(chance) for _ in range(min(50, len(answers)))], days=1)

    again = list(replay_since(scope, NOW, now=NOW + timedelta(days=2)))
    assert {one.kept.query_id: list(one.again) for one in again} == answers
    assert all(one.is_same for one in again)
    assert any(one.trace.carried for one in again), "relations took part"
    later = [ids(ask(scope, "When was it: Ann painted the fence on 3 May 2026.")) for _ in range(1)]
    assert later[0] != next(iter(answers.values()))


def test_nothing_is_kept_until_it_is_wanted(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    say(scope, ["Ann painted the fence."])

    with override_settings(RECALL_TRACE_SHARE=0.0):
        ask(scope, "the fence")
    read_log.flush()

    assert list_traces(scope) == []


def test_a_share_of_them_is_kept(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    say(scope, ["Ann painted the fence."])

    with override_settings(RECALL_TRACE_SHARE=0.5):
        kept = {ask(scope, "the fence").query_id.int % 1_000_000 < 500_000 for _ in range(20)}
        read_log.flush()

    assert 0 < len(list_traces(scope)) < 20
    assert kept == {True, False}


def test_a_trace_has_no_word_and_is_sealed(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    say(scope, ["Ann hid the platinum spoon."])
    answer = ask(scope, "Where is the platinum spoon?")
    read_log.flush()

    (one,) = replay(scope, answer.query_id, now=NOW)
    assert "platinum" not in json.dumps(one.trace.as_json(), default=str)
    assert "spoon" not in json.dumps(one.trace.as_json(), default=str)
    with tenant_transaction(scope):
        (row,) = RecallTrace.objects.within(scope)
    assert str(answer.hits[0].memory.id).encode() not in bytes(row.trace_ct)
    assert RecallTrace in {getattr(table, "model", None) for table in TABLES}
    assert "recall_recalltrace" in tables_of_a_space()


def test_what_became_of_the_answer_is_said(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    say(scope, ["I live in Lisbon."])
    answer = ask(scope, "Where do I live?")
    read_log.flush()

    say(scope, ["I live in Porto now."], days=3)

    (one,) = replay(scope, answer.query_id, now=NOW + timedelta(days=4))
    assert list(one.again) == ids(answer)
    assert one.became == {ids(answer)[0]: "superseded"}


def test_traces_are_nobody_elses(acme: OpenedTenant, globex: OpenedTenant) -> None:
    mine, bobs, theirs = make_scope(acme), make_scope(acme, "bob"), make_scope(globex)
    for scope in (mine, bobs, theirs):
        say(scope, ["Ann painted the fence."])
    answers = [ask(scope, "the fence") for scope in (mine, bobs, theirs)]
    read_log.flush()

    assert {one.query_id for one in list_traces(mine)} == {answer.query_id for answer in answers[:2]}
    with pytest.raises(TraceNotFound):
        replay(mine, answers[2].query_id, now=NOW)
    assert {one.kept.query_id for one in replay_since(theirs, NOW, now=NOW)} == {answers[2].query_id}
    assert {one.kept.space_id for one in replay_since(mine, NOW, now=NOW)} == {mine.space.id, bobs.space.id}
    (one,) = replay(mine, answers[0].query_id, now=NOW)
    assert one.became == {}


def test_traces_are_let_go_after_some_days(acme: OpenedTenant, globex: OpenedTenant) -> None:
    mine, theirs = make_scope(acme), make_scope(globex)
    for scope in (mine, theirs):
        say(scope, ["Ann painted the fence."])
        ask(scope, "the fence")
    read_log.flush()

    assert sweep(mine, now=NOW + timedelta(days=6)) == 0
    assert sweep(mine, now=NOW + timedelta(days=8)) == 1

    assert (len(list_traces(mine)), len(list_traces(theirs))) == (0, 1)
    sweep_traces()
    assert len(list_traces(theirs)) in (0, 1), "by the clock of the worker"


def test_a_trace_of_a_space_that_is_gone_is_not_kept(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    say(scope, ["Ann painted the fence."])
    ask(scope, "the fence")

    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute("update projects_space set owner_id = owner_id + 1000000 where id = %s", [scope.space.id])
    read_log.flush()

    assert list_traces(scope) == []


def test_the_command_lists_shows_and_replays(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    say(scope, ["Ann painted the fence.", "Ben sold a violin."])
    answer = ask(scope, "Who painted the fence?")
    read_log.flush()
    query_id = str(answer.query_id)

    (listed,) = say_json("list")
    (shown,) = say_json("show", query_id)
    assert (listed["query_id"], listed["space"]) == (query_id, scope.space.id)
    assert shown["then"] == shown["again"] == ids(answer)
    assert shown["scores"] == [hit.score for hit in answer.hits]
    assert sum(shown["factors"][str(ids(answer)[0])].values()) == pytest.approx(answer.hits[0].score)
    assert say_json("replay", query_id) == {"replayed": 1, "same": 1, "different": []}
    assert say_json("replay", "--since", "2026-01-01") == {"replayed": 1, "same": 1, "different": []}
    for words in (["list"], ["show", query_id], ["replay", query_id]):
        out = io.StringIO()
        call_command("recall", *words, stdout=out)
        assert out.getvalue()


def test_the_command_tells_what_would_be_answered_in_another_order(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = make_scope(acme)
    say(scope, ["Ann painted the fence.", "Ben sold a violin."])
    ask(scope, "Who painted the fence?")
    read_log.flush()

    monkeypatch.setattr(
        "apps.recall.profiles.rank_default",
        lambda features, weights: [replace(one, score=-one.score) for one in _usual(features, weights)],
    )
    with pytest.raises(CommandError, match="1 of 1"):
        say_json("replay", "--since", "2026-01-01")


def _usual(features: Any, weights: Any) -> Any:
    from apps.recall.default_ranking import rank_default

    return list(reversed(rank_default(features, weights=weights)))


@pytest.mark.parametrize("words", [["show", "nonsense"], ["replay"], ["replay", "--since", "soon"]])
def test_the_command_refuses_what_it_does_not_understand(acme: OpenedTenant, words: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("recall", *words)
