"""Refuses long passwords that are as weak as short ones.  Django's validators check length and common passwords."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from django.core.exceptions import ValidationError

if TYPE_CHECKING:  # settings import this module before models exist
    from apps.accounts.models import User

FEWEST: Final = 5
MESSAGE: Final = "This password repeats itself or counts up: it is among the first that are tried."


class VariedPasswordValidator:
    """Requires five different characters, no repeated pattern, and no sequence such as 123456789012."""

    def validate(self, password: str, user: "User | None" = None) -> None:
        if len(set(password)) < FEWEST or _is_piece_repeated(password) or _is_row(password):
            raise ValidationError(MESSAGE, code="password_not_varied")

    def get_help_text(self) -> str:
        return "It has at least five different characters, and neither repeats itself nor counts up."


def _is_piece_repeated(password: str) -> bool:
    """Whether it repeats one pattern, like ``abcabcabcabc``: then it occurs in itself, shifted by the pattern's
    length."""
    return (password + password).find(password, 1) < len(password)


def _is_row(password: str) -> bool:
    """Whether each character follows (or precedes) the one before it; 0 follows 9."""
    steps: set[Any] = {
        (ord(after) - ord(before)) % 10 if before.isdecimal() and after.isdecimal() else ord(after) - ord(before)
        for before, after in pairwise(password)
    }
    return len(steps) == 1 and bool(steps & {1, -1, 9})
