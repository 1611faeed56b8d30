"""Questions with the texts that answer them, and the encoder that learns to bring the two together.

One encoder for questions and for memories, trained with in-batch and hard negatives (Karpukhin et al. 2020, DPR): the
cosine of a question with its answer must exceed those with other texts of the same person.  Pairs of statements about
the same matter are examples too, so that the vectors still find what a new statement changes or repeats.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from apps.adapters.classifiers.base import CHANGES
from apps.adapters.embedders.local import LocalEmbedder
from apps.adapters.embedders.minilm.weights import ModelWeights
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from training.corpus import Author, authors, questions_about_turns
from training.encoder import DROPOUT, Encoder, in_chunks

TEMPERATURE: Final = 0.05
NEAREST: Final = 20  # texts of the person, nearest to the question, that hard negatives are drawn from
HARD: Final = 2  # hard negatives of a question in a batch
TOKENS: Final = 128  # of a text, as trained
SEED: Final = 1
SAME_MATTER: Final = CHANGES | {"repeats"}

Ids = list[int]


@dataclass(frozen=True, slots=True)
class Example:
    """question: its token ids.  space, answers: place in ``texts`` of the person, and of the texts that answer it.

    hard: places of other texts of the person that are near the question.  scores: of the reranker, where it teaches,
    for each place of an answer and of ``hard``.
    """

    question: Ids
    texts: Sequence[Ids]
    answers: tuple[int, ...]
    hard: tuple[int, ...]
    scores: Mapping[int, float] = field(default_factory=dict)


Drawn = tuple[Example, int]  # a text in a batch: the example, and the place of the text


@dataclass(frozen=True, slots=True)
class Asked:
    """Texts of one person or conversation, and (question, places of the texts that answer it)."""

    texts: Sequence[str]
    questions: Sequence[tuple[str, tuple[int, ...]]]


def examples(tokenizer: WordPiece, embedder: LocalEmbedder) -> list[Example]:
    """All examples of the ``train`` authors.  ``hard`` is the NEAREST other texts, nearest first by this embedder."""
    return [one for asked in asked_of(authors("train")) for one in _examples(asked, tokenizer, embedder)]


def asked_of(found: Sequence[Author]) -> Iterator[Asked]:
    """What is asked about turns, in conversations, and the pairs of statements about the same matter."""
    about = questions_about_turns(found)
    for author in found:
        if author.id in about:
            place = {turn.id: number for number, turn in enumerate(author.utterances)}
            questions = [(one["ask"], (place[one["of"]],)) for one in about[author.id]]
            yield Asked([turn.text for turn in author.utterances], questions)
        for conversation in author.conversations:
            place = {item["id"]: number for number, item in enumerate(conversation["items"])}
            yield Asked(
                [item["text"] for item in conversation["items"]],
                [
                    (one["question"], tuple(place[item] for item in one["gold"]))
                    for one in conversation["questions"]
                    if one["gold"]
                ],
            )
        if author.pairs and author.language == "en":
            related = [
                (pair.later, (number,)) for number, pair in enumerate(author.pairs) if pair.relation in SAME_MATTER
            ]
            yield Asked([pair.earlier for pair in author.pairs], related)


def _examples(asked: Asked, tokenizer: WordPiece, embedder: LocalEmbedder) -> Iterator[Example]:
    texts = [tokenizer.encode(text, max_tokens=TOKENS) for text in asked.texts]
    there = embedder.embed(asked.texts)
    for (question, answers), vector in zip(
        asked.questions, embedder.embed([question for question, _ in asked.questions]), strict=True
    ):
        nearest = np.argsort(-(there @ vector), kind="stable")[:NEAREST]
        yield Example(
            question=tokenizer.encode(question, max_tokens=TOKENS),
            texts=texts,
            answers=answers,
            hard=tuple(int(place) for place in nearest if place not in answers),
        )


class Retriever(nn.Module):
    """The encoder with the mean of its tokens as a text's vector, as ``LocalEmbedder`` has it."""

    def __init__(self, weights: ModelWeights, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.encoder = Encoder(weights, dropout)
        self.heads = nn.ModuleDict()
        self._order = random.Random(SEED)  # noqa: S311  no secret

    def loss(self, batch: Sequence[Example]) -> Tensor:
        drawn, answers = self._draw(batch, HARD)
        return self._contrast(self._cosines(batch, drawn), batch, drawn, answers)

    def _draw(self, batch: Sequence[Example], hard: int) -> tuple[list[Drawn], list[int]]:
        """For each question one of its answers, then up to ``hard`` of its hard negatives; and the answers' places."""
        drawn: list[Drawn] = []
        answers: list[int] = []
        for one in batch:
            answers.append(len(drawn))
            drawn.append((one, self._order.choice(one.answers)))
            drawn += [(one, place) for place in self._order.sample(one.hard, min(hard, len(one.hard)))]
        return drawn, answers

    def _cosines(self, batch: Sequence[Example], drawn: Sequence[Drawn]) -> Tensor:
        """Of each question with each drawn text, (questions, texts)."""
        questions = self.vectors([one.question for one in batch])
        return questions @ self.vectors([one.texts[place] for one, place in drawn]).T

    def _contrast(
        self, cosines: Tensor, batch: Sequence[Example], drawn: Sequence[Drawn], answers: Sequence[int]
    ) -> Tensor:
        """Cross-entropy of each question's answer against all texts in the batch."""
        losses = []
        for row, one in enumerate(batch):
            # Other texts that answer the question too are no negatives.
            mask = [
                column == answers[row] or other.texts is not one.texts or place not in one.answers
                for column, (other, place) in enumerate(drawn)
            ]
            logits = cosines[row] / TEMPERATURE
            losses.append(logits[torch.tensor(mask)].logsumexp(0) - logits[answers[row]])
        return torch.stack(losses).mean()

    def vectors(self, windows: Sequence[Ids]) -> Tensor:
        """Unit vectors, (texts, 384)."""
        return in_chunks(windows, self._vectors, length=len)

    def _vectors(self, windows: Sequence[Ids]) -> Tensor:
        rows = self.encoder(windows).float()
        mask = torch.zeros(rows.shape[:2])
        for place, ids in enumerate(windows):
            mask[place, : len(ids)] = 1
        total = (rows * mask[..., None]).sum(1)
        unit: Tensor = total / total.norm(dim=1, keepdim=True)
        return unit
