"""Texts that occur nowhere by themselves, and a quick search for all of them in every encoding at once.

A canary is a family's random beginning, the same for all, and 128 random bits of its own, in letters: it passes for a
word.  So it is enough to look for the beginning, once in each encoding, however many canaries there are.
"""

import base64
import binascii
import gzip
import json
import re
import secrets
import zlib
from collections.abc import Iterator
from string import ascii_lowercase

BEGINNING = 8  # letters
BITS = 128
ENCODINGS = ("utf-8", "utf-16", "base64", "hex", "json", "gzip")
LONGEST_STREAM = 8_000  # bytes of a packed stream that are looked at, and
LONGEST_PACKED = 1 << 20  # what comes out of them

_UNPACK_AT = (b"\x1f\x8b\x08", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_HEX_PACKED = (b"1f8b08", b"789c", b"7801", b"78da", b"785e")
_BASE64_PACKED = (b"H4sI", b"eJ", b"eN", b"eA", b"eF")


class Family:
    """Canaries that share their beginning.  ``take`` hands each out once; ``door`` says where it was put in."""

    def __init__(self) -> None:
        self.beginning = "".join(secrets.choice("bcdfghjkqvwxz") for _ in range(BEGINNING))
        self.doors: dict[str, str] = {}
        start = self.beginning
        plain = [
            ("utf-8", start.encode()),
            ("utf-16", start.encode("utf-16-le")),
            ("utf-16", start.encode("utf-16-be")),
            ("json", "".join(f"\\u{ord(letter):04x}" for letter in start).encode()),
            ("json", "".join(f"\\\\u{ord(letter):04x}" for letter in start).encode()),  # JSON in a line of JSON
            ("percent", "".join(f"%{ord(letter):02x}" for letter in start).encode()),
        ]
        # base64 cannot be compared in lower case; the rest is.
        self._exact = [("base64", middle) for middle in _in_base64(start.encode())]
        # A dump shows bytes as hex, whatever is in them.
        in_hex = [
            ("hex" if encoding == "utf-8" else f"{encoding} in hex", pattern.hex().encode())
            for encoding, pattern in plain + self._exact
        ]
        twice = ("hex in hex", start.encode().hex().encode().hex().encode())
        self._folded = [*plain, *in_hex, twice]

    def take(self, door: str) -> str:
        said = self.beginning + _letters(secrets.randbits(BITS))
        self.doors[said] = door
        return said

    def without(self, raw: bytes, door: str) -> bytes:
        """Raw bytes without the canaries that were put in at this door, as they are."""
        whole = re.compile(re.escape(self.beginning.encode()) + b"[a-z]*")
        return whole.sub(lambda met: b"" if self.doors.get(met[0].decode()) == door else met[0], raw)

    def found(self, raw: bytes, depth: int = 2) -> set[tuple[str, str]]:
        """(the door of the canary where it can be told, encoding) for all that is in raw."""
        folded = raw.lower()
        hits = {
            (self._door(raw, at), encoding) for encoding, pattern in self._folded for at in _all_of(folded, pattern)
        }
        hits |= {("?", encoding) for encoding, pattern in self._exact if pattern in raw}
        if depth:
            for unpacked in _unpacked(raw):
                hits |= {
                    (door, "gzip" if encoding == "utf-8" else f"{encoding} in gzip")
                    for door, encoding in self.found(unpacked, depth - 1)
                }
        return hits

    def _door(self, raw: bytes, at: int) -> str:
        said = raw[at : at + BEGINNING + len(_letters(0))].decode("latin-1").lower()
        return self.doors.get(said, "?")


def encoded(text: str) -> dict[str, list[bytes]]:
    """The text in every encoding that the search knows, base64 in each alignment: what a positive control plants."""
    raw = text.encode()
    return {
        "utf-8": [raw],
        "utf-16": [text.encode("utf-16-le"), text.encode("utf-16-be")],
        "base64": [base64.b64encode(b"-" * shift + raw) for shift in range(3)],
        "hex": [raw.hex().encode()],
        "json": [json.dumps("".join(f"\\u{ord(letter):04x}" for letter in text)).replace("\\\\", "\\").encode()],
        "gzip": [gzip.compress(raw), zlib.compress(raw)],
    }


def _letters(bits: int) -> str:
    """28 letters: 26 to the 28th is more than 2 to the 128th."""
    said = ""
    for _ in range(28):
        bits, letter = divmod(bits, 26)
        said += ascii_lowercase[letter]
    return said


def _in_base64(raw: bytes) -> list[bytes]:
    """What stands for raw whatever comes before and behind it: in each of three alignments, the whole characters."""
    middles = []
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw)
        middles.append(coded[(shift * 8 + 5) // 6 : (shift + len(raw)) * 8 // 6])
    return middles


def _all_of(raw: bytes, pattern: bytes) -> Iterator[int]:
    at = raw.find(pattern)
    while at >= 0:
        yield at
        at = raw.find(pattern, at + 1)


def _unpacked(raw: bytes) -> Iterator[bytes]:
    """What gzip and zlib streams in raw hold, the streams themselves or as hex (a dump) or base64 (a session)."""
    for magic in _UNPACK_AT:
        for at in _all_of(raw, magic):
            yield _inflated(raw[at : at + LONGEST_STREAM])
    for magic in _HEX_PACKED:
        for at in _all_of(raw, magic):
            run = raw[at : at + LONGEST_STREAM]
            digits = run[: len(run) - len(run.lstrip(b"0123456789abcdef"))]
            yield _inflated(bytes.fromhex(digits[: len(digits) // 2 * 2].decode()))
    for magic in _BASE64_PACKED:
        if len(raw) < LONGEST_PACKED or len(magic) > 2:  # two letters are everywhere in what is long
            for at in _all_of(raw, magic):
                run = raw[at : at + LONGEST_STREAM].translate(bytes.maketrans(b"-_", b"+/"))
                yield _inflated(_unbase64(run))


def _unbase64(run: bytes) -> bytes:
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    whole = run[: len(run) - len(run.lstrip(letters))]
    try:
        return base64.b64decode(whole[: len(whole) // 4 * 4])
    except binascii.Error:
        return b""


def _inflated(raw: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=47).decompress(raw, LONGEST_PACKED)  # 47: zlib or gzip, whichever it says
    except zlib.error:
        return b""
