"""Recall in a sealed space, which stores no searchable index: decrypt the whole space and search it in process.

For small, sensitive spaces (``apps.memories.indexing_mode``).  Terms and vectors are the same as in an indexed space,
so the same question ranks the same memories in the same order.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import orjson

from apps.core.queries import fetch_all
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import integrity
from apps.memories.claims import claims_of
from apps.memories.lookup_keys import LookupValues
from apps.memories.models.memory import HANDLES, TAGS
from apps.memories.sealing import open_analysis, open_embedding, open_text_then
from apps.memories.speakers import first_name
from apps.memories.validity import AsOf, Moment, true_sql
from apps.projects.scope import Scope, SpaceRef
from apps.recall.features import ScannedTurn, Statistics, compute_features
from apps.recall.question import Question, windows
from apps.recall.results import Filters
from apps.recall.search import Ranking, conditions, moment_of
from apps.recall.shortlist import OpenedCandidate, has_metadata
from text.analysis import TextAnalysis
from text.question_slots import asked_claims

_EVERYTHING = """
select memory.id, memory.text_ct, memory.handles_ct, memory.tags_ct, memory.metadata_ct, memory.revision,
    vector.embedding_ct, memory.from_assistant, coalesce(memory.event_at, memory.created_at), memory.created_at,
    memory.importance, memory.access_count, (true {where}), memory.type, memory.confidence, memory.last_accessed_at,
    lower(memory.event_range), upper(memory.event_range), memory.is_summary, memory.said_ct, memory.parts_ct,
    memory.analysis_ct
from memories_memory memory
left join memories_memoryvector vector
    on vector.tenant_id = memory.tenant_id and vector.memory_id = memory.id and vector.embedder = %s
where memory.tenant_id = %s and memory.space_id = %s and memory.retention_status = 'active'
  and {truth} and (memory.expires_at is null or memory.expires_at > %s)
  and (%s::bigint is null or memory.project_id is null or memory.project_id = %s)
order by memory.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSpace:
    """Every live memory of a sealed space, oldest first.

    before: memory id to the previous turn of its session.  wanted: ids that pass the filter.
    actors: keyed tokens of the speakers.
    """

    turns: Sequence[ScannedTurn]
    before: dict[int, ScannedTurn]
    wanted: frozenset[int]
    actors: frozenset[int]


def open_sealed(
    scope: Scope, space: SpaceRef, cipher: SpaceCipher, filters: Filters, *, embedder: str, now: datetime
) -> OpenedSpace:
    """Decrypt the space.  Call inside the tenant's transaction.  Undecryptable memories are skipped and reported."""
    where, values, _ = conditions(filters, scope, cipher, now=now)
    moment = moment_of(filters, now=now)
    truth, at = true_sql("memory", moment, now=now)
    rows = fetch_all(
        _EVERYTHING.format(where=where, truth=truth),
        [*values, embedder, scope.tenant_id, space.id, *at, now, scope.project_id, scope.project_id],
    )
    turns: list[ScannedTurn] = []
    wanted: set[int] = set()
    for row in rows:
        try:
            handles = LookupValues(**orjson.loads(cipher.open_bytes(HANDLES, row[0], bytes(row[2]))))
            turn = _turn(row, handles, cipher, moment)
            if row[12] and _passes(filters, handles, row, cipher):
                wanted.add(turn.id)
        except DecryptError as error:
            integrity.note(scope, error, row[0], space_id=space.id, now=now)
            continue
        turns.append(turn)
    actors = frozenset(turn.actor for turn in turns if turn.actor is not None)
    return OpenedSpace(turns=turns, before=_before(turns), wanted=frozenset(wanted), actors=actors)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRetrievers:
    """In-process counterparts of the database retrievers, over an opened space.  Inside the tenant's transaction.

    Each returns (memory id, score), best first.  A sealed space stores no entities, so there is no entity retriever.
    """

    scope: Scope
    space: SpaceRef
    cipher: SpaceCipher
    opened: OpenedSpace
    question: Question
    vector: Any
    now: datetime

    def named(self) -> dict[str, Callable[[int], Ranking]]:
        """Retriever name to a function that takes the limit."""
        return {"dense": self.dense, "lexical": self.lexical, "slot": self.slot, "temporal": self.temporal}

    def dense(self, limit: int) -> Ranking:
        if self.vector is None:
            return []
        cosines = ((turn.id, float(self.vector @ turn.vector)) for turn in self._wanted if turn.vector is not None)
        return _best(cosines, limit)

    def lexical(self, limit: int) -> Ranking:
        statistics = Statistics.of_turns(self.opened.turns, self.question)
        scored = ((turn.id, statistics.measure(turn.analysis, turn.vector).words) for turn in self._wanted)
        return _best((one for one in scored if one[1] > 0), limit)

    def slot(self, limit: int) -> Ranking:
        pairs = {pair: place for place, pair in enumerate(asked_claims(self.question.text.reveal()), start=1)}
        if not pairs:
            return []
        claims = claims_of(self.scope, self.space, self.cipher, now=self.now)
        asked = {one.id: claims.get(one.id, set()) & pairs.keys() for one in self._wanted}
        scored = [(memory_id, 1 / min(pairs[pair] for pair in met)) for memory_id, met in asked.items() if met]
        return _newest_of_the_best(scored, limit)

    def temporal(self, limit: int) -> Ranking:
        if not self.question.has_time or not self.opened.turns:
            return []
        years = [turn.said_at.astimezone(UTC).year for turn in self.opened.turns]
        asked = windows(self.question, years=(min(years), max(years)))
        scored = [
            (turn.id, max((one.worth for one in asked if one.meets(turn.said_at, turn.stretch)), default=0.0))
            for turn in self._wanted
        ]
        return _newest_of_the_best([one for one in scored if one[1] > 0], limit)

    @property
    def _wanted(self) -> Iterator[ScannedTurn]:
        return (turn for turn in self.opened.turns if turn.id in self.opened.wanted)


