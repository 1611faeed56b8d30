"""Precision of each extraction rule on labelled turns, as a table with the worst rules first."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any


def report(labels: Iterable[dict[str, Any]], predictions: Iterable[dict[str, Any]]) -> str:
    """labels, predictions: records of the labels file, and predictions for them; scripts are skipped."""
    expected = {record["id"]: record for record in labels if "turn" in record}
    right: Counter[str] = Counter()
    fired: Counter[str] = Counter()
    for predicted in predictions:
        record = expected.get(predicted["id"])
        for outcome in predicted.get("outcomes", []) if record else []:
            fired[outcome["reason"]] += 1
            right[outcome["reason"]] += _is_right(outcome, record or {})
    rows = sorted(fired, key=lambda rule: (right[rule] - fired[rule], rule))
    lines = [f"{'rule':<24}{'right':>7}{'fired':>7}{'precision':>11}"]
    lines += [f"{rule:<24}{right[rule]:>7}{fired[rule]:>7}{right[rule] / fired[rule]:>11.2f}" for rule in rows]
    return "\n".join(lines)


def _is_right(outcome: dict[str, Any], record: dict[str, Any]) -> bool:
    """Whether an outcome is right.

    A kept part must contain what some expected memory must contain, and have its type. A refusal must be among the
    expected ones. A refusal beside a kept part needs no label, but is wrong if the whole turn was to be kept.
    """
    wanted = record["expected"]["outcomes"]
    if outcome["decision"] == "created":
        return any(
            _allowed(want, "decision", "created")
            and _allowed(want, "type", outcome["type"])
            and all(_holds(outcome["text"], spec) for spec in want["must_contain"])
            for want in wanted
        )
    if record["turn"]["role"] != "user" or any(_allowed(want, "decision", outcome["decision"]) for want in wanted):
        return True
    found = [want for want in wanted if want["decision"] == "created" and not want.get("optional")]
    return bool(outcome.get("beside")) and bool(found)


def _allowed(want: dict[str, Any], field: str, value: str | None) -> bool:
    accepted = [want[field], *want.get("accept", {}).get(field, [])]
    return value in accepted or (field == "type" and want["type"] is None)


def _holds(text: str, spec: str) -> bool:
    """Whether text contains the words of spec. "a|b": either; "*": any letters."""
    options = [r"\w*".join(map(re.escape, option.split("*"))) for option in spec.casefold().split("|")]
    return re.search(rf"(?<!\w)(?:{'|'.join(options)})(?!\w)", text.casefold()) is not None
