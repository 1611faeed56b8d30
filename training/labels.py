"""Labels of a split in the form that the scorer of extraction reads.

``python -m training.labels SPLIT --out FILE`` writes one record a line: a "single" for each utterance, a "script" for
each script.  Turns that were said before come a day apart.
"""

import argparse
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from training.corpus import SPLITS, Author, Kept, Utterance, authors

# Words that mark a value as old: a memory with one of these may mention the old value.
PAST = [
    "no longer",
    "was",
    "were",
    "used to",
    "former*",
    "previous*",
    "left",
    "before",
    "until",
    "old",
    "ex",
    "instead of",
]


def single(author: Author, said: Utterance) -> dict[str, Any]:
    """The record of a turn.  If nothing is kept, the first reason is the expected decision, and others are accepted."""
    outcomes = [_created(said, label) for label in said.kept]
    if not outcomes:
        first, *others = dict.fromkeys(f"discarded_{label.reason}" for label in said.dropped)
        outcomes = [_discarded(first, *others)]
    else:
        outcomes += [_discarded("discarded_policy") for label in said.dropped if label.reason == "policy"]
    at = datetime.fromisoformat(said.time)
    return {
        "id": said.id,
        "split": author.split,
        "kind": "single",
        "reference_time": said.time,
        "turn": {"role": "user", "text": said.text},
        "before": [
            {"role": "user", "text": text, "reference_time": (at - timedelta(days=len(said.before) - n)).isoformat()}
            for n, text in enumerate(said.before)
        ],
        "expected": {
            "outcomes": outcomes,
            "forbid": [said.text[d.start : d.end] for d in said.dropped if said.kept and d.reason == "policy"],
        },
        "tags": [author.id],
    }


def _created(said: Utterance, label: Kept) -> dict[str, Any]:
    return {
        "decision": "created",
        "type": label.types[0],
        "key": None,
        "must_contain": list(label.words) or [said.text[label.start : label.end]],
        "event_at": label.at,
        "event_precision": label.precision,
        "accept": {"type": list(label.types[1:])},
    }


def _discarded(decision: str, *also: str) -> dict[str, Any]:
    blank: dict[str, Any] = {"type": None, "key": None, "must_contain": [], "event_at": None, "event_precision": None}
    return {"decision": decision, **blank, "accept": {"decision": list(also)}}


def script(author: Author, record: dict[str, Any]) -> dict[str, Any]:
    """The record of a script.  Checks that an old value is gone accept memories with a word that marks it as old."""
    return {
        "id": record["id"],
        "split": author.split,
        "kind": "script",
        "turns": [{"reference_time": t["time"], "role": "user", "text": t["text"]} for t in record["turns"]],
        "expect_current": [
            {
                "question": check.get("question") or record["id"],
                "must_contain": check["all"],
                "must_not_contain": check.get("not") or [],
                "unless": [*PAST, *(check.get("unless") or [])],
            }
            for check in record["current"]
        ],
        "expect_history": record.get("history") or [],
        "tags": [author.id, *(record.get("tags") or [])],
    }


def records(author: Author) -> Iterator[dict[str, Any]]:
    """The records of everything that an author wrote."""
    for said in author.utterances:
        yield single(author, said)
    for record in author.scripts:
        yield script(author, record)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.labels", description=__doc__)
    parser.add_argument("split", choices=SPLITS)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    options = parser.parse_args()
    with options.out.open("w", encoding="utf-8") as out:
        for author in authors(options.split):
            for record in records(author):
                out.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
