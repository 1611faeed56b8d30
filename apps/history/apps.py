from django.apps import AppConfig


class HistoryConfig(AppConfig):
    name = "apps.history"
    verbose_name = "History"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.history.reencryption import HistoryTurns, States

        register(HistoryTurns())
        register(States())
