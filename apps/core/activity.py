"""When the rows of each group were stored: of the turns or the memories of a session."""

from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Max, Min, QuerySet


class Activity(NamedTuple):
    """When the first and the latest row of a group were stored, and how many rows it has."""

    first: datetime
    last: datetime
    rows: int


def activity_by(column: str, rows: QuerySet[Any], *, most: int) -> dict[int, Activity]:
    """For each value of the column, the newest row's id and the activity; at most ``most``, the latest."""
    groups = rows.order_by().values(column)
    counted = groups.annotate(first=Min("created_at"), last=Max("created_at"), count=Count("pk"), newest=Max("pk"))
    latest = counted.order_by("-last", "-newest")[:most]
    return {one["newest"]: Activity(one["first"], one["last"], one["count"]) for one in latest}
