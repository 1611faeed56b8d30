"""Re-encryption of endpoints and responses during key rotation.  See ``apps.crypto.encrypted_tables``."""

from apps.crypto.encrypted_tables import SealedColumns
from apps.webhooks.models import WebhookDelivery, WebhookEndpoint

ENDPOINTS = "webhook"
DELIVERIES = "webhook delivery"


class Endpoints(SealedColumns):
    name = ENDPOINTS
    model = WebhookEndpoint


class Deliveries(SealedColumns):
    name = DELIVERIES
    model = WebhookDelivery
