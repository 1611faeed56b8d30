"""System checks of the retriever and reranker settings.  Ids: memsync.E020 to E029."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import Error, register

from apps.recall.profiles import PROFILES
from apps.recall.retrieval import RETRIEVERS
from apps.recall.retrievers import graph


@register()
def check_legs(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    known = [*(one.name for one in RETRIEVERS), graph.NAME]
    unknown = [name for name in settings.RECALL_LEGS if name not in known]
    if unknown or not settings.RECALL_LEGS:
        return [
            Error(
                f"RECALL_LEGS names no way of finding, or one that there is not: {', '.join(unknown) or 'none'}.",
                hint=f"There are {', '.join(known)}.",
                id="memsync.E020",
            )
        ]
    return []


@register()
def check_reranked_profiles(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    if unknown := [name for name in settings.RERANKER_PROFILES if name not in PROFILES]:
        return [
            Error(
                f"RERANKER_PROFILES names ranking profiles that there are not: {', '.join(unknown)}.",
                hint=f"There are {', '.join(PROFILES)}.",
                id="memsync.E021",
            )
        ]
    return []


@register()
def check_numbers(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    errors = []
    if settings.RECALL_CONCURRENCY < 0:
        errors.append(
            Error(
                f"RECALL_CONCURRENCY is {settings.RECALL_CONCURRENCY}.",
                hint="It is the number of queries that a process computes at once; 0 is no limit.",
                id="memsync.E022",
            )
        )
    if not 0 <= settings.RECALL_MIN_RELEVANCE <= 1:
        errors.append(
            Error(
                f"RECALL_MIN_RELEVANCE is {settings.RECALL_MIN_RELEVANCE:g}.",
                hint="It is a probability, 0 to 1; 0 is no limit.",
                id="memsync.E023",
            )
        )
    if settings.RERANKER_TEXTS < 1 or settings.RERANKER_SECONDS <= 0:
        errors.append(
            Error(
                f"RERANKER_TEXTS is {settings.RERANKER_TEXTS}, RERANKER_SECONDS {settings.RERANKER_SECONDS:g}.",
                hint="At least one text is read, in more than no time. RERANKER_BACKEND= turns reranking off.",
                id="memsync.E024",
            )
        )
    return errors
