"""The retry policy of an endpoint: which attempts are repeated, and after how long."""

import random
from datetime import timedelta

from apps.webhooks.models import WebhookEndpoint


def delay(endpoint: WebhookEndpoint, attempt: int) -> timedelta:
    """Before the attempt after this one, counted from 1: longer each time, and spread, so that what failed together
    does not come back together."""
    longest = min(
        float(endpoint.max_delay_seconds),
        endpoint.initial_delay_seconds * endpoint.backoff_multiplier ** (attempt - 1),
    )
    return timedelta(seconds=longest * random.uniform(0.5, 1.0))  # noqa: S311  (nothing is guessed by it)


def is_retried(endpoint: WebhookEndpoint, status: int | None) -> bool:
    """Whether such an end is worth another attempt, as far as the endpoint says."""
    if status is None or status < 400:
        return True  # no answer; or a redirect, which is never followed and may be mended
    return bool({str(status), f"{status // 100}xx"} & set(endpoint.retry_status_codes))
