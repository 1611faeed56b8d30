"""Cached answers of a space: compute the key, store an answer, and reopen the hits of a cached one."""

from datetime import datetime

from apps.core.plaintext import Plaintext
from apps.recall.cache import CachedAnswer, CachedHit, CacheKey, answers
from apps.recall.hits import open_hits
from apps.recall.options import Options
from apps.recall.query_context import SearchedSpace
from apps.recall.results import Hit, SpaceAnswer


def cache_key(space: SearchedSpace, query: Plaintext, options: Options) -> CacheKey:
    """The cache key of this question with these options, at the space's current version."""
    scope = space.scope
    return CacheKey(
        project=(scope.tenant_id, scope.environment, scope.project_id),
        question=space.cipher.identity_mac("question", query.reveal(), options.wanted),
        state=(space.row.txid, space.ref, space.embedder.id),
    )


def get_cached_answer(space: SearchedSpace, key: CacheKey, options: Options) -> SpaceAnswer | None:
    """The cached answer with its memories reopened; None if there is none or it is no longer valid.

    A traced recall skips the cache, because a trace needs a search.
    """
    kept = None if options.is_traced else answers.get(key, now=options.now)
    if kept is None:
        return None
    memories = open_hits(space, [one.memory_id for one in kept.hits], options)
    if len(memories) < len(kept.hits):
        answers.drop(key)
        return None
    hits = [
        Hit(memory=memories[one.memory_id], score=one.score, explanation=one.explanation, relevance=one.relevance)
        for one in kept.hits
    ]
    return SpaceAnswer(hits=hits, legs=kept.legs)


def cache_answer(key: CacheKey, answer: SpaceAnswer, *, now: datetime) -> None:
    """Cache the answer if it is complete: the embedder was available and no retriever was cut.

    ``key`` holds the space version from before the search, so a write during the search invalidates the entry.
    """
    if answer.is_dense and not answer.cut:
        hits = [CachedHit(hit.memory.id, hit.score, hit.explanation, hit.relevance) for hit in answer.hits]
        answers.put(key, CachedAnswer(hits=hits, legs=answer.legs), now=now)
