"""Reads framework state: one item by its key, lists of items and namespaces, and search."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Q

from apps.core.plaintext import Plaintext
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.crypto.encrypted_tables import report_broken
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.history.embedding import Embedded, try_embed
from apps.history.models import StateItem
from apps.history.overlap import overlap
from apps.history.state_filters import Filter, matches
from apps.history.state_lookup_keys import item_mac, live_rows, rows_below, rows_of_space
from apps.history.state_sealing import STATE, OpenedState, open_embedding, open_state
from apps.projects.scope import Scope

SEARCHED: Final = 5_000  # the newest items; a search, a filter and an order by key decrypt each of them
NEWEST: Final = "-updated_at"
ORDERS: Final = (NEWEST, "updated_at", "-created_at", "created_at", "-key", "key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """items: of this page.  total: of all pages."""

    items: Sequence[OpenedState] = ()
    total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespaces:
    """names: of this page, sorted.  total: of all pages."""

    names: Sequence[tuple[str, ...]] = ()
    total: int = 0


def find(scope: Scope, namespace: Sequence[str], key: str, *, source: str, now: datetime) -> OpenedState | None:
    """The item under this key, or None.  Raises DecryptError if it fails decryption."""
    if not scope.spaces:
        return None
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        row = live_rows(scope, now=now).filter(item_mac=item_mac(cipher, source, namespace, key)).first()
    if row is None:
        return None
    try:
        return open_state(row, cipher)
    except DecryptError as error:
        report_broken(scope, error, row.pk, space_id=row.space_id, table=STATE, now=now)
        raise


def list_items(
    scope: Scope,
    prefix: Sequence[str],
    *,
    source: str,
    where: Filter | None = None,
    order: str = NEWEST,
    limit: int,
    offset: int = 0,
    now: datetime,
) -> Found:
    """The items in a namespace and below it, without those that fail decryption.

    order: one of ORDERS.  where: only items with such values.  A filter and an order by key are of the 5,000 items
    changed last, because names and values are encrypted.
    """
    if not scope.spaces:
        return Found()
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        rows = rows_below(scope, cipher, source, prefix, now=now)
        column = order.removeprefix("-")
        if where or column == "key":
            kept = [
                ((one.key, one.namespace, one.id) if column == "key" else (getattr(one, column), one.id), one.id)
                for one in _matching(scope, rows, cipher, where or {}, now=now)
            ]
            ids = [state_id for _, state_id in sorted(kept, reverse=order.startswith("-"))]
            total = len(ids)
            there = {row.pk: row for row in rows_of_space(scope).filter(pk__in=ids[offset : offset + limit])}
            page = [there[state_id] for state_id in ids[offset : offset + limit]]
        else:
            total = rows.count()
            page = list(rows.order_by(order, "-pk" if order.startswith("-") else "pk")[offset : offset + limit])
    return Found(items=_opened(scope, page, cipher, now=now), total=total)


def search(
    scope: Scope,
    query: Plaintext,
    prefix: Sequence[str],
    *,
    source: str,
    where: Filter | None = None,
    limit: int,
    offset: int = 0,
    now: datetime,
) -> Found:
    """The items in a namespace and below it that match the query, best first; of the 5,000 changed last.

    where: only items with such values.

    By cosine if query and item are embedded, else by the share of the query's words that are in the text.  Every item
    is decrypted and scored in process: nothing searchable is stored.
    """
    if not scope.spaces:
        return Found()
    cipher = open_space(scope.tenant, scope.space)
    asked = try_embed(query)
    with tenant_transaction(scope):
        below = rows_below(scope, cipher, source, prefix, now=now)
        if where:
            ids = [one.id for one in _matching(scope, below, cipher, where, now=now)]
        else:
            ids = list(below.order_by("-updated_at", "-pk").values_list("pk", flat=True)[:SEARCHED])
        rows = rows_of_space(scope).filter(pk__in=ids)
        scores = _by_meaning(scope, rows, cipher, asked, now=now) | _by_words(
            scope, rows, cipher, query, asked, now=now
        )
        best = sorted((state_id for state_id in scores if scores[state_id] > 0), key=lambda one: (-scores[one], -one))
        page = best[offset : offset + limit]
        found = {row.pk: row for row in rows.filter(pk__in=page)}
    items = _opened(scope, [found[state_id] for state_id in page], cipher, scores=scores, now=now)
    return Found(items=items, total=len(best))


def list_namespaces(
    scope: Scope,
    prefix: Sequence[str],
    *,
    source: str,
    suffix: Sequence[str] = (),
    max_depth: int | None,
    limit: int,
    offset: int = 0,
    now: datetime,
) -> Namespaces:
    """The namespaces at and below a prefix that have items.

    suffix: only those that end so.  max_depth: longer ones are cut to so many segments, after that.
    """
    if not scope.spaces:
        return Namespaces()
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        # It is enough to decrypt one row of each namespace.
        below = rows_below(scope, cipher, source, prefix, now=now)
        rows = list(below.order_by("namespace_mac", "pk").distinct("namespace_mac").defer("embedding_ct"))
    ending = tuple(suffix)
    names_there = (one.namespace for one in _opened(scope, rows, cipher, now=now))
    found = {name[:max_depth] for name in names_there if not ending or name[-len(ending) :] == ending}
    names = sorted(found)
    return Namespaces(names=names[offset : offset + limit], total=len(names))


def _matching(
    scope: Scope, rows: ScopedQuerySet[StateItem], cipher: SpaceCipher, where: Filter, *, now: datetime
) -> Iterator[OpenedState]:
    """Those of the rows changed last that have such values, one decrypted at a time."""
    for row in rows.order_by("-updated_at", "-pk").defer("embedding_ct")[:SEARCHED].iterator(200):
        for one in _opened(scope, [row], cipher, now=now):
            if matches(one.value, where):
                yield one


def _by_meaning(
    scope: Scope, rows: ScopedQuerySet[StateItem], cipher: SpaceCipher, asked: Embedded | None, *, now: datetime
) -> dict[int, float]:
    """The cosines, by id, of items with an embedding of the query's embedder."""
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
    """The shares of the query's words, by id, of all other items."""
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


def _opened(
    scope: Scope,
    rows: Sequence[StateItem],
    cipher: SpaceCipher,
    *,
    scores: Mapping[int, float] | None = None,
    now: datetime,
) -> list[OpenedState]:
    """The decrypted items, in order, without those that fail decryption."""
    opened = []
    for row in rows:
        try:
            opened.append(open_state(row, cipher, score=(scores or {}).get(row.pk)))
        except DecryptError as error:
            report_broken(scope, error, row.pk, space_id=row.space_id, table=STATE, now=now)
    return opened
