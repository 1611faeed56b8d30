"""Re-encryption of connectors when keys rotate; see ``apps.crypto.encrypted_tables``."""

from apps.connectors.models import TABLE, Connector
from apps.crypto.encrypted_tables import SealedColumns


class Connectors(SealedColumns):
    name = TABLE
    model = Connector
