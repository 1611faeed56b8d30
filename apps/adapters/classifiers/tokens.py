"""Tokenize a text for the encoder: tokens with their spans in the text, in windows that fit the model."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from apps.adapters.embedders.minilm.weights import MAX_TOKENS
from apps.adapters.embedders.minilm.wordpiece import WordPiece

Span = tuple[int, int]

ROOM: Final = MAX_TOKENS - 2  # beside [CLS] and [SEP]
CLS: Final = 101
SEP: Final = 102
# Longer words are split, so that none becomes [UNK] because of its length.
WORD: Final = re.compile(r"\S{1,40}")


@dataclass(frozen=True, slots=True)
class Tokens:
    """ids: of all tokens in order, without [CLS] and [SEP].  spans: of each token's word, in the text.

    starts: indexes in ``ids`` at which windows begin.
    """

    ids: list[int]
    spans: list[Span]
    starts: list[int]

    def windows(self) -> Iterator[list[int]]:
        """The ids of each window, between [CLS] and [SEP]."""
        for start, end in zip(self.starts, [*self.starts[1:], len(self.ids)], strict=True):
            yield [CLS, *self.ids[start:end], SEP]

    def range_of(self, span: Span) -> Span | None:
        """The range of tokens whose words overlap the span; None if there are none."""
        first = bisect_right(self.spans, span[0], key=lambda word: word[1])
        last = bisect_left(self.spans, span[1], key=lambda word: word[0])
        return (first, last) if first < last else None


def tokenize(text: str, sentences: Sequence[Span], tokenizer: WordPiece) -> Tokens:
    """Tokenize the sentences.  sentences: spans of the text, in order; windows end at a sentence's end if possible."""
    tokens = Tokens([], [], [0])
    for start, end in sentences:
        ids: list[int] = []
        spans: list[Span] = []
        for word in WORD.finditer(text, start, end):
            pieces = tokenizer.encode(word[0], max_tokens=MAX_TOKENS)[1:-1]
            ids += pieces
            spans += [word.span()] * len(pieces)
        filled = len(tokens.ids) - tokens.starts[-1]
        if filled and filled + len(ids) > ROOM:
            tokens.starts.append(len(tokens.ids))
            filled = 0
        tokens.starts.extend(len(tokens.ids) + cut - filled for cut in range(ROOM, filled + len(ids), ROOM))
        tokens.ids.extend(ids)
        tokens.spans.extend(spans)
    return tokens
