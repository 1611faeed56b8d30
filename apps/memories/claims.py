"""Claims: what memories say of whom, and which held at a time, as was known at another."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, ClassVar, Final

import orjson
from django.db import connection

from apps.core.scoping import tenant_transaction
from apps.core.sequences import take_ids
from apps.core.statements import insert
from apps.crypto.sealed_tables import SealedColumns, write_columns
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.memories import integrity
from apps.memories.lifetimes import lifetimes_of
from apps.memories.models import Memory, MemoryClaim
from apps.memories.opened import OpenedMemory
from apps.memories.periods import Moment, holding
from apps.memories.predicates import Claim
from apps.memories.sealing import open_memory
from apps.projects.scope import Scope, SpaceRef

CLAIM: Final = "claim"  # the table's name among sealed ones
CONTENT: Final = "claim.content"  # the name bound into its seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A claim that held, with the memory that makes it."""

    claim: Claim
    memory: OpenedMemory


def write(scope: Scope, space_id: int, claims: Mapping[int, Claim], cipher: SpaceCipher, *, now: datetime) -> None:
    """claims: by the memory's id.  In the transaction that writes the memories."""
    ids = take_ids(len(claims), sequence="memories_memoryclaim_id_seq")
    insert(
        MemoryClaim(
            id=claim_id,
            tenant_id=scope.tenant_id,
            space_id=space_id,
            memory_id=memory_id,
            **_macs(claim, cipher),
            claim_ct=cipher.seal(CONTENT, claim_id, orjson.dumps(asdict(claim))),
            key_version=cipher.key_version,
            created_at=now,
        )
        for claim_id, (memory_id, claim) in zip(ids, claims.items(), strict=True)
    )


def facts(
    scope: Scope, *, about: str | None, attribute: str | None, moment: Moment, limit: int, now: datetime
) -> list[Fact]:
    """What held at the moment, the newest statement first, at most ``limit``; what fails its seal is left out.

    about, attribute: canonical; None for any.
    """
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        claims = MemoryClaim.objects.within(scope).filter(space_id=scope.space.id)
        if cipher.is_searchable and about is not None:
            claims = claims.filter(subject_mac=subject_mac(cipher, about))
        if cipher.is_searchable and attribute is not None:
            claims = claims.filter(predicate_mac=predicate_mac(cipher, attribute))
        held = holding(Memory.objects.within(scope).existing(now), moment)
        lifetimes = lifetimes_of(scope, [scope.space.id])
        by_memory = {claim.memory_id: claim for claim in claims.filter(memory_id__in=held.values("pk"))}
        found: list[Fact] = []
        for row in held.filter(pk__in=by_memory).order_by("-valid_from", "-pk").to_open():
            if len(found) == limit:
                break
            claim = _opened(scope, by_memory[row.pk], cipher, now=now)
            if claim is None or about not in (None, claim.about) or attribute not in (None, claim.attribute):
                continue
            try:
                found.append(Fact(claim=claim, memory=open_memory(row, cipher, scope.space, lifetimes)))
            except DecryptError as error:
                integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
    return found


_CLAIMING: Final = """
select memory.id, min(asked.place)
from unnest(%s::bytea[], %s::bytea[]) with ordinality asked(subject, predicate, place)
cross join lateral (
    select memory_id from memories_memoryclaim
    where tenant_id = %s and space_id = %s and subject_mac = asked.subject and predicate_mac = asked.predicate
) claim
cross join lateral (
    select * from memories_memory where tenant_id = %s and space_id = %s and id = claim.memory_id limit 1
) memory
where memory.retention_status = 'active' and (memory.expires_at is null or memory.expires_at > %s) {where}
group by memory.id order by 2, 1 desc limit %s
"""


def claiming(
    scope: Scope,
    space: SpaceRef,
    pairs: Sequence[tuple[str, str]],
    cipher: SpaceCipher,
    *,
    where: str,
    values: Sequence[Any],
    limit: int,
    now: datetime,
) -> list[tuple[int, float]]:
    """(memory id, score) of those that claim one of these (about, attribute) pairs, the first pair's first.

    where, values: further conditions on ``memory`` as SQL; they hold before the limit.  Inside the tenant's
    transaction.  In a sealed space there is nothing to look up: see ``claims_of``.
    """
    if not pairs:
        return []
    mine = [scope.tenant_id, space.id]
    asked = [
        [subject_mac(cipher, about) for about, _ in pairs],
        [predicate_mac(cipher, attribute) for _, attribute in pairs],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_CLAIMING.format(where=where), [*asked, *mine, *mine, now, *values, limit])
        return [(memory_id, 1 / place) for memory_id, place in cursor.fetchall()]


def claims_of(scope: Scope, space: SpaceRef, cipher: SpaceCipher, *, now: datetime) -> dict[int, tuple[str, str]]:
    """What every memory of a space claims, by its id: (about, attribute).  Opens all of them, as in a sealed space."""
    rows = MemoryClaim.objects.within(scope).filter(space_id=space.id)
    opened = {row.memory_id: _opened(scope, row, cipher, now=now) for row in rows}
    return {memory_id: (claim.about, claim.attribute) for memory_id, claim in opened.items() if claim is not None}


def subject_mac(cipher: SpaceCipher, about: str) -> bytes:
    return cipher.identity_mac("claim.subject", about)


def predicate_mac(cipher: SpaceCipher, attribute: str) -> bytes:
    return cipher.identity_mac("claim.predicate", attribute)


def _macs(claim: Claim, cipher: SpaceCipher) -> dict[str, bytes | None]:
    if not cipher.is_searchable:
        return {"subject_mac": None, "predicate_mac": None}
    return {
        "subject_mac": subject_mac(cipher, claim.about),
        "predicate_mac": predicate_mac(cipher, claim.attribute),
    }


def _opened(scope: Scope, row: MemoryClaim, cipher: SpaceCipher, *, now: datetime) -> Claim | None:
    try:
        return Claim(**orjson.loads(cipher.open_bytes(CONTENT, row.pk, bytes(row.claim_ct))))
    except DecryptError as error:
        integrity.note(scope, error, row.pk, space_id=row.space_id, table=CLAIM, now=now)
        return None


class Claims(SealedColumns):
    name = CLAIM
    model = MemoryClaim
    columns: ClassVar = {"claim_ct": CONTENT}

    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        return 0 if space is None else blind(scope, space, before, after)


def blind(scope: Scope, space: SpaceRef, before: SpaceCipher, after: SpaceCipher) -> int:
    """Make the keyed forms of the space's claims anew; how many.  Inside the tenant's transaction."""
    made = []
    for row in MemoryClaim.objects.within(scope).filter(space_id=space.id).order_by("pk").iterator(1_000):
        try:
            claim = Claim(**orjson.loads(before.open_bytes(CONTENT, row.pk, bytes(row.claim_ct))))
        except DecryptError:
            continue  # it is in quarantine, or will be when it is next read
        made.append([row.pk, *_macs(claim, after).values()])
    types = {"id": "bigint", "subject_mac": "bytea", "predicate_mac": "bytea"}
    write_columns(MemoryClaim._meta.db_table, types, made, scope)
    return len(made)
