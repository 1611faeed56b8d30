"""Claims: what memories state about a subject, and which claims held at one time, as known at another."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Final

import orjson

from apps.core.prepared_sql import insert
from apps.core.queries import fetch_all
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.encrypted_tables import SealedColumns, write_columns
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.memories import integrity
from apps.memories.lifetimes import lifetimes_of
from apps.memories.lookup_keys import slot_in_group, value_mac
from apps.memories.models import Memory, MemoryClaim
from apps.memories.models.history import CONTENT
from apps.memories.opened import OpenedMemory
from apps.memories.sealing import open_memory
from apps.memories.validity import AsOf, holding, put_intervals
from apps.projects.scope import Scope, SpaceRef
from text.predicates import PredicateClaim

CLAIM: Final = "claim"  # the table's name in the registry of encrypted tables

_OF_PARTS: Final = ("start", "end", "key", "value")  # encrypted with the claim, in a memory with several statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A claim that held, with the memory that makes it."""

    claim: PredicateClaim
    memory: OpenedMemory


def write(
    scope: Scope,
    space_id: int,
    claims: Mapping[int, PredicateClaim],
    ids: Sequence[int],
    cipher: SpaceCipher,
    *,
    now: datetime,
) -> None:
    """Insert the claims, in the transaction that writes the memories.

    claims: by memory id.  ids: as many reserved ids, or more.
    """
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
        for claim_id, (memory_id, claim) in zip(ids, claims.items(), strict=False)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOfMemory:
    """A claim to insert for a memory with several statements: its span [start, end), slot, value and validity."""

    memory_id: int
    claim: PredicateClaim
    key: str
    value: str
    start: int
    end: int
    slot: bytes
    value_mac: bytes
    validity: str
    valid_from: datetime
    valid_to: datetime | None
    superseded_by_id: int | None


def write_parts(
    scope: Scope, space_id: int, parts: Sequence[PartOfMemory], cipher: SpaceCipher, *, now: datetime
) -> list[int]:
    """Insert the claims, in the transaction that writes the memories; returns their row ids in order."""
    ids = reserve_ids(len(parts), sequence="memories_memoryclaim_id_seq")
    insert(
        MemoryClaim(
            id=claim_id,
            tenant_id=scope.tenant_id,
            space_id=space_id,
            memory_id=part.memory_id,
            **_macs(part.claim, cipher),
            claim_ct=cipher.seal(
                CONTENT,
                claim_id,
                orjson.dumps(asdict(part.claim) | {name: getattr(part, name) for name in _OF_PARTS}),
            ),
            key_version=cipher.key_version,
            slot=part.slot,
            value_mac=part.value_mac,
            validity=part.validity,
            valid_from=part.valid_from,
            valid_to=part.valid_to,
            known_from=now,
            superseded_by_id=part.superseded_by_id,
            created_at=now,
        )
        for claim_id, part in zip(ids, parts, strict=True)
    )
    return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldClaim:
    """A stored claim of a memory with several statements."""

    id: int
    memory_id: int
    slot: bytes
    value_mac: bytes
    validity: str
    valid_from: datetime
    valid_to: datetime | None
    known_from: datetime
    superseded_by_id: int | None
    start: int
    end: int


_COLUMNS: Final = """claim.id, claim.memory_id, claim.slot, claim.value_mac, claim.validity, claim.valid_from,
    claim.valid_to, claim.known_from, claim.superseded_by_id, claim.claim_ct"""
_OF_SLOTS: Final = f"""
select {_COLUMNS} from unnest(%s::bytea[]) wanted(mac) cross join lateral (
    select * from memories_memoryclaim where tenant_id = %s and space_id = %s
    and slot >= wanted.mac and slot <= wanted.mac order by slot) claim
order by claim.id
"""  # noqa: S608  (names of our own columns)
_OF_MEMORY: Final = f"""
select {_COLUMNS} from memories_memoryclaim claim
where tenant_id = %s and memory_id = %s and slot is not null order by claim.id
"""  # noqa: S608  (names of our own columns)


