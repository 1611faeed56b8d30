"""Tables with rows of a project beside its memories.

What is open in them keeps the project from being deleted; what is left in them goes with it.
"""

from dataclasses import dataclass
from typing import Final, LiteralString


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTable:
    """kind: as the refusal to delete a project counts its rows.  is_open: SQL, which rows keep it; empty: none."""

    table: str
    kind: str = ""
    is_open: LiteralString = ""


PROJECT_TABLES: Final[list[ProjectTable]] = [
    ProjectTable(table="ingest_reviewitem", kind="candidates", is_open="state = 'pending'"),
    ProjectTable(table="transfers_importjob", kind="imports", is_open="status in ('pending', 'running')"),
    ProjectTable(table="transfers_exportjob"),
    ProjectTable(table="summaries_cluster"),
]


def register(table: ProjectTable) -> None:
    """For an app above this one: once, when it is ready."""
    PROJECT_TABLES.append(table)
