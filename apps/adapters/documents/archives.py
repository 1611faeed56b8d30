"""Reject hostile Office archives: zip bombs, and XML with document types or entities."""

import codecs
import zipfile
from typing import Final

from apps.adapters.documents.limits import MAX_MEMBERS, MAX_RATIO, MAX_UNPACKED, RATIO_FROM
from apps.adapters.documents.refusals import DocumentEncrypted, DocumentHostile

CHUNK: Final = 256 * 1024
# Office files contain no document types: if one does, it is an attempt to expand entities or to fetch a file.
DECLARATIONS: Final = tuple(
    mark.encode(encoding) for mark in ("<!DOCTYPE", "<!ENTITY") for encoding in ("utf-8", "utf-16-le", "utf-16-be")
)
OVERLAP: Final = max(map(len, DECLARATIONS))
# Office files are XML in UTF-8 or UTF-16 (ECMA-376, part 2).  Another encoding, which the parser may know, would hide a
# document type from this check.
OTHER_BEGINNINGS: Final = (
    *("<".encode(encoding) for encoding in ("utf-32-le", "utf-32-be")),
    *(codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "<?xm".encode("cp037"),  # EBCDIC
)
ENCODINGS: Final = {b"utf-8", b"utf-16", b"us-ascii"}
BLANK: Final = b"\x00\x09\x0a\x0d\x20" + codecs.BOM_UTF8 + codecs.BOM_UTF16_LE  # bytes before the first mark
DECLARED: Final = 1024  # bytes in which an XML declaration ends
# Embedded images and web pages may have document types.  No reader here parses them.
NOT_PARTS: Final = (".svg", ".htm", ".html", ".xhtml")


def checked_names(archive: zipfile.ZipFile) -> set[str]:
    """Return the names of the members.  Raises DocumentHostile or DocumentEncrypted.

    The declared sizes limit what members unpack to, because the library reads no further.  A member that is itself an
    archive is never opened, so nesting has no effect.
    """
    members = archive.infolist()
    if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_UNPACKED:
        raise DocumentHostile
    for member in members:
        if member.flag_bits & 0x1:
            raise DocumentEncrypted
        if member.file_size > RATIO_FROM and member.file_size > MAX_RATIO * max(1, member.compress_size):
            raise DocumentHostile
    for member in members:
        if not member.filename.lower().endswith(NOT_PARTS):
            _check_xml(archive, member)
    return {member.filename for member in members}


def _check_xml(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Check any member whose content starts like XML, whatever its name: names do not decide how it is parsed."""
    with archive.open(member) as stream:
        chunk = stream.read(CHUNK)
        begun = chunk.lstrip(BLANK)
        if begun and not begun.startswith(b"<") and not chunk.startswith(OTHER_BEGINNINGS):
            return
        if chunk.startswith(OTHER_BEGINNINGS) or _names_other_encoding(begun[: 2 * DECLARED]):
            raise DocumentHostile
        before = b""
        while chunk:
            seen = before + chunk
            if any(mark in seen for mark in DECLARATIONS):
                raise DocumentHostile
            before = chunk[-OVERLAP:]
            chunk = stream.read(CHUNK)


def _names_other_encoding(begun: bytes) -> bool:
    """Whether the XML declaration, if there is one, names an encoding that Office files do not use."""
    text = begun.replace(b"\0", b"")  # which UTF-16 has in every character of a declaration
    if not text.startswith(b"<?xml"):
        return False
    declaration, end, _ = text[:DECLARED].partition(b"?>")
    _, is_named, rest = declaration.replace(b"'", b'"').partition(b"encoding")
    encoding = rest.split(b'"')[1:2]
    return not end or (bool(is_named) and (not encoding or encoding[0].lower() not in ENCODINGS))