def held_claims(
    scope: Scope, space_id: int, slots: Sequence[bytes], cipher: SpaceCipher, *, now: datetime
) -> list[HeldClaim]:
    """The claims, of memories with several statements, that hold or held one of these slots.

    Inside the tenant's transaction.  Claims that fail decryption are left out, because their span is unknown.
    """
    values = [list(slots), scope.tenant_id, space_id]
    return _held(scope, space_id, _OF_SLOTS, values, cipher, now=now) if slots else []


def held_by(scope: Scope, space_id: int, memory_id: int, cipher: SpaceCipher, *, now: datetime) -> list[HeldClaim]:
    """As ``held_claims``, for all claims of one memory."""
    return _held(scope, space_id, _OF_MEMORY, [scope.tenant_id, memory_id], cipher, now=now)


def _held(
    scope: Scope, space_id: int, statement: str, values: Sequence[Any], cipher: SpaceCipher, *, now: datetime
) -> list[HeldClaim]:
    rows = fetch_all(statement, values, prepared=True)
    found: list[HeldClaim] = []
    for row in rows:
        try:
            words = orjson.loads(cipher.open_bytes(CONTENT, row[0], bytes(row[9])))
        except DecryptError as error:
            integrity.note(scope, error, row[0], space_id=space_id, table=CLAIM, now=now)
            continue
        found.append(
            HeldClaim(
                id=row[0], memory_id=row[1], slot=bytes(row[2]), value_mac=bytes(row[3]), validity=row[4],
                valid_from=row[5], valid_to=row[6], known_from=row[7], superseded_by_id=row[8],
                start=words["start"], end=words["end"],
            )
        )  # fmt: skip
    return found


def words_of(row: MemoryClaim, cipher: SpaceCipher) -> tuple[int, int]:
    """The span [start, end) of a claim, in a memory with several statements.  Raises DecryptError."""
    said = orjson.loads(cipher.open_bytes(CONTENT, row.pk, bytes(row.claim_ct)))
    return said["start"], said["end"]


def facts(
    scope: Scope, *, about: str | None, attributes: Collection[str] = (), moment: AsOf, limit: int, now: datetime
) -> list[Fact]:
    """The claims that held at the moment, latest ``valid_from`` first, at most ``limit``.

    Rows that fail decryption are left out.  about, attributes: canonical forms to filter by; None and () for any.
    """
    found = [
        fact
        for part in scope.parts()
        for fact in _facts(part, about=about, attributes=attributes, moment=moment, limit=limit, now=now)
    ]
    return sorted(found, key=lambda fact: (fact.memory.valid_from, fact.memory.id), reverse=True)[:limit]


def _facts(
    scope: Scope, *, about: str | None, attributes: Collection[str], moment: AsOf, limit: int, now: datetime
) -> list[Fact]:
    """As ``facts``, of one space."""
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        claims = MemoryClaim.objects.within(scope).filter(space_id=scope.space.id)
        if cipher.is_searchable and about is not None:
            claims = claims.filter(subject_mac=subject_mac(cipher, about))
        if cipher.is_searchable and attributes:
            claims = claims.filter(predicate_mac__in=[predicate_mac(cipher, attribute) for attribute in attributes])
        held = holding(Memory.objects.within(scope).existing(now), moment)
        lifetimes = lifetimes_of(scope, [scope.space.id])
        by_memory: dict[int, list[MemoryClaim]] = {}
        for made in claims.filter(memory_id__in=held.values("pk")).order_by("pk"):
            if _holds(made, moment):
                by_memory.setdefault(made.memory_id, []).append(made)
        found: list[Fact] = []
        rows = list(held.filter(pk__in=by_memory).order_by("-valid_from", "-pk").to_open())
        put_intervals(scope, rows, moment)
        for row in rows:
            opened = [_opened(scope, one, cipher, now=now) for one in by_memory[row.pk]]
            wanted = [
                one
                for one in opened
                if one is not None and about in (None, one.about) and (not attributes or one.attribute in attributes)
            ]
            if not wanted:
                continue
            try:
                memory = open_memory(row, cipher, scope.space, lifetimes)
            except DecryptError as error:
                integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
                continue
            found += [Fact(claim=one, memory=memory) for one in wanted]
            if len(found) >= limit:
                break
        return found[:limit]


