"""``python -m training.ranking``: learn the weights of the default ranking, and report how it ranks unseen writers.

A listwise softmax over the candidates of each question (ListNet, Cao et al. 2007), one set of weights for each kind of
conversation.  Weights start at the last ones that were chosen by hand and are drawn back to them, so that a factor that
the questions hardly need keeps its weight.  Takes torch.
"""

import argparse
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from apps.adapters.embedders.base import Embedder
from apps.adapters.embedders.local import FineTunedEmbedder, LocalEmbedder
from apps.adapters.embedders.minilm.low_rank import read_tuned
from apps.core.plaintext import Plaintext
from apps.recall.default_ranking import (
    FACTORS,
    OTHER,
    OWN,
    WEIGHTS_FILE,
    Kind,
    learned_weights,
    other_values,
    own_values,
    rank_default,
)
from apps.recall.features import ScannedTurn, Statistics, compute_features
from apps.recall.options import FEWEST
from apps.recall.question import Question, ask, words_that_may_name
from apps.recall.ranking import Features
from text.analysis import TextAnalysis
from training.corpus import Author, Split, authors

REPORT: Final = Path(__file__).parent / "ranking_report.json"
KINDS: Final[tuple[Kind, ...]] = ("dialogue", "notes", "chat", "non_english")
STEPS: Final = 150
RATE: Final = 0.15
SHARPNESS: Final = 12.0  # logits a unit of the semantic factor
PULL: Final = 2e-3  # strength of the prior
FIRST: Final = 10
PRIOR: Final[Mapping[str, float]] = {
    "semantic": 1.0, "lexical": 0.15, "coverage": 0.3, "actor": 0.13, "authored": 0.1, "session": 0.2, "date": 0.35,
    "length": 0.04, "question": -0.1, "answer": 0.03, "expected": 0.12, "continuity": 0.05, "newest": 0.1,
    "recent": 0.0,
}  # fmt: skip
# Not learned.  No question of the corpus is asked from within a session.  In dialogues there is no assistant, and what
# was told long ago is asked for as often, though not in ours.
FIXED: Final = {"continuity": PRIOR["continuity"]}
FIXED_IN_DIALOGUES: Final = {**FIXED, "authored": 0.0, "recent": 0.0}
NAMES: Final = (*OWN, *OTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, its candidates as recall would find them, and the places of those that answer it.

    answers: how many turns answer it, found or not.
    """

    category: str
    candidates: Sequence[Features]
    right: Sequence[int]
    answers: int


def asked_in(conversation: Mapping[str, Any], embedder: Embedder) -> list[Asked]:
    """Every question of a conversation."""
    items = conversation["items"]
    speakers = {word: number for number, word in enumerate(dict.fromkeys(_first_name(item) for item in items))}
    turns = [_turn(number, item, vector, speakers[_first_name(item)]) for number, (item, vector) in enumerate(
        zip(items, embedder.embed([item["text"] for item in items]), strict=True)
    )]  # fmt: skip
    place = {item["id"]: number for number, item in enumerate(items)}
    found = []
    for one in conversation["questions"]:
        query = Plaintext(one["question"])
        named = [word for word in words_that_may_name(one["question"]) if word in speakers]
        question = ask(query, participants=named, actors=frozenset(speakers[word] for word in named))
        candidates = _candidates(turns, question, embedder)
        right = {place[item] for item in one["gold"]}
        found.append(Asked(
            category=one["category"],
            candidates=candidates,
            right=[number for number, candidate in enumerate(candidates) if candidate.id in right],
            answers=len(right),
        ))  # fmt: skip
    return found


def _first_name(item: Mapping[str, Any]) -> str:
    return str(item["speaker"]).split()[0].casefold()


def _turn(number: int, item: Mapping[str, Any], vector: NDArray[np.float32], actor: int) -> ScannedTurn:
    said_at = datetime.fromisoformat(item["time"]).replace(tzinfo=UTC)
    return ScannedTurn(
        id=number, analysis=TextAnalysis.of(item["text"]), vector=vector, actor=actor,
        from_assistant=item["speaker"] == "assistant",
        session=int(item["session"].removeprefix("s")), said_at=said_at, created_at=said_at, importance=0.5,
        access_count=0, type="fact", confidence=1.0, last_accessed_at=None, is_summary=False, stretch=None,
    )  # fmt: skip


def _candidates(turns: Sequence[ScannedTurn], question: Question, embedder: Embedder) -> list[Features]:
    """The nearest by vector and by words, and the turn after each, as ``apps.recall.retrieval`` finds them."""
    (vector,) = embedder.embed([question.first_person.reveal()])
    statistics = Statistics.of_turns(turns, question)
    by_vector = sorted(turns, key=lambda turn: -float(turn.vector @ vector))[:FEWEST]
    spoken = [statistics.measure(turn.analysis, turn.vector) for turn in turns]
    by_words = sorted((turn for turn in turns if spoken[turn.id].words), key=lambda turn: -spoken[turn.id].words)
    pool = {turn.id for turn in (*by_vector, *by_words[:FEWEST])}
    before = {turn.id: spoken[turn.id - 1] for turn in turns if turn.id and turns[turn.id - 1].session == turn.session}
    pool |= {number + 1 for number in pool if number + 1 in before}
    return [
        compute_features(
            turns[number], spoken[number], before.get(number), question, vector, statistics, session_token=None
        )
        for number in sorted(pool)
    ]


def learn(asked: Sequence[Asked], fixed: Mapping[str, float]) -> dict[str, float]:
    """The weights that rank the answers of these questions first.  fixed: weights that are not learned."""
    torch.set_num_threads(1)
    lists = [_as_tensors(one) for one in asked if one.right]
    prior = torch.tensor([{**PRIOR, **fixed}[name] for name in NAMES]) * SHARPNESS
    weights, session = prior.clone().requires_grad_(), torch.tensor(PRIOR["session"], requires_grad=True)
    free = torch.tensor([float(name not in fixed) for name in NAMES])
    optimizer = torch.optim.Adam([weights, session], lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    values, together, right, there = _padded(lists)
    for _ in range(STEPS):
        used = prior + (weights - prior) * free
        own = values[..., : len(OWN)] @ used[: len(OWN)]
        best = own[:, None, :].masked_fill(~together, -math.inf).amax(-1).masked_fill(~there, 0)
        logits = own + session * best + values[..., len(OWN) :] @ used[len(OWN) :]
        chances = torch.log_softmax(logits.masked_fill(~there, -1e9), -1)
        loss = -(right * chances).sum(-1).mean() + PULL * (used - prior).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            weights[: len(OWN)].clamp_(min=0)  # below 0, the best of a session would be its worst
            session.clamp_(min=0)
    used = (prior + (weights - prior) * free).detach().numpy()
    scaled = {name: round(float(value), 3) for name, value in zip(NAMES, used / used[0], strict=True)}
    return {**scaled, "session": round(session.item(), 3)}


def _as_tensors(one: Asked) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(candidates, factors), (candidates, candidates) whether they are of one session, and the share of each answer."""
    rows = [
        [own[name] for name in OWN] + [other[name] for name in OTHER]
        for own, other in zip(own_values(one.candidates), other_values(one.candidates), strict=True)
    ]
    sessions = torch.tensor([candidate.session for candidate in one.candidates])
    right = torch.zeros(len(rows))
    right[list(one.right)] = 1 / len(one.right)
    return torch.tensor(rows), sessions[:, None] == sessions[None, :], right


def _padded(
    lists: Sequence[tuple[torch.Tensor, torch.Tensor, torch.Tensor]],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    most = max(len(rows) for rows, _, _ in lists)
    values = torch.zeros(len(lists), most, len(NAMES))
    together = torch.eye(most, dtype=torch.bool).repeat(len(lists), 1, 1)
    right, there = torch.zeros(len(lists), most), torch.zeros(len(lists), most, dtype=torch.bool)
    for number, (rows, same, share) in enumerate(lists):
        count = len(rows)
        values[number, :count], together[number, :count, :count] = rows, same
        right[number, :count], there[number, :count] = share, True
    return values, together, right, there


def figures(asked: Sequence[Asked], weights: Mapping[str, float]) -> dict[str, Any]:
    """questions, NDCG@10 and share of the answers at the first place and among the first five, in percent."""
    return mean_of([_scores(one, weights) for one in asked])


def mean_of(scores: Sequence[Sequence[float]]) -> dict[str, Any]:
    """scores: of each question, as ``scores_of`` returns them."""
    mean = (100 * np.mean(scores, axis=0)).round(1).tolist()
    return {"questions": len(scores), **dict(zip(("ndcg@10", "frac@1", "frac@5"), mean, strict=True))}


def _scores(one: Asked, weights: Mapping[str, float]) -> list[float]:
    right = {one.candidates[place].id for place in one.right}
    ranked = [each.id in right for each in rank_default(one.candidates, weights=weights)]
    return scores_of(ranked, one.answers)


def scores_of(ranked: Sequence[bool], answers: int) -> list[float]:
    """NDCG@10, and the shares of the answers at the first place and among the first five, 0..1.

    ranked: whether each hit answers, best first.  answers: how many texts do, found or not.
    """
    gains = [1 / math.log2(place + 2) for place in range(FIRST)]
    gained = sum(gain for gain, is_right in zip(gains, ranked, strict=False) if is_right)
    return [gained / sum(gains[:answers]), *(sum(ranked[:first]) / answers for first in (1, 5))]


def _by_vector(asked: Sequence[Asked]) -> dict[str, Any]:
    return figures(asked, dict.fromkeys(FACTORS, 0.0) | {"semantic": 1.0})


def _of(split: Split, embedder: Embedder) -> dict[Kind, list[Asked]]:
    found: dict[Kind, list[Asked]] = {kind: [] for kind in KINDS}
    for author in authors(split):
        for conversation in author.conversations:
            found[kind_of(author, conversation)] += [one for one in asked_in(conversation, embedder) if one.answers]
    return found


def kind_of(author: Author, conversation: Mapping[str, Any]) -> Kind:
    """Which weights its questions are ranked with."""
    kind: Kind = conversation["kind"] if author.language == "en" else "non_english"
    return kind


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.ranking", description=__doc__)
    parser.add_argument("--out", type=Path, default=WEIGHTS_FILE, metavar="FILE", help="where to write the weights")
    parser.add_argument(
        "--kinds",
        nargs="+",
        choices=KINDS,
        default=KINDS,
        metavar="KIND",
        help="learn these, and keep the other weights",
    )
    options = parser.parse_args(arguments)
    embedder = FineTunedEmbedder()
    train, unseen = _of("train", embedder), _of("validation", embedder)
    weights = {
        **learned_weights(),
        **{kind: learn(train[kind], FIXED_IN_DIALOGUES if kind == "dialogue" else FIXED) for kind in options.kinds},
    }
    options.out.write_text(json.dumps(weights, indent=2) + "\n")
    report = {
        "vectors alone": {
            name: {kind: _by_vector(asked) for kind, asked in _of("validation", each).items()}
            for name, each in ((LocalEmbedder.id, LocalEmbedder()), (FineTunedEmbedder.id, embedder))
        },
        "encoder": read_tuned("retrieval").digest,
        "sha256": hashlib.sha256(options.out.read_bytes()).hexdigest(),
        "train": {kind: figures(train[kind], weights[kind]) for kind in KINDS},
        "validation": {
            kind: {"before": figures(unseen[kind], PRIOR), "learned": figures(unseen[kind], weights[kind])}
            for kind in KINDS
        },
    }
    print(json.dumps(report, indent=2))
    if options.out == WEIGHTS_FILE:
        REPORT.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
