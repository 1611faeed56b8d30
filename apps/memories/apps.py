from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "apps.memories"
    verbose_name = "Memories"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import report_to
        from apps.memories import integrity, outbox_handlers
        from apps.outbox.handlers import register
        from apps.outbox.relay import OutboxKind

        report_to(integrity.note)
        register("embed", OutboxKind(do=outbox_handlers.embed))
        register("refresh", OutboxKind(job=outbox_handlers.refresh))
        register("look_again", OutboxKind(do=outbox_handlers.retry_quarantined))
