"""Re-sealing traces when keys rotate.  A trace is known by its query's id, and has no handles."""

from typing import Final

from apps.crypto.encrypted_tables import SealedColumns
from apps.recall.models import RecallTrace

TRACES: Final = "recall_trace"  # the table's name among sealed ones


class Traces(SealedColumns):
    name = TRACES
    model = RecallTrace
