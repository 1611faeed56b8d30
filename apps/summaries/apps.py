from django.apps import AppConfig


class SummariesConfig(AppConfig):
    name = "apps.summaries"
    verbose_name = "Summaries"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.outbox import handlers
        from apps.outbox.relay import OutboxKind
        from apps.summaries import outbox_handlers
        from apps.summaries.models import Cluster
        from apps.summaries.reencryption import Clusters

        register(Clusters("cluster", Cluster))
        handlers.register("summarize", OutboxKind(do=outbox_handlers.summarize))
        handlers.register("resummarize", OutboxKind(do=outbox_handlers.resummarize))
