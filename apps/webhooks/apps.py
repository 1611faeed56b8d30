from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "apps.webhooks"
    verbose_name = "Webhooks"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import SealedColumns, register
        from apps.memories.read_events import subscribe
        from apps.webhooks.fanout import announce_reads
        from apps.webhooks.models import DELIVERIES, ENDPOINTS, WebhookDelivery, WebhookEndpoint

        register(SealedColumns(ENDPOINTS, WebhookEndpoint))
        register(SealedColumns(DELIVERIES, WebhookDelivery))
        subscribe(announce_reads)
