"""States of forget requests and of privacy requests."""

from enum import StrEnum


class RequestState(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class PrivacyKind(StrEnum):
    """What an end user may request for all data stored about them."""

    ACCESS = "access"
    EXPORT = "export"
    DELETE = "delete"


class PrivacyState(StrEnum):
    """pending -> in_progress -> completed or failed.  A failed request may be retried."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
