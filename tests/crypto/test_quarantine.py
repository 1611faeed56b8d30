"""A row that fails its seal is left out, listed and audited: once a minute, and without a word of content."""

import logging
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from apps.adapters.embedders.fake import FailingEmbedder
from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError
from apps.ingest import pipeline_context, services
from apps.ingest.candidates import Proposal
from apps.memories import integrity
from apps.memories.integrity import Broken, quarantine
from apps.memories.models import QuarantinedRow
from apps.memories.selectors import get_memory
from apps.outbox import handlers
from apps.outbox.services import enqueue
from apps.projects.scope import Scope
from apps.projects.system import find_system_scope
from apps.recall.services import recall
from tests.crypto.broken import changed, listed, read, superuser, told
from tests.makers import NOW, make_scope

pytestmark = [
    pytest.mark.django_db(transaction=True, databases="__all__"),
    pytest.mark.usefixtures("no_answer_is_kept"),  # rows are spoiled and mended behind the product's back
]

MINUTE = timedelta(minutes=1)


def remember(scope: Scope, text: str, **fields: Any) -> int:
    (outcome,) = services.remember(scope, [Proposal(text=Plaintext(text), importance=0.6, **fields)], now=NOW)
    return outcome.memory_ids[0]


def found(scope: Scope, query: str = "where does the red bicycle stand?", **options: Any) -> list[str]:
    hits = recall(scope, Plaintext(query), limit=50, **{"now": NOW, **options}).hits
    return [hit.memory.text.reveal() for hit in hits]


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


@pytest.fixture
def bicycle(scope: Scope) -> int:
    return remember(scope, "The red bicycle stands in the yard.", tags=("yard",), metadata={"kind": "place"})


@pytest.fixture
def spoiled(bicycle: int, superuser_url: str) -> Any:
    """Its last byte is another."""
    with superuser(superuser_url) as cursor:
        text = read(cursor, bicycle, "text_ct")
        with changed(cursor, bicycle, "text_ct", text[:-1] + bytes([text[-1] ^ 1])):
            yield bicycle


# -- where it is noticed -----------------------------------------------------------------------------------------------


def test_recall_goes_on_without_the_row_and_notes_it(scope: Scope, spoiled: int) -> None:
    remember(scope, "The blue bicycle stands in the cellar.")

    assert found(scope) == ["The blue bicycle stands in the cellar."]

    assert listed(scope) == [("memory", spoiled, "tag", 2)]  # the add compared with it, too
    assert told(scope) == [(f"memory:{spoiled}", "tag")]


def test_getting_the_row_is_refused_and_noted(scope: Scope, spoiled: int) -> None:
    with pytest.raises(DecryptError):
        get_memory(scope, spoiled, now=NOW)

    assert listed(scope) == [("memory", spoiled, "tag", 1)]
    assert told(scope) == [(f"memory:{spoiled}", "tag")]


def test_an_add_that_meets_the_row_is_stored_and_notes_it(scope: Scope, superuser_url: str) -> None:
    old = remember(scope, "I live in Lisbon.")
    with superuser(superuser_url) as cursor, changed(cursor, old, "text_ct", b"gone"):
        remember(scope, "I live in Lisbon now, near the river.")

    assert listed(scope) == [("memory", old, "truncated", 2)]  # compared with, and found in its slot


