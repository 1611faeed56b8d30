"""Erasing for good, with proof: memories, all that was ever true of one thing, a person, a project, a tenant.

In this order, and each step may be done again.  An erasure that stopped anywhere is finished by ``resume``:

1. what forbids it is looked for: an erasure that is begun is carried through;
2. the erasure and its entries of the ledger are written, in one transaction of the keyring's;
3. it is deleted with everything that was derived from it; of a space or a tenant what opens it is destroyed first;
4. whether anything of it can still be found is tried, and the first receipt is issued.

Its bytes leave the files of the database with the next purge (``apps.retention.disk_purge``), and backups with time;
each of these has a receipt of its own.
"""

import logging
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Self

from django.db import connection, transaction

from apps.audit.services import record
from apps.core.errors import Conflict, Invalid, NotFound
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceShredded, open_space
from apps.memories.models import Memory, MemoryClaim
from apps.memories.sealing import open_text
from apps.projects.models import Space
from apps.projects.scope import Principal, Scope, SpaceKind
from apps.projects.selectors import SpaceNotFound, get_project, scope_in
from apps.recall.services import rank_legs
from apps.retention import hard_delete, holds, ledger, receipt_log, shredding
from apps.retention.models import Erasure, ErasureState, Phase, TargetKind
from apps.retention.receipt_log import (
    DATA_BACKUPS_LAST,
    KEYRING,
    KEYRING_BACKUPS_LAST,
    ReceiptFile,
    erasure_id,
    written,
)
from apps.retention.shredding import AlreadyShredded, finish_space, finish_tenant
from apps.tenants.models import Tenant

logger = logging.getLogger(__name__)

ASKED: Final = 5  # erased memories of which recall is asked in their own words
MOST_RANKED: Final = 50
COMMAND_LINE: Final = "command line"  # the method of a command run on the host
MOST_MEMORIES: Final = 10_000  # named one by one

# What a receipt counts, by the table that it was in.
KINDS: Final[Mapping[str, str]] = {
    "memories_memory": "memories",
    "memories_memoryvector": "vectors",
    "memories_posting": "terms",
    "entities_entity": "entities",
    "entities_entityalias": "aliases",
    "entities_entitymention": "mentions",
    "entities_entityclaim": "claims",
    "memories_memoryclaim": "claims",
    "edges_memoryedge": "edges",
    "memories_summarysource": "derived",
    "memories_memoryperiod": "periods",
    "memories_memoryfeedback": "feedback",
    "memories_memorytransition": "transitions",
    "history_historyturn": "turns",
    "history_stateitem": "states",
    "ingest_candidate": "candidates",
    "ingest_reviewitem": "waiting",
    "recall_recalltrace": "traces",
    "imports_importjob": "imports",
    "imports_importchunk": "imports",
    "exports_exportjob": "exports",
    "exports_exportchunk": "exports",
    "exports_exportlink": "exports",
}


class ErasureTargetNotFound(NotFound):
    """What is to be erased is not there."""

    code = "ERASURE_TARGET_NOT_FOUND"


class ErasureBlocked(Conflict):
    """Something forbids this erasure; `details` names it. Nothing was erased."""

    code = "ERASURE_BLOCKED"


