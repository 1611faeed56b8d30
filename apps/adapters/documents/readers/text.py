"""Text, Markdown and source code: unchanged paragraphs."""

import codecs
from collections.abc import Iterator
from typing import Final

from apps.adapters.documents.refusals import DocumentBroken
from text import patterns

_BLANK_LINES: Final = patterns.compile(r"\n[ \t]*\n[\s]*")


def read(content: bytes) -> Iterator[str]:
    return paragraphs(decoded(content))


def paragraphs(text: str) -> Iterator[str]:
    """Split at blank lines; indentation is kept, because it is significant in code."""
    yield from _BLANK_LINES.split(text.replace("\r\n", "\n").replace("\r", "\n"))


def decoded(content: bytes) -> str:
    """Decode UTF-8, UTF-16 with a byte order mark, or else Windows-1252."""
    try:
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return content.decode("utf-16")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        return content.decode("cp1252")
    except UnicodeDecodeError:
        raise DocumentBroken("The text is neither UTF-8 nor UTF-16 nor Windows-1252.") from None