def test_embedding_passes_the_row_by_and_notes_it(
    scope: Scope, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as down:
        down.setattr(pipeline_context, "get_embedder", FailingEmbedder)
        down.setattr(services, "notify", lambda task: None)
        broken, whole = (remember(scope, f"The ferry to {place} leaves at dawn.") for place in ("Naxos", "Paros"))
    with superuser(superuser_url) as cursor, changed(cursor, broken, "text_ct", b"gone"):
        handlers.process_due_events(now=NOW)

        assert get_memory(scope, whole, now=NOW).is_embedded
    assert not get_memory(scope, broken, now=NOW).is_embedded
    assert listed(scope) == [("memory", broken, "truncated", 1)]


def test_a_spoiled_turn_before_is_noted_and_the_turn_after_it_found(scope: Scope, superuser_url: str) -> None:
    first = remember(scope, "The ferry to Naxos leaves at dawn.", session_id="s")
    remember(scope, "Breakfast on board is included.", session_id="s")
    with superuser(superuser_url) as cursor, changed(cursor, first, "text_ct", b"gone"):
        assert found(scope, "breakfast on the ferry") == ["Breakfast on board is included."]

    assert {(table, record, reason) for table, record, reason, _ in listed(scope)} == {("memory", first, "truncated")}


def test_a_spoiled_vector_is_noted_and_the_memory_found_by_its_words(
    scope: Scope, bicycle: int, superuser_url: str
) -> None:
    with superuser(superuser_url) as cursor, changed(cursor, bicycle, "embedding_ct", b"gone"):
        assert found(scope) == ["The red bicycle stands in the yard."]

    # Found twice: among the nearest, and again where its words brought it to the shortlist.
    assert listed(scope) == [("vector", bicycle, "truncated", 2)]
    assert told(scope) == [(f"vector:{bicycle}", "truncated")]


@pytest.mark.parametrize("column", ["tags_ct", "metadata_ct"])
def test_a_field_beside_the_text_takes_the_whole_row_out(
    scope: Scope, bicycle: int, column: str, superuser_url: str
) -> None:
    with superuser(superuser_url) as cursor, changed(cursor, bicycle, column, read(cursor, bicycle, "text_ct")):
        assert found(scope) == []

    assert listed(scope) == [("memory", bicycle, "commitment", 1)]


# -- how it is reported ------------------------------------------------------------------------------------------------


def test_a_thousand_readings_in_a_second_are_one_row_and_one_event(scope: Scope, spoiled: int) -> None:
    for number in range(1000):
        integrity.note(scope, DecryptError("tag"), spoiled, space_id=scope.space.id, now=NOW + number * MINUTE / 60_000)

    assert listed(scope) == [("memory", spoiled, "tag", 1000)]
    with tenant_transaction(scope):
        row = AuditEvent.objects.get(tenant_id=scope.tenant_id, action="integrity.failed")
    assert (row.outcome, row.count, row.actor) == ("failed", 1000, scope.principal.label)


def test_a_row_that_is_read_all_day_is_told_once_a_minute(scope: Scope, spoiled: int) -> None:
    for tenth in range(300):  # five minutes, ten times a second would be 3000; every second is enough to see it
        found(scope, now=NOW + timedelta(seconds=tenth)) if tenth % 30 == 0 else None
        integrity.note(scope, DecryptError("tag"), spoiled, space_id=None, now=NOW + timedelta(seconds=tenth))
        integrity.flush()

    assert len(told(scope)) == 5
    assert listed(scope)[0][3] == 310


def test_two_processes_that_meet_the_row_at_once_list_it_once(scope: Scope, spoiled: int) -> None:
    barrier = threading.Barrier(4)

    def write() -> None:
        barrier.wait()
        with tenant_transaction(scope):
            quarantine(scope, [Broken(table="memory", record_id=spoiled, space_id=None, reason="tag", seen_at=NOW)])
        connection.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert listed(scope) == [("memory", spoiled, "tag", 4)]
    assert told(scope) == [(f"memory:{spoiled}", "tag")]


def test_what_is_noted_is_written_within_a_second_by_itself(
    scope: Scope, spoiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = threading.Event()
    usual = integrity._flush_in_background

    def flush_and_tell() -> None:
        usual()
        written.set()

    monkeypatch.setattr(integrity, "_flush_in_background", flush_and_tell)
    monkeypatch.setattr(integrity, "EVERY_SECONDS", 0.05)

    found(scope)

    assert written.wait(10)
    with tenant_transaction(scope):
        assert QuarantinedRow.objects.within(scope).get().record_id == spoiled


def test_it_is_noted_even_when_the_transaction_that_met_it_fails(scope: Scope, spoiled: int) -> None:
    with pytest.raises(DecryptError), tenant_transaction(scope):
        get_memory(scope, spoiled, now=NOW)

    assert listed(scope) == [("memory", spoiled, "tag", 1)]


def test_a_database_that_is_down_costs_the_reader_nothing(
    scope: Scope, spoiled: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as down:
        down.setattr(integrity, "quarantine", _fail)
        assert found(scope) == []
        integrity.flush()
    assert "broken seals were not noted" in caplog.messages

    found(scope)
    assert listed(scope) == [("memory", spoiled, "tag", 1)]


def _fail(*_: object) -> None:
    raise RuntimeError


def test_a_tenant_s_broken_rows_are_no_other_tenant_s(scope: Scope, spoiled: int, globex: OpenedTenant) -> None:
    found(scope)
    found(make_scope(globex))

    assert len(listed(scope)) == 1
    assert listed(make_scope(globex)) == []


def test_nothing_that_is_kept_or_logged_holds_what_was_said(
    scope: Scope, spoiled: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        found(scope)
        listed(scope)

    kept = repr(QuarantinedRow.__dict__) + "".join(
        record.getMessage() + repr(record.__dict__) for record in caplog.records
    )
    assert "rows failed their seals" in caplog.messages
    assert "bicycle" not in kept
    with tenant_transaction(scope):
        for row in (QuarantinedRow.objects.within(scope).values().get(), *AuditEvent.objects.values()):
            assert "bicycle" not in repr(row)


# -- letting go --------------------------------------------------------------------------------------------------------


def look_again(scope: Scope, *, now: Any = NOW + MINUTE) -> None:
    """As the admin asks for it, and the worker does it."""
    with tenant_transaction(scope):
        ids = list(QuarantinedRow.objects.within(scope).values_list("pk", flat=True))
        enqueue(scope, "look_again", ids, now=now)
    handlers.process_due_events(now=now)


@pytest.mark.parametrize("column", ["text_ct", "embedding_ct"])
def test_a_row_that_was_put_back_is_let_go_and_no_other(
    scope: Scope, bicycle: int, column: str, superuser_url: str
) -> None:
    other = remember(scope, "The blue bicycle stands in the cellar.")
    with superuser(superuser_url) as cursor, changed(cursor, other, "text_ct", b"gone"):
        with changed(cursor, bicycle, column, b"gone"):
            found(scope)
            assert {record for _, record, _, _ in listed(scope)} == {bicycle, other}
            look_again(scope)
            assert {record for _, record, _, _ in listed(scope)} == {bicycle, other}

        look_again(scope)

        assert [record for _, record, _, _ in listed(scope)] == [other]
    table = "vector" if column == "embedding_ct" else "memory"
    assert told(scope, action="integrity.released") == [(f"{table}:{bicycle}", "")]


def test_a_row_that_is_gone_is_let_go(scope: Scope, spoiled: int, superuser_url: str) -> None:
    with pytest.raises(DecryptError):
        get_memory(scope, spoiled, now=NOW)
    integrity.note(scope, DecryptError("tag"), 2**40, space_id=None, now=NOW)
    assert len(listed(scope)) == 2

    look_again(scope)

    assert [record for _, record, _, _ in listed(scope)] == [spoiled]


def test_a_row_is_not_let_go_for_another_tenant(scope: Scope, bicycle: int, globex: OpenedTenant) -> None:
    integrity.note(scope, DecryptError("tag"), bicycle, space_id=None, now=NOW)
    assert len(listed(scope)) == 1
    theirs = find_system_scope(globex.scope.tenant_id)
    assert theirs is not None
    with tenant_transaction(scope):
        ids = list(QuarantinedRow.objects.within(scope).values_list("pk", flat=True))

    with tenant_transaction(theirs):
        enqueue(theirs, "look_again", ids, now=NOW)
    handlers.process_due_events(now=NOW)

    assert len(listed(scope)) == 1
