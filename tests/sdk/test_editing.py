"""Updating memories and reading their history with the published client."""

import pytest
from memorysync import AuthError, NotFoundError, ValidationError

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests import once
from tests.makers import make_api_key
from tests.sdk.conftest import Make, refused

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

TEXT = "The spare key lies under the blue flower pot."


def test_update_replaces_what_is_named_and_recall_follows(make: Make) -> None:
    client = make()
    memory = client.add(TEXT, source="notes", tags=["home"], importance=0.7, metadata={"a": 1})

    updated = client.update(memory.id, tags=["Garden"], metadata={"b": [1, "é"]}, importance=0.9)

    assert (updated.id, updated.text, updated.tags, updated.importance) == (memory.id, TEXT, ["garden"], 0.9)
    assert (updated.metadata, updated.source) == ({"b": [1, "é"]}, "notes")
    assert client.get(memory.id).tags == ["garden"]
    assert [hit.id for hit in client.query("spare key", filters={"tags": ["garden"]}).memories] == [memory.id]
    assert client.query("spare key", filters={"tags": ["home"]}).memories == []


def test_update_clears_with_empty_values(make: Make) -> None:
    client = make()
    memory = client.add(TEXT, source="notes", tags=["home"], importance=0.7, metadata={"a": 1})

    cleared = client.update(memory.id, tags=[], metadata={}, source="")

    assert (cleared.tags, cleared.metadata, cleared.source) == ([], {}, None)


def test_update_reaches_nobody_elses_memory(make: Make, acme: OpenedTenant, globex: OpenedTenant) -> None:
    client = make()
    memory = client.add(TEXT, importance=0.7)

    for stranger in (make(end_user_id="bob"), make(globex.keys[Environment.PRODUCTION])):
        refused(NotFoundError, lambda one=stranger: one.update(memory.id, tags=["a"]))
        refused(NotFoundError, lambda one=stranger: one.history(memory.id))
        assert stranger.batch_update([{"memory_id": memory.id, "tags": ["a"]}]).not_found == 1
    reader = make(make_api_key(acme.scope, scopes=["memory:read"]).text)
    refused(AuthError, lambda: reader.update(memory.id, tags=["a"]))
    assert client.get(memory.id).tags == []


def test_update_refuses_what_breaks_a_rule(make: Make) -> None:
    client = make()
    memory = client.add(TEXT, importance=0.7)

    error = refused(ValidationError, lambda: client.update(memory.id, importance=7))

    assert (error.status_code, str(error)) == (422, "importance: must be at most 1.0")


def test_batch_update_applies_the_rest_and_reports_what_is_not_there(make: Make) -> None:
    client = make()
    memory, other = client.add(TEXT, importance=0.7), client.add("The bus leaves at ten past six.", importance=0.7)

    answer = client.batch_update(
        [
            {"memory_id": other.id, "tags": None, "source": "chat"},
            {"memory_id": 2**52, "tags": ["a"]},
            {"memory_id": memory.id, "tags": ["a"], "importance": 0.9},
        ]
    )

    assert (answer.total, answer.updated, answer.not_found) == (3, 2, 1)
    assert [(one.index, one.memory_id, one.status) for one in answer.results] == [
        (0, other.id, "updated"),
        (1, 2**52, "not_found"),
        (2, memory.id, "updated"),
    ]
    assert answer.results[2].changed_fields == ["tags", "importance"]
    assert (client.get(memory.id).tags, client.get(other.id).source) == (["a"], "chat")


def test_history_tells_old_and_new_in_order(make: Make) -> None:
    client = make()
    memory = client.add("I live in Lisbon.", importance=0.7, tags=["home"])
    client.update(memory.id, tags=["address"])
    newer = client.add("I live in Porto.", importance=0.7)

    history = client.history(memory.id)

    assert (history.memory_id, history.total) == (memory.id, 3)
    assert [(one.revision, one.event) for one in history.revisions] == [
        (0, "created"),
        (1, "updated"),
        (2, "superseded"),
    ]
    assert history.revisions[1].diff == {"tags": {"old": ["home"], "new": ["address"]}}
    assert history.revisions[2].diff["superseded_by"]["new"] == newer.id
    assert "tags" in history.tracked_fields
    assert [one.revision for one in client.history(memory.id, limit=1, offset=1).revisions] == [1]
