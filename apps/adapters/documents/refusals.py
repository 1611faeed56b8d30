"""Errors for files that are not read.  Messages name the problem and contain nothing of the file."""

from typing import Final

from apps.core.errors import DomainError, Invalid, TooLarge, Unsupported


class DocumentUnsupported(Unsupported):
    """Files of this type are not read; send PDF, DOCX, PPTX, XLSX, CSV, HTML, Markdown, text or source code."""


class DocumentBroken(Invalid):
    """The file is truncated or broken, or does not match its name."""

    code = "DOCUMENT_BROKEN"


class DocumentEncrypted(Invalid):
    """The file is protected with a password; remove it and send the file again."""

    code = "DOCUMENT_ENCRYPTED"


class DocumentHostile(Invalid):
    """The file is built to exhaust the resources of its reader."""

    code = "DOCUMENT_REFUSED"


class DocumentTooLarge(TooLarge):
    """The file holds more text, pages or cells than are read from one file; split it."""


class DocumentTooSlow(TooLarge):
    """The file takes too long or too much memory to read; split it."""


KINDS: Final[dict[str, type[DomainError]]] = {
    kind.__name__: kind
    for kind in (
        DocumentUnsupported,
        DocumentBroken,
        DocumentEncrypted,
        DocumentHostile,
        DocumentTooLarge,
        DocumentTooSlow,
    )
}
