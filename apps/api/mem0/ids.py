"""IDs of mem0's clients: UUIDs of version 8 that hold a space and a number in it.

    48 bits  space      of the memory or event
     4 bits  version    8
    12 bits  kind       0 memory, 1 event
     2 bits  variant    binary 10
    62 bits  number     of the first memory of a chain of rewritten ones, or of the change that an event is

They grant nothing: a request finds only what its key reaches.
"""

import uuid
from dataclasses import dataclass
from typing import Final, Self

MEMORY, EVENT = 0, 1
_VERSION: Final = 8
_VARIANT: Final = 0b10
_SPACES: Final = 2**48
_NUMBERS: Final = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Mem0Id:
    """kind: MEMORY or EVENT."""

    kind: int = MEMORY
    space_id: int
    number: int

    def __str__(self) -> str:
        value = (self.space_id % _SPACES) << 80 | _VERSION << 76 | self.kind << 64 | _VARIANT << 62
        return str(uuid.UUID(int=value | self.number % _NUMBERS))

    @classmethod
    def read(cls, text: str, *, kind: int = MEMORY) -> Self | None:
        """What an ID of this kind holds; None for any other string."""
        try:
            value = uuid.UUID(text).int
        except ValueError:
            return None
        if (value >> 76) % 16 != _VERSION or (value >> 62) % 4 != _VARIANT or (value >> 64) % 2**12 != kind:
            return None
        return cls(kind=kind, space_id=value >> 80, number=value % _NUMBERS)
