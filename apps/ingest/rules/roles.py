"""Whose turn it is: the role given, or the label the text opens with."""

import re
from typing import NamedTuple

USER_LABELS = frozenset({"user", "human", "customer", "caller"})
OTHER_LABELS = frozenset({"assistant", "ai", "bot", "system", "tool", "function", "agent", "model", "developer"})
_PREFIX = re.compile(
    r"\s*(user|human|customer|caller|assistant|ai|bot|system|tool|function|agent|model|developer)\s*:\s+", re.IGNORECASE
)


class Speaker(NamedTuple):
    is_user: bool
    start: int  # where the words begin, after a label such as "user: "


def speaker(text: str, role: str) -> Speaker:
    """A role other than the user's wins over any label; a label inside a user turn tells on a pasted line."""
    label = role.strip().lower()
    if label and label not in USER_LABELS:
        return Speaker(is_user=False, start=0)
    prefix = _PREFIX.match(text)
    if prefix is None:
        return Speaker(is_user=True, start=0)
    return Speaker(is_user=prefix[1].lower() in USER_LABELS, start=prefix.end())
