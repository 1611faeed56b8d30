"""Fields of history and state, which are stored for the caller as they are."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.api.fields import MAX_TEXT, Text, read_moment

PREFIX: Final = "h_"
LONGEST_NAME: Final = 1_024  # characters of a session, a key or a namespace segment


class Name(Text):
    """A string that identifies a session or item.  It is stored encrypted, so it may contain anything but not be
    blank."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=LONGEST_NAME, **options)


class Entries(serializers.ListField):
    """A list of limited length; each entry is validated on its own."""

    default_error_messages = {  # noqa: RUF012  (as the base class has it)
        "required": "field required",
        "null": "must not be null",
        "not_a_list": "must be a list",
        "empty": "must not be empty",
        "max_length": "must have at most {max_length} entries",
        "min_length": "must have at least {min_length} entries",
    }


class Names(Entries):
    """A list of names, unchanged and with duplicates."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=Name(), **options)


class WrittenMoment(Text):
    """A time in ISO 8601, stored as written."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=64, **options)

    def to_internal_value(self, data: Any) -> str:
        written = super().to_internal_value(data)
        if read_moment(written) is None:
            self.fail("moment")
        return written

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [{"format": "date-time"}, {"format": "date"}]}


class AnyText(Text):
    """A string that may be empty."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        is_blank = isinstance(data, str) and not data.strip() and len(data) <= MAX_TEXT
        return data if is_blank else super().run_validation(data)

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {}


@extend_schema_field({})
class AnyJson(serializers.JSONField):
    """Any JSON, stored unchanged."""

    def to_internal_value(self, data: Any) -> Any:
        return data


@extend_schema_field(
    {
        "type": "array",
        "items": {
            "oneOf": [
                {"type": "string", "pattern": "^(h_)?[0-9]{1,18}$"},
                {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
            ]
        },
    }
)
class KeptIds(serializers.Field[tuple[int, ...], Any, Any, Any]):
    """Ids as `h_…` or as numbers, mixed."""

    default_error_messages = {"ids": "must be a list of ids such as h_1000000000123"}  # noqa: RUF012

    def to_internal_value(self, data: Any) -> tuple[int, ...]:
        if not isinstance(data, list):
            self.fail("ids")
        return tuple(dict.fromkeys(self._id(one) for one in data))

    def _id(self, given: Any) -> int:
        digits = given.removeprefix(PREFIX) if isinstance(given, str) else ""
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 20 else given
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
            self.fail("ids")
        return number


def kept_id(number: int) -> str:
    return f"{PREFIX}{number}"
