"""Puts, deletes and embeds state items: one live JSON object under each key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

import orjson

from apps.adapters.embedders.base import Embedder
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Invalid
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.encrypted_tables import ciphers_of, report_broken
from apps.crypto.services import DecryptError, SpaceCipher, open_tenant
from apps.history.embedding import Embedded, embed, try_embed
from apps.history.models import SEQUENCE, StateItem
from apps.history.space import lock_space
from apps.history.state_lookup_keys import item_mac, live_rows, namespace_mac, prefix_macs, rows_of_space
from apps.history.state_sealing import (
    STATE,
    OpenedState,
    open_columns,
    open_state,
    seal_columns,
    searched_text,
    version_of,
)
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef

ABSENT: Final = "0"  # the version of an item that is not there
PURGED: Final = 1_000  # expired items that one transaction deletes


class StateVersionConflict(Conflict):
    """The item is at another version than `if_version` names: read it again."""

    code = "STATE_VERSION_CONFLICT"


class ItemNamedTwice(Invalid):
    """A batch may name an item once."""

    code = "ITEM_NAMED_TWICE"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewState:
    """An item to store.  text: what is searched; None for the JSON of the value.  expires_at: None for never.

    if_version: the version that is to be there, "0" for none; None for any.
    """

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    source: str
    text: Plaintext | None = None
    is_indexed: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_at: datetime | None = None
    if_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """An item to delete, if it is there.  if_version: as in NewState."""

    namespace: tuple[str, ...]
    key: str
    source: str
    if_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """is_new: false if the same item was stored already.  replaced: whether a different item was."""

    item: OpenedState
    is_new: bool
    replaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """id: None if the item was not there."""

    id: int | None


def put(scope: Scope, new: NewState, *, now: datetime) -> Put:
    """Store an object under its key, replacing any other.  Storing the same again changes at most its expiry.

    Raises StateVersionConflict.
    """
    (done,) = change(scope, [new], now=now)
    assert isinstance(done, Put)  # noqa: S101  (of a NewState)
    return done


def change(scope: Scope, changes: Sequence[NewState | Removal], *, now: datetime) -> list[Put | Removed]:
    """Put and delete items in one transaction; returns what was done with each, in order.

    Raises StateVersionConflict, and ItemNamedTwice if two changes are of one item; nothing is changed then.
    """
    # Embedded before the lock is taken, because it may take a while.
    vectors = [_embedded(one) for one in changes]
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        mine = scope.in_spaces(space)
        macs = [item_mac(cipher, one.source, one.namespace, one.key) for one in changes]
        if len(set(macs)) < len(macs):
            raise ItemNamedTwice
        rows = {bytes(row.item_mac): row for row in rows_of_space(mine).filter(item_mac__in=macs)}
        there = [rows.get(mac) for mac in macs]
        _check_versions(changes, there, now=now)
        writes = _Writes(mine, cipher, now=now)
        fresh = iter(reserve_ids(_count_new(changes, there), sequence=SEQUENCE))
        done = [
            writes.remove(row)
            if isinstance(one, Removal)
            else writes.put(one, row or _blank(mine, next(fresh), cipher, macs[at], one, now=now), vectors[at])
            for at, (one, row) in enumerate(zip(changes, there, strict=True))
        ]
        writes.save()
    return done


class _Writes:
    """The rows that one change writes, each kind in one statement.  Under the lock of the space."""

    def __init__(self, scope: Scope, cipher: SpaceCipher, *, now: datetime) -> None:
        self.scope, self.cipher, self.now = scope, cipher, now
        self.added: list[StateItem] = []
        self.changed: list[StateItem] = []
        self.extended: list[StateItem] = []
        self.removed: list[int] = []

    def put(self, new: NewState, row: StateItem, vector: Embedded | None) -> Put:
        was_there = row.revision > 0 and _is_live(row, self.now)
        before = _readable(self.scope, row, self.cipher, now=self.now) if was_there else None
        if before is not None and _says_the_same(before, new):
            if row.expires_at != new.expires_at:
                row.expires_at = new.expires_at
                self.extended.append(row)
            return Put(item=replace(before, expires_at=row.expires_at), is_new=False)
        (self.changed if row.revision else self.added).append(row)
        row.revision += 1
        row.created_at = row.created_at if was_there else self.now
        row.updated_at = self.now
        row.expires_at = new.expires_at
        row.is_indexed = new.is_indexed
        row.embedder = vector.embedder if vector else ""
        row.key_version = self.cipher.key_version
        opened = (_item_json(new), vector.raw if vector else None)
        row.item_ct, row.embedding_ct = seal_columns(row.pk, row.revision, opened, self.cipher)
        return Put(item=open_state(row, self.cipher), is_new=True, replaced=row.revision > 1)

    def remove(self, row: StateItem | None) -> Removed:
        if row is None or not _is_live(row, self.now):
            return Removed(id=None)
        self.removed.append(row.pk)
        return Removed(id=row.pk)

    def save(self) -> None:
        mine = rows_of_space(self.scope)
        StateItem.objects.bulk_create(self.scope, self.added)
        for rows, columns in ((self.changed, REPLACED), (self.extended, ["expires_at"])):
            if rows:
                mine.bulk_update(rows, columns)
        if self.removed:
            mine.filter(pk__in=self.removed).delete()
            _record(self.scope, AuditAction.STATE_DELETE, len(self.removed), now=self.now)
        put = self.added + self.changed
        if waiting := [row.pk for row in put if row.is_indexed and row.embedding_ct is None]:
            enqueue(self.scope, "embed_state", waiting, now=self.now)
        if put:
            _record(self.scope, AuditAction.STATE_PUT, len(put), now=self.now)


REPLACED: Final = [
    "revision", "created_at", "updated_at", "expires_at", "is_indexed", "embedder", "key_version", "item_ct",
    "embedding_ct",
]  # fmt: skip


def _embedded(one: NewState | Removal) -> Embedded | None:
    if isinstance(one, Removal) or not one.is_indexed:
        return None
    return try_embed(searched_text(one.text, one.value))


def _count_new(changes: Sequence[NewState | Removal], there: Sequence[StateItem | None]) -> int:
    return sum(row is None and isinstance(one, NewState) for one, row in zip(changes, there, strict=True))


def _check_versions(changes: Sequence[NewState | Removal], there: Sequence[StateItem | None], *, now: datetime) -> None:
    for at, (one, row) in enumerate(zip(changes, there, strict=True)):
        version = version_of(row) if row is not None and _is_live(row, now) else ABSENT
        if one.if_version not in (None, version):
            raise StateVersionConflict(extra={"version": version, "index": at})


def _is_live(row: StateItem, now: datetime) -> bool:
    return row.expires_at is None or row.expires_at > now


def _readable(scope: Scope, row: StateItem, cipher: SpaceCipher, *, now: datetime) -> OpenedState | None:
    """The stored item, or None if it fails decryption: then a put replaces it."""
    try:
        return open_state(row, cipher)
    except DecryptError as error:
        report_broken(scope, error, row.pk, space_id=row.space_id, table=STATE, now=now)
        return None


def delete(
    scope: Scope, namespace: Sequence[str], keys: Sequence[str] | None, *, source: str, now: datetime
) -> list[int]:
    """Delete these keys of exactly this namespace, or all of it if None; returns the deleted ids, ascending."""
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        mine = scope.in_spaces(space)
        rows = live_rows(mine, now=now).filter(namespace_mac=namespace_mac(cipher, source, namespace))
        if keys is not None:
            rows = rows.filter(item_mac__in=[item_mac(cipher, source, namespace, key) for key in keys])
        ids = list(rows.order_by("pk").values_list("pk", flat=True))
        rows_of_space(mine).filter(pk__in=ids).delete()
        if ids:
            _record(mine, AuditAction.STATE_DELETE, len(ids), now=now)
    return ids


def expired_spaces(scope: Scope, *, now: datetime) -> list[SpaceRef]:
    """The spaces of the tenant that have expired items, those of the item that expired first first."""
    with tenant_transaction(scope):
        due = StateItem.objects.within(scope).filter(expires_at__lte=now)
        ids = list(dict.fromkeys(due.order_by("expires_at", "pk").values_list("space_id", flat=True)[:PURGED]))
        spaces = {space.pk: space.ref for space in Space.objects.within(scope).filter(pk__in=ids)}
    return [spaces[space_id] for space_id in ids if space_id in spaces]


def purge_expired(scope: Scope, *, now: datetime) -> list[int]:
    """Delete expired items of the scope's one space; returns their ids, ascending.  Inside the tenant's transaction."""
    space, _ = lock_space(scope)
    mine = scope.in_spaces(space)
    due = rows_of_space(mine).filter(expires_at__lte=now)
    ids = list(due.order_by("pk").values_list("pk", flat=True)[:PURGED])
    rows_of_space(mine).filter(pk__in=ids).delete()
    if ids:
        _record(mine, AuditAction.STATE_DELETE, len(ids), reason="expired", now=now)
    return ids


def embed_items(scope: Scope, state_ids: Sequence[int], embedder: Embedder, *, now: datetime) -> None:
    """Embed those of these items that have no embedding yet.  Inside the caller's tenant transaction.

    Raises AdapterError if the embedder is down.
    """
    open_tenant(scope.tenant, writing=True)  # holds off a rotation until the new ciphertexts are committed
    waiting = StateItem.objects.within(scope).filter(pk__in=list(state_ids), is_indexed=True, embedding_ct=None)
    rows = list(waiting.order_by("pk").select_for_update(no_key=True))
    ciphers = ciphers_of(scope, {row.space_id for row in rows})
    for row in rows:
        cipher = ciphers[row.space_id]
        try:
            item, text = open_columns(row, cipher)[0], open_state(row, cipher).text
        except DecryptError as error:
            report_broken(scope, error, row.pk, space_id=row.space_id, table=STATE, now=now)
            continue
        made = embed(text, embedder)
        row.embedder, row.key_version = made.embedder, cipher.key_version
        row.item_ct, row.embedding_ct = seal_columns(row.pk, row.revision, (item, made.raw), cipher)
        row.save(update_fields=["embedder", "key_version", "item_ct", "embedding_ct"])


def _blank(scope: Scope, state_id: int, cipher: SpaceCipher, mac: bytes, new: NewState, *, now: datetime) -> StateItem:
    return StateItem(
        id=state_id,
        tenant_id=scope.tenant_id,
        space_id=scope.space.id,
        item_mac=mac,
        namespace_mac=namespace_mac(cipher, new.source, new.namespace),
        prefix_macs=prefix_macs(cipher, new.source, new.namespace),
        created_at=now,
    )


def _item_json(new: NewState) -> bytes:
    """The item's JSON, as ``state_sealing.open_state`` reads it."""
    return orjson.dumps(
        {
            "namespace": list(new.namespace),
            "key": new.key,
            "source": new.source,
            "value": new.value,
            "text": None if new.text is None else new.text.reveal(),
            "metadata": new.metadata,
        }
    )


def _says_the_same(before: OpenedState, new: NewState) -> bool:
    """Whether both are the same JSON: 1, 1.0 and true differ; the order of keys does not matter."""

    def canonical(one: OpenedState | NewState, text: Plaintext | None) -> bytes:
        parts = (one.value, one.metadata, one.is_indexed, None if text is None else text.reveal())
        return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)

    return canonical(before, before.given_text) == canonical(new, new.text)


def _record(scope: Scope, action: AuditAction, count: int, *, reason: str = "", now: datetime) -> None:
    target = f"space:{scope.space.id}"
    record(scope, actor=scope.principal.label, action=action, target=target, reason=reason, count=count, now=now)
