"""Rank candidates by their features, and replay that from a stored trace.  Pure.

Recall and replay share this code, so a replay shows what recall would answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, Final

from apps.recall.profiles import Ranking, rank
from apps.recall.ranking import Features, Ranked, Weights, behind_their_sources, lift, lower
from apps.recall.relevance import Floors, drop_irrelevant

VERSION: Final = 2
_TIMES: Final = ("created_at", "last_accessed_at", "said_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One recall in one space, without any text.

    rankings: each retriever's results.  cut: retrievers that did not run for lack of time.  carried: memory id to the
    score that relations carried to it.  behind: memory id to the ids of stronger memories that contradict it.  sources:
    summary id to source ids, for summaries ranked behind their sources.
    alike: memory id to duplicate group, for memories with the same words.  relevance: cross-encoder scores.
    is_calibrated: they count for the hits' relevance.  ids, scores: the answer, best first.  min_relevance,
    min_best_relevance: the floors; 0 if relevance was not calibrated for the embedder.
    """

    now: datetime
    profile: str
    limit: int
    weights: Weights | None
    rankings: Mapping[str, Ranking]
    cut: Sequence[str]
    features: Sequence[Features]
    carried: Mapping[int, float] = field(default_factory=dict)
    behind: Mapping[int, Sequence[int]] = field(default_factory=dict)
    sources: Mapping[int, Sequence[int]] = field(default_factory=dict)
    alike: Mapping[int, int] = field(default_factory=dict)
    relevance: Mapping[int, float] = field(default_factory=dict)
    is_calibrated: bool = False
    ids: Sequence[int] = ()
    scores: Sequence[float] = ()
    min_relevance: float = 0.0
    min_best_relevance: float = 0.0

    def replay(self) -> list[Ranked]:
        """The answer that today's code gives for the recorded candidates."""
        ranked: Sequence[Ranked] = rank(
            self.profile, self.features, self.rankings, self.weights, self.now, self.relevance
        )
        ranked = lower(lift(ranked, self.carried), self.behind)
        ranked = behind_their_sources(ranked, self.sources) if self.sources else ranked
        floors = Floors(self.min_relevance, self.min_best_relevance)
        read = self.relevance if self.is_calibrated else {}
        return drop_irrelevant(first_of_each(ranked, self.alike), self.features, floors, read)[: self.limit]

    def as_json(self) -> dict[str, Any]:
        """The JSON object to encrypt.  Features are rows of values, with one list of column names."""
        return asdict(self) | {
            "version": VERSION,
            "features": [[getattr(one, name) for name in _NAMES] for one in self.features],
            "names": _NAMES,
        }

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> "Trace":
        """Parse what ``as_json`` returned.  Features that no longer exist are ignored."""
        known = {name: value for name, value in said.items() if name in {one.name for one in fields(cls)}}
        numbered = {
            name: {int(one): value for one, value in said.get(name, {}).items()}
            for name in ("carried", "behind", "sources", "alike", "relevance")
        }
        return cls(**known | numbered | {
            "now": datetime.fromisoformat(said["now"]),
            "rankings": {name: [(one, score) for one, score in found] for name, found in said["rankings"].items()},
            "features": [_features(dict(zip(said["names"], row, strict=True))) for row in said["features"]],
        })  # fmt: skip


_NAMES: Final = tuple(one.name for one in fields(Features))


def _features(said: dict[str, Any]) -> Features:
    for name in _TIMES:
        said[name] = datetime.fromisoformat(said[name]) if said[name] else None
    return Features(**{name: value for name, value in said.items() if name in _NAMES})


def first_of_each(ranked: Sequence[Ranked], alike: Mapping[int, int]) -> list[Ranked]:
    """The ranking with only the best of each group of duplicates.  alike: as in ``Trace``."""
    seen: set[int] = set()
    kept = []
    for one in ranked:
        kind = alike.get(one.id)
        if kind is None:
            kept.append(one)
        elif kind not in seen:
            seen.add(kind)
            kept.append(one)
    return kept
