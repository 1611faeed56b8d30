"""Declares which input an operation accepts, for the published document and for incoming requests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from drf_spectacular.utils import extend_schema

from apps.api.input_serializers import Input, Parameters

Handler = TypeVar("Handler", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Whether an operation accepts a body and query parameters."""

    body: bool = False
    query: bool = False


NOTHING: Final = Taken()


def operation(
    operation_id: str,
    *,
    request: type[Input] | Mapping[str, type[Input]] | None = None,
    parameters: Sequence[Any] = (),
    **said: Any,
) -> Callable[[Handler], Handler]:
    """drf-spectacular's ``extend_schema``, which also records the accepted input on the handler.

    If ``request`` is None, the view refuses every body before it calls the handler; if ``parameters`` contains no
    Parameters class, it refuses every query string.  The handler itself reads the accepted input, before anything else.
    """

    def declared(handler: Handler) -> Handler:
        query = any(isinstance(one, type) and issubclass(one, Parameters) for one in parameters)
        handler.taken = Taken(body=request is not None, query=query)  # type: ignore[attr-defined]  # see taken_by
        wrap = extend_schema(operation_id=operation_id, request=request, parameters=list(parameters), **said)
        return wrap(handler)

    return declared


def taken_by(handler: Callable[..., Any] | None) -> Taken:
    """The input declared for a handler; none if it declares nothing."""
    return getattr(handler, "taken", NOTHING)
