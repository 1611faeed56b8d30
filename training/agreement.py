"""Agreement of a second labeller with the writers: an upper bound for the quality of a model.

``python -m training.agreement`` prints it.  The second labeller saw the guide in ``training/second`` and a tenth of the
turns, without labels.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from apps.adapters.classifiers.base import CHANGES
from training.corpus import Kept, Utterance, authors

SECOND: Final = Path(__file__).parent / "second"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Shares, 0..1.

    decisions: turns that both keep, or drop for the same reason.  types: statements that both keep.
    relations: pairs.  changes: pairs, compared only by whether something ended.
    """

    turns: int
    decisions: float
    statements: int
    types: float
    pairs: int
    relations: float
    changes: float


def measure() -> Agreement:
    utterances = {said.id: said for author in authors() for said in author.utterances}
    pairs = {pair.id: pair for author in authors() for pair in author.pairs}
    turns = [(utterances[label["id"]], label) for label in _records("utterances")]
    types = [right for said, label in turns for right in _types(said, label)]
    relations = [(pairs[label["id"]].relation, label["relation"]) for label in _records("pairs")]
    return Agreement(
        turns=len(turns),
        decisions=_share([_decides_alike(said, label) for said, label in turns]),
        statements=len(types),
        types=_share(types),
        pairs=len(relations),
        relations=_share([first == second for first, second in relations]),
        changes=_share([(first in CHANGES) == (second in CHANGES) for first, second in relations]),
    )


def _records(name: str) -> Iterator[dict[str, Any]]:
    for line in (SECOND / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _decides_alike(said: Utterance, label: dict[str, Any]) -> bool:
    if said.kept or label["keep"]:
        return bool(said.kept) and bool(label["keep"])
    return label["drop"][0]["why"] in {dropped.reason for dropped in said.dropped}


def _types(said: Utterance, label: dict[str, Any]) -> Iterator[bool]:
    """For each statement that both kept, whether the second labeller's type is accepted by the writer."""
    for kept in said.kept:
        found = [other for other in label["keep"] if _overlap(said, kept, other["quote"])]
        if found:
            yield any(other["type"] in kept.types for other in found)


def _overlap(said: Utterance, kept: Kept, quote: str) -> bool:
    start = said.text.find(quote)
    return 0 <= start < kept.end and start + len(quote) > kept.start


def _share(right: list[bool]) -> float:
    return sum(right) / len(right)


if __name__ == "__main__":
    print(json.dumps(asdict(measure()), indent=2))
