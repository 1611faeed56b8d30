"""Celery task: delete expired browser sessions."""

from celery import shared_task

from apps.accounts.session_store import SessionStore


@shared_task(name="accounts.sweep_sessions", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def sweep_sessions(**_: object) -> None:
    SessionStore.clear_expired()
