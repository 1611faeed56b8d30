"""Files of exports through what happens to them: kills, rotations, erasures; and what is in the file of a person."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from django.db import connection, connections

from apps.apikeys.onboarding import OpenedTenant
from apps.connectors.buckets import BucketSettings
from apps.connectors.services import ConnectorSettings, create_connector
from apps.core.broker import EXPIRES_SECONDS
from apps.core.errors import Unavailable
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.crypto.services import destroy_salt, drop_cached_keys
from apps.erasure import rows
from apps.erasure.hard_delete import delete_rows
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.history.state_writes import NewState
from apps.history.turns import NewTurn
from apps.ingest.candidates import Proposal
from apps.ingest.conversation_sync import append_history, put_state
from apps.ingest.platform import PlatformFields, save
from apps.ingest.services import remember
from apps.ingest.turns import Turn, take_turn
from apps.key_management import rotation
from apps.memories.feedback import give_feedback
from apps.memories.feedback_aggregation import Signal
from apps.memories.models import Memory
from apps.memories.platform import Asset
from apps.memories.spaces import SpaceOwner
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import default_project, get_project
from apps.retention import subject_requests
from apps.retention.memory_selection import MemorySelection
from apps.retention.requests import PersonNeeded, ask
from apps.retention.states import PrivacyKind, PrivacyState
from apps.transfers.exports import export_worker, people, reading, services, tasks
from apps.transfers.exports.export_worker import ExportOutcome
from apps.transfers.exports.filters import ExportFilters
from apps.transfers.exports.links import ExportNotReady, LinkRefused, issue_link, use_link
from apps.transfers.models.exports import ExportChunk, ExportJob, ExportReach, ExportStatus, Format
from tests.api.conftest import Caller
from tests.makers import make_project, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

NOW: Final = datetime.now(UTC)
WORD: Final = Authorisation(principal=Principal(kind="account", id=3), method="session+webauthn", step_up_age_s=41)
DOG, HOME, WORK = "My dog Biscuit sleeps on the blue sofa.", "I live in Lisbon.", "I work as a nurse."


def say(scope: Scope, *texts: str) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.6) for text in texts]
    return [memory_id for outcome in remember(scope, proposals, now=NOW) for memory_id in outcome.memory_ids]


def start(scope: Scope, **filters: Any) -> ExportJob:
    reach = ExportReach.FILTERED if filters else ExportReach.ALL
    return services.start_export(
        scope, format_=Format.JSONL, reach=reach, filters=ExportFilters(**filters), now=NOW
    ).job


def finish(scope: Scope, job: ExportJob) -> ExportJob:
    while export_worker.work(scope.tenant_id, job.pk, seconds=60.0, clock=lambda: NOW) == ExportOutcome.BUSY:
        pass
    return read(scope, job)


def read(scope: Scope, job: ExportJob) -> ExportJob:
    with tenant_transaction(scope):
        return ExportJob.objects.within(scope).get(pk=job.pk)


def is_there(scope: Scope, job: ExportJob) -> bool:
    with tenant_transaction(scope):
        return ExportJob.objects.within(scope).filter(pk=job.pk).exists()


def file_of(scope: Scope, job: ExportJob) -> bytes:
    link = issue_link(scope, job.public_id, now=NOW)
    return b"".join(use_link(link.public_id, link.token, now=NOW).pieces)


def pieces(scope: Scope) -> int:
    with tenant_transaction(scope):
        return ExportChunk.objects.within(scope).count()


def lines(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.splitlines()]


# -- kills -------------------------------------------------------------------------------------------------------------

# Says each statement before it is sent, and waits to be told to send it.
CHILD: Final = """
import sys
from datetime import datetime
import django
django.setup()
from django.db import connections
from apps.transfers.exports import export_worker, reading
reading.BATCH_ROWS, export_worker.PIECE_BYTES = 2, 400
tenant, job, now = int(sys.argv[1]), int(sys.argv[2]), datetime.fromisoformat(sys.argv[3])
def wait(execute, sql, params, many, context):
    sys.stdout.write("statement\\n")
    sys.stdout.flush()
    sys.stdin.readline()
    return execute(sql, params, many, context)
