"""Lists and searches the memories of an agent platform, over several spaces (docs/agent-platforms.md).

By words first: BM25, then pinned, importance and time of the last change.  If no memory has the words, those that
contain the query as it stands, among the newest of each space: decrypted, because no index knows parts of words.  Then
those that are near in meaning.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from apps.core.plaintext import Plaintext
from apps.core.queries import fetch_all
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError
from apps.memories import integrity
from apps.memories.lifetimes import Lifetimes, lifetimes_of
from apps.memories.models.memory import TEXT
from apps.memories.opened import OpenedMemory
from apps.memories.platform import LabelFilter
from apps.memories.rows import recallable_rows
from apps.memories.sealing import open_memory
from apps.projects.scope import Scope, SpaceRef
from apps.recall import read_log
from apps.recall.concurrency import computing
from apps.recall.query_context import SearchedSpace, enter_space, find_speakers, parse_question
from apps.recall.results import Filters
from apps.recall.retrieval import build_scan, build_search
from apps.recall.retrievers.dense import DenseRetriever
from apps.recall.retrievers.lexical import LexicalRetriever
from apps.recall.search import Ranking, conditions

MOST: Final = 1_000  # memories of a space that a query ranks by words or by meaning
SCANNED: Final = 2_000  # newest memories of a space that are decrypted to find parts of words
MOST_SEALED: Final = 20_000  # memories of a sealed space that are decrypted for their labels
SHORT: Final = 3  # characters; a shorter query is also looked for in parts of words if words have it
# Cosine from which a memory is near in meaning: with the default embedder, unrelated ones are below .2.
NEAR: Final = 0.25

_NO_FILTERS: Final = Filters()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformQuery:
    """offset: how many of the best to skip.  query: None for all memories with these labels."""

    query: Plaintext | None = None
    labels: LabelFilter = field(default_factory=LabelFilter)
    limit: int = 5
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformPage:
    """memories: best first, each with its space, without those that fail decryption."""

    memories: Sequence[tuple[OpenedMemory, SpaceRef]] = ()
    has_more: bool = False


# What an answer is ordered by, all descending: score, pinned, importance, time of the last change, id.
_Order = tuple[float, bool, float, datetime, int]


def find_memories(scope: Scope, asked: PlatformQuery, *, now: datetime) -> PlatformPage:
    """A page of the memories of the scope's spaces."""
    if not scope.spaces:
        return PlatformPage()
    with computing(), tenant_transaction(scope, snapshot=True):
        lifetimes = lifetimes_of(scope, [space.id for space in scope.spaces])
        spaces = [_SpaceMemories(enter_space(part, part.space), asked.labels, lifetimes, now) for part in scope.parts()]
        end = asked.offset + asked.limit
        found = _ranked(spaces, asked.query, most=end + 1)
        page = found[asked.offset : end]
        for held in spaces:
            held.open([memory_id for one, memory_id in page if one is held])
    memories = [(held.opened[memory_id], held) for held, memory_id in page if memory_id in held.opened]
    if asked.query is None:
        read_log.record_report(scope, len(memories))
    else:
        parts = [(one.space.scope, [memory.id for memory, held in memories if held is one]) for one in spaces]
        read_log.record_recall(scope, [memory.id for memory, _ in memories], in_parts=parts)
    return PlatformPage(memories=[(memory, held.space.ref) for memory, held in memories], has_more=len(found) > end)


