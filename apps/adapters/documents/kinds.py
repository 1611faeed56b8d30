"""Detect the kind of a file by its content; the name only distinguishes kinds of plain text."""

import codecs
import io
import zipfile
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from apps.adapters.documents.archives import checked_names
from apps.adapters.documents.refusals import DocumentBroken, DocumentEncrypted, DocumentUnsupported


class DocumentKind(StrEnum):
    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    CSV = "csv"
    HTML = "html"
    TEXT = "text"


# The main part of each kind of Office file.  Files with macros are read too; macros are never run.
OFFICE_PARTS: Final = {
    "word/document.xml": DocumentKind.DOCX,
    "ppt/presentation.xml": DocumentKind.PPTX,
    "xl/workbook.xml": DocumentKind.XLSX,
}
BINARY_NAMES: Final = {
    ".pdf": "PDF",
    ".docx": "DOCX", ".docm": "DOCX",
    ".pptx": "PPTX", ".pptm": "PPTX",
    ".xlsx": "XLSX", ".xlsm": "XLSX",
}  # fmt: skip
OLE: Final = bytes.fromhex("d0cf11e0a1b11ae1")  # Office files from before 2007, and encrypted newer ones
ENCRYPTED_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
HTML_BEGINNINGS: Final = (b"<!doctype html", b"<html")
BYTE_ORDER_MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def kind_of(name: str, content: bytes) -> DocumentKind:
    """Return the kind.  Raises a refusal for a file that is unsupported, broken or a hostile archive."""
    if b"%PDF-" in content[:1024]:
        return DocumentKind.PDF
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _office_kind(content)
    if content.startswith(OLE):
        raise DocumentEncrypted if ENCRYPTED_PACKAGE in content else DocumentUnsupported
    suffix = PurePosixPath(name.strip().lower()).suffix
    if suffix in BINARY_NAMES:
        raise DocumentBroken(f"The file is truncated or broken: it is no {BINARY_NAMES[suffix]}.")
    if not _is_text(content):
        raise DocumentUnsupported
    if suffix in {".csv", ".tsv"}:
        return DocumentKind.CSV
    if suffix in {".html", ".htm", ".xhtml"} or content[:1024].lstrip().lower().startswith(HTML_BEGINNINGS):
        return DocumentKind.HTML
    return DocumentKind.TEXT


def _office_kind(content: bytes) -> DocumentKind:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = checked_names(archive)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, UnicodeError):
        raise DocumentBroken from None
    for part, kind in OFFICE_PARTS.items():
        if part in names:
            return kind
    raise DocumentUnsupported


def _is_text(content: bytes) -> bool:
    """Whether it has no control characters that text lacks; UTF-16 needs a byte order mark."""
    if content.startswith(BYTE_ORDER_MARKS):
        return True
    sample = content[:65_536]
    return not any(byte in sample for byte in b"\x00\x01\x02\x03\x04\x05\x06\x0e\x0f\x10\x11\x12")
