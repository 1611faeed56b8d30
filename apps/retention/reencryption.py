"""Re-sealing what this app sealed: what was asked to be forgotten, and why."""

from apps.crypto.encrypted_tables import SealedColumns
from apps.retention.models import ForgetRequest
from apps.retention.requests import TABLE


class ForgetRequests(SealedColumns):
    name = TABLE
    model = ForgetRequest
