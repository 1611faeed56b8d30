"""Write the predictions of the extraction pipeline, rules and classifier, for a file of labels.

python -m benchmarks extraction LABELS.jsonl --out OUT.jsonl [--by-rule] [--rules-alone]
Reads the turns only, never the expected outcomes.  An in-memory model of memories replaces the database.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.adapters.classifiers.base import Classifier
from apps.adapters.classifiers.local import LocalClassifier
from apps.adapters.embedders.local import FineTunedEmbedder
from apps.ingest.change_rules import Effect, StatementChange, Sureness, changes_among, is_beside, may_change, may_end
from apps.ingest.keep_gate import Thresholds, weigh
from benchmarks.by_rule import report
from text.extraction.entities import read_entities
from text.extraction.extractor import read_turn
from text.extraction.finding import Finding
from text.marking import marked, places


@dataclass(frozen=True)
class Gate:
    """The classifier with its thresholds; without a classifier only the rules apply."""

    classifier: Classifier | None = None
    thresholds: Thresholds = Thresholds(keep=0.1, forbidden=0.9)  # noqa: RUF009  frozen, and the settings' own
    sureness: Sureness = Sureness()  # noqa: RUF009  frozen
    embedder: FineTunedEmbedder = field(default_factory=FineTunedEmbedder)


@dataclass
class Row:
    """A stored memory.  ended: spans that no longer hold."""

    text: str
    finding: Finding
    vector: NDArray[np.float32] | None = None
    current: bool = True
    ended: list[tuple[int, int]] = field(default_factory=list)

    @property
    def shown(self) -> str:
        return marked(self.text, self.ended)

    def claims_in(self, words: Sequence[tuple[int, int]]) -> int:
        """Number of its claims that overlap these spans."""
        at = self.finding.start
        return sum(
            any(part.start - at < end and part.end - at > start for start, end in words) for part in self.finding.parts
        )

    def end_parts(self, key: str, *, now: str | None = None, only: str | None = None) -> None:
        """End the claims with this key.  now: the new value, which does not end.  only: end just this value."""
        for part in self.finding.parts:
            if part.key == key and part.value != now and only in (None, part.value):
                self.ended.append((part.start - self.finding.start, part.end - self.finding.start))


class Slots:
    """Current and replaced memories of one user."""

    def __init__(self, gate: Gate) -> None:
        self.rows: list[Row] = []
        self._gate = gate

    def read(self, text: str, *, role: str, now: datetime) -> list[Finding]:
        found = read_turn(text, role=role, now=now, min_chars=4)
        if self._gate.classifier is None or role != "user":
            return found
        return weigh(text, found, self._gate.classifier, self._gate.thresholds, is_meant=False)

    def add(self, text: str, finding: Finding) -> str:
        for closed in finding.closes:
            self._close(*closed)
        same = [row for row in self.rows if row.current and self._repeats(row, text, finding)]
        changes = list(self._changes(text, finding.worth, vector := self._vector(text)))
        if same or any(change.effect is Effect.REPEATS for _, change in changes):
            return "discarded_redundant"
        for key, value in _claims(finding):
            for row in self.rows:
                if row.current and row.finding.key == key and row.finding.value != value:
                    row.current = False
                row.end_parts(key, now=value)
        for row, change in changes:
            has_slot = row.finding.key is not None
            if is_beside(change.effect, change.over, many_valued=finding.many_valued, has_slot=has_slot):
                continue
            words = places(row.text, row.ended, change.words)
            may = may_end(row.finding.type or "", by=finding.type or "", over=change.over)
            is_sure = may and change.effect is not Effect.OUTDATES
            if not is_sure or row.claims_in(words or [(0, len(row.text))]) > 1:
                continue  # it may no longer hold, and stays
            if change.words:
                row.ended += words
            else:
                row.current = False
        self.rows.append(Row(text, finding, vector))
        return "created"

    def _vector(self, text: str) -> NDArray[np.float32] | None:
        return self._gate.embedder.embed([text])[0] if self._gate.classifier else None

    def _changes(
        self, text: str, worth: float, vector: NDArray[np.float32] | None
    ) -> Iterator[tuple[Row, StatementChange]]:
        """Changes that a new statement makes to the most similar current memories."""
        if self._gate.classifier is None or vector is None or not may_change(text):
            return
        rows = [(row, row.vector) for row in self.rows if row.current and row.vector is not None]
        shown = [(row.shown, float(known @ vector)) for row, known in rows]
        for place, change in changes_among(text, shown, self._gate.classifier, self._gate.sureness, worth=worth):
            yield rows[place][0], change

    def _close(self, key: str, old: str | None) -> None:
        for row in self.rows:
            if row.current and row.finding.key == key and (old is None or row.finding.value == old):
                row.current = False
            row.end_parts(key, only=old)

    @staticmethod
    def _repeats(row: Row, text: str, finding: Finding) -> bool:
        if row.text.strip().lower() == text.strip().lower() and row.finding.key == finding.key:
            return True
        if finding.key or row.finding.key:
            return finding.key == row.finding.key and finding.value == row.finding.value
        return bool(finding.value) and _same_words(row.finding.value or "", finding.value or "")


def _claims(finding: Finding) -> list[tuple[str, str | None]]:
    if finding.key:
        return [(finding.key, finding.value)]
    return [(part.key, part.value) for part in finding.parts]


def _same_words(old: str, new: str) -> bool:
    """Whether the old statement contains every content word of the new one, dates included."""
    said, again = (set(v.replace("|", "_").split("_")) for v in (old, new))
    return len(again) >= 2 and again <= said


def predict_turn(slots: Slots, turn: dict[str, str]) -> Iterator[dict[str, Any]]:
    now = datetime.fromisoformat(turn["reference_time"])
    for finding in slots.read(turn["text"], role=turn["role"], now=now):
        if finding.decision != "keep":
            yield {"decision": finding.decision, "reason": finding.reason}
            continue
        text = turn["text"][finding.start : finding.end]
        yield {
            "decision": slots.add(text, finding),
            "type": finding.type,
            "key": finding.key,
            "text": text,
            "event_at": _when(finding),
            "event_precision": finding.event_precision,
            "reason": finding.reason,
        }


def _when(finding: Finding) -> str | None:
    if finding.event_at is None:
        return None
    return (
        finding.event_at.strftime("%Y-%m-%dT%H:%M")
        if finding.event_precision == "exact"
        else finding.event_at.date().isoformat()
    )


def predict(record: dict[str, Any], gate: Gate) -> dict[str, Any]:
    slots = Slots(gate)
    if "turns" in record:
        for turn in record["turns"]:
            list(predict_turn(slots, turn))
        return {
            "id": record["id"],
            "current": [
                {"text": row.shown, "type": row.finding.type, "key": row.finding.key}
                for row in slots.rows
                if row.current
            ],
            "history": [row.text for row in slots.rows if row.ended or not row.current],
        }
    for turn in record.get("before") or []:
        list(predict_turn(slots, turn))
    turn = {"reference_time": record["reference_time"], **record["turn"]}
    outcomes = list(predict_turn(slots, turn))
    if any(outcome["decision"] == "created" for outcome in outcomes):
        outcomes = [outcome | {"beside": True} if outcome["decision"] != "created" else outcome for outcome in outcomes]
    return {"id": record["id"], "outcomes": outcomes}


def predict_and_identify(record: dict[str, Any], gate: Gate) -> None:
    """``predict``, and entity recognition, for which there are no labels."""
    turns = record.get("turns") or [*(record.get("before") or []), record["turn"]]
    slots = Slots(gate)
    for turn in turns:
        said = {"reference_time": record.get("reference_time"), **turn}
        list(predict_turn(slots, said))
    for row in slots.rows:
        finding = row.finding
        read_entities(row.text, [claim.moved(-finding.start) for claim in finding.claims])


def _seconds(records: list[dict[str, Any]], read: Callable[[dict[str, Any]], object]) -> float:
    """CPU seconds of this process to read the records once."""
    started = time.process_time()
    for record in records:
        read(record)
    return time.process_time() - started


def run(labels_path: str, out_path: str, *, by_rule: bool = False, rules_alone: bool = False) -> None:
    """Write one prediction per record of the labels file, as JSON lines.

    by_rule: also print the precision of each rule; only this uses the expected outcomes.
    """
    records: list[dict[str, Any]] = [
        json.loads(line) for line in Path(labels_path).read_text(encoding="utf-8").splitlines() if line.strip()
    ]
    gate = Gate() if rules_alone else Gate(LocalClassifier())
    predictions = [predict(record, gate) for record in records]
    taken, with_entities = (
        min(_seconds(records, partial(read, gate=gate)) for _ in range(3)) for read in (predict, predict_and_identify)
    )
    lines = [json.dumps(prediction, ensure_ascii=False) for prediction in predictions]
    Path(out_path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    turns = sum(len(record.get("turns") or [*(record.get("before") or []), 0]) for record in records)
    print(f"{len(lines)} records, {turns} turns in {taken:.2f} s: {turns / taken:,.0f} turns/s a core,")
    print(f"{turns / with_entities:,.0f} with who and what they are about")
    if by_rule:
        print(report(records, predictions))
