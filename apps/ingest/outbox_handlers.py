"""Outbox handlers of sessions."""

from datetime import datetime

from apps.projects.scope import Scope


def summarize_session(scope: Scope, subject_id: int, position: int, now: datetime) -> None:
    # Imported when it first runs: it reads text by rules, which commands do not wait for at their start.
    from apps.ingest.session_summaries import summarize_asked

    summarize_asked(scope, subject_id, now=now)
