"""A memory that says several things holds in part: a change ends one of them, and never what was said beside it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.edges.decisions import ContradictionVerdict, list_decisions, resolve
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.ingest import pipeline
from apps.ingest.candidates import PartClaim, Proposal
from apps.ingest.services import remember
from apps.key_management import rotation
from apps.memories.models import Memory, MemoryClaim, MemoryPosting
from apps.memories.opened import OpenedMemory
from apps.memories.revisions import get_history
from apps.memories.selectors import get_memory
from apps.memories.soft_delete import restore, soft_delete
from apps.memories.spaces import lock_space, reread_space
from apps.projects.scope import SYSTEM, Scope
from apps.recall import read_log
from apps.recall.results import Filters
from apps.recall.services import recall
from tests.key_management.test_key_rotation import finish
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

DAY = timedelta(days=1)
YORK = "I live in York with my wife Anna, and I work at the mill."
HULL = "I live in Hull."
CLAIMS = {"York": ("user.location", "york"), "mill": ("user.employer", "mill"), "Hull": ("user.location", "hull"),
          "dairy": ("user.employer", "dairy")}  # fmt: skip
WORDS = {"York": "live in York", "mill": "work at the mill", "Hull": "live in Hull", "dairy": "work at the dairy"}


@pytest.fixture(autouse=True)
def _several_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the reader finds in these sentences: a claim for each word that is known."""
    usual = pipeline.extract

    def extract(proposal: Any, **options: Any) -> Any:
        found = usual(proposal, **options)
        text = proposal.text.reveal()
        said = [name for name in CLAIMS if name in text]
        for one in found:
            one.refuse("", "")
            one.type, one.key, one.value = "fact", None, None
            if len(said) == 1:
                one.key, one.value = CLAIMS[said[0]]
            else:
                one.parts = [
                    PartClaim(
                        start=text.index(WORDS[name]), end=text.index(WORDS[name]) + len(WORDS[name]),
                        key=CLAIMS[name][0], value=CLAIMS[name][1],
                    )
                    for name in said
                ]  # fmt: skip
        return found

    monkeypatch.setattr(pipeline, "extract", extract)


@pytest.fixture
def scope(acme: OpenedTenant) -> Iterator[Scope]:
    yield make_scope(acme)
    read_log.flush()


def say(scope: Scope, text: str, *, day: int) -> int:
    at = NOW + day * DAY
    (outcome,) = remember(scope, [Proposal(text=Plaintext(text), importance=0.9, occurred_at=at)], now=at)
    return outcome.memory_ids[0]


def read(scope: Scope, memory_id: int) -> OpenedMemory:
    return get_memory(scope, memory_id, now=NOW + 30 * DAY)


def shown(scope: Scope, memory_id: int) -> str:
    return read(scope, memory_id).text.reveal()


def found(scope: Scope, query: str, *, as_of: datetime | None = None) -> list[str]:
    asked = recall(scope, Plaintext(query), filters=Filters(as_of=as_of), now=NOW + 30 * DAY)
    return [hit.memory.text.reveal() for hit in asked.hits]


def test_a_change_ends_its_part_and_nothing_beside_it(scope: Scope) -> None:
    york, hull = say(scope, YORK, day=0), say(scope, HULL, day=1)

    memory = read(scope, york)
    assert memory.text.reveal() == "I … with my wife Anna, and I work at the mill."
    assert memory.said.reveal() == YORK
    assert (memory.validity, memory.superseded_by) == ("current", None)
    (part,) = memory.ended
    assert (memory.said.reveal()[part.start : part.end], part.ended_at, part.by) == ("live in York", NOW + DAY, hull)
    assert set(found(scope, "Anna")) == {HULL, memory.text.reveal()}


def test_words_that_end_take_the_claim_along_that_they_make(scope: Scope, settings: Any) -> None:
    york = say(scope, YORK, day=0)
    settings.CLASSIFIER = {
        "BACKEND": "tests.classifiers.FakeClassifier",
        "OPTIONS": {"changes": {"left the city": "live in York"}},
    }
    left = say(scope, "My wife Anna and I have left the city, and my work.", day=1)

    assert shown(scope, york) == "I … with my wife Anna, and I work at the mill."
    assert {(claim.validity, claim.superseded_by_id) for claim in claims_of(scope, york)} == {
        ("superseded", left),
        ("current", None),
    }
    hull = say(scope, HULL, day=2)
    assert shown(scope, york) == "I … with my wife Anna, and I work at the mill."
    assert read(scope, hull).validity == "current"


