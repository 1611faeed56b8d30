"""Re-sealing what this app sealed: what was asked to be forgotten, and why."""

from typing import ClassVar

from apps.crypto.encrypted_tables import SealedColumns
from apps.retention.models import CHOICE, REASON, ForgetRequest
from apps.retention.requests import TABLE


class ForgetRequests(SealedColumns):
    name = TABLE
    model = ForgetRequest
    columns: ClassVar = {"choice_ct": CHOICE, "reason_ct": REASON}
