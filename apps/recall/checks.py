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
