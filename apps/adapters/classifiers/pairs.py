"""Pair model: encode two statements of one person together, and score what the later one changes in the earlier one.

The heads are those of ``training/comparer.py``, in numpy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from apps.adapters.classifiers.base import RELATIONS, ChangeScores, Span, WordScore
from apps.adapters.classifiers.encoder import Encode
from apps.adapters.classifiers.heads import compared, logits, sigmoid, softmax
from apps.adapters.classifiers.tokens import CLS, SEP, WORD
from apps.adapters.embedders.minilm.reference import gelu
from apps.adapters.embedders.minilm.weights import Array
from apps.adapters.embedders.minilm.wordpiece import WordPiece

LATER_ROOM: Final = 96  # tokens of the later statement, at most
EARLIER_ROOM: Final = 150
_UNRELATED: Final = {name: float(name == "unrelated") for name in RELATIONS}


@dataclass(frozen=True, slots=True)
class Pair:
    """ids: [CLS] later [SEP] earlier [SEP].  later, earlier: index ranges in ``ids``.

    words: for each word of the earlier statement, its range in ``ids``.  spans: its span in the text.
    """

    ids: list[int]
    later: Span
    earlier: Span
    words: list[Span]
    spans: list[Span]


def pair(later: str, earlier: str, tokenizer: WordPiece) -> Pair:
    """Tokenize a pair; each statement is truncated to LATER_ROOM or EARLIER_ROOM tokens."""
    ids = [CLS, *tokenizer.encode(later, max_tokens=LATER_ROOM + 2)[1:-1], SEP]
    end_of_later = len(ids) - 1
    words: list[Span] = []
    spans: list[Span] = []
    for word in WORD.finditer(earlier):
        pieces = tokenizer.encode(word[0], max_tokens=EARLIER_ROOM)[1:-1]
        if len(ids) + len(pieces) > end_of_later + 1 + EARLIER_ROOM:
            break
        if pieces:
            words.append((len(ids), len(ids) + len(pieces)))
            spans.append(word.span())
            ids += pieces
    return Pair([*ids, SEP], (1, end_of_later), (end_of_later + 1, len(ids)), words, spans)


def hidden_layer(tensors: Mapping[str, Array], rows: Array, one: Pair) -> Array:
    """Input of the heads for a pair.  rows: (tokens, in), the encoded pair.  Returns shape (hidden,)."""
    made: Array = gelu(logits(tensors, "hidden", compared(rows, one.later, one.earlier)))
    return made


class PairReader:
    """Scores pairs of statements.  Thread-safe if ``encode`` is."""

    def __init__(self, encode: Encode, tokenizer: WordPiece, tensors: Mapping[str, Array]) -> None:
        self._encode, self._tokenizer, self._tensors = encode, tokenizer, tensors

    def read(self, later: str, earlier: str) -> ChangeScores:
        one = pair(later, earlier, self._tokenizer)
        if not one.words or one.later[0] == one.later[1]:
            return ChangeScores(relations=_UNRELATED, over=0.0, repeated=0.0, words=[])
        rows = self._encode(one.ids)
        hidden = hidden_layer(self._tensors, rows, one)
        chances = softmax(logits(self._tensors, "relation", hidden))
        words = np.stack([rows[slice(*word)].mean(0) for word in one.words])
        ended = sigmoid(logits(self._tensors, "ended", words)[:, 0])
        return ChangeScores(
            relations=dict(zip(RELATIONS, map(float, chances), strict=True)),
            over=float(sigmoid(logits(self._tensors, "over", hidden))[0]),
            repeated=float(sigmoid(logits(self._tensors, "repeated", hidden))[0]),
            words=[WordScore(*span, float(chance)) for span, chance in zip(one.spans, ended, strict=True)],
        )
