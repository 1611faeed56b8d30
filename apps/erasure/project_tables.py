"""Tables, other than memories, with rows that belong to a project.

Open rows block deletion of the project.  All other rows are deleted with it.
"""

from dataclasses import dataclass
from typing import Final, LiteralString


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTable:
    """A table with project rows.

    kind: name of its rows in the error that blocks a deletion.  is_open: SQL condition for open rows; empty: none.
    """

    table: str
    kind: str = ""
    is_open: LiteralString = ""


PROJECT_TABLES: Final[list[ProjectTable]] = [
    ProjectTable(table="ingest_reviewitem", kind="candidates", is_open="state = 'pending'"),
    ProjectTable(table="transfers_importjob", kind="imports", is_open="status in ('pending', 'running')"),
    ProjectTable(table="transfers_exportjob"),
    ProjectTable(table="summaries_cluster"),
    ProjectTable(table="sources_externalobject"),
    ProjectTable(table="connectors_connector"),
]


def register(table: ProjectTable) -> None:
    """Register a table of a dependent app.  The app calls this once, from ``AppConfig.ready``."""
    PROJECT_TABLES.append(table)
