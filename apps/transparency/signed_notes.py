"""Signed checkpoints of a log, in the note format of C2SP (tlog-checkpoint, signed-note), with one signature.

::

    origin NEWLINE  size NEWLINE  base64(root) NEWLINE
    NEWLINE
    EM-DASH SPACE origin SPACE base64(key hash (4 bytes) || signature (64 bytes)) NEWLINE

The signature covers the three lines above the empty one.  key hash = the first 4 bytes of
SHA-256(origin NEWLINE 0x01 public key).  The caller supplies the sign function and verifies signatures.
"""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

_DASH: Final = "\u2014"
_ED25519: Final = b"\x01"


class NotACheckpointNote(ValueError):
    """A text is not a signed checkpoint in its one canonical form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Checkpoint of the log ``origin``, with its number of entries and its root (32 bytes)."""

    origin: str
    size: int
    root: bytes
    key_hash: bytes = b""
    signature: bytes = b""

    @property
    def signed(self) -> bytes:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n".encode()

    @property
    def text(self) -> str:
        sealed = base64.b64encode(self.key_hash + self.signature).decode()
        return f"{self.signed.decode()}\n{_DASH} {self.origin} {sealed}\n"

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse a note.  Raises NotACheckpointNote."""
        try:
            origin, size, root, empty, signature, end = text.split("\n")
            dash, name, sealed = signature.split(" ")
            raw = base64.b64decode(sealed, validate=True)
            note = cls(
                origin=origin,
                size=int(size),
                root=base64.b64decode(root, validate=True),
                key_hash=raw[:4],
                signature=raw[4:],
            )
        except ValueError as error:
            raise NotACheckpointNote from error
        # Reject texts that are not in canonical form, for example with another spelling of a number.
        if (dash, name, empty, end) != (_DASH, origin, "", "") or note.text != text or len(note.root) != 32:
            raise NotACheckpointNote
        return note


def sign_note(origin: str, size: int, root: bytes, *, public: bytes, sign: Callable[[bytes], bytes]) -> Note:
    bare = Note(origin=origin, size=size, root=root)
    return Note(origin=origin, size=size, root=root, key_hash=key_hash(origin, public), signature=sign(bare.signed))


def key_hash(origin: str, public: bytes) -> bytes:
    return hashlib.sha256(origin.encode() + b"\n" + _ED25519 + public).digest()[:4]
