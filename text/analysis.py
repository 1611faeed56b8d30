"""What ranking reads of a text, computed once when the text is stored: its terms and a few properties, as bytes.

A recall then compares bytes in place of splitting and stemming every candidate, and a text of 2,000 characters costs it
hardly more than a sentence.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Self

from text.answer_types import kinds_of
from text.terms import normalised, terms

VERSION: Final = 1  # change it with the terms, the answer types or the layout: analyses of other versions are not read

# version, whether it is a question, answer types, number of terms, fingerprint; the terms follow in UTF-8
_HEAD: Final = struct.Struct("<B?BI16s")


@dataclass(frozen=True, slots=True, repr=False)  # no text in a log
class TextAnalysis:
    """joined: each term, in order, between two blanks.  length: the number of terms.  is_question: it ends with "?".

    kinds: the types of answer in it, as bits (``text.answer_types``).  fingerprint: 16 bytes, equal for texts that
    differ at most in case, spacing, width and closing punctuation.
    """

    joined: bytes
    length: int
    is_question: bool
    kinds: int
    fingerprint: bytes

    @property
    def is_english(self) -> bool:
        """Whether the text was taken for English: terms of other languages begin with a code (``text.terms``)."""
        return b":" not in self.joined

    @classmethod
    def of(cls, text: str, text_terms: Sequence[str] | None = None) -> Self:
        """Analyse a text.  text_terms: its terms, if they are known."""
        found = terms(text) if text_terms is None else text_terms
        joined = "".join([f" {term} " for term in found]).encode()
        return cls(joined, len(found), text.rstrip().endswith("?"), kinds_of(text), fingerprint(text))

    def count(self, asked: Mapping[str, bytes]) -> dict[str, int]:
        """How often each of the asked terms is in the text, without those that are not.  asked: from ``countable``."""
        joined = self.joined
        return {term: count for term, sought in asked.items() if (count := joined.count(sought))}

    def to_bytes(self) -> bytes:
        return _HEAD.pack(VERSION, self.is_question, self.kinds, self.length, self.fingerprint) + self.joined

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self | None:
        """Read what ``to_bytes`` wrote; None if another version wrote it."""
        if len(raw) < _HEAD.size or raw[0] != VERSION:
            return None
        _, is_question, kinds, length, digest = _HEAD.unpack_from(raw)
        return cls(raw[_HEAD.size :], length, is_question, kinds, digest)


def countable(asked: Iterable[str]) -> dict[str, bytes]:
    """Each term, and the bytes that ``TextAnalysis.count`` looks for."""
    return {term: f" {term} ".encode() for term in asked}


def fingerprint(text: str) -> bytes:
    return blake2b(normalised(text).encode("utf-8", "surrogatepass"), digest_size=16).digest()