with connections["default"].execute_wrapper(wait):
    export_worker.work(tenant, job, seconds=60.0, clock=lambda: now)
sys.stdout.write("done\\n")
"""


def run(scope: Scope, job: ExportJob, *, kill_at: int | None) -> int:
    """How many statements it sent; killed before it sends that one."""
    environment = dict(os.environ) | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    for alias, name in (("default", "DATABASE_URL"), ("keyring", "KEYRING_URL")):
        base, _, rest = environment[name].rpartition("/")
        _, mark, options = rest.partition("?")
        environment[name] = f"{base}/{connections[alias].settings_dict['NAME']}{mark}{options}"
    command = [sys.executable, "-c", CHILD, str(scope.tenant_id), str(job.pk), NOW.isoformat()]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for sent, line in enumerate(child.stdout):
            if line.strip() == "done":
                return sent
            if sent == kill_at:
                child.kill()
                return sent
            child.stdin.write("\n")
            child.stdin.flush()
    raise AssertionError("the child ended before it was done")


def test_worker_that_is_killed_leaves_a_file_that_comes_out_the_same(acme: OpenedTenant) -> None:
    for person in ("alice", "bob"):
        say(make_scope(acme, person), DOG, HOME, WORK, "I like to swim in the sea.")
    whole = start(acme.scope)
    statements = run(acme.scope, whole, kill_at=None)
    expected = file_of(acme.scope, read(acme.scope, whole))
    job = start(acme.scope)

    for part in (0.2, 0.45, 0.7, 0.9):
        run(acme.scope, job, kill_at=int(statements * part) // 2 + 3)
    done = finish(acme.scope, job)

    assert done.status == ExportStatus.COMPLETED
    assert file_of(acme.scope, done) == expected
    assert len(lines(expected)) == 8
    export = services.get_export(acme.scope, done.public_id)
    assert export.result is not None
    assert export.result.sha256 == hashlib.sha256(expected).hexdigest()


def ended(*_: object, **__: object) -> Any:
    raise SystemExit


def test_export_that_ends_one_worker_after_the_other_fails_in_the_end(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them lives to say so: the attempt is counted before."""
    say(make_scope(acme), DOG)
    job, other = start(acme.scope), start(globex.scope)
    monkeypatch.setattr(export_worker, "_next_part", ended)

    for attempt in range(1, export_worker.MOST_ATTEMPTS + 1):
        with pytest.raises(SystemExit):
            export_worker.work(acme.scope.tenant_id, job.pk, seconds=60.0, clock=lambda: NOW)
        assert read(acme.scope, job).attempts == attempt
    export_worker.work(acme.scope.tenant_id, job.pk, seconds=60.0, clock=lambda: NOW)

    assert (read(acme.scope, job).status, read(acme.scope, job).error) == (ExportStatus.FAILED, "worker_failed")
    assert read(globex.scope, other).attempts == 0


