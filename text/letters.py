"""Character classes of patterns, and the single byte as which the linear engine sees each character.

The engine reads bytes, but offsets are those of the str, so every character becomes exactly one byte:

    00-7F, 85, A0-FF   the character itself (ASCII and Latin-1)
    80                 any other letter         82   any other digit
    83                 any other blank          84   any other sign, and the control characters 80-9F

The engine cannot distinguish characters that share a byte; ``text.exact`` looks at the str where that matters.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

Test = Callable[[str], bool]

LETTER, DIGIT, BLANK, SIGN = 0x80, 0x82, 0x83, 0x84
# A sample character for each shared byte.
_SAMPLES: Final = {LETTER: "\u0436", DIGIT: "\u0663", BLANK: "\u2003", SIGN: "\u2192"}
# Non-Latin-1 letters whose other case is a Latin-1 letter.
_TWINS: Final = {
    "\u017f": "s", "\u212a": "k", "\u0131": "i", "\u0130": "i",
    "\u212b": "å", "\u03bc": "µ", "\u0178": "ÿ", "\u1e9e": "ß",
}  # fmt: skip
_BY_TWIN: Final = {
    plain: frozenset(c for c, p in _TWINS.items() if p == plain) | {plain, plain.upper() if plain != "ß" else plain}
    for plain in _TWINS.values()
}
_FOLDS: Final = str.maketrans(_TWINS)
_SHARED: Final = bytes([LETTER, DIGIT, BLANK, SIGN])
_REMEMBERED = 20_000  # characters cached; others are computed each time
_KEPT_AT_ONCE = 16


def is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _byte_of(char: str) -> int:
    if (code := ord(char)) < 0x80 or code == 0x85 or 0xA0 <= code <= 0xFF:
        return code
    if char.isdecimal():
        return DIGIT
    if is_word(char):
        return LETTER
    return BLANK if char.isspace() else SIGN


class _Table(dict[int, int]):
    def __missing__(self, code: int) -> int:
        byte = _byte_of(chr(code))
        if len(self) < _REMEMBERED:
            self[code] = byte
        return byte


_TABLE: Final = _Table()
# The character that represents each byte when a class is converted to bytes.
CHARACTERS: Final = [
    _SAMPLES.get(byte, chr(byte) if byte < 0x80 or byte == 0x85 or byte >= 0xA0 else "") for byte in range(256)
]
_WIDE_WORDS: Final = bytes(b for b in range(0x80, 256) if CHARACTERS[b] and is_word(CHARACTERS[b]))
_CONTROLS: Final = bytes(b for b in range(0x80, 0xA0) if b != 0x85)


class Bytes(NamedTuple):
    """A text as the engine sees it.

    has_wide_words: it has non-ASCII letters or digits, where the engine's own word boundary is wrong.
    has_shared: it has characters that share a byte.
    has_twins: it has letters whose other case is in Latin-1.  folded: the bytes with these replaced.
    """

    data: bytes
    has_wide_words: bool
    has_shared: bool
    has_twins: bool = False
    folded: bytes = b""


def has_wide_words(data: bytes) -> bool:
    return len(data.translate(None, _WIDE_WORDS)) != len(data)


def has_shared(data: bytes) -> bool:
    return len(data.translate(None, _SHARED)) != len(data)


def _read(text: str) -> Bytes:
    try:
        data = text.encode("latin-1")
        if len(data.translate(None, _CONTROLS)) == len(data):
            return Bytes(data, has_wide_words(data), False)
    except UnicodeEncodeError:
        pass
    data = text.translate(_TABLE).encode("latin-1")
    if any(twin in text for twin in _TWINS):
        folded = text.translate(_FOLDS).translate(_TABLE).encode("latin-1")
        return Bytes(data, True, True, True, folded)
    return Bytes(data, has_wide_words(data), has_shared(data))


_kept: ContextVar[dict[str, Bytes] | None] = ContextVar("kept", default=None)


@contextmanager
def kept() -> Iterator[None]:
    """Inside, convert each text to bytes only once; the cache is cleared afterwards.  May be nested."""
    if _kept.get() is not None:
        yield
        return
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def bytes_of(text: str) -> Bytes:
    if text.isascii():
        return Bytes(text.encode("ascii"), False, False)
    known = _kept.get()
    if known is None:
        return _read(text)
    if (found := known.get(text)) is None:
        if len(known) >= _KEPT_AT_ONCE:
            known.pop(next(iter(known)))
        found = known[text] = _read(text)
    return found


def cases(char: str) -> frozenset[str]:
    """The character in every case that counts as equal when case is ignored."""
    low = char.lower()[:1] if len(char.lower()) == 1 else char
    low = _TWINS.get(char, low)
    if low in _BY_TWIN:
        return _BY_TWIN[low] | {char}
    up = low.upper()
    return frozenset({char, low, up if len(up) == 1 else low})


class Characters:
    """A character class: a test for one character, and the bytes as which the engine sees its members."""

    __slots__ = ("_known", "bytes", "is_ascii_word", "is_shared", "test")

    def __init__(self, test: Test, named: Any = ()) -> None:
        """named: code points, or (first, last) ranges, that the class lists explicitly."""
        self.test = test
        self._known: dict[str, bool] = {}
        found = {byte for byte, char in enumerate(CHARACTERS) if char and test(char)}
        self.is_shared = False
        for first, last in named:
            if last > 0xFF or (first <= 0x9F and last >= 0x80):
                self.is_shared = True  # it distinguishes characters that share a byte
                found |= {LETTER, DIGIT, BLANK, SIGN} if first != last else {_byte_of(chr(first))}
        self.bytes = frozenset(found)
        self.is_ascii_word = all(byte < 0x80 and is_word(chr(byte)) for byte in found)

    def holds(self, char: str) -> bool:
        known = self._known.get(char)
        if known is None:
            known = self.test(char)
            if len(self._known) < 512:
                self._known[char] = known
        return known
