"""Re-sealing endpoints and answers while keys rotate.  See ``apps.crypto.encrypted_tables``."""

from typing import ClassVar

from apps.crypto.encrypted_tables import SealedColumns
from apps.webhooks.models import DESCRIPTION, FORMER, RESPONSE, SECRET, URL, WebhookDelivery, WebhookEndpoint

ENDPOINTS = "webhook"
DELIVERIES = "webhook delivery"


class Endpoints(SealedColumns):
    name = ENDPOINTS
    model = WebhookEndpoint
    columns: ClassVar = {"url_ct": URL, "description_ct": DESCRIPTION, "secret_ct": SECRET, "former_ct": FORMER}
    revised = ("url_ct", "description_ct", "secret_ct", "former_ct")


class Deliveries(SealedColumns):
    name = DELIVERIES
    model = WebhookDelivery
    columns: ClassVar = {"response_ct": RESPONSE}
