"""`decisions` and `resolve_decision` of the published client."""

import pytest
from memorysync import MemorySyncError, NotFoundError

from tests import once
from tests.sdk.conftest import Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


def test_contradiction_found_at_a_write_is_decided(make: Make) -> None:
    client = make()
    lisbon = client.add("I live in Lisbon.", importance=0.7).id
    porto = client.add("I live in Porto.", importance=0.7).id

    listed = client.decisions(limit=10)

    assert listed["total"] == 1
    (decision,) = listed["decisions"]
    assert (decision["status"], decision["kind"]) == ("open", "contradiction")
    assert (decision["memory_ids"], decision["resolution"]) == ([porto, lisbon], None)
    assert decision["detected_at"]

    settled = client.resolve_decision(
        decision_id=decision["decision_id"], winning_memory_id=lisbon, resolution="moved back", note="told on the phone"
    )

    assert (settled["status"], settled["winning_memory_id"]) == ("resolved", lisbon)
    assert (settled["resolution"], settled["note"]) == ("moved back", "told on the phone")
    assert client.decisions()["decisions"] == [settled]
    assert [memory.text for memory in client.query("Where do I live?").memories] == ["I live in Lisbon."]
    assert client.resolve_decision(decision_id=decision["decision_id"], winning_memory_id=lisbon) == settled
    assert "superseded" in [revision.event for revision in client.history(porto).revisions]
    with pytest.raises(MemorySyncError):
        client.resolve_decision(decision_id=decision["decision_id"], winning_memory_id=porto)


def test_decisions_are_the_end_users_own(make: Make) -> None:
    client, stranger = make(), make(end_user_id="bob")
    client.add("I live in Lisbon.", importance=0.7)
    client.add("I live in Porto.", importance=0.7)
    name = client.decisions()["decisions"][0]["decision_id"]

    assert stranger.decisions() == {"decisions": [], "total": 0}
    with pytest.raises(NotFoundError):
        stranger.resolve_decision(decision_id=name)
