"""Questions with the candidates that recall finds for them, and the cross-encoder that learns which of them answers.

A cross-encoder reads a question and one text together (Nogueira and Cho 2019).  Its score is learned as a softmax over
the text that answers, some of the best that do not, as the ranking has them without it, and nothing, whose score is 0:
so a score below 0 says that the text answers less likely than nothing does.
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from apps.adapters.embedders.base import Embedder
from apps.adapters.embedders.local import FineTunedEmbedder
from apps.adapters.embedders.minilm.low_rank import Tuned, read_tuned
from apps.adapters.embedders.minilm.weights import DIMENSIONS, ModelWeights
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.adapters.rerankers.pair import QUESTION_ROOM, TEXT_ROOM, QuestionAndText, question_and_text, tokens_of
from apps.recall.default_ranking import Kind, learned_weights, rank_default
from apps.recall.ranking import Features
from apps.recall.relevance import relevance_of
from training.corpus import Author, Split, about_nothing, authors, questions_about_turns
from training.encoder import DROPOUT, Encoder, compared, in_chunks
from training.ranking import asked_in, kind_of

HIDDEN: Final = 192
SHOWN: Final = 24  # best candidates of a question, by the ranking
WRONG: Final = 16  # best of them that do not answer, which examples are drawn from
DRAWN: Final = 4  # of these, beside the one that answers
ABOUT_NOTHING: Final = 6  # questions about what was never said, for each conversation
OF_TURNS: Final = 0.25  # share of the questions about single turns that are examples
WITHHELD: Final = 0.2  # share of these whose answer is left out
SEED: Final = 1


class RankedText(NamedTuple):
    """score: of the ranking.  features: None outside of conversations.  relevance: 0..1, without a reranker."""

    text: str
    score: float
    is_right: bool
    features: Features | None = None
    relevance: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A question and its best candidates, best first.

    answers: how many texts answer it, found or not.  kind: of conversation, or ``asked`` of a single turn.
    """

    question: str
    candidates: Sequence[RankedText]
    answers: int
    kind: str
    category: str


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids of a question, of the texts that answer it, if any does, and of the best that do not."""

    question: list[int]
    right: Sequence[list[int]]
    wrong: Sequence[list[int]]


def examples(tokenizer: WordPiece) -> list[Example]:
    """All examples of the ``train`` authors."""
    order, made = random.Random(SEED), []  # noqa: S311  no secret
    for one in ranked_in("train"):
        if one.kind == "asked" and order.random() >= OF_TURNS:
            continue
        right, wrong = (
            [tokens_of(each.text, tokenizer, room=TEXT_ROOM) for each in one.candidates if each.is_right is is_right]
            for is_right in (True, False)
        )
        if one.kind == "asked" and order.random() < WITHHELD:
            right = []
        if wrong and (right or not one.answers or one.kind == "asked"):
            made.append(Example(tokens_of(one.question, tokenizer, room=QUESTION_ROOM), right, wrong[:WRONG]))
    return made


def ranked_in(split: Split) -> Iterator[Ranked]:
    """Every question of these authors: in conversations ranked as recall does, of single turns by vectors alone."""
    embedder, found = FineTunedEmbedder(), authors(split)
    about, nothing = questions_about_turns(found), itertools.cycle(about_nothing(split))
    for author in found:
        for conversation in author.conversations:
            asked = [*conversation["questions"], *itertools.islice(nothing, ABOUT_NOTHING)]
            yield from _in_conversation({**conversation, "questions": asked}, kind_of(author, conversation), embedder)
        yield from _of_turns(author, about.get(author.id, []), embedder)


def _in_conversation(conversation: Mapping[str, Any], kind: Kind, embedder: Embedder) -> Iterator[Ranked]:
    texts = [item["text"] for item in conversation["items"]]
    for one, asked in zip(conversation["questions"], asked_in(conversation, embedder), strict=True):
        right = {asked.candidates[place].id for place in asked.right}
        ranked = rank_default(asked.candidates, weights=learned_weights()[kind])
        features, relevance = {each.id: each for each in asked.candidates}, relevance_of(asked.candidates)
        yield Ranked(
            question=one["question"],
            candidates=[
                RankedText(texts[each.id], each.score, each.id in right, features[each.id], relevance[each.id])
                for each in ranked[:SHOWN]
            ],
            answers=asked.answers,
            kind=kind,
            category=asked.category,
        )


def _of_turns(author: Author, asked: Sequence[dict[str, Any]], embedder: Embedder) -> Iterator[Ranked]:
    if not asked:
        return
    texts, place = (
        [turn.text for turn in author.utterances],
        {turn.id: number for number, turn in enumerate(author.utterances)},
    )
    there = embedder.embed(texts)
    for one, vector in zip(asked, embedder.embed([each["ask"] for each in asked]), strict=True):
        scores = there @ vector
        best = [int(number) for number in np.argsort(-scores, kind="stable")[:SHOWN]]
        answer = place[one["of"]]
        yield Ranked(
            question=one["ask"],
            candidates=[
                RankedText(texts[number], float(scores[number]), number == answer)
                for number in (*best, *([] if answer in best else [answer]))
            ],
            answers=1,
            kind="asked",
            category="asked",
        )


class CrossEncoder(nn.Module):
    """The encoder, begun with the updates of the retrieval model, and a head over [CLS], the means of the question and
    the text, and their absolute difference."""

    def __init__(self, weights: ModelWeights) -> None:
        super().__init__()
        self.encoder = Encoder(weights, dropout=0.0)  # which would undo much of what the updates know
        self.encoder.begin_with(read_tuned("retrieval"))
        self.dropout = nn.Dropout(DROPOUT)
        self.heads = nn.ModuleDict({"hidden": nn.Linear(4 * DIMENSIONS, HIDDEN), "score": nn.Linear(HIDDEN, 1)})
        self._order = random.Random(SEED)  # noqa: S311  no secret

    def resume(self, tuned: Tuned) -> None:
        """Take the updates and heads of a trained reranker."""
        self.encoder.begin_with(tuned)
        with torch.no_grad():
            for name, one in self.heads.named_parameters():
                one.copy_(torch.from_numpy(tuned.tensors[name]))

    def loss(self, batch: Sequence[Example]) -> Tensor:
        """Cross-entropy of a text that answers each question, or of nothing, against others that do not."""
        drawn = [
            [*self._order.sample(one.right, min(1, len(one.right))),
             *self._order.sample(one.wrong, min(DRAWN, len(one.wrong)))]
            for one in batch
        ]  # fmt: skip
        scores = self([
            question_and_text(one.question, text) for one, texts in zip(batch, drawn, strict=True) for text in texts
        ])  # fmt: skip
        losses = []
        for one, given in zip(batch, scores.split([len(texts) for texts in drawn]), strict=True):
            chances = torch.cat([given, torch.zeros(1)]).log_softmax(0)
            losses.append(-chances[0 if one.right else -1])
        return torch.stack(losses).mean()

    def forward(self, pairs: Sequence[QuestionAndText]) -> Tensor:
        """Scores, (pairs,)."""
        return in_chunks(pairs, self._scores, length=lambda pair: len(pair.ids))

    def _scores(self, pairs: Sequence[QuestionAndText]) -> Tensor:
        rows = self.encoder([pair.ids for pair in pairs])
        both = [compared(row, one.question, one.text) for row, one in zip(rows, pairs, strict=True)]
        hidden = nn.functional.gelu(self.heads["hidden"](self.dropout(torch.stack(both))))
        scores: Tensor = self.heads["score"](self.dropout(hidden))[:, 0]
        return scores
