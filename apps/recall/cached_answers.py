"""Cached answers of a space: where one is kept, what is kept of it, and the same hits opened again."""

from datetime import datetime

from apps.core.plaintext import Plaintext
from apps.recall.cache import CachedAnswer, CacheKey, answers
from apps.recall.hits import open_hits
from apps.recall.options import Options
from apps.recall.query_context import SearchedSpace
from apps.recall.results import Hit, SpaceAnswer


def cache_key(space: SearchedSpace, query: Plaintext, options: Options) -> CacheKey:
    """Of this question, asked like this of the space as it is at its newest change."""
    scope = space.scope
    return CacheKey(
        project=(scope.tenant_id, scope.environment, scope.project_id),
        question=space.cipher.identity_mac("question", query.reveal(), options.wanted),
        state=(space.row.txid, space.ref, space.embedder.id),
    )


def get_cached_answer(space: SearchedSpace, key: CacheKey, options: Options) -> SpaceAnswer | None:
    """What was answered to the same question a moment ago, re-opened; None where it does not hold any more.

    A recall that leaves a trace is searched for, so that there is something to trace.
    """
    kept = None if options.is_traced else answers.get(key, now=options.now)
    if kept is None:
        return None
    memories = open_hits(space, [memory_id for memory_id, _, _ in kept.hits], options)
    if len(memories) < len(kept.hits):
        answers.drop(key)
        return None
    hits = [Hit(memory=memories[one], score=score, explanation=explanation) for one, score, explanation in kept.hits]
    return SpaceAnswer(hits=hits, legs=kept.legs)


def cache_answer(key: CacheKey, answer: SpaceAnswer, *, now: datetime) -> None:
    """Keep it, if nothing was missing when it was made.

    It is of the change that was looked at first: what was written meanwhile makes it void.
    """
    if answer.is_dense and not answer.cut:
        hits = [(hit.memory.id, hit.score, hit.explanation) for hit in answer.hits]
        answers.put(key, CachedAnswer(hits=hits, legs=answer.legs), now=now)
