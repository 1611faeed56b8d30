"""Permanent erasure with signed receipts: starts an erasure, and finishes interrupted ones.

The steps run in this order, and each may be repeated.  ``resume`` finishes an interrupted erasure:

1. check for blockers: later steps are always carried through;
2. write the erasure and its ledger entries, in one transaction of the keyring database;
3. delete the target and everything derived from it; for a space or a tenant, first destroy the salt or the keys;
4. probe whether anything can still be found, and issue the first receipt.

The next purge removes the bytes from the database's files (``apps.erasure.disk_purge``), and backups expire later;
each of these has its own receipt.
"""

import logging
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.plaintext import Plaintext
from apps.core.queries import fetch_value
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceShredded, open_space
from apps.erasure import hard_delete, ledger, legal_holds, receipt_log, shredding
from apps.erasure.models import Erasure, ErasureState, Phase, TargetKind
from apps.erasure.planning import check_blockers, count_by_kind, count_target
from apps.erasure.receipt_log import DATA_BACKUPS_LAST, KEYRING, KEYRING_BACKUPS_LAST, erasure_id, written
from apps.erasure.selectors import Erased, get_erasure
from apps.erasure.shredding import AlreadyShredded, finish_space, finish_tenant
from apps.erasure.targets import FoundTarget, Target, find_target
from apps.memories.models import Memory
from apps.memories.sealing import open_text
from apps.projects.models import Space
from apps.projects.scope import Principal, Scope
from apps.projects.selectors import SpaceNotFound, scope_in
from apps.recall.leg_rankings import rank_legs
from apps.tenants.models import Tenant

logger = logging.getLogger(__name__)

ASKED: Final = 5  # number of erased memories whose text is used as a recall query
MOST_RANKED: Final = 50
COMMAND_LINE: Final = "command line"  # the method of a command run on the host


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorisation:
    """Who authorised an erasure.

    method: how the principal authenticated, such as "session+webauthn" or "command line".
    step_up_age_s: seconds since the step-up authentication; None without one.
    """

    principal: Principal
    method: str
    step_up_age_s: int | None = None


def start_erasure(
    scope: Scope,
    target: Target,
    *,
    authorised: Authorisation,
    with_sources: bool = False,
    request_id: str = "",
    uid: uuid.UUID | None = None,
    now: datetime,
) -> Erased:
    """Permanently erase the target, and return the erasure with its first receipt.

    scope: the caller's scope in the tenant.  with_sources: for memories and topics, also erase the turns and state
    items they were extracted from.  uid: of the erasure, if its caller has chosen one.

    Raises NothingToErase, ErasureTargetNotFound, ErasureBlocked, AlreadyShredded; KeysUnavailable when the key provider
    cannot be reached: an erasure that has begun is resumed later.
    """
    receipt_log.check_key()
    found = find_target(scope, target)
    erasure = Erasure(
        uid=uid or uuid.uuid4(),
        tenant_uid=scope.tenant.uid,
        environment=found.environment,
        kind=target.kind,
        target=dict(found.named),
        nonce=receipt_log.new_nonce(),
        with_sources=with_sources,
        counts=dict(count_target(scope, target, found, with_sources=with_sources)),
        actor=authorised.principal.label,
        method=authorised.method[:32],
        step_up_age_seconds=authorised.step_up_age_s,
        request_id=request_id[:64],
        requested_at=now,
    )
    texts = _texts(scope, found)
    with tenant_transaction(scope):
        legal_holds.hold_off(scope)
        check_blockers(scope, found)
        with transaction.atomic(using=KEYRING):
            erasure.save(force_insert=True)
            _note(scope, erasure, found, now=now)
        _record(scope, erasure, AuditAction.ERASURE_REQUEST, now=now)
    _carry_out(scope, erasure, texts=texts, now=now)
    return get_erasure(scope, erasure_id(erasure.uid))


def resume(*, begun_before: datetime | None = None, now: datetime) -> int:
    """Finish interrupted erasures and return their number.  begun_before: skip newer ones, which may be running."""
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


def _note(scope: Scope, erasure: Erasure, found: FoundTarget, *, now: datetime) -> None:
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
    if erasure.kind == TargetKind.SESSION:
        hard_delete.erase_turns(scope, erasure.target["turn_ids"], now=now)
    if erasure.kind == TargetKind.PROJECT:
        hard_delete.erase_waiting_of_project(scope, erasure.target["project"])
    if erasure.kind == TargetKind.TENANT:
        done = finish_tenant(scope, request_id=erasure.request_id, now=now)
        counts, salts = counts | count_by_kind(done.rows), done.salts + done.keys
    for uid in _space_uids(erasure):
        try:
            done = finish_space(scope, uid, request_id=erasure.request_id, now=now)
        except SpaceNotFound:  # it is done already
            continue
        counts, salts = counts | count_by_kind(done.rows), salts + done.salts
    probe = _probe(scope, erasure, memory_ids, texts, now=now)
    with tenant_transaction(scope):
        _record(scope, erasure, AuditAction.ERASURE_DELETE, now=now)
    deleted: dict[str, Any] = {"at": written(now), "db_lsn": _lsn()}
    phases: dict[str, Any] = {
        "deleted": deleted, "backups_expire": {"by": written(now + DATA_BACKUPS_LAST)},
    }  # fmt: skip
    if erasure.kind in (TargetKind.SPACE, TargetKind.END_USER, TargetKind.TENANT):
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
        return [uuid.UUID(one) for one in (erasure.target["space"], *erasure.target.get("branches", ()))]
    return [uuid.UUID(one) for one in erasure.target.get("spaces", ())]


def _texts(scope: Scope, found: FoundTarget) -> list[tuple[Scope, Plaintext]]:
    """Return some of the texts to be erased, as recall queries for the probe.  They are never stored."""
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
    """Check whether erased data is still found, by id and by recall with the exact texts of some erased memories."""
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
    """Return the current WAL position: the deletions are before it."""
    return str(fetch_value("select pg_current_wal_lsn()::text"))


def _record(scope: Scope, erasure: Erasure, action: AuditAction, *, now: datetime) -> None:
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
