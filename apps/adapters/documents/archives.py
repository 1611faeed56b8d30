"""Archives that unpack to far more than they are, or that ask an XML parser to expand what it reads."""

import codecs
import zipfile
from typing import Final

from apps.adapters.documents.limits import MAX_MEMBERS, MAX_RATIO, MAX_UNPACKED, RATIO_FROM
from apps.adapters.documents.refusals import DocumentEncrypted, DocumentHostile

CHUNK: Final = 256 * 1024
# Office files have no document types: one that is there is meant to expand entities, or to fetch a file.
DECLARATIONS: Final = tuple(
    mark.encode(encoding) for mark in ("<!DOCTYPE", "<!ENTITY") for encoding in ("utf-8", "utf-16-le", "utf-16-be")
)
OVERLAP: Final = max(map(len, DECLARATIONS))
# Office files are XML in UTF-8 or UTF-16 (ECMA-376, part 2).  In another encoding, which a parser may know as well, a
# document type would look otherwise.
OTHER_BEGINNINGS: Final = (
    *("<".encode(encoding) for encoding in ("utf-32-le", "utf-32-be")),
    *(codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "<?xm".encode("cp037"),  # EBCDIC
)
ENCODINGS: Final = {b"utf-8", b"utf-16", b"us-ascii"}
BLANK: Final = b"\x00\x09\x0a\x0d\x20" + codecs.BOM_UTF8 + codecs.BOM_UTF16_LE  # bytes before the first mark
DECLARED: Final = 1024  # bytes in which an XML declaration ends
# Pictures and pages inside a document have document types of their own.  No reader here looks at them.
NOT_PARTS: Final = (".svg", ".htm", ".html", ".xhtml")


def checked_names(archive: zipfile.ZipFile) -> set[str]:
    """The names of the members.  Raises DocumentHostile or DocumentEncrypted.

    The sizes that the archive announces bound what its members unpack to: the library reads no further.  A member that
    is an archive itself is never opened, so nesting gains nothing.
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
    """Whatever begins as XML does: what a member is called does not decide what it is read as."""
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
    """Does the XML declaration, if there is one, name an encoding that Office files have not?"""
    text = begun.replace(b"\0", b"")  # which UTF-16 has in every character of a declaration
    if not text.startswith(b"<?xml"):
        return False
    declaration, end, _ = text[:DECLARED].partition(b"?>")
    _, is_named, rest = declaration.replace(b"'", b'"').partition(b"encoding")
    encoding = rest.split(b'"')[1:2]
    return not end or (bool(is_named) and (not encoding or encoding[0].lower() not in ENCODINGS))
