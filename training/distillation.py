"""The encoder of recall, taught by the reranker.

The reranker reads a question and a text together, and ranks better than vectors can.  From its scores of the texts
nearest to a question the encoder learns to rank them alike (knowledge distillation: Hinton et al. 2015; of rankings by
a cross-encoder: Hofstätter et al. 2020), beside the contrast that it learned from before.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import torch
from torch import Tensor

from apps.adapters.classifiers.tokens import SEP
from apps.adapters.embedders.local import FineTunedEmbedder
from apps.adapters.embedders.minilm.low_rank import read_tuned
from apps.adapters.embedders.minilm.weights import ModelWeights, find_model_folder, read_weights
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.adapters.rerankers.pair import QUESTION_ROOM, TEXT_ROOM, QuestionAndText, question_and_text
from training import retriever
from training.reranker import CrossEncoder
from training.retriever import TEMPERATURE, Example, Retriever

NEAR: Final = (6, 4)  # of the first six other texts, nearest by the encoder so far, four are hard negatives
FAR: Final = 3  # of the next, up to NEAREST, three
TAUGHT: Final = 0.5  # weight of what the reranker says; the rest is the contrast's
SEED: Final = 1


def examples(tokenizer: WordPiece) -> list[Example]:
    """All questions of the ``train`` authors, with what the reranker says of their answers and nearest other texts."""
    order = random.Random(SEED)  # noqa: S311  no secret
    found = [replace(one, hard=_drawn(one.hard, order)) for one in retriever.examples(tokenizer, FineTunedEmbedder())]
    scores = iter(_scores([pair for one in found for pair in _pairs(one)]))
    return [replace(one, scores={place: next(scores) for place in _read(one)}) for one in found]


def _drawn(nearest: Sequence[int], order: random.Random) -> tuple[int, ...]:
    near, far = nearest[: NEAR[0]], nearest[NEAR[0] :]
    return (*order.sample(near, min(NEAR[1], len(near))), *order.sample(far, min(FAR, len(far))))


def _pairs(one: Example) -> list[QuestionAndText]:
    """What the reranker reads, of each text that ``_read`` names."""
    question = _first(one.question, QUESTION_ROOM)
    return [question_and_text(question, _first(one.texts[place], TEXT_ROOM)) for place in _read(one)]


def _first(ids: Sequence[int], room: int) -> list[int]:
    """As ``tokens_of``, of a text that is tokens already."""
    return [*ids[1:-1][:room]] or [SEP]


def _read(one: Example) -> tuple[int, ...]:
    return (*dict.fromkeys(one.answers), *one.hard)


def _scores(pairs: Sequence[QuestionAndText]) -> list[float]:
    """The reranker's scores, of any size and sign."""
    reranker = CrossEncoder(read_weights(find_model_folder()))
    reranker.resume(read_tuned("rerank"))
    reranker.eval()
    with torch.no_grad():
        found: list[float] = reranker(pairs).tolist()
    return found


class Student(Retriever):
    """Begins with the updates of the encoder that learned from questions and answers alone."""

    def __init__(self, weights: ModelWeights) -> None:
        super().__init__(weights, dropout=0.0)  # which would undo much of what the updates know
        self.encoder.begin_with(read_tuned("retrieval"))

    def loss(self, batch: Sequence[Example]) -> Tensor:
        drawn, answers = self._draw(batch, NEAR[1] + FAR)
        cosines = self._cosines(batch, drawn)
        taught = [
            _divergence(
                cosines[row, start:end] / TEMPERATURE,
                torch.tensor([one.scores[place] for _, place in drawn[start:end]]),
            )
            for row, (one, start, end) in enumerate(zip(batch, answers, [*answers[1:], len(drawn)], strict=True))
        ]
        contrast = self._contrast(cosines, batch, drawn, answers)
        return (1 - TAUGHT) * contrast + TAUGHT * torch.stack(taught).mean()


def _divergence(given: Tensor, wanted: Tensor) -> Tensor:
    """Kullback-Leibler divergence of the softmax of ``given`` from that of ``wanted``."""
    chances = wanted.log_softmax(0)
    return (chances.exp() * (chances - given.log_softmax(0))).sum()
