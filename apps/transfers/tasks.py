"""Celery discovers the tasks of this app here."""

from apps.transfers.exports import tasks as exports
from apps.transfers.imports import tasks as imports

__all__ = ["exports", "imports"]
