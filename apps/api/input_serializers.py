"""Serializers of request bodies and query strings, which refuse unknown names."""

import threading
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from apps.api.unknown import two_names, unknown_names

PLATFORM_OWNED: Final = frozenset(
    {"retention_status", "vector_id", "extracted_type", "extracted_key", "retention_expires_at"}
)
# Ignored in bodies, although many clients send them: the credential decides the owner, and a header the project.
OWNERS: Final = ("user_id", "project_id")


class _Kept(threading.local):
    """The serializers of a thread, by class."""

    def __init__(self) -> None:
        self.serializers: dict[type[Any], Any] = {}


_kept: Final = _Kept()


class Input(serializers.Serializer[Any]):
    """A request body.  A field that it does not list is refused, with the nearest one that it does; null means the same
    as absent.

    passed_over: fields that are known, and ignored.  never_null: fields where being left out means something, and null
    does not.  The others are for the schema, and say what a class checks by itself.  some_of: at least one of these is
    given.  one_of: exactly one is.  where_given: what then holds of others, as JSON Schema.  aliases: other names of
    fields; only one of the two may be given.
    """

    default_error_messages: ClassVar = {"invalid": "must be an object"}
    never_null: ClassVar[frozenset[str]] = frozenset()
    passed_over: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar = "field"
    some_of: ClassVar[tuple[str, ...]] = ()
    one_of: ClassVar[tuple[str, ...]] = ()
    where_given: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    aliases: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def check(cls, data: Any) -> Any:
        """The fields of ``data``, validated.  Raises ValidationError.

        Each thread keeps one serializer of a class, without data: building its fields takes longer than checking most
        bodies.
        """
        serializer = _kept.serializers.pop(cls, None) or cls()  # taken, in case that checking it comes here again
        serializer.initial_data = data
        try:
            serializer.is_valid(raise_exception=True)
            return serializer.validated_data
        finally:
            for name in ("initial_data", "_validated_data", "_errors"):
                serializer.__dict__.pop(name, None)
            _kept.serializers[cls] = serializer

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            if unknown := [name for name in data if name not in self.fields and name not in self.passed_over]:
                raise serializers.ValidationError(unknown_names(unknown, [*self.fields], kind=self.kind))
            if nulls := [name for name in sorted(self.never_null & data.keys()) if data[name] is None]:
                raise serializers.ValidationError({name: ErrorDetail("must not be null", "null") for name in nulls})
            data = {name: value for name, value in data.items() if value is not None}
            if twice := [(alias, name) for alias, name in self.aliases.items() if {alias, name} <= data.keys()]:
                raise serializers.ValidationError(two_names(twice))
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
