"""Wrapper for plaintext, so that it cannot leak by accident."""

from typing import Final, NoReturn


class Plaintext:
    """Decrypted or received text.  Printing shows only a placeholder; comparison is by content; pickling fails.

    Only ``reveal()`` returns the string, so a search for it finds all code that reads plaintext.
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
        # dataclasses.asdict makes deep copies; an immutable value may be shared, and stays wrapped.
        return self
