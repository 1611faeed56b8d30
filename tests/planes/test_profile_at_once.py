"""One profile that many threads write and read at the same time."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from tests.planes.conftest import Connect
from tests.planes.profile_client import Ingested, ProfileClient

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

WRITERS = 8
EACH = 25
VISITS = 15
TOPICS = ("user.diet", "user.home", "user.name")
VALUES = 10  # of each topic: they come back, so that memories are revived as well


def test_topic_has_one_current_memory_and_one_chain_after_eight_threads_have_written(connect: Connect) -> None:
    profile = connect(with_threads=True)
    barrier = threading.Barrier(2 * WRITERS)

    def write(writer: int) -> list[Ingested]:
        try:
            barrier.wait(timeout=30)
            return [_written(profile, writer, number) for number in range(EACH)]
        finally:
            connections.close_all()

    def read(reader: int) -> list[int]:
        """How many current memories its topic had, each time that it looked."""
        try:
            barrier.wait(timeout=30)
            asked = TOPICS[reader % len(TOPICS)]
            return [len(profile.recall(topic_key=asked, k=100)["memories"]) for _ in range(EACH)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2 * WRITERS) as pool:
        written = [pool.submit(write, number) for number in range(WRITERS)]
        seen = [pool.submit(read, number) for number in range(WRITERS)]
        answers = [answer for one in written for answer in one.result(timeout=240)]
        counts = [count for one in seen for count in one.result(timeout=240)]

    assert len(answers) == WRITERS * EACH
    assert {*counts} <= {0, 1}, "a reader sees the profile before a batch or after it"
    changed = [one["txid"] for one in answers if {*_statuses(one)} != {"duplicate"}]
    assert len({*changed}) == len(changed), "each batch that changes something has a number of its own"
    assert profile.txid == max(changed)
    assert {one["txid"] for one in answers} == {*changed}, "a batch of duplicates has the number of an earlier change"

    tally = Counter(status for answer in answers for status in _statuses(answer))
    assert tally["created"] == len(TOPICS) * VALUES + WRITERS * VISITS
    assert tally["revived"] > 0
    for topic in TOPICS:
        _check_chain(profile, topic, answers)
    assert len(profile.recall("visit", types=["event"], k=1000)["memories"]) == WRITERS * VISITS


def _written(profile: ProfileClient, writer: int, number: int) -> Ingested:
    """The answer to a batch, of which the same thread reads the last memory at once."""
    answer = profile.ingest(*_batch(writer, number))
    assert profile.get(answer["results"][-1]["id"], min_txid=answer["txid"]) is not None
    return answer


def _batch(writer: int, number: int) -> list[dict[str, object]]:
    """A fact that other threads state too, now and then two of one topic, and mostly an event of this batch alone."""
    place = 7 * writer + number
    facts = [_fact(TOPICS[place % len(TOPICS)], place % VALUES)]
    if number % 5 == 0:
        facts.append(_fact(TOPICS[place % len(TOPICS)], (place + 3) % VALUES))
    visit = {"type": "event", "summary": f"visit {number} of {writer}", "content": [writer, number]}
    return [*facts, *([visit] if number < VISITS else [])]


def _fact(topic: str, value: int) -> dict[str, object]:
    return {"type": "fact", "topic_key": topic, "summary": f"{topic} is {value}", "content": {"value": value}}


def _statuses(answer: Ingested) -> list[str]:
    return [one["status"] for one in answer["results"]]


def _check_chain(profile: ProfileClient, topic: str, answers: list[Ingested]) -> None:
    """All memories of the topic point to a later one, but for one; nothing points in a circle; both ends agree."""
    (current,) = profile.recall(topic_key=topic, k=1000)["memories"]
    every = profile.recall(topic_key=topic, k=1000, include_superseded=True)["memories"]
    successor = {one["id"]: one["superseded_by"] for one in every}
    assert len(successor) == len(every) == VALUES
    assert [one for one, later in successor.items() if later is None] == [current["id"]]
    for memory_id in successor:
        path = [memory_id]
        while (later := successor[path[-1]]) is not None:
            assert later not in path, "no cycle"
            path.append(later)
        assert path[-1] == current["id"]
        found = profile.get(memory_id)
        assert found is not None
        assert {*found["supersedes"]} == {one for one, later in successor.items() if later == memory_id}
        assert (found["superseded_at"] is None) == (memory_id == current["id"])
    stated = [
        (answer["txid"], place, one["id"])
        for answer in answers
        for place, one in enumerate(answer["results"])
        if one["id"] in successor and one["status"] != "duplicate"
    ]
    assert max(stated)[-1] == current["id"], "the last change of all is the one that stands"
