"""Registration of this app's encrypted table, for re-encryption: forget requests with their selection and reason."""

from apps.crypto.encrypted_tables import SealedColumns
from apps.retention.models import ForgetRequest
from apps.retention.requests import TABLE


class ForgetRequests(SealedColumns):
    name = TABLE
    model = ForgetRequest
