"""Fields that take exactly one type and never repeat what they were given.

REST framework's own turn 5 into "5" and "yes" into true, and quote the input in their messages.  ``published`` is what
a field's JSON Schema says beyond ``mapped``, which was read off its class; None takes away.  apps.api.schema asks for
it: a client that goes by the schema is not refused for what it could not know.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, ClassVar, Final, TypeGuard

import orjson
from django.core.validators import ProhibitNullCharactersValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from apps.api.unknown import unknown_names
from apps.core.errors import TooLarge

MAX_TEXT: Final = 1_048_576  # characters
MAX_METADATA: Final = 64 * 1024  # bytes of JSON
PLATFORM_OWNED: Final = frozenset(
    {"retention_status", "vector_id", "extracted_type", "extracted_key", "retention_expires_at"}
)

# Every message of this module: what was expected, never what came.
_MESSAGES: Final[dict[str, Any]] = {
    "required": "field required",
    "null": "must not be null",
    "blank": "must not be blank",
    "string": "must be a string",
    "control": "must not hold control characters",
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


# What a body never decides, and many clients send along: the credential says whose it is, and a header which project.
OWNERS: Final = ("user_id", "project_id")

# What str.strip() takes away, and what is a control character, in words that Python and ECMAScript understand alike.
_BLANK: Final = r"\s\x1c-\x1f\x85"
_CONTROL: Final = r"\x00-\x1f\x7f-\x9f"
NOT_BLANK: Final = f"[^{_BLANK}]"
NO_CONTROL: Final = f"^[^{_CONTROL}]*$"
LABEL: Final = f"^[^{_CONTROL}]*[^{_CONTROL}{_BLANK}][^{_CONTROL}]*$"
# Integers outside 64 bits are refused: they would come back as floats, and what is kept must come back as it was.
EXACT: Final = range(-(2**63), 2**64)


class Text(serializers.CharField):
    """A string, kept as it is: nothing is trimmed, NUL included.

    Blank, which is refused, is nothing but space; allow_blank lets the empty string through.
    """

    default_error_messages = _MESSAGES

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
    """A short string that may stand in clear somewhere, so it holds no control characters."""

    def __init__(self, *, max_length: int = 64, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)

    def to_internal_value(self, data: Any) -> str:
        label = super().to_internal_value(data)
        if not is_label(label):
            self.fail("control")
        return label

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"pattern": LABEL}


def is_label(text: str) -> bool:
    return not any(unicodedata.category(character) == "Cc" for character in text)


class Whole(serializers.IntegerField):
    """An integer; true, 1.0 and "1" are not."""

    default_error_messages = _MESSAGES

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("integer")
        return data

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return _bounds(self, EXACT)


class WholeInQuery(Whole):
    """An integer, written in digits as a query string has to."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, str) or not DIGITS.fullmatch(data):
            self.fail("integer")
        return int(data)

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return _bounds(self, range(10**18))


DIGITS: Final = re.compile(r"[0-9]{1,18}", re.ASCII)


def _bounds(field: serializers.IntegerField, among: range) -> dict[str, Any]:
    """The integers that are taken: those of ``among``, and within the field's own bounds."""
    lowest, highest = field.min_value, field.max_value
    return {
        "minimum": among[0] if lowest is None else lowest,
        "maximum": among[-1] if highest is None else highest,
        "format": "int64",
    }


class Clamped(Whole):
    """An integer, moved into the range when it lies outside."""

    def __init__(self, *, lowest: int, highest: int, **options: Any) -> None:
        super().__init__(**options)
        self.lowest, self.highest = lowest, highest

    def to_internal_value(self, data: Any) -> int:
        return min(max(super().to_internal_value(data), self.lowest), self.highest)


class ClampedInQuery(WholeInQuery):
    """As ``Clamped``, in a query string."""

    def __init__(self, *, lowest: int, highest: int, **options: Any) -> None:
        super().__init__(**options)
        self.lowest, self.highest = lowest, highest

    def to_internal_value(self, data: Any) -> int:
        return min(max(super().to_internal_value(data), self.lowest), self.highest)


class Fraction(serializers.FloatField):
    """A number from 0 to 1."""

    default_error_messages = _MESSAGES

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0.0, max_value=1.0, **options)

    def to_internal_value(self, data: Any) -> float:
        if not _is_number(data):
            self.fail("number")
        return float(data)


class Flag(serializers.BooleanField):
    """true or false; "yes" and 1 are neither."""

    default_error_messages = _MESSAGES

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("boolean")
        return data


class Choice(serializers.ChoiceField):
    """One of a few words."""

    default_error_messages = _MESSAGES

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("choice", choices=", ".join(self.choices))
        return data


class Moment(serializers.DateTimeField):
    """A time, or a date; without an offset it is UTC.  is_end: a date means the end of that day, not its beginning."""

    default_error_messages = _MESSAGES

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
    """The time that an ISO 8601 string names, in UTC; None when it names none."""
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


class Metadata(serializers.DictField):
    """The caller's own object, kept as it is.  Raises TooLarge past 64 KiB of JSON."""

    default_error_messages = _MESSAGES

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("object")
        if len(orjson.dumps(data)) > MAX_METADATA:
            raise TooLarge(f"metadata is larger than {MAX_METADATA} bytes of JSON")
        return data


