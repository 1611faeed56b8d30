"""Framework state: one live JSON object under a source, a namespace and a key, for the caller who put it there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import numpy as np
import orjson
from django.db.models import OuterRef, Q, Subquery
from numpy.typing import NDArray

from apps.adapters.embedders.base import Embedder
from apps.audit.services import enqueue, record
from apps.core.plaintext import Plaintext
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.core.sequences import take_ids
from apps.crypto.encrypted_tables import ciphers_of, report_broken
from apps.crypto.services import DecryptError, SpaceCipher, open_space, open_tenant
from apps.history.embedding import Embedded, embed, try_embed
from apps.history.models import SEQUENCE, StateItem
from apps.history.overlap import overlap
from apps.history.space import lock_space
from apps.projects.scope import Scope

STATE: Final = "history_state"  # by which broken rows are listed
ITEM, EMBEDDING = "history_state.item", "history_state.embedding"  # the names bound into the seals
SEARCHED: Final = 5_000  # items of one search, the newest; each is opened for it


@dataclass(frozen=True, slots=True, kw_only=True)
class NewState:
    """What is to be put.  text: what it is searched by; the value's JSON when None."""

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    source: str
    text: Plaintext | None = None
    is_indexed: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedState:
    """An item as its owner may read it.  given_text: as it was put with it, if any.  score: of a search."""

    id: int
    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    given_text: Plaintext | None
    source: str
    metadata: Mapping[str, Any]
    is_indexed: bool
    created_at: datetime
    updated_at: datetime
    score: float | None = None

    @property
    def text(self) -> Plaintext:
        """What it is searched by."""
        return _text(self.given_text, self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """is_new: false where just this was there already.  replaced: something else was."""

    item: OpenedState
    is_new: bool
    replaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """items: of this page.  total: of all pages."""

    items: Sequence[OpenedState] = ()
    total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespaces:
    """names: of this page, in the order of the alphabet.  total: of all pages."""

    names: Sequence[tuple[str, ...]] = ()
    total: int = 0


# --- changing ---------------------------------------------------------------------------------------------------------


def put(scope: Scope, new: NewState, *, now: datetime) -> Put:
    """Put an object in its place, instead of what was there.  The same again changes nothing."""
    vector = try_embed(_text(new.text, new.value)) if new.is_indexed else None  # before the lock: it may take a while
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        mine = scope.in_spaces(space)
        row = _rows(mine).filter(item_mac=_item_mac(cipher, new.source, new.namespace, new.key)).first()
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
        opened = (_item(new), vector.raw if vector else None)
        row.item_ct, row.embedding_ct = seal_columns(row.pk, row.revision, opened, cipher)
        row.save(force_insert=not is_there, force_update=is_there)
        if new.is_indexed and vector is None:
            enqueue(mine, "embed_state", [row.pk], now=now)
        _record(mine, "state.put", 1, now=now)
        return Put(item=open_state(row, cipher), is_new=True, replaced=is_there)


def _readable(scope: Scope, row: StateItem, cipher: SpaceCipher, *, now: datetime) -> OpenedState | None:
    """What the row says, or None when it fails its seal: then a put replaces it, whatever it was."""
    try:
        return open_state(row, cipher)
    except DecryptError as error:
        report_broken(scope, error, row.pk, space_id=row.space_id, table=STATE, now=now)
        return None


def delete(
    scope: Scope, namespace: Sequence[str], keys: Sequence[str] | None, *, source: str, now: datetime
) -> list[int]:
    """Delete these keys of exactly this namespace, all of it when None; the ids of what there was, ascending."""
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        mine = scope.in_spaces(space)
        rows = _rows(mine).filter(namespace_mac=_namespace_mac(cipher, source, namespace))
        if keys is not None:
            rows = rows.filter(item_mac__in=[_item_mac(cipher, source, namespace, key) for key in keys])
        ids = list(rows.order_by("pk").values_list("pk", flat=True))
        _rows(mine).filter(pk__in=ids).delete()
        if ids:
            _record(mine, "state.delete", len(ids), now=now)
    return ids


def embed_items(scope: Scope, state_ids: Sequence[int], embedder: Embedder, *, now: datetime) -> None:
    """Embed these items where they still wait for it.  Inside the caller's tenant transaction.

    Raises AdapterError when the embedder is down.
    """
    open_tenant(scope.tenant, writing=True)  # holds off a rotation until the new seals are committed
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


# --- reading ----------------------------------------------------------------------------------------------------------


def find(scope: Scope, namespace: Sequence[str], key: str, *, source: str, now: datetime) -> OpenedState | None:
    """What lies there, or None.  Raises DecryptError when it fails its seal."""
    if not scope.spaces:
        return None
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        row = _rows(scope).filter(item_mac=_item_mac(cipher, source, namespace, key)).first()
    if row is None:
        return None
    try:
        return open_state(row, cipher)
    except DecryptError as error:
        report_broken(scope, error, row.pk, space_id=row.space_id, table=STATE, now=now)
        raise


def list_items(
    scope: Scope, prefix: Sequence[str], *, source: str, limit: int, offset: int = 0, now: datetime
) -> Found:
    """What lies in a namespace and below, changed last first.  What fails its seal is left out."""
    if not scope.spaces:
        return Found()
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        rows = _below(scope, cipher, source, prefix)
        total = rows.count()
        page = list(rows.order_by("-updated_at", "-pk")[offset : offset + limit])
    return Found(items=_opened(scope, page, cipher, now=now), total=total)


def search(scope: Scope, query: Plaintext, prefix: Sequence[str], *, source: str, limit: int, now: datetime) -> Found:
    """What lies in a namespace and below and bears on the query, best first; of the 5,000 items changed last.

    By the cosine of meanings where both are embedded, else by the share of the query's words that are in the text.
    Every item is opened and looked at in process: nothing of it lies searchable anywhere.
    """
    if not scope.spaces:
        return Found()
    cipher = open_space(scope.tenant, scope.space)
    asked = try_embed(query)
    with tenant_transaction(scope):
        newest = _below(scope, cipher, source, prefix).order_by("-updated_at", "-pk").values_list("pk", flat=True)
        rows = _rows(scope).filter(pk__in=list(newest[:SEARCHED]))
        scores = _by_meaning(scope, rows, cipher, asked, now=now) | _by_words(
            scope, rows, cipher, query, asked, now=now
        )
        best = sorted((state_id for state_id in scores if scores[state_id] > 0), key=lambda one: (-scores[one], -one))
        found = {row.pk: row for row in rows.filter(pk__in=best[:limit])}
    items = _opened(scope, [found[state_id] for state_id in best[:limit]], cipher, scores=scores, now=now)
    return Found(items=items, total=len(best))


def _by_meaning(
    scope: Scope, rows: ScopedQuerySet[StateItem], cipher: SpaceCipher, asked: Embedded | None, *, now: datetime
) -> dict[int, float]:
    """Cosines, by id, of what is embedded as the question is."""
    scores: dict[int, float] = {}
    if asked is not None:
        for row in rows.filter(_comparable(asked)).defer("item_ct").iterator():
            try:
                scores[row.pk] = float(asked.vector @ open_embedding(row, cipher))
            except DecryptError as error:
                report_broken(scope, error, row.pk, space_id=row.space_id, table=STATE, now=now)
    return scores


def _by_words(
    scope: Scope,
    rows: ScopedQuerySet[StateItem],
    cipher: SpaceCipher,
    query: Plaintext,
    asked: Embedded | None,
    *,
    now: datetime,
) -> dict[int, float]:
    """Shares of the question's words, by id, for all that is not."""
    scores: dict[int, float] = {}
    others = rows.exclude(_comparable(asked)) if asked is not None else rows
    for row in others.defer("embedding_ct").iterator(200):
        try:
            scores[row.pk] = overlap(query, open_state(row, cipher).text)
        except DecryptError as error:
            report_broken(scope, error, row.pk, space_id=row.space_id, table=STATE, now=now)
    return scores


def _comparable(asked: Embedded) -> Q:
    return Q(embedder=asked.embedder, embedding_ct__isnull=False)


def list_namespaces(
    scope: Scope,
    prefix: Sequence[str],
    *,
    source: str,
    max_depth: int | None,
    limit: int,
    offset: int = 0,
    now: datetime,
) -> Namespaces:
    """The namespaces at and below a prefix that hold something.  max_depth: longer ones are cut to so many segments."""
    if not scope.spaces:
        return Namespaces()
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        # One row of each namespace is enough to open.
        below = _below(scope, cipher, source, prefix)
        first = below.filter(namespace_mac=OuterRef("namespace_mac")).order_by("pk").values("pk")[:1]
        rows = list(below.filter(pk=Subquery(first)).order_by("pk"))
    found = {one.namespace[:max_depth] for one in _opened(scope, rows, cipher, now=now)}
    names = sorted(found)
    return Namespaces(names=names[offset : offset + limit], total=len(names))


# --- between a row and what it says -----------------------------------------------------------------------------------

Columns = tuple[bytes, bytes | None]  # the item's JSON, and its embedding at half precision


def open_columns(row: StateItem, cipher: SpaceCipher) -> Columns:
    """Both sealed columns.  Raises DecryptError when either fails its seal."""
    item = cipher.open_bytes(ITEM, row.pk, bytes(row.item_ct), revision=row.revision)
    return item, None if row.embedding_ct is None else _open_embedding(row, cipher)


def seal_columns(state_id: int, revision: int, opened: Columns, cipher: SpaceCipher) -> Columns:
    item, embedding = opened
    return (
        cipher.seal(ITEM, state_id, item, revision=revision),
        None if embedding is None else cipher.seal(EMBEDDING, state_id, embedding, revision=revision),
    )


def open_state(row: StateItem, cipher: SpaceCipher, *, score: float | None = None) -> OpenedState:
    """Raises DecryptError when it fails its seal."""
    item = orjson.loads(cipher.open_bytes(ITEM, row.pk, bytes(row.item_ct), revision=row.revision))
    return OpenedState(
        id=row.pk,
        namespace=tuple(item["namespace"]),
        key=item["key"],
        value=item["value"],
        given_text=None if item["text"] is None else Plaintext(item["text"]),
        source=item["source"],
        metadata=item["metadata"],
        is_indexed=row.is_indexed,
        created_at=row.created_at,
        updated_at=row.updated_at,
        score=score,
    )


def open_embedding(row: StateItem, cipher: SpaceCipher) -> NDArray[np.float32]:
    """Of a row that has one.  Raises DecryptError when it fails its seal."""
    return np.frombuffer(_open_embedding(row, cipher), dtype="<f2").astype(np.float32)


def rekey(row: StateItem, item: OpenedState, cipher: SpaceCipher) -> None:
    """Remake the row's handles."""
    row.item_mac = _item_mac(cipher, item.source, item.namespace, item.key)
    row.namespace_mac = _namespace_mac(cipher, item.source, item.namespace)
    row.prefix_macs = _prefix_macs(cipher, item.source, item.namespace)
    row.save(update_fields=["item_mac", "namespace_mac", "prefix_macs"])


def _open_embedding(row: StateItem, cipher: SpaceCipher) -> bytes:
    assert row.embedding_ct is not None  # noqa: S101  (the callers looked)
    return cipher.open_bytes(EMBEDDING, row.pk, bytes(row.embedding_ct), revision=row.revision)


def _blank(scope: Scope, cipher: SpaceCipher, new: NewState, *, now: datetime) -> StateItem:
    (state_id,) = take_ids(1, sequence=SEQUENCE)
    return StateItem(
        id=state_id,
        tenant_id=scope.tenant_id,
        space_id=scope.space.id,
        item_mac=_item_mac(cipher, new.source, new.namespace, new.key),
        namespace_mac=_namespace_mac(cipher, new.source, new.namespace),
        prefix_macs=_prefix_macs(cipher, new.source, new.namespace),
        created_at=now,
    )


def _item(new: NewState) -> bytes:
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


def _text(given: Plaintext | None, value: Mapping[str, Any]) -> Plaintext:
    return Plaintext(orjson.dumps(value).decode()) if given is None else given


def _says_the_same(before: OpenedState, new: NewState) -> bool:
    """As JSON, where 1, 1.0 and true are three things and the order of keys is none."""

    def canonical(one: OpenedState | NewState, text: Plaintext | None) -> bytes:
        parts = (one.value, one.metadata, one.is_indexed, None if text is None else text.reveal())
        return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)

    return canonical(before, before.given_text) == canonical(new, new.text)


