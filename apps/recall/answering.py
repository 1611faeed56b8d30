"""Answers built from recalled memories: a filled prompt, a routed search, or an answer made of quotes."""

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from apps.core.errors import Invalid
from apps.core.plaintext import Plaintext
from apps.memories.opened import OpenedMemory
from apps.memories.pinned import pinned_memories
from apps.memories.selectors import get_memories
from apps.memories.standing_profile import standing_profile
from apps.memories.types import TYPES
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.recall.composing import HEADING, PINNED_HEADING, PROFILE_HEADING, Composed, Line, question_of
from apps.recall.composing import compose as fill
from apps.recall.question import asked_dates, asked_window, date_match
from apps.recall.results import Filters, Hit
from apps.recall.retrievers.slot import SlotRetriever
from apps.recall.routing import Plan, plan
from apps.recall.services import recall
from apps.recall.synthesis import Synthesis
from apps.recall.synthesis import synthesize as quote
from apps.recall.typed import TypedQuery, TypedRecall, recall_typed

WIDEST: Final = 50  # memories recalled before a route filters them
SLOT_TYPES: Final = tuple(name for name, type_ in TYPES.items() if type_.group)
LISTED_TYPES: Final = tuple(name for name, type_ in TYPES.items() if not type_.group and name != "summary")
# Types that may describe an event if they carry their own date: "I joined the team on May 9th" is a relation.
HAPPENING: Final = ("event", "decision", "relation", "fact")
MOST_STANDING: Final = 12  # memories of the standing profile in a prompt
MOST_QUOTES: Final = {"canonical": 1, "structured": 5, "hybrid": 3}
# Relevance from which memories are quoted, and from which the best one is, if none reaches that: docs/adr/0036 has what
# is lost below them.
LEAST_QUOTED: Final = 0.015
LEAST_OF_BEST: Final = 0.005


class NothingAsked(Invalid):
    """prompt_template: must say something besides the place for memories, because that is what is looked up."""


