"""What may become of a request to forget."""

from enum import StrEnum


class RequestState(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