def _item_mac(cipher: SpaceCipher, source: str, namespace: Sequence[str], key: str) -> bytes:
    return cipher.identity_mac("state.item", source, *namespace, key)


def _namespace_mac(cipher: SpaceCipher, source: str, namespace: Sequence[str]) -> bytes:
    return cipher.identity_mac("state.namespace", source, *namespace)


def _prefix_macs(cipher: SpaceCipher, source: str, namespace: Sequence[str]) -> list[bytes]:
    return [_namespace_mac(cipher, source, namespace[:depth]) for depth in range(len(namespace) + 1)]


def _rows(scope: Scope) -> ScopedQuerySet[StateItem]:
    return StateItem.objects.within(scope).filter(space_id=scope.space.id)


def _below(scope: Scope, cipher: SpaceCipher, source: str, prefix: Sequence[str]) -> ScopedQuerySet[StateItem]:
    return _rows(scope).filter(prefix_macs__contains=[_namespace_mac(cipher, source, prefix)])


def _opened(
    scope: Scope,
    rows: Sequence[StateItem],
    cipher: SpaceCipher,
    *,
    scores: Mapping[int, float] | None = None,
    now: datetime,
) -> list[OpenedState]:
    """In order, without what fails its seal."""
    opened = []
    for row in rows:
        try:
            opened.append(open_state(row, cipher, score=(scores or {}).get(row.pk)))
        except DecryptError as error:
            report_broken(scope, error, row.pk, space_id=row.space_id, table=STATE, now=now)
    return opened


def _record(scope: Scope, action: str, count: int, *, now: datetime) -> None:
    target = f"space:{scope.space.id}"
    record(scope, actor=scope.principal.label, action=action, target=target, count=count, now=now)
