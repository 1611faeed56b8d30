"""Recall: the memories that best answer a query, each with an explanation."""

import time
import uuid
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Final

from django.conf import settings

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Invalid
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.recall.concurrency import computing
from apps.recall.options import Options, TimeBudget
from apps.recall.pipeline import recall_in_space
from apps.recall.profiles import PROFILES
from apps.recall.question import ask
from apps.recall.relevance import Floors
from apps.recall.results import Filters, Recall
from apps.recall.retrieval import RETRIEVERS, in_order_of_retrievers
from apps.recall.retrievers import graph
from apps.recall.traces import is_wanted

CHOSEN_FROM: Final = 50  # hits, where a text decides whether it may be returned


class UnknownProfile(Invalid):
    """No such ranking profile."""


class UnknownLeg(Invalid):
    """No such way of finding."""


def recall(
    scope: Scope,
    query: Plaintext,
    *,
    filters: Filters | None = None,
    limit: int = 5,
    depth: int = 2,
    profile: str | None = None,
    weights: Mapping[str, float] | None = None,
    session_id: str | None = None,
    legs: Collection[str] | None = None,
    rerank: bool | None = None,
    min_relevance: float | None = None,
    with_alike: bool = False,
    keeps: Callable[[str], bool] | None = None,
    now: datetime,
) -> Recall:
    """The memories of the scope's spaces that best answer the query, best first; at most ``limit``, never padded.

    depth: 1 for direct finds only; 2 and 3 add memories at most that many relations away from them.
    profile: one of PROFILES.  weights: override the profile's; ``graph`` weighs scores carried along relations.
    session_id: memories of this session rank a little higher; none are excluded.
    legs: names of the retrievers to run, in place of RECALL_LEGS.  Those for which RECALL_BUDGET_MS leaves no time are
    listed in ``legs_cut``.  rerank: whether a cross-encoder, if there is one, reads the best; by default if
    RERANKER_PROFILES names the profile.
    min_relevance: 0..1, hits below it are left out; without it, the answer is empty if no hit reaches
    RECALL_MIN_RELEVANCE.  with_alike: also memories with the same words as a better one.
    keeps: which texts may be returned, of the best CHOSEN_FROM of each space.
    Raises UnknownProfile, UnknownLeg.
    """
    started = time.perf_counter()
    if legs is not None and not set(legs) <= {graph.NAME, *(one.name for one in RETRIEVERS)}:
        raise UnknownLeg
    chosen = profile or "default"
    if chosen not in PROFILES:
        raise UnknownProfile(f"profile is one of {', '.join(PROFILES)}.")
    query_id = uuid.uuid4()
    options = Options(
        filters=filters or Filters(), limit=limit if keeps is None else max(limit, CHOSEN_FROM),
        depth=min(max(depth, 1), 3), profile=chosen, weights=weights,
        session_id=session_id, retrievers=frozenset(settings.RECALL_LEGS if legs is None else legs),
        budget=TimeBudget(settings.RECALL_BUDGET_MS, started),
        reranks=chosen in settings.RERANKER_PROFILES if rerank is None else rerank,
        is_traced=is_wanted(query_id), now=now,
        floors=Floors(best=settings.RECALL_MIN_RELEVANCE) if min_relevance is None else Floors(least=min_relevance),
        with_alike=with_alike,
    )  # fmt: skip
    with computing(reranks=options.reranks):
        parts = scope.parts()
        found = [recall_in_space(part, part.space, query, options) for part in parts]
    hits = [hit for one in found for hit in one.hits if keeps is None or keeps(hit.memory.text.reveal())]
    hits = sorted(hits, key=lambda hit: (-hit.score, -hit.memory.id))[:limit]
    ids = [hit.memory.id for hit in hits]
    traces = [one.traced for one in found if one.traced is not None] if options.is_traced else []
    for one in found:
        if one.reread is not None:
            with tenant_transaction(scope):
                record(scope, actor=scope.principal.label, action=AuditAction.AI_RERANK, reason=one.reread, now=now)
    read_log.record_recall(
        scope,
        ids,
        query_id=query_id,
        in_parts=[
            (part, [hit.memory.id for hit in one.hits if hit.memory.id in ids])
            for part, one in zip(parts, found, strict=True)
        ],
        traces=[(space, query_id, trace) for space, trace in traces],
        milliseconds=(time.perf_counter() - started) * 1000,
    )
    return Recall(
        query_id=query_id,
        hits=hits,
        profile=chosen,
        latency_ms=(time.perf_counter() - started) * 1000,
        intent=ask(query).intent,
        dense_available=all(one.is_dense for one in found),
        legs=in_order_of_retrievers(name for one in found for name in one.legs),
        legs_cut=in_order_of_retrievers(name for one in found for name in one.cut),
    )
