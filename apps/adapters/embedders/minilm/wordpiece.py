"""BERT's uncased WordPiece tokenizer.

Returns the same ids as the model's own tokenizer.  No words are cached between calls: that would be faster, but it
would be a cache of plaintext.
One known difference: the model's tokenizer treats about 500 marks and punctuation characters newer than Unicode 8 as
letters, so that the word around them becomes unknown; here the word is kept.
Devlin et al. 2018 (BERT); the splitting rules are those of its reference tokenizer.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

_MAX_WORD_LENGTH: Final = 100
_ASCII_MARKS: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
# The tokenizer recognises these in running text, before anything else is done to it.
_SPECIAL: Final = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
# White_Space without the control characters, which are dropped and so do not end a word; tab and newlines do.
_SPACE: Final = "\t\n\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CHUNK: Final = re.compile(f"[^{_SPACE}]+")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROLS: Final = dict.fromkeys([*range(0x20), 0x7F])
_DROPPED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
_IDEOGRAPHS: Final = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Tokenizer over a vocabulary whose indices are the ids."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._starts = {piece: number for number, piece in enumerate(vocabulary) if not piece.startswith("##")}
        self._continuations = {
            piece[2:]: number for number, piece in enumerate(vocabulary) if piece.startswith("##") and piece != "##"
        }
        self._longest_piece = max(len(piece) for piece in vocabulary)
        self._unknown = self._starts["[UNK]"]

    def encode(self, text: str, *, max_tokens: int) -> list[int]:
        """Ids of [CLS], the text's first pieces, [SEP]: at most ``max_tokens`` in all.

        Reads only as much as needed, so a long text costs no more than one that fills the window.
        """
        pieces = islice(self._pieces(text), max_tokens - 2)
        return [self._starts["[CLS]"], *pieces, self._starts["[SEP]"]]

    def _pieces(self, text: str) -> Iterator[int]:
        for part in _SPECIAL.split(text):
            if _SPECIAL.fullmatch(part):
                yield self._starts[part]
                continue
            for chunk in _CHUNK.finditer(part):
                for word in _words(chunk[0]):
                    yield from self._split_word(word)

    def _split_word(self, word: str) -> list[int]:
        """The longest piece that fits, again and again; one [UNK] for the whole word when it cannot be covered."""
        if len(word) > _MAX_WORD_LENGTH:
            return [self._unknown]
        ids = []
        start = 0
        table = self._starts
        while start < len(word):
            for end in range(min(len(word), start + self._longest_piece), start, -1):
                piece = table.get(word[start:end])
                if piece is not None:
                    ids.append(piece)
                    start = end
                    break
            else:
                return [self._unknown]
            table = self._continuations
        return ids


def _words(chunk: str) -> list[str]:
    """Lower-case words, single punctuation marks and single ideographs of a text without white space."""
    if chunk.isascii():
        return _ASCII_WORD.findall(chunk.translate(_ASCII_CONTROLS).lower())
    kept = "".join(character for character in chunk if not _is_dropped(character))
    words: list[str] = []
    current: list[str] = []
    for character in unicodedata.normalize("NFD", kept):
        category = unicodedata.category(character)
        if category == "Mn":
            continue
        # Lower-cased one by one: in a string, a final sigma would become a different letter than in the tokenizer.
        for lowered in character.lower():
            if lowered in _ASCII_MARKS or category[0] == "P" or _is_ideograph(lowered):
                words += ["".join(current), lowered]
                current = []
            else:
                current.append(lowered)
    words.append("".join(current))
    return [word for word in words if word]


def _is_dropped(character: str) -> bool:
    return character == "\ufffd" or unicodedata.category(character) in _DROPPED_CATEGORIES


def _is_ideograph(character: str) -> bool:
    point = ord(character)
    return any(first <= point <= last for first, last in _IDEOGRAPHS)
