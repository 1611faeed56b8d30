"""Fills a tenant with data for every page, as after long use, for ``benchmarks.pages``.

Objects that a page opens are created by services.  Rows in the hundred thousands are inserted in bulk, with the columns
that a service would write.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from apps.accounts.services import get_or_create_person
from apps.apikeys.services import issue, revoke
from apps.breakglass import services as breakglass
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import open_tenant
from apps.erasure.legal_holds import hold, lift
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.ingest.turns import Turn, take_turn
from apps.key_management.binding import bind_rows
from apps.memories.models import Memory
from apps.memories.spaces import get_or_create_end_user
from apps.policies.retention import Level, set_policy
from apps.projects.models import Space
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import scope_in
from apps.projects.services import create_project
from apps.retention.memory_selection import MemorySelection
from apps.retention.requests import ask
from apps.retention.states import PrivacyKind
from apps.retention.subject_requests import open_request
from apps.tenants.members import give_role
from apps.tenants.models import EXTERNAL_ID, EndUser, Role
from apps.tenants.selectors import get_tenant
from apps.transfers.exports.filters import ExportFilters
from apps.transfers.exports.services import get_export, start_export
from apps.transfers.models.exports import ExportReach, Format
from apps.webhooks.deliveries import test as send_a_test
from apps.webhooks.services import create as create_webhook
from apps.webhooks.services import pause
from benchmarks.instance import Instance, superuser
from benchmarks.latency import Caller, scope_of, sentences
from benchmarks.people import Person, create_operator, create_person
from benchmarks.population import crowd, fill
from memsync.demo.conversation import conversation

READER: Final = "reader"  # end user whose memories pages can decrypt
PEOPLE, PROJECTS, KEYS, MEMBERS, ENDPOINTS = 40, 12, 60, 20, 3
WAITING, DECIDED, DELIVERIES, ERASURES, EXPORTS, REQUESTS = 200, 20_000, 50_000, 40, 4, 60
AUDIT_BATCH: Final = 1_000
NO_RECEIVER: Final = "https://hooks.example/memsync"  # no receiver: deliveries end before an attempt
LANGUAGES: Final = ("Dutch", "Basque", "Welsh", "Latin", "Maltese", "Faroese", "Sardinian", "Breton")

# Columns of filler rows: ages, types, sources, projects and states as after three months.
_VARIED: Final = {
    "created_at": "made_at",
    "updated_at": "made_at",
    "type": "(array['fact', 'preference', 'event', 'relation', 'decision'])[1 + mod((lot * 997)::int, 5)]",
    "source": "(array['chat', 'mail', 'notes', 'import', 'intake'])[1 + mod((lot * 9973)::int, 5)]",
    "validity": "case when lot < 0.05 then 'superseded' when lot > 0.995 then 'disputed' else 'current' end",
    "superseded_reason": "case when lot < 0.05 then 'newer' else '' end",
    "superseded_at": "case when lot < 0.05 then made_at + interval '1 day' end",
    "retention_status": "case when lot between 0.08 and 0.1 then 'soft_deleted' else 'active' end",
    "deleted_at": "case when lot between 0.08 and 0.1 then now() - (lot - 0.08) * interval '250 days' end",
    "hard_delete_at": "case when lot between 0.08 and 0.1 "
    "then now() + interval '7 days' - (lot - 0.08) * interval '250 days' end",
    "deletion_method": "case when lot between 0.08 and 0.1 then 'user_request' else '' end",
}

# Candidates: one per memory, and a third as many that were refused.
_CANDIDATES: Final = """
insert into ingest_candidate (tenant_id, space_id, decision, reason, type, memory_id, digest, created_at)
select tenant_id, space_id, decision, reason, memory.type, case when decision = 'created' then memory.id end,
    decode(md5(memory.id::text || decision), 'hex'), memory.created_at
from memories_memory memory
cross join (values ('created', '', 1), ('discarded_low_signal', 'no_signal', 3)) made(decision, reason, each)
where tenant_id = %s and memory.id %% each = 0
order by memory.id
"""
_TRANSITIONS: Final = """
insert into memories_memorytransition (tenant_id, memory_id, space_id, txid, event, actor, changed_fields, created_at)
select tenant_id, id, space_id, created_txid, 'created', 'api_key:1', '{}', created_at
from memories_memory where tenant_id = %s and id not in (
    select memory_id from memories_memorytransition where tenant_id = %s) order by id
"""
# The database numbers and chains the events on commit.
_AUDIT: Final = """
insert into audit_auditevent (tenant_id, created_at, actor, action, target, outcome, reason, request_id, count, network,
    code_version, prev_hash, hash)
