"""Fields of one type each (text, number, choice or time) whose errors never repeat the input.

REST framework's own fields turn 5 into "5" and "yes" into true, and quote the input in their messages.  ``published``
returns the rules that a field's JSON Schema has beyond ``mapped``, the schema derived from its class; None removes a
key.  apps.api.schema calls it, so that requests that satisfy the schema are accepted.
"""

import re
import unicodedata
from datetime import UTC, date, datetime, time
from typing import Any, Final, TypeGuard

from django.core.validators import ProhibitNullCharactersValidator
from rest_framework import serializers

MAX_TEXT: Final = 1_048_576  # characters

# Error messages: what was expected, never what was sent.
MESSAGES: Final[dict[str, Any]] = {
    "required": "field required",
    "null": "must not be null",
    "blank": "must not be blank",
    "string": "must be a string",
    "control": "must not hold control characters",
    "pattern": "has characters that are not allowed, or has too few",
    "integer": "must be an integer",
    "number": "must be a number",
    "boolean": "must be true or false",
    "moment": "must be a time in ISO 8601, such as 2026-05-05T14:22:00Z",
    "object": "must be an object",
    "strings": "must be a list of strings",
    "weights": "must be an object of numbers that are 0 or more",
    "choice": "must be one of: {choices}",
    "max_length": "must have at most {max_length} characters",
    "min_value": "must be at least {min_value}",
    "max_value": "must be at most {max_value}",
    "many": "must have at most {max_items} entries",
}

# Characters that str.strip() removes, and control characters, in a regex syntax that Python and ECMAScript share.
_BLANK: Final = r"\s\x1c-\x1f\x85"
_CONTROL: Final = r"\x00-\x1f\x7f-\x9f"
NOT_BLANK: Final = f"[^{_BLANK}]"
NO_CONTROL: Final = f"^[^{_CONTROL}]*$"
LABEL: Final = f"^[^{_CONTROL}]*[^{_CONTROL}{_BLANK}][^{_CONTROL}]*$"
# Integers outside 64 bits are refused: they would be read back as floats, but values must be returned unchanged.
EXACT: Final = range(-(2**63), 2**64)


class Text(serializers.CharField):
    """A string, stored unchanged: not trimmed, NUL allowed.

    A blank string (only whitespace) is refused; allow_blank permits the empty string.
    """

    default_error_messages = MESSAGES

    def __init__(self, *, max_length: int = MAX_TEXT, **options: Any) -> None:
        super().__init__(trim_whitespace=False, max_length=max_length, **options)
        self.validators = [one for one in self.validators if not isinstance(one, ProhibitNullCharactersValidator)]

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and not data.strip() and not (self.allow_blank and data == ""):
            self.fail("blank")
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("string")
        return data

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"pattern": NOT_BLANK}


class Label(Text):
    """A short string that may be stored in clear: no control characters."""

    def __init__(self, *, max_length: int = 64, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)

    def to_internal_value(self, data: Any) -> str:
        label = super().to_internal_value(data)
        if not is_label(label):
            self.fail("control")
        return label

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"pattern": LABEL}


class Word(Label):
    """A string that a pattern matches as a whole.  pattern: classes with a bound, of ASCII."""

    def __init__(self, *, pattern: str, **options: Any) -> None:
        super().__init__(**options)
        self.pattern = re.compile(pattern, re.ASCII)

    def to_internal_value(self, data: Any) -> str:
        word = super().to_internal_value(data)
        if not self.pattern.fullmatch(word):
            self.fail("pattern")
        return word

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"pattern": f"^{self.pattern.pattern}$"}


def is_label(text: str) -> bool:
    return not any(unicodedata.category(character) == "Cc" for character in text)


class Whole(serializers.IntegerField):
    """An integer; true, 1.0 and "1" are refused."""

    default_error_messages = MESSAGES

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("integer")
        return data

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return _bounds(self, EXACT)


class WholeInQuery(Whole):
    """An integer in a query string, written in digits."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, str) or not DIGITS.fullmatch(data):
            self.fail("integer")
        return int(data)

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return _bounds(self, range(10**18))


DIGITS: Final = re.compile(r"[0-9]{1,18}", re.ASCII)


def _bounds(field: serializers.IntegerField, among: range) -> dict[str, Any]:
    """Schema of the accepted integers: those in ``among`` and within the field's own bounds."""
    lowest, highest = field.min_value, field.max_value
    return {
        "minimum": among[0] if lowest is None else lowest,
        "maximum": among[-1] if highest is None else highest,
        "format": "int64",
    }


class Clamped(Whole):
    """An integer, brought into a range, as the published clients expect; the schema says so."""

    def __init__(self, *, lowest: int, highest: int, help_text: str = "", **options: Any) -> None:
        note = f"A number outside of {lowest:,} to {highest:,} is brought into this range."
        super().__init__(help_text=f"{help_text} {note}".strip(), **options)
        self.lowest, self.highest = lowest, highest

    def to_internal_value(self, data: Any) -> int:
        return min(max(super().to_internal_value(data), self.lowest), self.highest)


class ClampedInQuery(Clamped, WholeInQuery):
    """Like ``Clamped``, in a query string."""


class Fraction(serializers.FloatField):
    """A number from 0 to 1."""

    default_error_messages = MESSAGES

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0.0, max_value=1.0, **options)

    def to_internal_value(self, data: Any) -> float:
        if not is_number(data):
            self.fail("number")
        return float(data)


class Flag(serializers.BooleanField):
    """true or false; "yes" and 1 are refused."""

    default_error_messages = MESSAGES

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("boolean")
        return data


class Choice(serializers.ChoiceField):
    """One of a few values."""

    default_error_messages = MESSAGES

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("choice", choices=", ".join(self.choices))
        return data


class Moment(serializers.DateTimeField):
    """A time, or a date; UTC if it has no offset.  is_end: a date means the end of that day, not its beginning."""

    default_error_messages = MESSAGES

    def __init__(self, *, is_end: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.is_end = is_end

    def to_internal_value(self, value: Any) -> datetime:
        moment = read_moment(value, is_end=self.is_end)
        if moment is None:
            self.fail("moment")
        return moment

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"format": None, "anyOf": [{"format": "date-time"}, {"format": "date"}]}


def read_moment(value: object, *, is_end: bool = False) -> datetime | None:
    """The time that an ISO 8601 string denotes, in UTC; None if it denotes none."""
    if not isinstance(value, str):
        return None
    try:
        if DATE.fullmatch(value):
            return datetime.combine(date.fromisoformat(value), time.max if is_end else time.min, UTC)
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