class MetadataOfSaid(Metadata):
    """Metadata of what is to be remembered: ``occurred_at``, where it stands in it, is a time."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        metadata = super().to_internal_value(data)
        if metadata.get("occurred_at") is not None and read_moment(metadata["occurred_at"]) is None:
            raise serializers.ValidationError({"occurred_at": [ErrorDetail(_MESSAGES["moment"], "moment")]})
        return metadata

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        moment = {"type": "string", "nullable": True, "anyOf": [{"format": "date-time"}, {"format": "date"}]}
        return {"properties": {"occurred_at": moment}}


@extend_schema_field({"type": "array", "items": {"type": "string"}})
class Labels(serializers.Field[tuple[str, ...], Any, Any, Any]):
    """A list of labels, each once and in order.  choices: the only words allowed."""

    default_error_messages = _MESSAGES

    def __init__(
        self, *, max_items: int = 64, max_length: int = 64, choices: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__(**options)
        self.max_items, self.max_length, self.choices = max_items, max_length, choices

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        if not isinstance(data, list):
            self.fail("strings")
        if len(data) > self.max_items:
            self.fail("many", max_items=self.max_items)
        for label in data:
            if not isinstance(label, str):
                self.fail("strings")
            if len(label) > self.max_length:
                self.fail("max_length", max_length=self.max_length)
            if not is_label(label):
                self.fail("control")
            if self.choices and label not in self.choices:
                self.fail("choice", choices=", ".join(self.choices))
        return tuple(dict.fromkeys(data))

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"items": self._item(), "maxItems": self.max_items}

    def _item(self) -> dict[str, Any]:
        if self.choices:
            return {"type": "string", "enum": list(self.choices)}
        return {"type": "string", "maxLength": self.max_length, "pattern": NO_CONTROL}


class Tags(Labels):
    """Tags are lower-cased, and blank ones are dropped."""

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        tags = (tag.strip().lower() for tag in super().to_internal_value(data))
        return tuple(dict.fromkeys(tag for tag in tags if tag))


@extend_schema_field({})
class OneOrMore(Labels):
    """A list of labels, or one by itself."""

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        return super().to_internal_value([data] if isinstance(data, str) else data)

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"oneOf": [self._item(), {"type": "array", **super().published(mapped)}]}


class Ids(serializers.ListField):
    """A list of ids of memories, each once and in order; at least one."""

    default_error_messages = _MESSAGES | {
        "not_a_list": "must be a list of ids",
        "empty": "must hold at least one id",
        "max_length": "must hold at most {max_length} ids",
    }

    def __init__(self, *, max_items: int, **options: Any) -> None:
        super().__init__(child=Whole(min_value=1), allow_empty=False, max_length=max_items, **options)

    def to_internal_value(self, data: Any) -> list[int]:
        if not isinstance(data, list):
            self.fail("not_a_list")
        return list(super().to_internal_value(data))

    def run_validation(self, data: Any = serializers.empty) -> Any:
        # Repeated ids are left out once they have been counted, as whoever reads the published limit counts them.
        ids = super().run_validation(data)
        return list(dict.fromkeys(ids)) if isinstance(ids, list) else ids


class Weights(serializers.DictField):
    """How much each factor counts."""

    default_error_messages = _MESSAGES

    def to_internal_value(self, data: Any) -> dict[str, float]:
        if not isinstance(data, dict) or len(data) > 16:
            self.fail("weights")
        if not all(_is_number(weight) and 0 <= weight <= MAX_WEIGHT for weight in data.values()):
            self.fail("weights")
        return {name: float(weight) for name, weight in data.items()}

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"additionalProperties": {"type": "number", "minimum": 0, "maximum": MAX_WEIGHT}, "maxProperties": 16}


MAX_WEIGHT: Final = 1e6


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Input(serializers.Serializer[Any]):
    """A request body.  A field that it does not list is refused, with the nearest one that it does; null means the same
    as absent.

    passed_over: fields that are known, and ignored.  never_null: fields where being left out means something, and null
    does not.  The others are for the schema, and say what a class checks by itself.  some_of: at least one of these is
    given.  one_of: exactly one is.  where_given: what then holds of others, as JSON Schema.
    """

    default_error_messages: ClassVar = {"invalid": "must be an object"}
    never_null: ClassVar[frozenset[str]] = frozenset()
    passed_over: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar = "field"
    some_of: ClassVar[tuple[str, ...]] = ()
    one_of: ClassVar[tuple[str, ...]] = ()
    where_given: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            if unknown := [name for name in data if name not in self.fields and name not in self.passed_over]:
                raise serializers.ValidationError(unknown_names(unknown, [*self.fields], kind=self.kind))
            if nulls := [name for name in sorted(self.never_null & data.keys()) if data[name] is None]:
                raise serializers.ValidationError({name: ErrorDetail("must not be null", "null") for name in nulls})
            data = {name: value for name, value in data.items() if value is not None}
        return super().to_internal_value(data)

    def takes_null(self, name: str) -> bool:
        return not self.fields[name].required and name not in self.never_null


class Parameters(Input):
    """A query string."""

    kind = "parameter"

    def takes_null(self, name: str) -> bool:
        return False


class WriteInput(Input):
    """A body that stores something.  It may not name what only the platform sets."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (named := PLATFORM_OWNED & data.keys()):
            raise serializers.ValidationError(
                {
                    name: ErrorDetail("is set by the platform and cannot be written", "platform_owned")
                    for name in sorted(named)
                }
            )
        return super().to_internal_value(data)
