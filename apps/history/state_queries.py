"""This module reads framework state: one item by its key, lists of items and namespaces, and a search of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import OuterRef, Q, Subquery

from apps.core.plaintext import Plaintext
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.crypto.encrypted_tables import report_broken
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.history.embedding import Embedded, try_embed
from apps.history.models import StateItem
from apps.history.overlap import overlap
from apps.history.state_lookup_keys import item_mac, rows_below, rows_of_space
from apps.history.state_sealing import STATE, OpenedState, open_embedding, open_state
from apps.projects.scope import Scope

SEARCHED: Final = 5_000  # items of one search, the newest; each is opened for it


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


def find(scope: Scope, namespace: Sequence[str], key: str, *, source: str, now: datetime) -> OpenedState | None:
    """What lies there, or None.  Raises DecryptError when it fails its seal."""
    if not scope.spaces:
        return None
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        row = rows_of_space(scope).filter(item_mac=item_mac(cipher, source, namespace, key)).first()
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
        rows = rows_below(scope, cipher, source, prefix)
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
        newest = rows_below(scope, cipher, source, prefix).order_by("-updated_at", "-pk").values_list("pk", flat=True)
        rows = rows_of_space(scope).filter(pk__in=list(newest[:SEARCHED]))
        scores = _by_meaning(scope, rows, cipher, asked, now=now) | _by_words(
            scope, rows, cipher, query, asked, now=now
        )
        best = sorted((state_id for state_id in scores if scores[state_id] > 0), key=lambda one: (-scores[one], -one))
        found = {row.pk: row for row in rows.filter(pk__in=best[:limit])}
    items = _opened(scope, [found[state_id] for state_id in best[:limit]], cipher, scores=scores, now=now)
    return Found(items=items, total=len(best))


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
        below = rows_below(scope, cipher, source, prefix)
        first = below.filter(namespace_mac=OuterRef("namespace_mac")).order_by("pk").values("pk")[:1]
        rows = list(below.filter(pk=Subquery(first)).order_by("pk"))
    found = {one.namespace[:max_depth] for one in _opened(scope, rows, cipher, now=now)}
    names = sorted(found)
    return Namespaces(names=names[offset : offset + limit], total=len(names))


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