select %(tenant)s, now() - interval '60 days' * (1 - (%(at)s + number)::float / %(all)s),
    case when number %% 10 = 0 then 'account:1' else 'api_key:1' end,
    case when number %% 10 = 0 then 'memory.browse' when number %% 3 = 0 then 'memory.read' else 'memory.recall' end,
    'space:' || %(space)s, 'ok', '', '', 1, '', '0', '', ''
from generate_series(1, %(rows)s) number
"""
# A decided candidate, once the decision can no longer be undone.
_DECIDED: Final = """
insert into ingest_reviewitem (tenant_id, space_id, project_id, state, reason, type, confidence, extractor, digest,
    key_version, expires_at, decided_at, decided_by, outcome, created_at)
select tenant_id, space_id, project_id, (array['accepted', 'rejected', 'expired'])[1 + number %% 3], reason, type,
    confidence, extractor, decode(md5(number::text), 'hex'), key_version, expires_at, now() - interval '1 day',
    'account:1', '', now() - interval '3 days'
from generate_series(1, %(rows)s) number, (select * from ingest_reviewitem where tenant_id = %(tenant)s limit 1) one
"""
_DELIVERIES: Final = """
insert into webhooks_webhookdelivery (tenant_id, endpoint_id, space_id, memory_ids, event_id, event_type, payload,
    status, attempt_number, max_attempts, completed_at, status_code, latency_ms, error, signature, attempts, created_at)
select tenant_id, endpoint_id, null, memory_ids, gen_random_uuid(), event_type, payload,
    case when number %% 50 = 0 then 'dead_letter' else 'delivered' end, 1, max_attempts, made_at,
    case when number %% 50 = 0 then 500 else 200 end, 40, case when number %% 50 = 0 then 'status' else '' end, '',
    '[]', made_at
from (select number, now() - interval '20 days' * (1 - number::float / %(rows)s) as made_at
      from generate_series(1, %(rows)s) number) numbers,
    (select * from webhooks_webhookdelivery where tenant_id = %(tenant)s and endpoint_id = %(endpoint)s limit 1) one
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """ids: values for the parameters of page URLs, by name; waiting_grant: a grant that is not approved yet."""

    owner: Person
    operator: Person
    ids: dict[str, int | str]
    waiting_grant: int
    seconds: dict[str, float]


def fill_tenant(running: Instance, *, rows: int, readable: int, audit_rows: int, say: Callable[[str], None]) -> Filled:
    """Fill the tenant.  rows: memories of the tenant; readable: those in the space whose memory pages are requested."""
    began, seconds = time.perf_counter(), {}

    def took(what: str) -> None:
        nonlocal began
        seconds[what] = round(time.perf_counter() - began, 1)
        say(f"{what}: {seconds[what]} s")
        began = time.perf_counter()

    there = _first(running)
    now = datetime.now(UTC)
    with tenant_transaction(there):
        template = Memory.objects.within(there).get().pk
    at = scope_in(get_tenant(running.tenant), principal=there.principal)
    projects = [create_project(at, f"Project {number}", now=now) for number in range(PROJECTS)]
    crowd(there, template, rows - readable, but=_VARIED | {"project_id": _one_of([one.pk for one in projects])})
    _name_owners(there)
    took("rows that take room")
    people = _talk(there, now=now)
    fill(there, readable - len(conversation()) - 3 * PEOPLE, sentences())
    took("rows that open")
    with superuser() as cursor:
        cursor.execute(_CANDIDATES, [at.tenant_id])
        cursor.execute(_TRANSITIONS, [at.tenant_id, at.tenant_id])
    took("what they left")
    _audit(there, audit_rows)
    took("audit trail")
    owner, operator, second = create_person(at, "owner@pages.example"), create_operator("one"), create_operator("two")
    for number in range(MEMBERS):
        person, _ = get_or_create_person(f"member{number}@pages.example", actor="command:0", now=now)
        give_role(get_tenant(running.tenant), person.pk, Role.ANALYST, actor="command:0", now=now)
    scope = replace(at, principal=Principal(kind="account", id=owner.user.pk))
    ids: dict[str, int | str] = {
        "tenant": running.tenant,
        "tenant_id": at.tenant_id,
        "space_id": there.space.id,
        "project_id": projects[0].public_id,
    }
    ids |= {"user_id": person.pk, "memory_id": _told(there)}
    ids |= _keys(scope, now=now) | _asked(there, people, now=now) | _erased(scope, people, now=now)
    ids |= _review(there, now=now) | _exports(scope, now=now) | _webhooks(scope, now=now)
    _keep_and_hold(scope, people, now=now)
    ids["grant_id"], waiting = _glass(scope, there, people, operator, second, now=now)
    took("everything else")
    _quiet(seconds=600)
    with superuser(autocommit=True) as cursor:
        cursor.execute("vacuum (analyze)")
    took("waiting for what goes on behind, and vacuum")
    return Filled(owner=owner, operator=operator, ids=ids, waiting_grant=waiting, seconds=seconds)


