from django.apps import AppConfig


class HistoryConfig(AppConfig):
    name = "apps.history"
    verbose_name = "History"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.history.models import HistoryTurn, StateItem
        from apps.history.outbox_handlers import embed_state
        from apps.history.reencryption import HistoryTurns, States
        from apps.history.state_sealing import STATE
        from apps.history.turns import TURN
        from apps.outbox import handlers
        from apps.outbox.relay import OutboxKind

        register(HistoryTurns(TURN, HistoryTurn))
        register(States(STATE, StateItem))
        handlers.register("embed_state", OutboxKind(do=embed_state))