class _SpaceMemories:
    """The memories of one space that have the labels.  Inside one snapshot of the tenant.

    opened: those that were decrypted, by id.
    """

    def __init__(self, space: SearchedSpace, labels: LabelFilter, lifetimes: Lifetimes, now: datetime) -> None:
        self.space, self.labels, self.lifetimes, self.now = space, labels, lifetimes, now
        self.opened: dict[int, OpenedMemory] = {}
        self._is_sealed = space.ref.is_sealed
        where, values, _ = conditions(_NO_FILTERS, space.scope, space.cipher, now=now)
        narrowed, wanted = ("", []) if self._is_sealed else labels.sql(space.cipher)
        self._where, self._values = where + narrowed, [*values, *wanted]

    def open(self, memory_ids: Sequence[int]) -> None:
        """Decrypt these memories; broken ones are left out and reported."""
        wanted = [one for one in memory_ids if one not in self.opened]
        for row in recallable_rows(self.space.scope, wanted, None, now=self.now) if wanted else ():
            try:
                self.opened[row.pk] = open_memory(row, self.space.cipher, self.space.ref, self.lifetimes)
            except DecryptError as error:
                integrity.note(self.space.scope, error, row.pk, space_id=self.space.ref.id, now=self.now)

    def all(self, most: int) -> list[_Order]:
        """At least the first ``most`` of the order."""
        return self._placed("", [], limit=MOST_SEALED if self._is_sealed else most)

    def by_words(self, query: Plaintext) -> list[_Order]:
        return self._scored(self._rank(query, by_meaning=False, limit=MOST))

    def by_meaning(self, query: Plaintext, known: Collection[int], most: int) -> list[_Order]:
        """Those that are near the query; known: ids to leave out."""
        near = self._rank(query, by_meaning=True, limit=MOST_SEALED if self._is_sealed else most + len(known))
        return self._scored([one for one in near if one[1] >= NEAR and one[0] not in known])

    def by_parts(self, query: Plaintext, known: Collection[int]) -> list[_Order]:
        """Those of the newest whose text contains the query, whatever its case; known: ids to leave out."""
        wanted = query.reveal().strip().casefold()
        cipher, found = self.space.cipher, list[int]()
        for memory_id, blob in self._fetch("memory.text_ct", "", [], "memory.id desc", limit=SCANNED):
            try:
                text = cipher.open(TEXT, memory_id, bytes(blob)).reveal()
            except DecryptError as error:
                integrity.note(self.space.scope, error, memory_id, space_id=self.space.ref.id, now=self.now)
                continue
            if memory_id not in known and wanted in text.casefold():
                found.append(memory_id)
        return self._scored([(memory_id, 0.0) for memory_id in found])

    def _rank(self, query: Plaintext, *, by_meaning: bool, limit: int) -> Ranking:
        space = self.space
        speakers = find_speakers(space, query, _NO_FILTERS, now=self.now)
        context = parse_question(space, speakers, query, embeds=by_meaning, now=self.now)
        if context.opened is not None:
            scan = build_scan(context, context.opened, now=self.now)
            return scan.dense(limit) if by_meaning else scan.lexical(limit)
        search = build_search(context, _NO_FILTERS, now=self.now)
        search = replace(search, where=self._where, values=self._values, is_filtered=True)
        retriever = DenseRetriever() if by_meaning else LexicalRetriever()
        return retriever.rank(search, limit=limit)

    def _scored(self, ranking: Ranking) -> list[_Order]:
        """The order of these memories, of which those without the labels are left out."""
        scores = dict(ranking)
        if not scores:
            return []
        placed = self._placed(" and memory.id = any(%s)", [list(scores)], limit=len(scores))
        return [
            (scores[memory_id], pinned, importance, changed, memory_id)
            for _, pinned, importance, changed, memory_id in placed
        ]

    def _placed(self, also: str, values: Sequence[Any], *, limit: int) -> list[_Order]:
        columns = "memory.pinned, memory.importance, memory.updated_at"
        order = "memory.pinned desc, memory.importance desc, memory.updated_at desc, memory.id desc"
        rows = self._fetch(columns, also, values, order, limit=limit)
        if self._is_sealed:
            self.open([row[0] for row in rows])
            rows = [row for row in rows if row[0] in self.opened and self.labels.accepts(self.opened[row[0]])]
        return [(0.0, pinned, importance, changed, memory_id) for memory_id, pinned, importance, changed in rows]

    def _fetch(
        self, columns: str, also: str, values: Sequence[Any], order: str, *, limit: int
    ) -> list[tuple[Any, ...]]:
        """The id and these columns.  columns, also, order: SQL of this class."""
        scope = self.space.scope
        return fetch_all(
            f"select memory.id, {columns} from memories_memory memory "  # noqa: S608  (ours)
            "where memory.tenant_id = %s and memory.space_id = %s and memory.retention_status = 'active' "
            f"and (memory.expires_at is null or memory.expires_at > %s) {self._where} {also} "
            f"order by {order} limit %s",
            [scope.tenant_id, self.space.ref.id, self.now, *self._values, *values, limit],
            prepared=True,
        )


def _ranked(
    spaces: Sequence[_SpaceMemories], query: Plaintext | None, *, most: int
) -> list[tuple[_SpaceMemories, int]]:
    """The memories in order, at least as many as wanted if there are so many."""
    if query is None:
        return _sorted((held, held.all(most)) for held in spaces)
    found = _sorted((held, held.by_words(query)) for held in spaces)
    if not found or len(query.reveal().strip()) < SHORT:
        known = {memory_id for _, memory_id in found}
        found += _sorted((held, held.by_parts(query, known)) for held in spaces)
    if len(found) < most:
        known = {memory_id for _, memory_id in found}
        found += _sorted((held, held.by_meaning(query, known, most)) for held in spaces)
    return found


def _sorted(found: Iterable[tuple[_SpaceMemories, Sequence[_Order]]]) -> list[tuple[_SpaceMemories, int]]:
    placed = [(order, held) for held, orders in found for order in orders]
    return [(held, order[-1]) for order, held in sorted(placed, key=lambda one: one[0], reverse=True)]