def test_what_keeps_the_keys_from_being_reached_is_no_fault_of_the_export(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(make_scope(acme), DOG)
    job, other = start(acme.scope), start(globex.scope)
    with monkeypatch.context() as down:
        down.setattr(export_worker, "_next_part", raising(Unavailable()))
        for _ in range(2 * export_worker.MOST_ATTEMPTS):
            with pytest.raises(Unavailable):
                export_worker.work(acme.scope.tenant_id, job.pk, seconds=60.0, clock=lambda: NOW)

    assert finish(acme.scope, job).status == ExportStatus.COMPLETED
    assert read(globex.scope, other).attempts == 0


def raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


def test_words_looked_for_are_in_no_log_and_no_message(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    sent: list[Any] = []
    monkeypatch.setattr(tasks.work, "apply_async", lambda *args, **kwargs: sent.append((args, kwargs)))
    say(make_scope(acme), DOG)
    job = start(acme.scope, q="zweisamkeit biscuit", user_id="alice")
    monkeypatch.setattr(reading, "open_memory", fail_with("zweisamkeit"))
    export_worker.work(acme.scope.tenant_id, job.pk, seconds=60.0, clock=lambda: NOW)
    tasks.tend()

    message = {"kwargs": {"tenant_id": acme.scope.tenant_id, "job_id": job.pk}}
    assert sent == [((), message | {"expires": EXPIRES_SECONDS}), ((), message)]
    assert "a part failed" in caplog.text
    said = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    for word in ("zweisamkeit", "biscuit", "alice"):
        assert word not in said


def fail_with(words: str) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise RuntimeError(words)

    return fail


# -- keys --------------------------------------------------------------------------------------------------------------


def test_file_turns_with_the_keys_and_one_that_is_being_made_goes_on(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH_ROWS", 1)
    say(make_scope(acme), DOG, WORK)
    made, of_alice = finish(acme.scope, start(acme.scope)), finish(acme.scope, start(acme.scope, user_id="alice"))
    under_way = start(acme.scope, q="sofa")
    export_worker.export_part(acme.scope, under_way.pk, now=NOW)

    turning = rotation.rotate(acme.scope, reason="test", now=NOW)
    assert rotation.work(turning.pk, seconds=60, workers=1, clock=lambda: NOW) == SliceOutcome.OVER
    done = finish(acme.scope, under_way)

    with tenant_transaction(acme.scope):
        chunks = set(ExportChunk.objects.within(acme.scope).values_list("key_version", flat=True))
        jobs = set(ExportJob.objects.within(acme.scope).values_list("key_version", flat=True))
    assert (chunks, jobs) == ({2}, {2})
    assert [line["text"] for line in lines(file_of(acme.scope, made))] == [DOG, WORK]
    assert [line["text"] for line in lines(file_of(acme.scope, of_alice))] == [DOG, WORK]
    assert [line["text"] for line in lines(file_of(acme.scope, done))] == [DOG]


# -- what is erased ----------------------------------------------------------------------------------------------------

Erase = Callable[[Scope, Scope, list[int]], None]
ERASURES: Final[dict[str, Erase]] = {
    "the memory": lambda tenant, alice, ids: erase(tenant, Target.memories(ids[:1])),
    "the person in the environment": lambda tenant, alice, ids: erase(tenant, Target.space(alice.space.uid)),
    "the person": lambda tenant, alice, ids: erase(tenant, Target.end_user(alice.space.owner_id)),
    "at the end of its time": lambda tenant, alice, ids: purged(tenant, ids[:1]),
}


def erase(tenant: Scope, target: Target) -> None:
    start_erasure(tenant, target, authorised=WORD, now=NOW)


def purged(tenant: Scope, ids: Sequence[int]) -> None:
    with tenant_transaction(tenant):
        list(Memory.objects.within_tenant(tenant).filter(pk__in=ids).order_by("pk").select_for_update())
        delete_rows(tenant, ids, now=NOW)


@pytest.mark.parametrize("how", ERASURES)
def test_file_goes_when_something_in_it_is_erased_and_no_other_does(acme: OpenedTenant, how: str) -> None:
    alice, bob = make_scope(acme), make_scope(acme, "bob")
    ids = say(alice, DOG, HOME)
    say(bob, WORK)
    everybodys, bobs = finish(acme.scope, start(acme.scope)), finish(acme.scope, start(acme.scope, user_id="bob"))
    link = issue_link(acme.scope, everybodys.public_id, now=NOW)

    ERASURES[how](acme.scope, alice, ids)

    gone = services.get_export(acme.scope, everybodys.public_id)
    assert (gone.job.status, gone.result, gone.problem) == (
        ExportStatus.EXPIRED, None, "Something that was in the file was erased, and so the file is gone.",
    )  # fmt: skip
    assert pieces(acme.scope) == 1
    with pytest.raises(LinkRefused):
        use_link(link.public_id, link.token, now=NOW)
    with pytest.raises(ExportNotReady):
        issue_link(acme.scope, everybodys.public_id, now=NOW)
    assert [line["text"] for line in lines(file_of(acme.scope, bobs))] == [WORK]
    services.retry_export(acme.scope, everybodys.public_id, now=NOW)
    anew = {line["text"] for line in lines(file_of(acme.scope, finish(acme.scope, everybodys)))}
    assert DOG not in anew
    assert WORK in anew


def test_export_of_one_person_leaves_with_them(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, DOG)
    job = finish(acme.scope, start(acme.scope, user_id="alice", q="sofa"))

    erase(acme.scope, Target.space(alice.space.uid))

    assert not is_there(acme.scope, job)
    assert pieces(acme.scope) == 0


def test_exports_of_a_project_go_with_what_is_in_it(acme: OpenedTenant) -> None:
    project = make_project(acme.scope, "other")
    project_id = get_project(acme.scope, project).pk
    alice = make_scope(acme, project_id=project_id)
    say(alice, DOG)
    of_project = finish(acme.scope, start(replace(acme.scope, project_id=project_id)))
    of_all = finish(acme.scope, start(replace(acme.scope, project_id=None)))

    erase(acme.scope, Target.of_project(project))

    assert not is_there(acme.scope, of_project)
    assert services.get_export(acme.scope, of_all.public_id).job.error == "erased"
    assert pieces(acme.scope) == 0


def test_erased_tenant_leaves_no_job(acme: OpenedTenant, globex: OpenedTenant) -> None:
    for opened in (acme, globex):
        say(make_scope(opened), DOG)
        finish(opened.scope, start(opened.scope))

    erase(acme.scope, Target.tenant())

    with connection.cursor() as cursor:
        cursor.execute("select set_config('app.tenant_id', %s, false)", [str(acme.scope.tenant_id)])
        for table in ("transfers_exportjob", "transfers_exportchunk", "transfers_exportlink"):
            cursor.execute(f"select count(*) from {table}")  # noqa: S608  (ours)
            assert cursor.fetchone() == (0,)
        cursor.execute("select set_config('app.tenant_id', '', false)")
    assert pieces(globex.scope) == 1


def test_export_under_way_begins_anew_without_what_was_erased(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH_ROWS", 1)
    ids = say(make_scope(acme), DOG, WORK)
    job = start(acme.scope)
    export_worker.export_part(acme.scope, job.pk, now=NOW)
    export_worker.export_part(acme.scope, job.pk, now=NOW)

    erase(acme.scope, Target.memories(ids[:1]))

    assert (read(acme.scope, job).status, pieces(acme.scope)) == (ExportStatus.PENDING, 0)
    done = finish(acme.scope, job)
    assert [line["text"] for line in lines(file_of(acme.scope, done))] == [WORK]


def test_erasure_waits_for_a_part_that_has_read_what_it_erases(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = say(make_scope(acme), DOG, WORK)
    job = start(acme.scope)
    has_read, may_write = threading.Event(), threading.Event()
    write = export_worker._write

    def wait_and_write(*arguments: Any, **options: Any) -> None:
        has_read.set()
        assert may_write.wait(60)
        write(*arguments, **options)

    def export() -> None:
        export_worker.export_part(acme.scope, job.pk, now=NOW)
        connections.close_all()

    def forget() -> None:
        erase(acme.scope, Target.memories(ids[:1]))
        connections.close_all()

    monkeypatch.setattr(export_worker, "_write", wait_and_write)
    exporting, erasing = threading.Thread(target=export), threading.Thread(target=forget)
    exporting.start()
    assert has_read.wait(60)
    erasing.start()
    while not is_somebody_waiting():
        assert erasing.is_alive()

    may_write.set()
    exporting.join(60)
    erasing.join(60)

    assert (read(acme.scope, job).status, pieces(acme.scope)) == (ExportStatus.PENDING, 0)
    assert [line["text"] for line in lines(file_of(acme.scope, finish(acme.scope, job)))] == [WORK]


def is_somebody_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%%export%%'"
        )
        row = cursor.fetchone()
    return bool(row and row[0])


def test_shredded_space_is_left_out(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, DOG)
    say(make_scope(acme, "bob"), WORK)
    destroy_salt(acme.scope.tenant.uid, alice.space.uid, now=NOW)
    drop_cached_keys(acme.scope.tenant)

    done = finish(acme.scope, start(acme.scope))
    of_alice = finish(acme.scope, start(acme.scope, user_id="alice"))

    assert [line["text"] for line in lines(file_of(acme.scope, done))] == [WORK]
    assert lines(file_of(acme.scope, of_alice)) == []


# -- the file of a person ----------------------------------------------------------------------------------------------


def settle(acme: OpenedTenant) -> Scope:
    """Alice, of whom something of every kind is kept."""
    alice = make_scope(acme)
    (home,) = say(alice, "I live in Lisbon with my sister Ana.")
    say(alice, "I moved to Porto.", DOG)
    give_feedback(alice, home, Signal.POSITIVE, comment=Plaintext("that was right"), now=NOW)
    turns = [NewTurn(role="user", content=Plaintext("We spoke of the lighthouse."), seq=0)]
    append_history(alice, "alice", "s1", turns, source="api", metadata={}, extract=False, now=NOW)
    put_state(
        alice,
        "alice",
        NewState(namespace=("prefs",), key="theme", value={"colour": "teal"}, source="api"),
        extract=False,
        replace_facts=False,
        now=NOW,
    )
    ask(alice, MemorySelection(memory_ids=(home,)), reason=Plaintext("because of the move"), now=NOW)
    plan = PlatformFields(
        value="Moves in June.", messages=["m-quokka"], assets=[Asset(url="https://files.example/plan")]
    )
    save(alice, SpaceOwner.end_user("alice"), plan, key=None, workspace="", always_creates=True, now=NOW)
    bucket = BucketSettings(name="manuals", prefix="flat/", region="eu", access_key_id="AKIA1", is_path_style=True)
    chosen = ConnectorSettings(
        name="Manuals", place="https://93.184.216.34", every=timedelta(hours=6), most_objects=9, most_bytes=9,
        bucket=bucket, secret="hunter2hunter2",
    )  # fmt: skip
    create_connector(alice, "alice", "s3", chosen, now=NOW)
    waiting = Turn(text=Plaintext("Always answer me in Dutch."), source="chat", occurred_at=NOW)
    take_turn(replace(alice, project_id=default_project(alice).pk), "alice", waiting, now=NOW)
    return alice


def handed_over(acme: OpenedTenant, alice: Scope) -> list[Any]:
    asked, _ = subject_requests.open_request(alice, PrivacyKind.ACCESS, now=NOW)
    return lines(b"".join(subject_requests.hand_over(acme.scope, asked.id, now=NOW)))


def test_everything_that_is_kept_of_a_person_is_in_their_file(acme: OpenedTenant) -> None:
    alice = settle(acme)
    say(make_scope(acme, "bob"), WORK)
    say(make_scope(acme, environment=Environment.STAGING), HOME)

    told = handed_over(acme, alice)

    said = json.dumps(told)
    for words in ("Lisbon with my sister", "moved to Porto", "that was right", "lighthouse", "teal",
                  "because of the move", "in Dutch", "alice", "Ana", "m-quokka", "files.example/plan",
                  "AKIA1"):  # fmt: skip
        assert words in said, words
    assert WORK not in said
    assert "hunter2" not in said
    kinds = {line["kind"] for line in told}
    assert {"person", "memory", "revision", "feedback", "turn", "state", "candidate", "decision", "forget_request",
            "entity", "entity_name", "mention"} <= kinds  # fmt: skip
    assert {line["environment"] for line in told} == {"production", "staging"}


def test_no_table_of_a_space_is_forgotten() -> None:
    exported = {section.model._meta.db_table for section in people.sections()} - {"projects_space"}
    left_out = {
        "memories_memoryvector": "numbers, made of the text",
        "memories_posting": "keyed words, made of the text",
        "memories_tombstone": "keyed hashes of what was erased",
        "memories_quarantinedrow": "ids of rows that do not open",
        "ingest_turnreceipt": "keyed hashes of turns",
        "memory_types_typechangerow": "which type a memory had before the tenant changed its types",
        "transfers_importjob": "of the tenant: how far a file of theirs is",
        "transfers_importchunk": "what waits of a file of the tenant's, until it is memories",
        "transfers_exportjob": "of the tenant: which files were made",
        "transfers_exportchunk": "such a file",
        "policies_retentionpolicy": "how long the tenant keeps what",
        "webhooks_webhookevent": "ids of what is told to the tenant's addresses and listeners",
        "webhooks_webhookdelivery": "ids of what was told there, and how it went",
        "erasure_hold": "that somebody forbids to delete it, and by which case",
        "breakglass_grant": "of the tenant: which operator might read the space, when and why",
    }

    with connection.cursor():
        there = set(rows.tables_of_a_space())

    assert there - exported - left_out.keys() == set(), (
        "say in apps/transfers/exports/people.py what a person is told of it"
    )
    assert left_out.keys() - there == set()
    assert exported & left_out.keys() == set()


def test_file_of_a_person_is_sealed_under_their_own_key_and_goes_with_them(acme: OpenedTenant) -> None:
    alice = settle(acme)
    asked, _ = subject_requests.open_request(alice, PrivacyKind.EXPORT, now=NOW)
    begun = subject_requests.prepare_file(acme.scope, asked.id, now=NOW)
    again = subject_requests.prepare_file(acme.scope, asked.id, now=NOW)
    export = services.find_for_requests(acme.scope, [asked.id]).get(asked.id)
    assert export is not None
    done = finish(acme.scope, export.job)
    link = subject_requests.link_to_file(acme.scope, asked.id, now=NOW)

    with tenant_transaction(acme.scope):
        spaces = set(ExportChunk.objects.within(acme.scope).values_list("space_id", flat=True))
        jobs = ExportJob.objects.within(acme.scope).count()
    assert (begun.state, again.state, done.status) == ("in_progress", "in_progress", ExportStatus.COMPLETED)
    assert (spaces, jobs) == ({alice.space.id}, 1)
    assert services.list_exports(acme.scope, limit=10) == ([], 0)  # for people, and for no key
    with pytest.raises(services.ExportNotFound):
        services.get_export(acme.scope, done.public_id)

    erase(acme.scope, Target.end_user(alice.space.owner_id))

    assert pieces(acme.scope) == 0
    with pytest.raises(LinkRefused):
        use_link(link.public_id, link.token, now=NOW)


def test_request_is_completed_when_its_file_was_taken_whole(acme: OpenedTenant) -> None:
    alice = settle(acme)
    asked, _ = subject_requests.open_request(alice, PrivacyKind.ACCESS, now=NOW)
    subject_requests.prepare_file(acme.scope, asked.id, now=NOW)
    export = services.find_for_requests(acme.scope, [asked.id]).get(asked.id)
    assert export is not None
    finish(acme.scope, export.job)
    link = subject_requests.link_to_file(acme.scope, asked.id, now=datetime.now(UTC))
    (before,) = subject_requests.list_requests(acme.scope, now=NOW)

    taken = Caller(None)("GET", f"/exports/{link.public_id}/file/{link.token}")

    (after,) = subject_requests.list_requests(acme.scope, now=NOW)
    assert (taken.status_code, before.state, after.state) == (200, PrivacyState.IN_PROGRESS, PrivacyState.COMPLETED)
    assert after.records == len(lines(taken.content)) > 10
    subject_requests.note_taken(acme.scope, asked.id, now=NOW + timedelta(days=1))
    assert subject_requests.list_requests(acme.scope, now=NOW) == [after]


def test_nothing_of_a_person_is_made_for_a_key(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, DOG)
    asked, _ = subject_requests.open_request(alice, PrivacyKind.ACCESS, now=NOW)
    by_key = replace(acme.scope, principal=Principal(kind="api_key", id=1))

    for carry_out in (subject_requests.prepare_file, subject_requests.link_to_file, subject_requests.hand_over):
        with pytest.raises(PersonNeeded):
            carry_out(by_key, asked.id, now=NOW)
    with pytest.raises(ExportNotReady):
        subject_requests.link_to_file(acme.scope, asked.id, now=NOW)