def shortlist_sealed(
    opened: OpenedSpace, question: Question, vector: Any, ids: Sequence[int], *, session_token: int | None
) -> list[OpenedCandidate]:
    """The ranked turns and the turn after each, with features computed as ``open_shortlist`` does."""
    statistics = Statistics.of_turns(opened.turns, question)
    found = set(ids)
    found |= {turn_id for turn_id, before in opened.before.items() if before.id in found and turn_id in opened.wanted}
    shortlist = []
    for turn in opened.turns:
        if turn.id in found:
            before = opened.before.get(turn.id)
            features = compute_features(
                turn, statistics.measure(turn.analysis, turn.vector),
                statistics.measure(before.analysis, before.vector) if before else None, question, vector, statistics,
                session_token=session_token,
            )  # fmt: skip
            shortlist.append(
                OpenedCandidate(features=features, fingerprint=turn.analysis.fingerprint, is_summary=turn.is_summary)
            )
    return shortlist


def _turn(row: tuple[Any, ...], handles: LookupValues, cipher: SpaceCipher, moment: Moment | None) -> ScannedTurn:
    return ScannedTurn(
        id=row[0],
        analysis=_analysis(row, cipher, moment),
        vector=open_embedding(row[0], bytes(row[6]), cipher) if row[6] else None,
        actor=cipher.actor_token(handles.actor) if handles.actor else None,
        from_assistant=row[7],
        session=cipher.session_token(handles.session) if handles.session else None,
        said_at=row[8],
        created_at=row[9],
        importance=row[10],
        access_count=row[11],
        type=row[13],
        confidence=row[14],
        last_accessed_at=row[15],
        stretch=(row[16], row[17]) if row[16] and row[17] else None,
        is_summary=row[18],
    )


def _analysis(row: tuple[Any, ...], cipher: SpaceCipher, moment: Moment | None) -> TextAnalysis:
    """As stored, or else of the text as it was at the moment."""
    said = row[19]
    if (not isinstance(moment, AsOf) or said is None) and (
        analysis := open_analysis(row[0], row[21], cipher)
    ) is not None:
        return analysis
    return TextAnalysis.of(open_text_then(cipher, row[0], row[5], row[1], said, row[20], moment).reveal())


def _passes(filters: Filters, handles: LookupValues, row: tuple[Any, ...], cipher: SpaceCipher) -> bool:
    """Whether the memory passes the filters that the database cannot check here: session, speaker, tags, metadata."""
    if filters.session_id and handles.session != filters.session_id:
        return False
    if filters.speakers and handles.actor not in {first_name(name) for name in filters.speakers}:
        return False
    if filters.tags:
        tags = orjson.loads(cipher.open_bytes(TAGS, row[0], bytes(row[3]), revision=row[5])) if row[3] else []
        if not set(filters.tags) & set(tags):
            return False
    return not filters.metadata or has_metadata(filters.metadata, cipher, row[0], row[4], row[5])


def _before(turns: Sequence[ScannedTurn]) -> dict[int, ScannedTurn]:
    sessions: dict[int, list[ScannedTurn]] = {}
    for turn in turns:
        if turn.session is not None:
            sessions.setdefault(turn.session, []).append(turn)
    return {later.id: earlier for said in sessions.values() for earlier, later in pairwise(said)}


def _best(scored: Iterable[tuple[int, float]], limit: int) -> Ranking:
    return sorted(scored, key=lambda one: (-one[1], one[0]))[:limit]


def _newest_of_the_best(scored: Iterable[tuple[int, float]], limit: int) -> Ranking:
    return sorted(scored, key=lambda one: (-one[1], -one[0]))[:limit]
