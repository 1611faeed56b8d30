"""Time budgets for reading a text; a text that exceeds its budget is stored without extraction."""

from contextlib import AbstractContextManager

from django.conf import settings

from text.budget import Budget, reading
from text.extraction.extractor import LONG_TEXT


def budget_for(text: str) -> AbstractContextManager[Budget]:
    """Context manager with the budget for this text: READ_TURN_MS, or READ_DOCUMENT_MS for one above LONG_TEXT."""
    return reading(settings.READ_TURN_MS if len(text) <= LONG_TEXT else settings.READ_DOCUMENT_MS)
