"""The published client of memories: what works for it works for its users."""

from typing import Any

import pytest
from memorysync import AuthError, BulkAddItem, NotFoundError, RateLimitError, ValidationError

from apps.apikeys import rate_limits
from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests import once
from tests.sdk.conftest import Make, refused

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

TEXT = "The spare key lies under the blue flower pot."


# -- writing -----------------------------------------------------------------------------------------------------------


def test_add_and_get(make: Make) -> None:
    client = make()

    memory = client.add(TEXT, source="notes", tags=["Home"], importance=0.7, session_id="s1", metadata={"n": [1, "é"]})

    assert isinstance(memory.id, int)
    assert (memory.text, memory.source, memory.tags, memory.importance) == (TEXT, "notes", ["home"], 0.7)
    assert memory.metadata == {"n": [1, "é"]}
    assert memory.created_at
    read = client.get(memory.id)
    assert (read.id, read.text, read.metadata) == (memory.id, TEXT, {"n": [1, "é"]})


def test_add_that_keeps_nothing_is_a_skip(make: Make) -> None:
    skip = make().add("ok")

    assert (skip.status, skip.reason, skip.memory_ids) == ("skipped", "no_high_value_content", [])
    assert (skip.candidates_extracted, skip.candidates_stored) == (1, 0)


def test_add_again_names_the_first(make: Make) -> None:
    client = make()
    memory = client.add(TEXT, importance=0.7, client_ref="r1")

    by_reference = client.add("Another text under the same reference.", importance=0.7, client_ref="r1")
    by_words = client.add(TEXT, importance=0.7)

    assert (by_reference.reason, by_reference.memory_ids) == ("already_ingested", [memory.id])
    assert (by_words.reason, by_words.memory_ids) == ("discarded_redundant", [memory.id])


def test_end_user_of_a_call_goes_before_the_clients(make: Make) -> None:
    client = make()

    memory = client.add(TEXT, importance=0.7, end_user_id="bob")

    assert make(end_user_id="bob").get(memory.id).text == TEXT
    with pytest.raises(NotFoundError):
        client.get(memory.id)


def test_bulk_add(make: Make) -> None:
    items = [BulkAddItem(text=f"Locker {n} holds volume {n} of the old atlas.", importance=0.7) for n in range(50)]
    items[7] = BulkAddItem(text="")
    items[8] = BulkAddItem(text="thanks")
    items[9] = BulkAddItem(text="Bob keeps his bicycle in the cellar.", importance=0.7, end_user_id="bob",
                           client_ref="b9", source="chat", event_type="note", tags=["bike"],
                           metadata={"speaker": "Bob"})  # fmt: skip

    answer = make().bulk_add(items)

    assert (answer.total, answer.created, answer.skipped, answer.rejected) == (50, 48, 1, 1)
    assert answer.unreported == 0
    assert [result.index for result in answer.results] == list(range(50))
    assert answer.results[7].status == "rejected"
    assert answer.results[8].reason == "no_high_value_content"
    assert make().get(answer.results[49].memory_ids[0]).text == items[49].text
    assert make(end_user_id="bob").get(answer.results[9].memory_ids[0]).tags == ["bike"]


# -- reading -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["query", "retrieve"])
def test_query_and_retrieve(method: str, make: Make) -> None:
    client = make()
    memory = client.add(TEXT, source="notes", tags=["home"], importance=0.7)
    client.add("The bus to the airport leaves at ten past six.", importance=0.7)

    answer = getattr(client, method)(
        "Where is the spare key?",
        k=1,
        filters={"source": "notes", "tags": ["home", "away"], "since": "2020-01-01T00:00:00Z", "tier": "hot"},
        session_id="s1",
        traversal_depth=2,
    )

    assert [hit.id for hit in answer.memories] == [memory.id]
    assert answer.memories[0].score > 0
    assert TEXT in answer.context
    assert answer.latency_ms > 0
    assert answer.session_id == "s1"
    assert answer.query_intent


def test_query_of_nobody_is_empty(make: Make) -> None:
    assert make(end_user_id="stranger").query("anything?").memories == []


def test_filters_that_the_client_drops_come_as_an_empty_object(make: Make) -> None:
    assert make().query("anything?", filters={"unknown": 1}).memories == []


def test_status_and_refresh(make: Make) -> None:
    client = make()
    memory = client.add(TEXT, importance=0.7)

    status = client.status(memory.id)
    refresh = client.refresh()

    assert (status["memory_id"], status["status"], status["embedded"], status["error"]) == (
        memory.id,
        "ready",
        True,
        None,
    )
    assert (refresh["status"], refresh["memories"]) == ("accepted", 1)
    assert refresh["job_id"]


def test_project_of_the_client_keeps_memories_apart(make: Make, acme: OpenedTenant) -> None:
    from tests.makers import make_project

    web = make(project_id=make_project(acme.scope, "web"))
    memory = web.add(TEXT, importance=0.7)

    assert web.get(memory.id).text == TEXT
    with pytest.raises(NotFoundError):
        make().get(memory.id)
    with pytest.raises(NotFoundError, match="no such project"):
        make(project_id="proj_0123456789abcdef").get(memory.id)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_refusals_carry_status_message_and_request_id(make: Make, globex: OpenedTenant) -> None:
    client = make()
    memory = client.add(TEXT, importance=0.7)

    missing = refused(ValidationError, lambda: make(end_user_id=None).query("anything?"))
    assert (missing.status_code, missing.response["error"]["code"]) == (400, "MISSING_END_USER_ID")
    assert str(missing) == "Name the end user in the X-End-User-ID header."

    assert refused(ValidationError, lambda: client.query(" ")).status_code == 400
    wrong = refused(ValidationError, lambda: client.add(TEXT, importance=7))
    assert (wrong.status_code, str(wrong)) == (422, "importance: must be at most 1.0")

    unknown = refused(AuthError, lambda: make("ms_live_nonsense").get(memory.id))
    assert (unknown.status_code, str(unknown)) == (401, "Invalid API key")

    for stranger in (make(end_user_id="bob"), make(globex.keys[Environment.PRODUCTION]), make(acme_staging(globex))):
        absent = refused(NotFoundError, lambda one=stranger: one.get(memory.id))
        assert (absent.status_code, str(absent)) == (404, "Memory not found.")


def acme_staging(tenant: OpenedTenant) -> str:
    return tenant.keys[Environment.STAGING]


def test_delete_with_a_key_needs_a_person(make: Make) -> None:
    client = make()
    memory = client.add(TEXT, importance=0.7)

    error = refused(AuthError, lambda: client.forget(memory_ids=[memory.id]))

    assert (error.status_code, error.response["error"]["code"]) == (403, "STEP_UP_REQUIRED")
    assert client.get(memory.id).text == TEXT


def test_rate_limit_tells_the_client_how_long_to_wait(
    make: Make, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RATE_LIMIT_TIER = "free"
    monkeypatch.setitem(rate_limits.TIERS, "free", (rate_limits.RateCeiling(60, 2),))  # type: ignore[arg-type]  # a dict in fact
    client = make()

    client.refresh()
    client.refresh()

    with pytest.raises(RateLimitError) as caught:
        client.refresh()

    assert caught.value.retry_after_seconds >= 1
    assert caught.value.request_id


def test_route_that_does_not_exist_is_not_found_and_no_redirect(make: Make) -> None:
    assert str(refused(NotFoundError, lambda: make()._request("GET", "/memory/no/such/route"))) == "Not found."
