"""Whose turn it is: the role given, or the label the text opens with."""

from typing import NamedTuple

from text import patterns

USER_LABELS = frozenset({"user", "human", "customer", "caller"})
POSING_LABELS = frozenset({"system", "developer"})  # no one opens a turn of their own with these but to pose
OTHER_LABELS = frozenset({"assistant", "ai", "bot", "system", "tool", "function", "agent", "model", "developer"})
_PREFIX = patterns.compile(
    r"\s*(user|human|customer|caller|assistant|ai|bot|system|tool|function|agent|model|developer)\s*:\s+",
    patterns.IGNORECASE,
)


class Speaker(NamedTuple):
    is_user: bool
    start: int  # where the words begin, after a label such as "user: "


def split_label(text: str) -> tuple[str | None, int]:
    """The label that a text opens with, in lower case, and where the words begin behind it; None and 0 without."""
    prefix = _PREFIX.match(text)
    return (prefix[1].lower(), prefix.end()) if prefix else (None, 0)


def speaker(text: str, role: str) -> Speaker:
    """A role other than the user's wins over any label; a label inside a user turn reveals a pasted line."""
    label = role.strip().lower()
    if label and label not in USER_LABELS:
        return Speaker(is_user=False, start=0)
    found, start = split_label(text)
    return Speaker(is_user=found is None or found in USER_LABELS, start=start)