def _holds(row: MemoryClaim, moment: AsOf) -> bool:
    """Whether the claim held at the moment, as known then; always true for a claim without an interval of its own."""
    if row.valid_from is None:
        return True
    ended_then = (
        row.valid_to is not None
        and row.valid_to <= moment.at
        and (row.known_from or row.created_at) <= (moment.known_at)
    )
    return row.valid_from <= moment.at and not ended_then


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
    """(memory id, score) of memories that claim one of these (about, attribute) pairs, in the order of the pairs.

    where, values: further SQL conditions on ``memory``, applied before the limit.  Inside the tenant's transaction.
    A sealed space has no keyed hashes to search: use ``claims_of``.
    """
    if not pairs:
        return []
    mine = [scope.tenant_id, space.id]
    asked = [
        [subject_mac(cipher, about) for about, _ in pairs],
        [predicate_mac(cipher, attribute) for _, attribute in pairs],
    ]
    rows = fetch_all(_CLAIMING.format(where=where), [*asked, *mine, *mine, now, *values, limit], prepared=True)
    return [(memory_id, 1 / place) for memory_id, place in rows]


def claims_of(scope: Scope, space: SpaceRef, cipher: SpaceCipher, *, now: datetime) -> dict[int, set[tuple[str, str]]]:
    """The (about, attribute) pairs that each memory of a space claims, by memory id.  Decrypts all claims."""
    found: dict[int, set[tuple[str, str]]] = {}
    for row in MemoryClaim.objects.within(scope).filter(space_id=space.id):
        if (claim := _opened(scope, row, cipher, now=now)) is not None:
            found.setdefault(row.memory_id, set()).add((claim.about, claim.attribute))
    return found


def subject_mac(cipher: SpaceCipher, about: str) -> bytes:
    return cipher.identity_mac("claim.subject", about)


def predicate_mac(cipher: SpaceCipher, attribute: str) -> bytes:
    return cipher.identity_mac("claim.predicate", attribute)


def _macs(claim: PredicateClaim, cipher: SpaceCipher) -> dict[str, bytes | None]:
    if not cipher.is_searchable:
        return {"subject_mac": None, "predicate_mac": None}
    return {
        "subject_mac": subject_mac(cipher, claim.about),
        "predicate_mac": predicate_mac(cipher, claim.attribute),
    }


def _opened(scope: Scope, row: MemoryClaim, cipher: SpaceCipher, *, now: datetime) -> PredicateClaim | None:
    try:
        return _claim(cipher.open_bytes(CONTENT, row.pk, bytes(row.claim_ct)))
    except DecryptError as error:
        integrity.note(scope, error, row.pk, space_id=row.space_id, table=CLAIM, now=now)
        return None


def _claim(opened: bytes) -> PredicateClaim:
    """The claim without the span, key and value that are stored with a part of a memory."""
    said = orjson.loads(opened)
    return PredicateClaim(**{one.name: said[one.name] for one in fields(PredicateClaim)})


class Claims(SealedColumns):
    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        return 0 if space is None else blind(scope, space, before, after)


def blind(scope: Scope, space: SpaceRef, before: SpaceCipher, after: SpaceCipher) -> int:
    """Recompute the keyed hashes of the space's claims; returns how many.  Inside the tenant's transaction."""
    made = []
    rows = MemoryClaim.objects.within(scope).filter(space_id=space.id).select_related("memory")
    for row in rows.only("pk", "claim_ct", "slot", "memory__project_id").order_by("pk").iterator(1_000):
        try:
            opened = before.open_bytes(CONTENT, row.pk, bytes(row.claim_ct))
        except DecryptError:
            continue  # it is in quarantine, or will be when it is next read
        said = orjson.loads(opened) if row.slot is not None else {}
        made.append(
            [
                row.pk,
                *_macs(_claim(opened), after).values(),
                slot_in_group(after, "claim", said["key"], project_id=row.memory.project_id) if said else None,
                value_mac(after, said["value"]) if said else None,
            ]
        )
    types = {"id": "bigint", "subject_mac": "bytea", "predicate_mac": "bytea", "slot": "bytea", "value_mac": "bytea"}
    write_columns(MemoryClaim._meta.db_table, types, made, scope)
    return len(made)
