"""The one clock that all processes share."""

from datetime import datetime

from apps.core.queries import fetch_value


def database_time() -> datetime:
    """Return the current time of the database: hosts' clocks differ, and compared times must come from one clock."""
    told: datetime = fetch_value("select clock_timestamp()")
    return told
