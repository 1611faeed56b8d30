"""Readable text, wrapped so that it cannot leak by accident."""

from typing import Final, NoReturn


class Plaintext:
    """Text that someone said.  Prints as nothing, compares by content, refuses to be serialised.

    ``reveal()`` is the one way to the string; a search for it lists every place where text is readable.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text: Final = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "<Plaintext>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "<Plaintext>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plaintext) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __len__(self) -> int:
        return len(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Plaintext cannot be pickled: it belongs to one request and goes no further")

    def __deepcopy__(self, memo: object) -> "Plaintext":
        # dataclasses.asdict copies deeply; a frozen value may be shared, and stays wrapped.
        return self
