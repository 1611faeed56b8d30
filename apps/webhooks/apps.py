from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "apps.webhooks"
    verbose_name = "Webhooks"

    def ready(self) -> None:
        from apps.crypto.sealed_tables import register
        from apps.memories.reads import listen
        from apps.webhooks.resealing import Deliveries, Endpoints
        from apps.webhooks.telling import tell_reads

        register(Endpoints())
        register(Deliveries())
        listen(tell_reads)
