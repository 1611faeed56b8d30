"""Where Celery looks for the tasks of this app."""

from apps.transfers.exports import tasks as exports
from apps.transfers.imports import tasks as imports

__all__ = ["exports", "imports"]
