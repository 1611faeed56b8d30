"""Re-encryption of traces when keys rotate.  A trace is looked up by its query id, so it has no keyed handles."""

from typing import Final

from apps.crypto.encrypted_tables import SealedColumns
from apps.recall.models import RecallTrace

TRACES: Final = "recall_trace"  # the table's name among sealed ones


class Traces(SealedColumns):
    name = TRACES
    model = RecallTrace
