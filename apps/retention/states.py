"""The states of a request to forget, and of a person's request about all of theirs."""

from enum import StrEnum


class RequestState(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class PrivacyKind(StrEnum):
    """What a person may ask about all that is kept of them."""

    ACCESS = "access"
    EXPORT = "export"
    DELETE = "delete"


class PrivacyState(StrEnum):
    """pending -> in_progress -> completed or failed, which may be tried again."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
