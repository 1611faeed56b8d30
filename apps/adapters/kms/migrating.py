"""Migrate from one key provider to another without downtime: the old provider's keys still unwrap and are re-wrapped.

Set KMS_BACKEND = apps.adapters.kms.migrating.Moving and KMS_OPTIONS = {"to": {"BACKEND", "OPTIONS"}, "away_from": the
same}, run `memsync keys rewrap`, and once no key of the old provider is left, configure the new provider alone.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from apps.adapters.kms.base import KekProvider, KeyMismatch, Wrapped


class Moving:
    """Wraps with ``to`` and has its name; unwraps the keys of both providers.  A re-wrap may take the time of both."""

    def __init__(self, *, to: Mapping[str, Any], away_from: Mapping[str, Any]) -> None:
        self._to: Final = _made(to)
        self._old: Final = _made(away_from)
        self.name: Final = self._to.name

    def wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        return self._to.wrap(key, ctx)

    def unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        try:
            return self._to.unwrap(wrapped, ctx)
        except KeyMismatch:
            return self._old.unwrap(wrapped, ctx)

    def rewrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> Wrapped:
        try:
            return self._to.rewrap(wrapped, ctx)
        except KeyMismatch:
            return self._to.wrap(bytes(self._old.unwrap(wrapped, ctx)), ctx)

    def current_version(self) -> str:
        return self._to.current_version()

    def destroy(self, ref: str) -> None:
        self._to.destroy(ref)

    def health(self) -> None:
        self._to.health()
        self._old.health()


def _made(config: Mapping[str, Any]) -> KekProvider:
    try:
        provider: KekProvider = import_string(config["BACKEND"])(**config.get("OPTIONS", {}))
    except (KeyError, TypeError, ImportError) as error:
        raise ImproperlyConfigured(
            'Moving takes "to" and "away_from", each {"BACKEND": "dotted.path.Class", "OPTIONS": {...}}: ' + str(error)
        ) from error
    return provider
