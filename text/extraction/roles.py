"""The speaker of a turn: from the given role, or from the label at the start of the text."""

from typing import NamedTuple

from text import patterns

USER_LABELS = frozenset({"user", "human", "customer", "caller"})
POSING_LABELS = frozenset({"system", "developer"})  # a turn that opens with one of these is posing
OTHER_LABELS = frozenset({"assistant", "ai", "bot", "system", "tool", "function", "agent", "model", "developer"})
_PREFIX = patterns.compile(
    r"\s*(user|human|customer|caller|assistant|ai|bot|system|tool|function|agent|model|developer)\s*:\s+",
    patterns.IGNORECASE,
)


class Speaker(NamedTuple):
    is_user: bool
    start: int  # where the words begin, after a label such as "user: "


def split_label(text: str) -> tuple[str | None, int]:
    """The label at the start of a text, in lower case, and where the words after it begin; (None, 0) if none."""
    prefix = _PREFIX.match(text)
    return (prefix[1].lower(), prefix.end()) if prefix else (None, 0)


def speaker(text: str, role: str) -> Speaker:
    """The speaker. A role other than "user" overrides any label; a label inside a user turn marks a pasted line."""
    label = role.strip().lower()
    if label and label not in USER_LABELS:
        return Speaker(is_user=False, start=0)
    found, start = split_label(text)
    return Speaker(is_user=found is None or found in USER_LABELS, start=start)
