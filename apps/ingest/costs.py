"""How long a text may be read before it is kept unread."""

from contextlib import AbstractContextManager

from django.conf import settings

from text.budget import Budget, reading
from text.extraction.extractor import LONG_TEXT


def budget_for(text: str) -> AbstractContextManager[Budget]:
    """A budget for what is done within: a turn's, or a document's where the text is longer than turns are."""
    return reading(settings.READ_TURN_MS if len(text) <= LONG_TEXT else settings.READ_DOCUMENT_MS)
