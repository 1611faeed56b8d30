"""The retry policy of an endpoint: which attempts are retried, and when."""

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from apps.webhooks.models import WebhookEndpoint

RETRY_DEFAULTS: Final[Mapping[str, Any]] = {
    "retry_enabled": True,
    "max_retries": 5,
    "initial_delay_seconds": 10,
    "max_delay_seconds": 3_600,
    "backoff_multiplier": 3.0,
    "retry_status_codes": ["4xx", "5xx"],
}


def delay(endpoint: WebhookEndpoint, attempt: int) -> timedelta:
    """Delay before the attempt after this one (counted from 1): exponential backoff with jitter, so that deliveries
    that failed together are not retried together."""
    longest = min(
        float(endpoint.max_delay_seconds),
        endpoint.initial_delay_seconds * endpoint.backoff_multiplier ** (attempt - 1),
    )
    return timedelta(seconds=longest * random.uniform(0.5, 1.0))  # noqa: S311  (nothing is guessed by it)


def is_retried(endpoint: WebhookEndpoint, status: int | None) -> bool:
    """Whether the endpoint's policy retries an attempt with this status."""
    if status is None or status < 400:
        return True  # no response; or a redirect, which is never followed and may be fixed
    return bool({str(status), f"{status // 100}xx"} & set(endpoint.retry_status_codes))