def test_of_several_clauses_the_surest_alone_ends(scope: Scope, settings: Any) -> None:
    york = say(scope, YORK, day=0)
    settings.CLASSIFIER = {
        "BACKEND": "tests.classifiers.FakeClassifier",
        "OPTIONS": {"changes": {"left the city": "live in York with my wife Anna, and I work at the mill"}},
    }
    say(scope, "My wife Anna and I have left the city, and my work.", day=1)

    assert shown(scope, york) == "I …, and I work at the mill."


def claims_of(scope: Scope, memory_id: int) -> list[MemoryClaim]:
    with tenant_transaction(scope):
        return list(MemoryClaim.objects.within(scope).filter(memory_id=memory_id))


def test_words_that_are_over_are_not_searched(scope: Scope) -> None:
    york = say(scope, YORK, day=0)
    before = postings(scope, york)
    say(scope, HULL, day=1)

    assert postings(scope, york) == before - 2  # "live", "York"


def postings(scope: Scope, memory_id: int) -> int:
    with tenant_transaction(scope):
        return MemoryPosting._default_manager.filter(memory_id=memory_id).count()


def test_at_an_earlier_time_it_says_what_held_then(scope: Scope) -> None:
    york = say(scope, YORK, day=0)
    say(scope, HULL, day=2)

    assert found(scope, "where do I live?", as_of=NOW + DAY) == [YORK]
    assert shown(scope, york) in found(scope, "where do I live?", as_of=NOW + 3 * DAY)


def test_history_says_what_ended_it(scope: Scope) -> None:
    york = say(scope, YORK, day=0)
    say(scope, HULL, day=1)

    revisions = get_history(scope, york, limit=10, offset=0, now=NOW + 30 * DAY).revisions
    assert [one.event for one in revisions] == ["created", "updated"]
    assert revisions[1].diff == {"text": {"old": YORK, "new": "I … with my wife Anna, and I work at the mill."}}


def test_parts_end_one_after_the_other_and_what_is_left_goes_on(scope: Scope) -> None:
    york = say(scope, YORK, day=0)
    say(scope, HULL, day=1)
    say(scope, "I work at the dairy.", day=2)

    assert shown(scope, york) == "I … with my wife Anna, and I …."
    assert [part.ended_at for part in read(scope, york).ended] == [NOW + DAY, NOW + 2 * DAY]


def test_a_memory_of_several_claims_ends_others(scope: Scope) -> None:
    hull, dairy = say(scope, HULL, day=0), say(scope, "I work at the dairy.", day=0)
    york = say(scope, YORK, day=1)

    assert [(read(scope, one).validity, read(scope, one).superseded_by) for one in (hull, dairy)] == [
        ("superseded", york), ("superseded", york),
    ]  # fmt: skip
    assert shown(scope, york) == YORK


def test_what_is_told_late_takes_its_place_before(scope: Scope) -> None:
    hull = say(scope, HULL, day=5)
    at = NOW + 6 * DAY
    (outcome,) = remember(scope, [Proposal(text=Plaintext(YORK), importance=0.9, occurred_at=NOW)], now=at)

    assert read(scope, hull).validity == "current"
    assert shown(scope, outcome.memory_ids[0]) == "I … with my wife Anna, and I work at the mill."


def test_the_same_told_again_while_it_holds_is_the_same_memory(scope: Scope) -> None:
    york = say(scope, YORK, day=0)

    assert say(scope, YORK, day=1) == york
    assert say(scope, "I live in York.", day=1) == york
    assert read(scope, york).repetition_count == 3


def test_told_again_once_a_part_is_over_it_is_another_memory(scope: Scope) -> None:
    york, hull = say(scope, YORK, day=0), say(scope, HULL, day=1)
    again = say(scope, YORK, day=2)

    assert again not in (york, hull)
    assert shown(scope, again) == YORK
    assert read(scope, hull).superseded_by == again


def test_told_again_of_the_time_before_it_is_the_same_memory_and_brings_nothing_back(scope: Scope) -> None:
    york, hull = say(scope, YORK, day=0), say(scope, HULL, day=2)

    assert [say(scope, YORK, day=day) for day in (0, 1)] == [york, york]
    assert (shown(scope, york), read(scope, hull).validity) == (YORK.replace("live in York", "…"), "current")

    dairy = say(scope, "I work at the dairy.", day=4)
    assert say(scope, YORK, day=1) == york
    assert say(scope, YORK, day=3) not in (york, hull, dairy)


def test_and_in_one_batch(scope: Scope) -> None:
    told = [
        Proposal(text=Plaintext(text), importance=0.9, occurred_at=NOW + day * DAY)
        for text, day in ((YORK, 0), (HULL, 2), (YORK, 0))
    ]
    york, hull, again = remember(scope, told, now=NOW + 3 * DAY)

    assert (again.decisions[0].reason, again.memory_ids) == ("same_text", york.memory_ids)
    assert read(scope, hull.memory_ids[0]).validity == "current"