def _first(running: Instance) -> Scope:
    """The readable space, with its first memory, which the others copy."""
    caller = Caller(running, end_user=READER)
    caller.post("/memory/add", {"text": next(sentences()), "importance": 0.6, "source": "chat"})
    caller.close()
    return scope_of(running, READER)


def _one_of(ids: Sequence[int]) -> str:
    """SQL that picks one of these ids, or null for half of the rows: they belong to no project."""
    return f"(array[{', '.join(map(str, ids))}]::bigint[])[1 + mod((lot * 99991)::int, {2 * len(ids)})]"


def _name_owners(scope: Scope) -> None:
    """Create end users for the spaces that were inserted in bulk."""
    with tenant_transaction(scope):
        known = EndUser.objects.within(scope).values("pk")
        spaces = list(Space.objects.within(scope).exclude(owner_id__in=known).values_list("pk", flat=True))
        cipher = open_tenant(scope.tenant, writing=True)
        ids = reserve_ids(len(spaces), sequence="tenants_enduser_id_seq")
        macs = [cipher.identity_mac("end_user", f"someone-{one}") for one in ids]
        sealed = [cipher.seal(EXTERNAL_ID, one, f"someone-{one}".encode()) for one in ids]
    with superuser() as cursor:
        cursor.execute(
            "insert into tenants_enduser (id, tenant_id, external_mac, external_ct, key_version, created_at) "
            "select id, %s, mac, sealed, %s, now() from unnest(%s::bigint[], %s::bytea[], %s::bytea[]) "
            "fresh(id, mac, sealed)",
            [scope.tenant_id, cipher.key_version, ids, macs, sealed],
        )
        cursor.execute(
            "update projects_space space set owner_id = fresh.owner from unnest(%s::bigint[], %s::bigint[]) "
            "fresh(id, owner) where space.tenant_id = %s and space.id = fresh.id",
            [spaces, ids, scope.tenant_id],
        )
    with tenant_transaction(scope):
        for rows in (
            EndUser.objects.within(scope).filter(pk__in=ids),
            Space.objects.within(scope).filter(pk__in=spaces),
        ):
            bind_rows(rows.order_by("pk"), scope)


def _talk(there: Scope, *, now: datetime) -> list[Scope]:
    """Add a conversation, with the history, relations and people it creates, and end users with few memories."""
    for turn in conversation():
        if turn.role == "user":
            proposal = Proposal(text=Plaintext(turn.text), source="chat", session_id=turn.session, occurred_at=turn.at)
            remember(there, [proposal], now=now)
    said, people = sentences(), []
    for number in range(PEOPLE):
        scope = there.in_spaces(get_or_create_end_user(there, f"person-{number}", now=now))
        remember(scope, [Proposal(text=Plaintext(text), importance=0.6) for text in itertools.islice(said, 3)], now=now)
        people.append(scope)
    return people


def _audit(scope: Scope, rows: int) -> None:
    with superuser() as cursor:
        for start in range(0, rows, AUDIT_BATCH):
            asked = {"tenant": scope.tenant_id, "space": scope.space.id, "at": start, "all": rows}
            cursor.execute(_AUDIT, asked | {"rows": min(AUDIT_BATCH, rows - start)})
            cursor.connection.commit()


def _told(scope: Scope) -> int:
    """A memory with history: one that replaced another."""
    with tenant_transaction(scope):
        replaced = Memory.objects.within(scope).exclude(superseded_by=None).order_by("-pk").first()
        assert replaced is not None, "the conversation tells of something that changed"
        return int(replaced.superseded_by_id or 0)


def _keys(scope: Scope, *, now: datetime) -> dict[str, int | str]:
    for number in range(KEYS):
        made = issue(scope, name=f"key {number}", environment=Environment.DEVELOPMENT, now=now)
        if number % 3 == 0:
            revoke(scope, made.key.pk, now=now)
    return {"key_id": made.key.pk}


def _asked(there: Scope, people: Sequence[Scope], *, now: datetime) -> dict[str, int | str]:
    """Create requests to forget, and privacy requests of persons."""
    with tenant_transaction(there):
        ids = list(Memory.objects.within(there).order_by("-pk").values_list("pk", flat=True)[:REQUESTS])
    for memory_id in ids:
        asked, _ = ask(
            there, MemorySelection(memory_ids=(memory_id,)), reason=Plaintext("It is no longer so."), now=now
        )
    for number, one in enumerate(people):
        open_request(one, list(PrivacyKind)[number % 3], now=now)
    return {"request_id": asked.id}


