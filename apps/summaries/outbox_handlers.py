"""Outbox handlers of summaries."""

from collections.abc import Sequence
from datetime import datetime

from apps.projects.scope import Scope
from apps.summaries.services import tend_clusters, tend_summaries


def summarize(scope: Scope, cluster_ids: Sequence[int], now: datetime) -> None:
    tend_clusters(scope, cluster_ids, now=now)


def resummarize(scope: Scope, summary_ids: Sequence[int], now: datetime) -> None:
    tend_summaries(scope, summary_ids, now=now)
