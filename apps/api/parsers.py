"""Parses JSON bodies, with limits, before any other code reads them."""

import json
import sys
from collections.abc import Mapping
from typing import IO, Any, Final

import orjson
from django.conf import settings
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.api.fields import EXACT
from apps.core.errors import Invalid, Malformed, TooLarge

MAX_DEPTH: Final = 32
MAX_VALUES: Final = 200_000


class NotAnObject(Invalid):
    """The body must be a JSON object."""


class TooDeep(Invalid):
    """The body is nested too deeply."""


class TooManyValues(Invalid):
    """The body holds too many values."""


class LoneSurrogate(Invalid):
    """The body holds half of a surrogate pair, which is no character."""


class InexactNumber(Invalid):
    """The body holds an integer of more than 64 bits; send it as a string."""


class NotJSON(Malformed):
    """The body is not valid JSON in UTF-8."""

    code = "INVALID_JSON"


class StrictJSONParser(BaseParser):
    """One JSON object: UTF-8, no NaN or Infinity, no lone surrogates, limited in size, depth and number of values.

    NUL is allowed, because text and metadata are returned as sent.  Label fields refuse it themselves.
    """

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return parse(read_within_limit(stream, parser_context or {}))


def read_within_limit(stream: IO[Any], context: Mapping[str, Any]) -> bytes:
    """The body.  Raises TooLarge; a body whose Content-Length is too large is not read at all."""
    limit: int = min(settings.MAX_BODY_BYTES, getattr(context.get("view"), "max_body_bytes", None) or sys.maxsize)
    request = context.get("request")
    announced = request.META.get("CONTENT_LENGTH") if request is not None else None
    if announced and announced.isdecimal() and int(announced) > limit:
        raise TooLarge(f"The body is larger than {limit} bytes.")
    body: bytes = stream.read(limit + 1)
    if len(body) > limit:
        raise TooLarge(f"The body is larger than {limit} bytes.")
    return body


def parse(body: bytes) -> dict[str, Any]:
    """The object in ``body``.  Raises a Malformed or an Invalid of this module; their messages do not quote the
    body."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        # orjson only distinguishes these two errors from invalid JSON by its message.
        if "surrogate in string" in error.msg:
            raise LoneSurrogate from None
        if "depth limit" in error.msg:
            raise TooDeep from None
        raise NotJSON from None
    if not isinstance(value, dict):
        raise NotAnObject
    if _holds_large_float(value):
        _refuse_inexact(body)
    return value


def _holds_large_float(value: dict[str, Any]) -> bool:
    """Whether a float may have been an integer of more than 64 bits.  Raises TooDeep and TooManyValues."""
    met, found = 0, False
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for outer in level:
            met += len(outer)
            if met > MAX_VALUES:
                raise TooManyValues
            for inner in outer.values() if isinstance(outer, dict) else outer:
                if isinstance(inner, dict | list):
                    below.append(inner)
                elif isinstance(inner, float) and abs(inner) >= 2**63:
                    found = True
        if not below:
            return found
        level = below
    raise TooDeep


def _refuse_inexact(body: bytes) -> None:
    def exact(digits: str) -> int:
        if len(digits) > 20 or int(digits) not in EXACT:
            raise InexactNumber
        return int(digits)

    json.loads(body, parse_int=exact)


class JSONOnly(BaseContentNegotiation):
    """Always JSON, whatever Accept says; a body without a content type is parsed as JSON."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        kind = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if kind in {"", parser.media_type}), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type
