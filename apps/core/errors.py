"""Base classes of the domain's errors.  Specific subclasses are defined where they are raised, and add a ``code``.

Only ``apps.api.errors`` maps them to HTTP statuses; the domain does not depend on HTTP.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class DomainError(Exception):
    """The base of every refusal.  ``message`` tells a stranger what to do next and holds no user content."""

    code: ClassVar[str] = "ERROR"

    def __init__(
        self,
        message: str | None = None,
        *,
        details: Sequence[Mapping[str, Any]] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.message = message or (self.__doc__ or self.code).strip().splitlines()[0]
        self.details = list(details)
        self.extra = dict(extra or {})
        super().__init__(self.message)


class Malformed(DomainError):
    """The request cannot be understood."""

    code = "BAD_REQUEST"


class Invalid(DomainError):
    """The request is understood but breaks a rule."""

    code = "VALIDATION_ERROR"


class Unauthenticated(DomainError):
    """The credential is missing or not valid."""

    code = "UNAUTHENTICATED"


class Forbidden(DomainError):
    """The credential is valid but may not do this."""

    code = "FORBIDDEN"


class NotFound(DomainError):
    """Not found."""

    code = "NOT_FOUND"


class Conflict(DomainError):
    """The request conflicts with stored data."""

    code = "CONFLICT"


class Gone(DomainError):
    """This was there, and is not kept any more."""

    code = "GONE"


class TooLarge(DomainError):
    """The request is larger than the limit."""

    code = "PAYLOAD_TOO_LARGE"


class Unsupported(DomainError):
    """The content type is not supported."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class LimitReached(DomainError):
    """Too many requests; try again later."""

    code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, message: str | None = None, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Busy(LimitReached):
    """The service is at its limit for this kind of request; try again later."""

    code = "BUSY"


class Unavailable(DomainError):
    """A part of the service is not available; try again later."""

    code = "UNAVAILABLE"
