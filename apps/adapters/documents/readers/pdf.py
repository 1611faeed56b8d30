"""PDF by pypdf.  Scripts, form actions and embedded files are ignored."""

import io
from collections.abc import Iterator

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

from apps.adapters.documents.limits import MAX_PAGES
from apps.adapters.documents.refusals import DocumentBroken, DocumentEncrypted, DocumentTooLarge


def read(content: bytes) -> Iterator[str]:
    """Yield the text of each page; a scanned page has none."""
    try:
        reader = PdfReader(io.BytesIO(content), strict=False)
        # Many files are encrypted with an empty password, to forbid printing.
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentEncrypted
        if len(reader.pages) > MAX_PAGES:
            raise DocumentTooLarge
        for page in reader.pages:
            yield page.extract_text()
    except DependencyError:
        raise DocumentEncrypted from None
    except PyPdfError:
        raise DocumentBroken from None