class NothingToSynthesize(Invalid):
    """Send a query, memory_ids, or both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """confidence: 0..1, the highest score x memory confidence of any hit; for comparison, not a probability."""

    query_id: uuid.UUID
    plan: Plan
    hits: Sequence[Hit]
    answer: str | None
    confidence: float
    latency_ms: float


def compose(
    scope: Scope,
    template: Plaintext,
    *,
    limit: int,
    max_tokens: int | None,
    min_relevance: float | None = None,
    with_pinned: bool = True,
    with_profile: bool = True,
    now: datetime,
) -> Composed:
    """Return the template filled with pinned memories, the standing profile and the memories that answer it best.

    Nothing that may be outdated is inserted, and nothing twice.  with_pinned: insert ``pinned_memories`` first.
    with_profile: insert the standing profile, at most MOST_STANDING memories.  Neither counts towards ``limit``.
    min_relevance: as ``recall`` takes it.  Raises NothingAsked.
    """
    question = question_of(template.reveal())
    if not question:
        raise NothingAsked
    pinned = pinned_memories(scope, now=now) if with_pinned else []
    standing = standing_profile(scope, limit=MOST_STANDING, now=now) if with_profile else []
    found = recall(scope, Plaintext(question), limit=limit, min_relevance=min_relevance, now=now)
    if pinned or standing:
        read_log.record_report(scope, len(pinned) + len(standing))
    relevant = [hit.memory for hit in found.hits if hit.memory.outdated_by is None]
    lines: dict[int, Line] = {}
    for heading, memories in ((PINNED_HEADING, pinned), (PROFILE_HEADING, standing), (HEADING, relevant)):
        for memory in memories:
            lines.setdefault(memory.id, _line(memory, heading))
    return fill(template.reveal(), list(lines.values()), max_tokens=max_tokens)


def search_routed(scope: Scope, query: Plaintext, *, limit: int, wanted: str | None, now: datetime) -> Routed:
    """Answer by the route that suits the question, or by the route in ``wanted``.  Requests for secrets are refused.

    A current fact answers only if the question names it or it leads recall in general, so that no fact answers because
    it exists.  If none does, or a route finds nothing, the answer is recall in general, unless the caller chose the
    route or the question names a time window.
    """
    started = time.perf_counter()
    chosen = plan(query.reveal(), wanted=wanted)
    hits: list[Hit] = []
    if chosen.route == "canonical":
        hits, chosen = _canonical(scope, query, chosen, limit=limit, insists=wanted is not None, now=now)
    elif not chosen.is_refused:
        hits = _by_route(scope, query, chosen, limit=limit, now=now)
        if not hits and wanted is None and chosen.route != "hybrid" and _window(query, chosen, now=now) is None:
            chosen = _in_general(chosen, "found nothing")
            hits = _by_route(scope, query, chosen, limit=limit, now=now)
    return Routed(
        query_id=uuid.uuid4(),
        plan=chosen,
        hits=hits,
        answer=_answer(query, hits, chosen),
        confidence=max((max(0.0, min(1.0, hit.score)) * hit.memory.confidence for hit in hits), default=0.0),
        latency_ms=(time.perf_counter() - started) * 1000,
    )


def synthesize(
    scope: Scope, query: Plaintext | None, memory_ids: Sequence[int] | None, *, most: int, now: datetime
) -> Synthesis:
    """Return an answer made of quotes from these memories, or else from those that recall finds and that may answer;
    at most ``most``.

    Raises NothingToSynthesize, and MemoryNotFound when the scope may not read one of the ids.
    """
    if memory_ids:
        memories: Sequence[OpenedMemory] = get_memories(scope, memory_ids, now=now)[:most]
        read_log.record_recall(
            scope,
            [memory.id for memory in memories],
            in_parts=[
                (part, [memory.id for memory in memories if memory.environment == part.environment])
                for part in scope.parts()
            ],
        )
    elif query is not None:
        memories = [hit.memory for hit in _that_answer(recall(scope, query, limit=most, now=now).hits)]
    else:
        raise NothingToSynthesize
    return quote({memory.id: memory.text.reveal() for memory in memories}, query.reveal() if query else None)


def ask(scope: Scope, asked: TypedQuery, question: Plaintext, *, now: datetime) -> tuple[TypedRecall, Synthesis]:
    """The typed memories that recall finds for a question, and quotes from those of them that may answer it."""
    found = recall_typed(scope, replace(asked, query=question, is_measured=True), now=now)
    least = _least(hit.relevance for hit in found.hits)
    texts = {
        hit.memory.id: (hit.memory.summary or hit.memory.text).reveal()
        for hit in found.hits
        if _may_answer(hit.relevance, least, is_named=hit.is_named)
    }
    return found, quote(texts, question.reveal())


def _least(relevances: Iterable[float | None]) -> float:
    """The relevance from which hits are quoted."""
    best = max((one for one in relevances if one is not None), default=0.0)
    return min(LEAST_QUOTED, max(LEAST_OF_BEST, best))


def _may_answer(relevance: float | None, least: float, *, is_named: bool) -> bool:
    """Whether a memory is quoted.  relevance: None if unknown.  is_named: the question asks for what it states."""
    return is_named or relevance is None or relevance >= least


def _that_answer(hits: Sequence[Hit]) -> list[Hit]:
    """The hits that may be quoted.  Those that a relation led to may, beside another."""
    least = _least(hit.relevance for hit in hits)
    direct = {
        hit.memory.id
        for hit in hits
        if (hit.relevance is not None or not hit.explanation.hop)
        and _may_answer(hit.relevance, least, is_named=SlotRetriever.name in hit.explanation.legs)
    }
    return [hit for hit in hits if hit.memory.id in direct or hit.explanation.hop] if direct else []


def _line(memory: OpenedMemory, heading: str) -> Line:
    return Line(text=memory.text.reveal(), said_at=memory.valid_from, happened_at=_happened_at(memory), heading=heading)


def _in_general(chosen: Plan, why: str) -> Plan:
    reason = f"the {chosen.route} route {why}: recall in general"
    return replace(chosen, route="hybrid", reasoning=[*chosen.reasoning, reason])


def _by_route(scope: Scope, query: Plaintext, chosen: Plan, *, limit: int, now: datetime) -> list[Hit]:
    if chosen.route == "structured":
        return _structured(scope, query, chosen, limit=limit, now=now)
    return list(recall(scope, query, limit=limit, now=now).hits)


def _canonical(
    scope: Scope, query: Plaintext, chosen: Plan, *, limit: int, insists: bool, now: datetime
) -> tuple[list[Hit], Plan]:
    """The current facts that the question names, or those found if one of them is the best hit; else all hits.

    insists: all current facts that recall finds, whatever leads.
    """
    filters = Filters(types=SLOT_TYPES) if insists else Filters()
    found = list(recall(scope, query, filters=filters, limit=WIDEST, now=now).hits)
    current = [hit for hit in found if hit.memory.key is not None and hit.memory.type in SLOT_TYPES]
    named = [hit for hit in current if SlotRetriever.name in hit.explanation.legs]
    if named and not insists:
        return named[:limit], chosen
    if insists or (current and current[0] is found[0]):
        return current[:limit], chosen
    return found[:limit], _in_general(chosen, "has no fact that leads" if current else "found nothing")


def _structured(scope: Scope, query: Plaintext, chosen: Plan, *, limit: int, now: datetime) -> list[Hit]:
    """Hits of the types and the time that the question names, or else of LISTED_TYPES; oldest first."""
    window = _window(query, chosen, now=now)
    if window is not None:
        found = recall(scope, query, filters=Filters(types=HAPPENING, happened=window), limit=WIDEST, now=now).hits
        return sorted(found[:limit], key=lambda hit: (_when(hit.memory), hit.memory.id))
    dates = asked_dates(query.reveal())
    types = tuple(chosen.kinds) or (() if dates else LISTED_TYPES)
    hits = recall(scope, query, filters=Filters(types=types), limit=WIDEST, now=now).hits
    if dates:
        hits = [hit for hit in hits if date_match(dates, _when(hit.memory)) > 0]
    return sorted(hits[:limit], key=lambda hit: (_when(hit.memory), hit.memory.id))


def _window(query: Plaintext, chosen: Plan, *, now: datetime) -> tuple[datetime, datetime] | None:
    """The relative time ("last week") of a question about events; None for other questions."""
    asks = chosen.route == "structured" and "event" in chosen.kinds
    return asked_window(query.reveal(), now) if asks else None


def _happened_at(memory: OpenedMemory) -> datetime | None:
    """Its own date; None if it is dated only by when it was said."""
    has_own = memory.event_at != memory.valid_from and memory.event_precision != "unknown"
    return memory.event_at if has_own else None


def _when(memory: OpenedMemory) -> datetime:
    return memory.event_at or memory.created_at


def _answer(query: Plaintext, hits: Sequence[Hit], chosen: Plan) -> str | None:
    """Quotes.  Hits of the kind or the time that the question names need not be relevant besides."""
    is_named = chosen.route == "structured" and (chosen.kinds or asked_dates(query.reveal()))
    texts = {hit.memory.id: hit.memory.text.reveal() for hit in (hits if is_named else _that_answer(hits))}
    return quote(texts, query.reveal(), most=MOST_QUOTES[chosen.route]).answer if texts else None
