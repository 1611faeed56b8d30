"""Write the predictions of the rules for a file of extraction labels.

python -m benchmarks.extraction LABELS.jsonl OUT.jsonl
Reads the turns only, never the expected outcomes. A small slot machine in memory stands in for the database.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from apps.ingest.rules import Finding, read_turn


@dataclass
class Row:
    text: str
    finding: Finding
    current: bool = True


class Slots:
    """What is current and what was replaced, for one user."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, text: str, finding: Finding) -> str:
        if finding.closes:
            self._close(*finding.closes, value=finding.value)
        same = [row for row in self.rows if row.current and self._repeats(row, text, finding)]
        if same:
            return "discarded_redundant"
        if finding.key:
            for row in self.rows:
                if row.current and row.finding.key == finding.key:
                    row.current = False
        self.rows.append(Row(text, finding))
        return "created"

    def _close(self, key: str, old: str | None, *, value: str | None) -> None:
        for row in self.rows:
            if row.current and row.finding.key == key and (old is None or row.finding.value == old):
                row.current = False

    @staticmethod
    def _repeats(row: Row, text: str, finding: Finding) -> bool:
        if row.text.strip().lower() == text.strip().lower() and row.finding.key == finding.key:
            return True
        if finding.key or row.finding.key:
            return finding.key == row.finding.key and finding.value == row.finding.value
        return bool(finding.value) and _same_words(row.finding.value or "", finding.value or "")


def _same_words(old: str, new: str) -> bool:
    """Every content word of the new statement was in the old one, dates included."""
    said, again = (set(v.replace("|", "_").split("_")) for v in (old, new))
    return len(again) >= 2 and again <= said


def predict_turn(slots: Slots, turn: dict[str, str]) -> Iterator[dict[str, Any]]:
    now = datetime.fromisoformat(turn["reference_time"])
    for finding in read_turn(turn["text"], role=turn["role"], now=now, min_chars=4):
        if finding.decision != "keep":
            yield {"decision": finding.decision}
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


def predict(record: dict[str, Any]) -> dict[str, Any]:
    slots = Slots()
    if "turns" in record:
        for turn in record["turns"]:
            list(predict_turn(slots, turn))
        rows = [
            (row.current, {"text": row.text, "type": row.finding.type, "key": row.finding.key}) for row in slots.rows
        ]
        return {
            "id": record["id"],
            "current": [r for current, r in rows if current],
            "history": [r for current, r in rows if not current],
        }
    for turn in record.get("before") or []:
        list(predict_turn(slots, turn))
    turn = {"reference_time": record["reference_time"], **record["turn"]}
    return {"id": record["id"], "outcomes": list(predict_turn(slots, turn))}


def run(labels_path: str, out_path: str) -> None:
    """Predictions for every record of the labels file, one JSON object per line."""
    records: Iterable[dict[str, Any]] = map(
        json.loads, filter(str.strip, Path(labels_path).read_text(encoding="utf-8").splitlines())
    )
    started = time.perf_counter()
    lines = [json.dumps(predict(record), ensure_ascii=False) for record in records]
    Path(out_path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} records in {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
