from django.apps import AppConfig


class HistoryConfig(AppConfig):
    name = "apps.history"
    verbose_name = "History"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.history.outbox_handlers import embed_state
        from apps.history.reencryption import HistoryTurns, States
        from apps.outbox import handlers
        from apps.outbox.relay import OutboxKind

        register(HistoryTurns())
        register(States())
        handlers.register("embed_state", OutboxKind(do=embed_state))
