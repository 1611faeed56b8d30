from django.apps import AppConfig


class HistoryConfig(AppConfig):
    name = "apps.history"
    verbose_name = "History"

    def ready(self) -> None:
        from apps.crypto.sealed_tables import register
        from apps.history.resealing import States, Turns

        register(Turns())
        register(States())
