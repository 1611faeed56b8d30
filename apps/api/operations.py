"""What an operation takes, said once: for the document that is published and for the requests that come."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from drf_spectacular.utils import extend_schema

from apps.api.input_serializers import Input, Parameters

Handler = TypeVar("Handler", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Whether an operation takes fields in a body, and parameters in the query string."""

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
    """drf-spectacular's ``extend_schema``, and what the handler takes with it.

    Where ``request`` is None, the view refuses every body before the handler is called, and every query string where
    ``parameters`` has no Parameters.  What is taken the handler reads itself, first of all.
    """

    def declared(handler: Handler) -> Handler:
        query = any(isinstance(one, type) and issubclass(one, Parameters) for one in parameters)
        handler.taken = Taken(body=request is not None, query=query)  # type: ignore[attr-defined]  # see taken_by
        wrap = extend_schema(operation_id=operation_id, request=request, parameters=list(parameters), **said)
        return wrap(handler)

    return declared


def taken_by(handler: Callable[..., Any] | None) -> Taken:
    """What was declared of a handler; nothing of one that declares nothing."""
    return getattr(handler, "taken", NOTHING)