def test_and_after_every_handle_was_keyed_anew(scope: Scope) -> None:
    york = say(scope, YORK, day=0)
    say(scope, HULL, day=2)

    finish(rotation.rotate(scope, reason="test", is_compromise=True, now=NOW))

    assert say(reread_space(scope), YORK, day=1) == york


def test_erased_it_is_not_learnt_again_as_it_was_said(acme: OpenedTenant, scope: Scope) -> None:
    york = say(scope, YORK, day=0)
    say(scope, HULL, day=1)
    word = Authorisation(principal=SYSTEM, method="command line")
    start_erasure(acme.scope, Target.memories([york]), authorised=word, now=NOW + 9 * DAY)

    asked_before = Proposal(text=Plaintext(YORK), importance=0.9, asked_at=NOW + 5 * DAY)
    (late,) = remember(scope, [asked_before], now=NOW + 10 * DAY)

    assert (late.decisions[0].reason, late.memory_ids) == ("erased", [])


def test_somebody_decides_that_it_was_no_change(scope: Scope) -> None:
    york, hull = say(scope, YORK, day=0), say(scope, HULL, day=1)
    ((decision,), _) = list_decisions(scope, limit=5, now=NOW + 2 * DAY)

    resolve(scope, ContradictionVerdict(decision_id=decision.id, winner_id=york), now=NOW + 2 * DAY)

    assert (shown(scope, york), read(scope, york).ended) == (YORK, [])
    assert (read(scope, hull).validity, read(scope, hull).superseded_by) == ("superseded", york)
    say(scope, "I live in Hull with nobody.", day=3)
    assert shown(scope, york) == "I … with my wife Anna, and I work at the mill."


def test_or_that_it_was_one(scope: Scope) -> None:
    york, hull = say(scope, YORK, day=0), say(scope, HULL, day=1)
    ((decision,), _) = list_decisions(scope, limit=5, now=NOW + 2 * DAY)

    resolve(scope, ContradictionVerdict(decision_id=decision.id, winner_id=hull), now=NOW + 2 * DAY)

    assert shown(scope, york) == "I … with my wife Anna, and I work at the mill."
    assert read(scope, hull).validity == "current"


def test_brought_back_it_yields_what_was_said_since(scope: Scope) -> None:
    york = say(scope, YORK, day=0)
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        rows = list(Memory.objects.within(scope).filter(pk=york))
        soft_delete(scope, space, rows, cipher, method="user_request", reason="", now=NOW + DAY)
    hull = say(scope, HULL, day=2)

    restore(scope, york, now=NOW + 3 * DAY)

    assert shown(scope, york) == "I … with my wife Anna, and I work at the mill."
    assert [part.by for part in read(scope, york).ended] == [hull]
    with tenant_transaction(scope):
        claims = MemoryClaim.objects.within(scope).filter(memory_id=york).order_by("pk")
        assert [one.validity for one in claims] == ["superseded", "current"]


def test_brought_back_it_yields_to_a_part_of_another_memory(scope: Scope) -> None:
    hull = say(scope, HULL, day=0)
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        rows = list(Memory.objects.within(scope).filter(pk=hull))
        soft_delete(scope, space, rows, cipher, method="user_request", reason="", now=NOW + DAY)
    york = say(scope, YORK, day=2)

    restore(scope, hull, now=NOW + 3 * DAY)

    assert (read(scope, hull).validity, read(scope, hull).superseded_by) == ("superseded", york)


def erase_topic(acme: OpenedTenant, memory_id: int) -> None:
    word = Authorisation(principal=SYSTEM, method="command line")
    start_erasure(acme.scope, Target.topic(memory_id), authorised=word, now=NOW + 9 * DAY)


def left(scope: Scope) -> set[int]:
    with tenant_transaction(scope):
        return set(Memory.objects.within_tenant(scope).values_list("pk", flat=True))


def test_a_topic_goes_with_what_says_it_among_other_things(acme: OpenedTenant, scope: Scope) -> None:
    york, hull, dairy = (say(scope, text, day=day) for day, text in enumerate([YORK, HULL, "I work at the dairy."]))
    other = say(scope, "Anna plays the oboe.", day=3)

    erase_topic(acme, hull)

    assert left(scope) == {dairy, other}
    assert york not in left(scope)


def test_the_topics_of_what_says_several_things_are_all_of_them(acme: OpenedTenant, scope: Scope) -> None:
    hull, dairy, york = (say(scope, text, day=day) for day, text in enumerate([HULL, "I work at the dairy.", YORK]))
    other = say(scope, "Anna plays the oboe.", day=3)

    erase_topic(acme, york)

    assert left(scope) == {other}
    assert {hull, dairy} & left(scope) == set()
