"""The one clock that all processes share."""

from datetime import datetime

from django.db import connection


def database_time() -> datetime:
    """Return the current time of the database: hosts' clocks differ, and compared times must come from one clock."""
    with connection.cursor() as cursor:
        cursor.execute("select clock_timestamp()")
        row = cursor.fetchone()
    assert row is not None  # noqa: S101  (it always answers)
    told: datetime = row[0]
    return told
