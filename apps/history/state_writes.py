"""Puts, deletes and embeds state items: one live JSON object under each key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from apps.adapters.embedders.base import Embedder
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.encrypted_tables import ciphers_of, report_broken
from apps.crypto.services import DecryptError, SpaceCipher, open_tenant
from apps.history.embedding import embed, try_embed
from apps.history.models import SEQUENCE, StateItem
from apps.history.space import lock_space
from apps.history.state_lookup_keys import item_mac, namespace_mac, prefix_macs, rows_of_space
from apps.history.state_sealing import STATE, OpenedState, open_columns, open_state, seal_columns, searched_text
from apps.outbox.services import enqueue
from apps.projects.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class NewState:
    """An item to store.  text: what is searched; None for the JSON of the value."""

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    source: str
    text: Plaintext | None = None
    is_indexed: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """is_new: false if the same item was stored already.  replaced: whether a different item was."""

    item: OpenedState
    is_new: bool
    replaced: bool = False


def put(scope: Scope, new: NewState, *, now: datetime) -> Put:
    """Store an object under its key, replacing any other.  Storing the same again changes nothing."""
    # Embedded before the lock is taken, because it may take a while.
    vector = try_embed(searched_text(new.text, new.value)) if new.is_indexed else None
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        mine = scope.in_spaces(space)
        row = rows_of_space(mine).filter(item_mac=item_mac(cipher, new.source, new.namespace, new.key)).first()
        before = _readable(mine, row, cipher, now=now) if row is not None else None
        if before is not None and _says_the_same(before, new):
            return Put(item=before, is_new=False)
        is_there = row is not None
        row = row or _blank(mine, cipher, new, now=now)
        row.revision += 1
        row.updated_at = now
        row.is_indexed = new.is_indexed
        row.embedder = vector.embedder if vector else ""
        row.key_version = cipher.key_version
        opened = (_item_json(new), vector.raw if vector else None)
        row.item_ct, row.embedding_ct = seal_columns(row.pk, row.revision, opened, cipher)
        row.save(force_insert=not is_there, force_update=is_there)
        if new.is_indexed and vector is None:
            enqueue(mine, "embed_state", [row.pk], now=now)
        _record(mine, AuditAction.STATE_PUT, 1, now=now)
        return Put(item=open_state(row, cipher), is_new=True, replaced=is_there)


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
        rows = rows_of_space(mine).filter(namespace_mac=namespace_mac(cipher, source, namespace))
        if keys is not None:
            rows = rows.filter(item_mac__in=[item_mac(cipher, source, namespace, key) for key in keys])
        ids = list(rows.order_by("pk").values_list("pk", flat=True))
        rows_of_space(mine).filter(pk__in=ids).delete()
        if ids:
            _record(mine, AuditAction.STATE_DELETE, len(ids), now=now)
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


def _blank(scope: Scope, cipher: SpaceCipher, new: NewState, *, now: datetime) -> StateItem:
    (state_id,) = reserve_ids(1, sequence=SEQUENCE)
    return StateItem(
        id=state_id,
        tenant_id=scope.tenant_id,
        space_id=scope.space.id,
        item_mac=item_mac(cipher, new.source, new.namespace, new.key),
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


def _record(scope: Scope, action: AuditAction, count: int, *, now: datetime) -> None:
    target = f"space:{scope.space.id}"
    record(scope, actor=scope.principal.label, action=action, target=target, count=count, now=now)
