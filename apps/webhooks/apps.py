from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "apps.webhooks"
    verbose_name = "Webhooks"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.memories.read_events import subscribe
        from apps.webhooks.fanout import announce_reads
        from apps.webhooks.reencryption import Deliveries, Endpoints

        register(Endpoints())
        register(Deliveries())
        subscribe(announce_reads)
