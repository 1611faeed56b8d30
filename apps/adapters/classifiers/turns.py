"""Turn model: one pass of the encoder over a turn, and six heads on the token vectors.

The heads are those of ``training/reader.py``, and the one of ``training/style.py``, in numpy.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from apps.adapters.classifiers.base import OUTCOMES, TYPES, SentenceScores, Span, TurnScores
from apps.adapters.classifiers.encoder import Encode
from apps.adapters.classifiers.heads import logits, sigmoid, softmax
from apps.adapters.classifiers.tokens import Tokens, tokenize
from apps.adapters.embedders.minilm.weights import Array
from apps.adapters.embedders.minilm.wordpiece import WordPiece

_NOTHING: Final = SentenceScores(
    keep=0.0, low_signal=1.0, transient=0.0, forbidden=0.0, style=0.0, types=dict.fromkeys(TYPES, 0.0)
)


def token_vectors(encode: Encode, tokens: Tokens) -> Array:
    """The vectors of a turn's tokens, (tokens, 384), without the special ones."""
    return np.concatenate([encode(ids)[1:-1] for ids in tokens.windows()])


def style_input(said: Array, whole: Array) -> Array:
    """Input of the head "style".

    said: the sentence's tokens, (tokens, 384).  whole: the mean of the turn's tokens, (384,).  Returns shape (1152,).
    """
    return np.concatenate([said.mean(0), said.max(0), whole])


class TurnReader:
    """Scores turns.  Thread-safe if ``encode`` is.

    tensors: of the heads, that of "style" among them.
    """

    def __init__(self, encode: Encode, tokenizer: WordPiece, tensors: Mapping[str, Array]) -> None:
        self._encode, self._tokenizer, self._tensors = encode, tokenizer, tensors

    def read(self, text: str, sentences: Sequence[Span], parts: Sequence[Span]) -> TurnScores:
        tokens = tokenize(text, sentences, self._tokenizer)
        if not tokens.ids:
            nothing: Mapping[str, float] = _NOTHING.types
            return TurnScores(sentences=[_NOTHING] * len(sentences), forbidden=0.0, parts=[nothing] * len(parts))
        rows = token_vectors(self._encode, tokens)
        secret = sigmoid(logits(self._tensors, "secret", rows)[:, 0])
        whole = rows.mean(0)
        return TurnScores(
            sentences=[self._sentence(tokens, rows, secret, whole, span) for span in sentences],
            forbidden=float(sigmoid(logits(self._tensors, "turn", np.concatenate([whole, rows.max(0)]))[0])),
            parts=[self._types(rows, tokens.range_of(span)) for span in parts],
        )

    def _sentence(self, tokens: Tokens, rows: Array, secret: Array, whole: Array, span: Span) -> SentenceScores:
        reached = tokens.range_of(span)
        if reached is None:
            return _NOTHING
        said = rows[slice(*reached)]
        mean = said.mean(0)
        outcomes = dict(zip(OUTCOMES, map(float, softmax(logits(self._tensors, "keep", mean))), strict=True))
        forbidden = float(sigmoid(logits(self._tensors, "forbidden", mean)[0]))
        return SentenceScores(
            **outcomes,
            forbidden=max(forbidden, float(secret[slice(*reached)].max())),
            style=float(sigmoid(logits(self._tensors, "style", style_input(said, whole))[0])),
            types=self._types(rows, reached),
        )

    def _types(self, rows: Array, reached: Span | None) -> Mapping[str, float]:
        if reached is None:
            return _NOTHING.types
        chances = sigmoid(logits(self._tensors, "types", rows[slice(*reached)].mean(0)))
        return dict(zip(TYPES, map(float, chances), strict=True))