class NothingToErase(Invalid):
    """Say what to erase: at least one memory, and ten thousand at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorisation:
    """On whose word.  method: how they proved who they are: "session+webauthn", "command line".  step_up_age_s: how
    long ago, in seconds, where there was a step-up.
    """

    principal: Principal
    method: str
    step_up_age_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What to erase; made by one of the functions below."""

    kind: TargetKind
    memory_ids: tuple[int, ...] = ()
    space_uid: uuid.UUID | None = None
    end_user_id: int | None = None
    project: str = ""

    @classmethod
    def memories(cls, memory_ids: Iterable[int]) -> Self:
        """Single memories of the tenant, whatever space they are in."""
        return cls(kind=TargetKind.MEMORIES, memory_ids=tuple(sorted(set(memory_ids))))

    @classmethod
    def topic(cls, memory_id: int) -> Self:
        """What was ever remembered of the same thing as this: all values of its slot, and what replaced them."""
        return cls(kind=TargetKind.TOPIC, memory_ids=(memory_id,))

    @classmethod
    def space(cls, space_uid: uuid.UUID) -> Self:
        """A person in one environment."""
        return cls(kind=TargetKind.SPACE, space_uid=space_uid)

    @classmethod
    def end_user(cls, end_user_id: int) -> Self:
        """A person in every environment, by the id that the wire calls ``user_id``."""
        return cls(kind=TargetKind.END_USER, end_user_id=end_user_id)

    @classmethod
    def of_project(cls, public_id: str) -> Self:
        """Every memory of a project, and what waits for it.  The project itself stays."""
        return cls(kind=TargetKind.PROJECT, project=public_id)

    @classmethod
    def tenant(cls) -> Self:
        """The scope's own."""
        return cls(kind=TargetKind.TENANT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """What forbids an erasure.  reference: a case, or a number."""

    kind: str
    reference: str

    def to_json(self) -> dict[str, str]:
        return {"kind": self.kind, "reference": self.reference}


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """An erasure as its tenant may see it.  id: ``ers_`` and 32 hex digits.  backups_expire_at: when the last backup
    of the data that has it is past its time.
    """

    id: str
    kind: TargetKind
    state: ErasureState
    environment: str
    counts: Mapping[str, int]
    target: Mapping[str, Any]
    requested_at: datetime
    deleted_at: datetime | None
    purged_at: datetime | None
    backups_expire_at: datetime | None
    finished_at: datetime | None
    receipts: Sequence[ReceiptFile] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a target is, once it was looked up.  named: as receipts commit to it."""

    named: Mapping[str, Any]
    environment: str = ""
    memory_ids: Sequence[int] = ()
    spaces: Sequence[Space] = ()


# -- the ways in ------------------------------------------------------------------------------------------------------


def start_erasure(
    scope: Scope,
    target: Target,
    *,
    authorised: Authorisation,
    with_sources: bool = False,
    request_id: str = "",
    now: datetime,
) -> Erased:
    """Erase this, for good, and answer with its first receipt.

    scope: of the caller inside the tenant.  with_sources: of memories and topics, the turns and items of state
    that they were made of as well.  Raises NothingToErase, ErasureTargetNotFound, ErasureBlocked, AlreadyShredded;
    KeysUnavailable when the key provider cannot be reached: it goes on by itself.
    """
    receipt_log.check_key()
    found = _find(scope, target)
    erasure = Erasure(
        tenant_uid=scope.tenant.uid,
        environment=found.environment,
        kind=target.kind,
        target=dict(found.named),
        nonce=receipt_log.new_nonce(),
        with_sources=with_sources,
        counts=dict(_plan(scope, target, found, with_sources=with_sources)),
        actor=authorised.principal.label,
        method=authorised.method[:32],
        step_up_age_seconds=authorised.step_up_age_s,
        request_id=request_id[:64],
        requested_at=now,
    )
    texts = _texts(scope, found)
    with tenant_transaction(scope):
        holds.hold_off(scope)
        _check_blockers(scope, found)
        with transaction.atomic(using=KEYRING):
            erasure.save(force_insert=True)
            _note(scope, erasure, found, now=now)
        _record(scope, erasure, "erasure.request", now=now)
    _carry_out(scope, erasure, texts=texts, now=now)
    return get_erasure(scope, erasure_id(erasure.uid))


def list_erasures(scope: Scope, *, limit: int = 100) -> list[Erased]:
    """The tenant's, newest first, without their receipts."""
    rows = Erasure.objects.filter(tenant_uid=scope.tenant.uid).order_by("-requested_at", "uid")
    return [_erased(row) for row in rows[:limit]]


def get_erasure(scope: Scope, public_id: str) -> Erased:
    """One of the tenant's, with its receipts.  Raises ErasureTargetNotFound."""
    uid = receipt_log.uid_of(public_id, "ers_")
    row = Erasure.objects.filter(tenant_uid=scope.tenant.uid, uid=uid).first() if uid else None
    if row is None:
        raise ErasureTargetNotFound
    return _erased(row, receipt_log.receipts_of_erasure(scope, row.uid))


def resume(*, begun_before: datetime | None = None, now: datetime) -> int:
    """Carry through what was begun and stopped; how many.  begun_before: leave alone what may still be at work."""
    count = 0
    begun = Erasure.objects.filter(state=ErasureState.REQUESTED)
    if begun_before is not None:
        begun = begun.filter(requested_at__lt=begun_before)
    for erasure in begun.order_by("requested_at", "uid"):
        tenant = Tenant.objects.filter(uid=erasure.tenant_uid).first()
        if tenant is None:
            continue
        _carry_out(scope_in(tenant), erasure, texts=[], now=now)
        count += 1
    return count


def plan(scope: Scope, target: Target, *, with_sources: bool = False, most: int | None = None) -> dict[str, int]:
    """By kind, what erasing this takes; changes nothing.  most: of each table no more than so many are counted.

    Raises as ``start_erasure`` does.
    """
    found = _find(scope, target)
    with tenant_transaction(scope):
        _check_blockers(scope, found)
    return dict(_plan(scope, target, found, with_sources=with_sources, most=most))


# -- what it is -------------------------------------------------------------------------------------------------------


def _find(scope: Scope, target: Target) -> _Found:
    """Raises as ``start_erasure`` does."""
    tenant = str(scope.tenant.uid)
    match target.kind:
        case TargetKind.MEMORIES | TargetKind.TOPIC:
            ids = target.memory_ids
            if not 1 <= len(ids) <= MOST_MEMORIES:
                raise NothingToErase
            with tenant_transaction(scope):
                environment = _environment(scope, ids)
                chosen = _topic(scope, ids) if target.kind == TargetKind.TOPIC else list(ids)
            named: dict[str, Any] = {"kind": target.kind.value, "tenant": tenant, "memory_ids": chosen}
            return _Found(named=named, environment=environment, memory_ids=chosen)
        case TargetKind.SPACE:
            space = shredding.get_space(scope, target.space_uid or uuid.UUID(int=0))
            named = {"kind": "space", "tenant": tenant, "space": str(space.uid)}
            return _Found(named=named, environment=space.environment, spaces=[space])
        case TargetKind.END_USER:
            spaces = _spaces(scope, SpaceKind.END_USER, target.end_user_id or 0)
            if not spaces:
                raise ErasureTargetNotFound
            uids = [str(space.uid) for space in spaces]
            named = {"kind": "end_user", "tenant": tenant, "end_user": target.end_user_id, "spaces": uids}
            return _Found(named=named, spaces=spaces)
        case TargetKind.PROJECT:
            project = get_project(scope, target.project)
            with tenant_transaction(scope):
                mine = Memory.objects.within_tenant(scope).filter(project_id=project.pk)
                ids = tuple(mine.order_by("pk").values_list("pk", flat=True))
            spaces = _spaces(scope, SpaceKind.PROJECT, project.pk)
            uids = [str(space.uid) for space in spaces]
            named = {"kind": "project", "tenant": tenant, "project": project.public_id, "spaces": uids}
            return _Found(named=named, memory_ids=ids, spaces=spaces)
        case TargetKind.TENANT:
            if not shredding.plan_tenant(Tenant.objects.get(pk=scope.tenant_id), most=1).rows:
                raise AlreadyShredded
            return _Found(named={"kind": "tenant", "tenant": tenant})


def _environment(scope: Scope, memory_ids: Sequence[int]) -> str:
    """Of these memories; none where they are of several.  Raises ErasureTargetNotFound where one is not there."""
    there = Memory.objects.within_tenant(scope).filter(pk__in=memory_ids).values_list("environment", flat=True)
    found = list(there)
    if len(found) < len(memory_ids):
        raise ErasureTargetNotFound
    return found[0] if len(set(found)) == 1 else ""


def _topic(scope: Scope, memory_ids: Sequence[int]) -> list[int]:
    """Every memory of the same slot, what replaced or was replaced by any of them, and what says it among other things.

    Of a memory that says several things, each is the topic where it is named itself, and none but the one asked for
    where that led to it.
    """
    mine = Memory.objects.within_tenant(scope)
    slots = _slots_of_parts(scope, memory_ids)
    found, newest = set(memory_ids), set(memory_ids)
    for space_id, claimed in slots:
        newest |= set(mine.filter(space_id=space_id, slot=claimed).values_list("pk", flat=True))
    found |= newest
    while newest:
        rows = mine.filter(pk__in=newest).values_list("space_id", "slot", "superseded_by_id")
        reached = {after for _, _, after in rows if after is not None}
        reached |= set(mine.filter(superseded_by_id__in=newest).values_list("pk", flat=True))
        for space_id, slot, _ in rows:
            if slot is not None:
                slots.add((space_id, bytes(slot)))
                reached |= set(mine.filter(space_id=space_id, slot=slot).values_list("pk", flat=True))
        newest = reached - found
        found |= newest
    for space_id, claimed in slots:
        claims = MemoryClaim.objects.within(scope).filter(space_id=space_id, slot=claimed)
        found |= set(claims.values_list("memory_id", flat=True))
    return sorted(found)


def _slots_of_parts(scope: Scope, memory_ids: Collection[int]) -> set[tuple[int, bytes]]:
    """Space and slot of each claim of these memories, where they say several things."""
    claims = MemoryClaim.objects.within(scope).filter(memory_id__in=memory_ids, slot__isnull=False)
    return {(space_id, bytes(slot)) for space_id, slot in claims.values_list("space_id", "slot") if slot is not None}


def _spaces(scope: Scope, kind: SpaceKind, owner_id: int) -> list[Space]:
    with tenant_transaction(scope):
        return list(Space.objects.within(scope).filter(kind=kind, owner_id=owner_id).order_by("pk"))


def _check_blockers(scope: Scope, found: _Found) -> None:
    """Inside the tenant's transaction.  Raises ErasureBlocked, which names each."""
    if not holds.are_any(scope):  # the usual case, and what is derived of many memories takes long to find
        return
    spaces = found.spaces
    if found.named["kind"] == TargetKind.TENANT:
        spaces = list(Space.objects.within(scope).order_by("pk"))
    chosen, derived = hard_delete.with_derived(scope, found.memory_ids)
    cases = holds.cases_over(scope, memory_ids=[*chosen, *derived], space_ids=[space.pk for space in spaces])
    blockers = [Blocker(kind="legal_hold", reference=case) for case in cases]
    if blockers:
        raise ErasureBlocked(details=[one.to_json() for one in blockers])


def _plan(scope: Scope, target: Target, found: _Found, *, with_sources: bool, most: int | None = None) -> Counter[str]:
    counts: Counter[str] = Counter()
    if target.kind == TargetKind.TENANT:
        return _named(shredding.plan_tenant(Tenant.objects.get(pk=scope.tenant_id), most=most).rows)
    if found.memory_ids:
        counts += hard_delete.count(scope, found.memory_ids[:most], with_sources=with_sources)
    for space in found.spaces:
        counts += _named(shredding.plan_space(scope, space.uid, most=most).rows)
    return counts


def _named(counted: Mapping[str, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for table, number in counted.items():
        found[KINDS.get(table, "other")] += number
    return found


# -- carrying it out --------------------------------------------------------------------------------------------------


def _note(scope: Scope, erasure: Erasure, found: _Found, *, now: datetime) -> None:
    said: dict[str, Any] = {"actor": erasure.actor, "request_id": erasure.request_id, "now": now}
    if found.named["kind"] == TargetKind.TENANT:
        ledger.note_tenant(scope.tenant.uid, **said)
    ledger.note_memories(scope.tenant.uid, found.memory_ids, erasure_uid=erasure.uid, **said)
    for space in found.spaces:
        ledger.note_space(scope.tenant.uid, space.uid, **said)


def _carry_out(scope: Scope, erasure: Erasure, *, texts: Sequence[tuple[Scope, Plaintext]], now: datetime) -> None:
    counts: Counter[str] = Counter(erasure.counts)
    salts = 0
    memory_ids = ledger.memories_of(erasure.tenant_uid, erasure.uid)
    if memory_ids:
        hard_delete.erase(scope, memory_ids, with_sources=erasure.with_sources, now=now)
    if erasure.kind == TargetKind.PROJECT:
        hard_delete.erase_waiting_of_project(scope, erasure.target["project"])
    if erasure.kind == TargetKind.TENANT:
        done = finish_tenant(scope, request_id=erasure.request_id, now=now)
        counts, salts = counts | _named(done.rows), done.salts + done.keys
    for uid in _space_uids(erasure):
        try:
            done = finish_space(scope, uid, request_id=erasure.request_id, now=now)
        except SpaceNotFound:  # it is done
            continue
        counts, salts = counts | _named(done.rows), salts + done.salts
    probe = _probe(scope, erasure, memory_ids, texts, now=now)
    with tenant_transaction(scope):
        _record(scope, erasure, "erasure.delete", now=now)
    deleted: dict[str, Any] = {"at": written(now), "db_lsn": _lsn()}
    phases: dict[str, Any] = {
        "deleted": deleted, "backups_expire": {"by": written(now + DATA_BACKUPS_LAST)},
    }  # fmt: skip
    if erasure.kind not in (TargetKind.MEMORIES, TargetKind.TOPIC, TargetKind.PROJECT):
        phases["salt_destroyed"] = {"at": written(now), "effective": written(now + KEYRING_BACKUPS_LAST)}
    with transaction.atomic(using=KEYRING):
        row = Erasure.objects.select_for_update().get(pk=erasure.pk)
        if row.state != ErasureState.REQUESTED:
            return  # another worker has completed it meanwhile
        row.state, row.deleted_at, row.counts = ErasureState.DELETED, now, dict(counts)
        row.save(update_fields=["state", "deleted_at", "counts"])
        receipt_log.append(row, Phase.DELETED, phases, probe=probe, now=now)


def _space_uids(erasure: Erasure) -> list[uuid.UUID]:
    if erasure.kind == TargetKind.SPACE:
        return [uuid.UUID(erasure.target["space"])]
    return [uuid.UUID(one) for one in erasure.target.get("spaces", ())]


def _texts(scope: Scope, found: _Found) -> list[tuple[Scope, Plaintext]]:
    """Some of what goes, to be asked for once it is gone; kept in memory and nowhere else."""
    texts: list[tuple[Scope, Plaintext]] = []
    with tenant_transaction(scope):
        rows = Memory.objects.within_tenant(scope).filter(pk__in=found.memory_ids[:ASKED])
        spaces = Space.objects.within(scope).in_bulk(rows.values_list("space_id", flat=True))
        for row in rows.order_by("pk"):
            ref = spaces[row.space_id].ref
            inside = replace(scope, environment=ref.environment, project_id=None).in_spaces(ref)
            try:
                texts.append((inside, open_text(row, open_space(scope.tenant, ref))))
            except (DecryptError, SpaceShredded):
                continue
    return texts


def _probe(
    scope: Scope,
    erasure: Erasure,
    memory_ids: Sequence[int],
    texts: Sequence[tuple[Scope, Plaintext]],
    *,
    now: datetime,
) -> dict[str, Any]:
    """Whether anything of it is found: by its id, and by asking for the very words of some of it."""
    with tenant_transaction(scope):
        left = len(hard_delete.with_derived(scope, memory_ids)[0])
    if erasure.kind == TargetKind.TENANT:
        left += sum(shredding.plan_tenant(Tenant.objects.get(pk=scope.tenant_id)).rows.values())
    left += sum(_is_there(scope, uid) for uid in _space_uids(erasure))
    hits = 0
    for inside, text in texts:
        ranked = rank_legs(inside, text, limit=MOST_RANKED, now=now)
        found = {memory_id for ranking in ranked.values() for memory_id, _ in ranking}
        hits += len(found & set(memory_ids))
    if left or hits:
        logger.error("something of an erasure was found again", extra={"count": left + hits})
    return {"by_id": "found" if left else "404", "recall_hits": hits, "asked": len(texts)}


def _is_there(scope: Scope, space_uid: uuid.UUID) -> bool:
    try:
        shredding.get_space(scope, space_uid)
    except (SpaceNotFound, AlreadyShredded):
        return False
    return True


def _lsn() -> str:
    """Where the write-ahead log stood: what was deleted is before it."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_current_wal_lsn()::text")
        row = cursor.fetchone()
    return str(row[0]) if row else ""


def _record(scope: Scope, erasure: Erasure, action: str, *, now: datetime) -> None:
    record(
        scope,
        actor=erasure.actor,
        action=action,
        target=erasure_id(erasure.uid),
        reason=erasure.kind,
        request_id=erasure.request_id,
        count=erasure.counts.get("memories", 0),
        now=now,
    )


def _erased(row: Erasure, receipts: Sequence[ReceiptFile] = ()) -> Erased:
    return Erased(
        id=erasure_id(row.uid),
        kind=TargetKind(row.kind),
        state=ErasureState(row.state),
        environment=row.environment,
        counts=row.counts,
        target=row.target,
        requested_at=row.requested_at,
        deleted_at=row.deleted_at,
        purged_at=row.purged_at,
        backups_expire_at=row.deleted_at + DATA_BACKUPS_LAST if row.deleted_at else None,
        finished_at=row.finished_at,
        receipts=receipts,
    )
