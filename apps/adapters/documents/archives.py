"""Archives that unpack to far more than they are, or that ask an XML parser to expand what it reads."""

import zipfile
from typing import Final

from apps.adapters.documents.limits import MAX_MEMBERS, MAX_RATIO, MAX_UNPACKED, RATIO_FROM
from apps.adapters.documents.refusals import DocumentEncrypted, DocumentHostile

CHUNK: Final = 256 * 1024
# Office files have no document types: whoever writes one wants entities expanded, or a file fetched.
DECLARATIONS: Final = tuple(
    mark.encode(encoding) for mark in ("<!DOCTYPE", "<!ENTITY") for encoding in ("utf-8", "utf-16-le", "utf-16-be")
)
OVERLAP: Final = max(map(len, DECLARATIONS))


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
        if member.filename.lower().endswith((".xml", ".rels", ".vml")):
            _refuse_declarations(archive, member)
    return {member.filename for member in members}


def _refuse_declarations(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    with archive.open(member) as stream:
        before = b""
        while chunk := stream.read(CHUNK):
            seen = before + chunk
            if any(mark in seen for mark in DECLARATIONS):
                raise DocumentHostile
            before = chunk[-OVERLAP:]
