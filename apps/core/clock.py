"""The one clock that all processes share."""

from datetime import datetime

from django.db import connection


def database_time() -> datetime:
    """Now, by the database's clock: hosts' clocks differ, and what is compared must come from one."""
    with connection.cursor() as cursor:
        cursor.execute("select clock_timestamp()")
        row = cursor.fetchone()
    assert row is not None  # noqa: S101  (it always answers)
    told: datetime = row[0]
    return told
