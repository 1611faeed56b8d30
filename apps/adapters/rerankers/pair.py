"""The input of our own cross-encoder: a question and a text in one window."""

from dataclasses import dataclass
from typing import Final

from apps.adapters.classifiers.base import Span
from apps.adapters.classifiers.tokens import CLS, SEP
from apps.adapters.embedders.minilm.wordpiece import WordPiece

QUESTION_ROOM: Final = 48  # tokens of the question, at most
TEXT_ROOM: Final = 112  # tokens of the text, at most


@dataclass(frozen=True, slots=True)
class QuestionAndText:
    """ids: [CLS] question [SEP] text [SEP].  question, text: index ranges in ``ids``; neither is empty."""

    ids: list[int]
    question: Span
    text: Span


def question_and_text(question: list[int], text: list[int]) -> QuestionAndText:
    """question, text: token ids, as ``tokens_of`` returns them."""
    end = len(question) + 1
    return QuestionAndText([CLS, *question, SEP, *text, SEP], (1, end), (end + 1, end + 1 + len(text)))


def tokens_of(text: str, tokenizer: WordPiece, *, room: int) -> list[int]:
    """The first token ids of a text without the special ones; [SEP] if it has none."""
    return tokenizer.encode(text, max_tokens=room + 2)[1:-1] or [SEP]