def _erased(scope: Scope, people: Sequence[Scope], *, now: datetime) -> dict[str, int | str]:
    authorised = Authorisation(principal=scope.principal, method="session+totp", step_up_age_s=1)
    for one in people[:ERASURES]:
        with tenant_transaction(one):
            memory_id = Memory.objects.within(one).order_by("pk").values_list("pk", flat=True)[0]
        done = start_erasure(scope, Target.memories([memory_id]), authorised=authorised, now=now)
    return {"erasure_id": done.id, "receipt_id": done.receipts[0].id}


def _review(there: Scope, *, now: datetime) -> dict[str, int | str]:
    for number in range(WAITING):
        language = LANGUAGES[number % len(LANGUAGES)]
        text = f"Always answer me in {language} when I ask about project {number}."
        take_turn(there, READER, Turn(text=Plaintext(text), source="chat"), now=now)
    with superuser() as cursor:
        cursor.execute("select max(id), count(*) from ingest_reviewitem where tenant_id = %s", [there.tenant_id])
        newest, waiting = cursor.fetchone() or (0, 0)
        assert waiting, "instructions wait for a person"
        cursor.execute(_DECIDED, {"tenant": there.tenant_id, "rows": DECIDED})
    return {"candidate_id": newest}


def _keep_and_hold(scope: Scope, people: Sequence[Scope], *, now: datetime) -> None:
    set_policy(scope, Level.TENANT, 0, {"active_days": 89, "superseded_max_age_seconds": 88 * 86_400}, now=now)
    for number, one in enumerate(people[:10]):
        set_policy(scope, Level.SPACE, one.space.id, {"active_days": 88 - number}, now=now)
        held = hold(scope, Level.SPACE, one.space.id, case=f"case-{number}", now=now)
        lift(scope, held.pk, now=now)  # while the hold exists, no page shows what erasing the tenant would remove


def _exports(scope: Scope, *, now: datetime) -> dict[str, int | str]:
    inside = replace(scope, environment=Environment.DEVELOPMENT)
    made = [
        start_export(
            inside,
            format_=Format.JSONL,
            reach=ExportReach.FILTERED,
            filters=ExportFilters(user_id=f"person-{number}"),
            now=now,
        )
        for number in range(EXPORTS)
    ]
    _until(lambda: not any(get_export(inside, one.job.public_id).job.is_open for one in made), 300)
    return {"export_id": made[0].job.public_id}


def _webhooks(scope: Scope, *, now: datetime) -> dict[str, int | str]:
    inside = replace(scope, environment=Environment.DEVELOPMENT)
    endpoints = [
        create_webhook(inside, name=f"hook {number}", url=NO_RECEIVER, wanted=["memory.deleted"], now=now).row.pk
        for number in range(ENDPOINTS)
    ]
    for endpoint in endpoints:
        pause(inside, endpoint, now=now)
        delivery = send_a_test(inside, endpoint, "memory.deleted", now=now)
        with superuser() as cursor:
            asked = {"tenant": scope.tenant_id, "endpoint": endpoint, "rows": DELIVERIES // ENDPOINTS}
            cursor.execute(_DELIVERIES, asked)
    return {"endpoint_id": endpoint, "delivery_id": delivery.pk}


def _glass(
    scope: Scope, there: Scope, people: Sequence[Scope], operator: Person, second: Person, *, now: datetime
) -> tuple[int, int]:
    """Create an open break-glass grant, and one that waits for approval."""
    asking = replace(scope, principal=Principal(kind=breakglass.OPERATOR, id=operator.user.pk))
    approving = replace(scope, principal=Principal(kind=breakglass.OPERATOR, id=second.user.pk))
    said: dict[str, Any] = {"reason": "Answers are wrong since the import.", "ticket": "OPS-17", "now": now}
    grant = breakglass.ask(asking, there.space.id, **said)
    breakglass.approve(approving, grant.pk, now=now)
    breakglass.allow(scope, grant.pk, now=now)
    waiting = breakglass.ask(approving, people[0].space.id, **said)
    return grant.pk, waiting.pk


def _quiet(*, seconds: float) -> None:
    """Wait until no background work is due."""

    def is_quiet() -> bool:
        with superuser() as cursor:
            cursor.execute("select count(*) from outbox_outboxevent where run_after <= now() and error = ''")
            return cursor.fetchone() == (0,)

    _until(is_quiet, seconds)


def _until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("what goes on in the background does not end")
        time.sleep(0.5)
